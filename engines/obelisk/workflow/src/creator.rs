//! One attempt to create a docket: checked, claimed, granted, and judged.
//!
//! The first write to a claim decides: an activity takes it before it creates; the run closes it to be
//! certain that nothing was or ever will be begun.

use voice_calling_core::types::{CreatedDocketV2, DocketRequestV2, RequestError};
use voice_calling_obelisk_guest::campaign::CLAIMS;

use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::execution::ExecutionId;
use crate::bindings::obelisk::types::join_set::JoinSet;
use crate::bindings::voice_calling::once::dockets::{self as once, CreationError, Grant, Refusal};
use crate::bindings::voice_calling::operator::check::{self, Verdict};
use crate::bindings::voice_calling::workflows::types::RunError;
use crate::bindings::voice_calling::{waits_obelisk_ext as waits, waits_obelisk_stub as stubs};
use crate::error::{describe, unreachable};
use crate::sleep::sleep;
use crate::waiting::join_set;

/// The shortest and the longest pause between tries.
pub const FIRST_PAUSE_MS: u64 = 1_000;
pub const LONGEST_PAUSE_MS: u64 = 60_000;

/// A docket that exists.
pub struct Created {
    pub docket_id: String,
    /// The service's `created` member, if it answered.
    pub created: Option<bool>,
}

/// The reason why it is unknown whether a docket exists.
pub type Unknown = RequestError;

/// The result of one attempt.
pub enum Attempt {
    Created(Created),
    Unknown(Unknown),
    /// No docket exists, and none is to be created.
    Never(RunError),
    /// Certainly no docket exists, and a retry may succeed.
    NotNow {
        error: RequestError,
        retry_after_ms: u64,
    },
    /// No docket exists: it could not be decided whether to call.
    Unchecked(String),
    /// No docket exists: the number must not be called before this moment.
    NotBefore(u64),
    /// No docket exists: the grant has expired, or an order came.
    NotGranted,
    /// No docket exists: an operator holds all creations, for this reason.
    Held(String),
}

/// Creates the docket of a run.
pub struct Creator<'a> {
    run: &'a str,
    request: &'a DocketRequestV2,
    /// The claims of its attempts.
    claims: JoinSet,
}

impl<'a> Creator<'a> {
    pub fn begin(run: &'a str, request: &'a DocketRequestV2) -> Self {
        Self {
            run,
            request,
            claims: join_set(CLAIMS),
        }
    }

    /// Creates the docket, unless the number must not be called or the grant is refused.
    pub fn attempt(&self, grant: Option<&Grant>) -> Attempt {
        match check::may_call(self.run, self.request) {
            Ok(Verdict::Allowed) => {}
            Ok(Verdict::Spared(reason)) => {
                return Attempt::Never(RunError::PermanentSpared(reason));
            }
            Ok(Verdict::NotBefore(ms)) => return Attempt::NotBefore(ms),
            Err(reason) => {
                let reason = format!("cannot decide whether to call: {reason}");
                log::warn(&reason);
                return Attempt::Unchecked(reason);
            }
        }
        let claim = waits::claim::creation_submit(&self.claims, self.run);
        let answer = once::create_docket_v2(&claim.id, self.request, None, grant);
        let is_closed = answer.is_err() && close(&claim);
        let attempt = judge(answer, is_closed);
        match &attempt {
            Attempt::Created(it) => log::info(&format!("docket {} was created", it.docket_id)),
            Attempt::Held(reason) => log::warn(reason),
            Attempt::NotNow { error, .. } if was_not_sent(error) => {
                log::warn(&format!("the creation was not begun: {}", describe(error)));
            }
            _ => {}
        }
        attempt
    }
}

/// Closes a claim. Returns `false` if the creation was begun or the claim cancelled by hand.
fn close(claim: &ExecutionId) -> bool {
    let closed = Err("closed: nothing is to be created under this claim");
    stubs::claim::creation_stub(claim, closed).is_ok()
}

/// Interprets the answer to a creation. Whether a person's phone rings twice is decided here.
///
/// `is_closed` says that the claim was closed: no run has begun the creation, nor ever will.
fn judge(answer: Result<CreatedDocketV2, CreationError>, is_closed: bool) -> Attempt {
    let not_now = |error, retry_after_ms| Attempt::NotNow {
        error,
        retry_after_ms,
    };
    let error = match answer {
        Ok(docket) => {
            return Attempt::Created(Created {
                docket_id: docket.docket_id,
                created: docket.created,
            });
        }
        Err(CreationError::NotGranted(Refusal::Unreachable(reason))) => {
            return not_now(unreachable(reason), 0);
        }
        Err(CreationError::NotGranted(_)) => return Attempt::NotGranted,
        Err(CreationError::Held(reason)) if is_closed => return Attempt::Held(reason),
        // The engine lost the activity, perhaps after the request was sent; of a creation that is
        // held, a run before the hold.
        Err(CreationError::ExecutionFailed | CreationError::Held(_)) => {
            RequestError::ExecutionFailed
        }
        Err(CreationError::Failed(error)) => error,
    };
    let failure = error.failure();
    let may_exist = failure.is_none_or(|failure| failure.may_have_created);
    match (may_exist, error.is_permanent()) {
        (true, _) if is_closed => {
            let lost = "the engine lost the creation before it was begun";
            let why = failure.map_or(lost, |failure| &failure.message);
            not_now(unreachable(why.to_owned()), 0)
        }
        (true, _) => Attempt::Unknown(error),
        (false, true) => Attempt::Never(RunError::PermanentNotCreated(error)),
        (false, false) => {
            let response = failure.and_then(|failure| failure.response.as_ref());
            let retry_after_ms = response.and_then(|response| response.retry_after_ms);
            not_now(error, retry_after_ms.map_or(0, u64::from))
        }
    }
}

fn was_not_sent(error: &RequestError) -> bool {
    let failure = error.failure();
    failure.is_some_and(|failure| failure.attempts.is_empty())
}

/// Waits before the next try.
pub fn pause(why: &str, pause_ms: u64) {
    log::info(&format!(
        "nothing was created ({why}): retrying in {pause_ms} ms"
    ));
    sleep(pause_ms);
}

#[cfg(test)]
mod tests {
    use voice_calling_core::types::{Failure, HttpResponse};
    use voice_calling_obelisk_guest::failure;

    use super::*;

    fn failed(may_have_created: bool) -> Failure {
        let response = HttpResponse {
            status: 429,
            body: String::new(),
            body_cut: false,
            request_id: None,
            retry_after_ms: Some(7),
        };
        Failure {
            response: Some(response),
            ..failure("", may_have_created)
        }
    }

    fn judged(error: CreationError, is_closed: bool) -> &'static str {
        match judge(Err(error), is_closed) {
            Attempt::NotNow {
                retry_after_ms: 7, ..
            } => "not before 7",
            Attempt::NotNow { .. } => "not now",
            Attempt::Never(RunError::PermanentNotCreated(_)) => "never",
            Attempt::Unknown(_) => "unknown",
            Attempt::NotGranted => "not granted",
            Attempt::Held(_) => "held",
            _ => "something else",
        }
    }

    #[test]
    fn a_creation_is_repeated_only_where_it_certainly_did_nothing() {
        use CreationError::*;
        use RequestError::*;
        let why = String::new;
        for (error, of_open_claim, of_closed_claim) in [
            (
                Failed(RateLimited(failed(false))),
                "not before 7",
                "not before 7",
            ),
            (Failed(PermanentRejected(failed(false))), "never", "never"),
            (
                Failed(PermanentRejected(failed(true))),
                "unknown",
                "not now",
            ),
            (
                Failed(PermanentOutcomeUnknown(failed(true))),
                "unknown",
                "not now",
            ),
            (CreationError::ExecutionFailed, "unknown", "not now"),
            (Held(why()), "unknown", "held"),
            (NotGranted(Refusal::Closed), "not granted", "not granted"),
            (
                NotGranted(Refusal::Unreachable(why())),
                "not now",
                "not now",
            ),
        ] {
            let case = format!("{error:?}");
            assert_eq!(judged(error.clone(), false), of_open_claim, "{case}");
            assert_eq!(judged(error, true), of_closed_claim, "{case}");
        }
    }
}

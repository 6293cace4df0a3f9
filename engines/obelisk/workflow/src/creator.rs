//! One attempt to create a docket: checked, claimed, granted, and judged.
//!
//! The first write to a claim decides: an activity takes it before it creates; the run closes it to be
//! certain that nothing was or ever will be begun.

use voice_calling_core::types::{CreatedDocketV2, DocketRequestV2, Failure, NextStep};
use voice_calling_obelisk_guest::campaign::CLAIMS;
use voice_calling_obelisk_guest::failure::{unknown, unreachable};

use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::execution::ExecutionId;
use crate::bindings::obelisk::types::join_set::JoinSet;
use crate::bindings::voice_calling::once::dockets::{self as once, CreationError, Grant, Refusal};
use crate::bindings::voice_calling::operator::check::{self, Verdict};
use crate::bindings::voice_calling::workflows::types::RunError;
use crate::bindings::voice_calling::{waits_obelisk_ext as waits, waits_obelisk_stub as stubs};
use crate::error::describe;
use crate::sleep::sleep;
use crate::waiting::join_set;

/// The shortest and the longest pause between tries.
pub(crate) const FIRST_PAUSE_MS: u64 = 1_000;
pub(crate) const LONGEST_PAUSE_MS: u64 = 60_000;

/// A docket that exists.
pub(crate) struct Created {
    pub docket_id: String,
    /// The service's `created` member, if it answered.
    pub created: Option<bool>,
}

/// The result of one attempt.
pub(crate) enum Attempt {
    Created(Created),
    /// It is unknown whether a docket exists.
    Unknown(Failure),
    /// No docket exists, and none is to be created.
    Never(RunError),
    /// Certainly no docket exists, and a retry may succeed.
    NotNow(Failure),
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
pub(crate) struct Creator<'a> {
    run: &'a str,
    request: &'a DocketRequestV2,
    /// The claims of its attempts.
    claims: JoinSet,
}

impl<'a> Creator<'a> {
    pub(crate) fn begin(run: &'a str, request: &'a DocketRequestV2) -> Self {
        Self {
            run,
            request,
            claims: join_set(CLAIMS),
        }
    }

    /// Creates the docket, unless the number must not be called or the grant is refused.
    pub(crate) fn attempt(&self, grant: Option<&Grant>) -> Attempt {
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
        let is_closed = answer.as_ref().is_err_and(|error| close(&claim, error));
        let attempt = judge(answer, is_closed);
        match &attempt {
            Attempt::Created(it) => log::info(&format!("docket {} was created", it.docket_id)),
            Attempt::Held(reason) => log::warn(reason),
            Attempt::NotNow(failure) if failure.attempts.is_empty() => {
                let why = describe(failure);
                log::warn(&format!("the creation was not begun: {why}"));
            }
            _ => {}
        }
        attempt
    }
}

/// Closes a claim. Returns `false` if the creation was begun or the claim cancelled by hand.
fn close(claim: &ExecutionId, error: &CreationError) -> bool {
    let closed = match error {
        // The engine takes the same text again: it may have taken it from the run, which sent nothing.
        CreationError::Unclaimed(it) => Ok(&*it.text),
        _ => Err("closed: nothing is to be created under this claim"),
    };
    stubs::claim::creation_stub(claim, closed).is_ok()
}

/// Interprets the answer to a creation. Whether a person's phone rings twice is decided here.
///
/// `is_closed` says that the claim was closed: no run has begun the creation, nor ever will.
fn judge(answer: Result<CreatedDocketV2, CreationError>, is_closed: bool) -> Attempt {
    let failure = match answer {
        Ok(docket) => {
            return Attempt::Created(Created {
                docket_id: docket.docket_id,
                created: docket.created,
            });
        }
        Err(CreationError::NotGranted(Refusal::Unreachable(reason))) => {
            return Attempt::NotNow(unreachable(reason));
        }
        Err(CreationError::NotGranted(Refusal::Spared(reason))) => {
            return Attempt::Never(RunError::PermanentSpared(reason));
        }
        Err(CreationError::NotGranted(Refusal::TooSoon(ms))) => return Attempt::NotBefore(ms),
        Err(CreationError::NotGranted(Refusal::NotNow)) => return Attempt::NotGranted,
        Err(CreationError::Held(reason)) if is_closed => return Attempt::Held(reason),
        // The engine lost the activity, perhaps after the request was sent; of a creation that is
        // held, a run before the hold.
        Err(CreationError::ExecutionFailed | CreationError::Held(_)) => {
            unknown("the engine lost the creation")
        }
        Err(CreationError::Unclaimed(it)) => unknown(it.reason),
        Err(CreationError::Failed(failure)) => failure,
    };
    match failure.next_step {
        NextStep::Unknown if is_closed => Attempt::NotNow(unreachable(failure.message)),
        NextStep::Unknown => Attempt::Unknown(failure),
        NextStep::FixSetting | NextStep::Refused => {
            Attempt::Never(RunError::PermanentNotCreated(failure))
        }
        NextStep::RetryLater => Attempt::NotNow(failure),
    }
}

/// Returns the pause that the service asks for; 0 if it asks for none.
pub(crate) fn retry_after_ms(failure: &Failure) -> u64 {
    let response = failure.response.as_ref();
    response
        .and_then(|it| it.retry_after_ms)
        .map_or(0, u64::from)
}

/// Waits before the next try.
pub(crate) fn pause(why: &str, pause_ms: u64) {
    log::info(&format!(
        "nothing was created ({why}): retrying in {pause_ms} ms"
    ));
    sleep(pause_ms);
}

#[cfg(test)]
mod tests {
    use voice_calling_core::types::HttpResponse;

    use super::*;
    use crate::bindings::voice_calling::once::dockets::Unclaimed;

    fn judged(error: CreationError, is_closed: bool) -> &'static str {
        match judge(Err(error), is_closed) {
            Attempt::NotNow(failure) if retry_after_ms(&failure) == 7 => "after 7 ms",
            Attempt::NotNow(_) => "not now",
            Attempt::Never(RunError::PermanentNotCreated(_)) => "never",
            Attempt::Unknown(_) => "unknown",
            Attempt::Never(RunError::PermanentSpared(_)) => "spared",
            Attempt::NotBefore(7) => "not before 7",
            Attempt::NotGranted => "not granted",
            Attempt::Held(_) => "held",
            _ => "something else",
        }
    }

    #[test]
    fn a_creation_is_repeated_only_where_it_certainly_did_nothing() {
        use CreationError::{ExecutionFailed, Failed, Held, NotGranted};
        let unclaimed = CreationError::Unclaimed(Unclaimed {
            text: String::new(),
            reason: String::new(),
        });
        let why = String::new;
        let of = |next_step| {
            Failed(Failure {
                next_step,
                response: Some(HttpResponse {
                    status: 429,
                    body: String::new(),
                    body_cut: false,
                    request_id: None,
                    retry_after_ms: Some(7),
                }),
                ..unreachable("")
            })
        };
        for (error, of_open_claim, of_closed_claim) in [
            (of(NextStep::RetryLater), "after 7 ms", "after 7 ms"),
            (of(NextStep::FixSetting), "never", "never"),
            (of(NextStep::Refused), "never", "never"),
            (of(NextStep::Unknown), "unknown", "not now"),
            (unclaimed, "unknown", "not now"),
            (ExecutionFailed, "unknown", "not now"),
            (Held(why()), "unknown", "held"),
            (NotGranted(Refusal::NotNow), "not granted", "not granted"),
            (NotGranted(Refusal::Spared(why())), "spared", "spared"),
            (
                NotGranted(Refusal::TooSoon(7)),
                "not before 7",
                "not before 7",
            ),
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

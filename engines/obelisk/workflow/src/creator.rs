//! One attempt to create a docket: checked, claimed, granted, and judged.

use voice_calling_core::types::{CallOptions, DocketRequestV2, RequestError};

use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::time::{Datetime, ScheduleAt};
use crate::bindings::obelisk::workflow::workflow_support as engine;
use crate::bindings::voice_calling::once::dockets::{self as once, CreationError, Grant, Refusal};
use crate::bindings::voice_calling::operator::check::{self, Verdict};
use crate::bindings::voice_calling::workflows::types::{RunError, RunOptions};
use crate::claims::{Claims, not_begun};
use crate::creation::Creation;
use crate::error::unreachable;
use crate::grants::END_MS;
use crate::waiting::after;

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
    options: Option<CallOptions>,
    claims: Claims,
}

impl<'a> Creator<'a> {
    pub fn begin(run: &'a str, request: &'a DocketRequestV2, options: &RunOptions) -> Self {
        Self {
            run,
            request,
            options: call_options(options),
            claims: Claims::begin(),
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
        let claim = self.claims.open(self.run);
        let options = self.options.as_ref();
        let created = once::create_docket_v2(claim.id(), self.request, options, grant);
        let is_closed = created.is_err() && claim.close();
        let error = match created {
            Ok(docket) => {
                log::info(&format!("docket {} was created", docket.docket_id));
                return Attempt::Created(Created {
                    docket_id: docket.docket_id,
                    created: docket.created,
                });
            }
            Err(CreationError::NotGranted(Refusal::Unreachable(reason))) => {
                log::warn(&reason);
                return Attempt::NotNow {
                    error: unreachable(reason),
                    retry_after_ms: 0,
                };
            }
            Err(CreationError::NotGranted(_)) => return Attempt::NotGranted,
            Err(CreationError::Held(reason)) if is_closed => {
                log::warn(&reason);
                return Attempt::Held(reason);
            }
            // A run that the engine lost has begun the creation before the hold.
            Err(CreationError::Held(_)) => RequestError::ExecutionFailed,
            Err(CreationError::ExecutionFailed) => RequestError::ExecutionFailed,
            Err(CreationError::Failed(error)) => error,
        };
        match Creation::of(&error) {
            Creation::Unknown if is_closed => {
                let error = not_begun(&error);
                let why = error.failure().map_or("", |failure| &failure.message);
                log::warn(&format!("the creation was not begun: {why}"));
                Attempt::NotNow {
                    error,
                    retry_after_ms: 0,
                }
            }
            Creation::Unknown => Attempt::Unknown(error),
            Creation::Refused => Attempt::Never(RunError::PermanentNotCreated(error)),
            Creation::NotNow { retry_after_ms } => Attempt::NotNow {
                error,
                retry_after_ms: retry_after_ms.map_or(0, u64::from),
            },
        }
    }
}

/// Returns the client's options for the options of a run.
pub fn call_options(options: &RunOptions) -> Option<CallOptions> {
    options.account.clone().map(|account| CallOptions {
        account: Some(account),
        deadline_ms: None,
        max_attempts: None,
    })
}

/// Adds up to half of the pause, so that the runs of a campaign do not return all at once.
pub fn with_jitter(pause_ms: u64) -> u64 {
    pause_ms + engine::random_u64_inclusive(0, pause_ms / 2)
}

/// Waits before the next try.
pub fn pause(why: &str, pause_ms: u64) {
    log::info(&format!(
        "nothing was created ({why}): retrying in {pause_ms} ms"
    ));
    // A sleep that an operator cancels ends early, which does no harm.
    let _ = engine::sleep(after(pause_ms), None);
}

/// Waits until a moment, in milliseconds since 1970-01-01T00:00:00Z.
pub fn wait_until(unix_ms: u64) {
    // A sleep that an operator cancels ends early; the moment is checked in any case.
    let _ = engine::sleep(ScheduleAt::At(at(unix_ms)), None);
}

/// Converts Unix milliseconds to the engine's type, whose calendar ends.
fn at(unix_ms: u64) -> Datetime {
    let unix_ms = unix_ms.min(END_MS);
    Datetime {
        seconds: unix_ms / 1_000,
        nanoseconds: (unix_ms % 1_000) as u32 * 1_000_000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_keeps_its_milliseconds() {
        let moment = at(1_700_000_000_123);
        assert_eq!(
            (moment.seconds, moment.nanoseconds),
            (1_700_000_000, 123_000_000)
        );
        assert_eq!(at(u64::MAX).seconds, END_MS / 1_000);
    }
}

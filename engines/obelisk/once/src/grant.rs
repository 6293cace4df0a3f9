//! The permission to begin a creation now: its grant, unless an operator holds all creations, which
//! is for when the engine's database may be older than the calls, after it was restored from a copy.

use voice_calling_core::types::CallOptions;
use voice_calling_obelisk_guest::variable;

use crate::bindings::exports::voice_calling::once::dockets::{Grant, Refusal};

/// The variable with the reason of the hold. Empty or not set: creations are not held.
const HOLD: &str = "VOICE_CALLING_HOLD";

/// The time that the claim and the questions after it may take. With the client's deadline it is
/// below the lock of the deployment: a creation that the engine cuts off has an unknown outcome.
const MOST_BEFORE_MS: u64 = 7_000;

/// Checks that a creation that was begun so long ago still has its time.
pub(crate) fn check_lateness(elapsed_ms: u64) -> Result<(), Refusal> {
    match elapsed_ms {
        ..=MOST_BEFORE_MS => Ok(()),
        _ => Err(Refusal::Unreachable(format!(
            "the engine's API took {elapsed_ms} ms; allowed: {MOST_BEFORE_MS} ms; nothing was sent"
        ))),
    }
}

/// Checks that creations are not held. The error is for people to read.
pub(crate) fn check_hold(environment: &[(String, String)]) -> Result<(), String> {
    match variable(environment, HOLD).trim() {
        "" => Ok(()),
        reason => Err(format!("creations are held by {HOLD}: {reason}")),
    }
}

/// Checks that the creation may begin now. `gate` is the status of the answer to a request for the
/// gate's result, or the reason why there was no answer. `now_ms` is taken after that answer, so
/// that only the creation follows.
pub(crate) fn check(grant: &Grant, gate: Result<u16, String>, now_ms: u64) -> Result<(), Refusal> {
    match gate {
        // Too early: the gate has no result, so no order has come.
        Ok(425) => {}
        Ok(200) => return Err(Refusal::NotNow),
        Ok(status) => {
            return Err(unreachable(grant, &format!("it answered {status}")));
        }
        Err(reason) => return Err(unreachable(grant, &reason)),
    }
    match (grant.not_before_ms..grant.not_after_ms).contains(&now_ms) {
        true => Ok(()),
        false => Err(Refusal::NotNow),
    }
}

fn unreachable(grant: &Grant, why: &str) -> Refusal {
    Refusal::Unreachable(format!(
        "the engine's API could not say whether the campaign goes on ({}): {why}; nothing was sent, \
         and it is tried again",
        grant.gate
    ))
}

/// Limits a creation to one attempt: a second would begin without a grant. The deadline stays that
/// of any request, since the outcome of a creation that is given up early is unknown.
pub(crate) fn one_attempt(options: Option<CallOptions>) -> CallOptions {
    CallOptions {
        max_attempts: Some(1),
        ..options.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant() -> Grant {
        Grant {
            not_before_ms: 1_000,
            not_after_ms: 1_500,
            gate: "E_1.n:order_1".to_owned(),
            per_number: None,
        }
    }

    #[test]
    fn a_creation_is_begun_only_in_its_time_and_while_the_gate_is_known_to_be_open() {
        for (now_ms, is_granted) in [
            (0, false),
            (999, false),
            (1_000, true),
            (1_499, true),
            (1_500, false),
        ] {
            let expected = if is_granted {
                Ok(())
            } else {
                Err(Refusal::NotNow)
            };
            assert_eq!(check(&grant(), Ok(425), now_ms), expected);
        }
        assert_eq!(check(&grant(), Ok(200), 1_000), Err(Refusal::NotNow));
        for answer in [404, 401, 302, 503, 204]
            .map(Ok)
            .into_iter()
            .chain([Err("none".to_owned())])
        {
            let refusal = check(&grant(), answer.clone(), 1_000);
            assert!(
                matches!(&refusal, Err(Refusal::Unreachable(reason)) if reason.contains("E_1.n:order_1")),
                "{answer:?}: {refusal:?}"
            );
        }
    }

    #[test]
    fn a_creation_that_the_engine_could_cut_off_is_not_begun() {
        assert_eq!(check_lateness(7_000), Ok(()));
        let late = check_lateness(7_001);
        assert!(matches!(late, Err(Refusal::Unreachable(why)) if why.contains("7001 ms")));
    }

    #[test]
    fn a_creation_has_one_attempt_and_all_else_that_was_asked_for() {
        let asked = CallOptions {
            account: Some("alpha".to_owned()),
            deadline_ms: Some(5_000),
            max_attempts: Some(4),
        };
        let options = one_attempt(Some(asked));
        assert_eq!(options.account.as_deref(), Some("alpha"));
        assert_eq!(options.deadline_ms, Some(5_000));
        assert_eq!(options.max_attempts, Some(1));
        assert_eq!(one_attempt(None).max_attempts, Some(1));
    }

    #[test]
    fn creations_are_held_while_there_is_a_reason() {
        let check = |name: &str, reason: &str| check_hold(&[(name.to_owned(), reason.to_owned())]);
        for reason in ["restored", "0", "false"] {
            let held = check(HOLD, reason);
            assert!(held.is_err_and(|error| error.ends_with(reason)), "{reason}");
        }
        for (name, reason) in [(HOLD, ""), (HOLD, " "), ("HOLD", "restored")] {
            assert_eq!(check(name, reason), Ok(()), "{name} {reason:?}");
        }
    }
}

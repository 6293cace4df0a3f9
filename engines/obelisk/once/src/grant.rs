//! The grant of a creation: whether it may be begun now, and how long it may take.

use voice_calling_core::types::CallOptions;

use crate::bindings::exports::voice_calling::once::dockets::{Grant, Refusal};

/// How many milliseconds are left of the grant. `gate`: the status of the answer when the gate was
/// asked for its result, or why there was none. The time is that after the answer, so that nothing
/// but the creation follows.
pub fn check(grant: &Grant, gate: Result<u16, String>, now_ms: u64) -> Result<u64, Refusal> {
    match gate {
        // Too early for a result: nothing is written into it.
        Ok(425) => {}
        Ok(200) => return Err(Refusal::Closed),
        Ok(status) => {
            let reason = format!("the gate {} is answered {status}", grant.gate);
            return Err(Refusal::Unreachable(reason));
        }
        Err(reason) => {
            return Err(Refusal::Unreachable(format!(
                "the gate {}: {reason}",
                grant.gate
            )));
        }
    }
    if now_ms < grant.not_before_ms {
        return Err(Refusal::TooEarly(now_ms));
    }
    match grant.not_after_ms.checked_sub(now_ms) {
        None | Some(0) => Err(Refusal::TooLate(now_ms)),
        Some(left_ms) => Ok(left_ms),
    }
}

/// The options of a creation that may take so long, and no longer than it may by itself. It has one
/// attempt: a later one would be begun without being granted.
pub fn within(
    options: Option<CallOptions>,
    settings_deadline_ms: Option<u64>,
    left_ms: u64,
) -> CallOptions {
    let own_ms = match options.as_ref().and_then(|options| options.deadline_ms) {
        Some(deadline_ms) => Some(deadline_ms.into()),
        None => settings_deadline_ms,
    };
    let deadline_ms = own_ms.map_or(left_ms, |own_ms| own_ms.min(left_ms));
    CallOptions {
        account: options.and_then(|options| options.account),
        deadline_ms: Some(deadline_ms.try_into().unwrap_or(u32::MAX)),
        max_attempts: Some(1),
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
        }
    }

    #[test]
    fn a_creation_is_begun_only_in_its_time() {
        for (now_ms, expected) in [
            (0, Err(Refusal::TooEarly(0))),
            (999, Err(Refusal::TooEarly(999))),
            (1_000, Ok(500)),
            (1_499, Ok(1)),
            (1_500, Err(Refusal::TooLate(1_500))),
            (9_000, Err(Refusal::TooLate(9_000))),
        ] {
            assert_eq!(check(&grant(), Ok(425), now_ms), expected);
        }
        let never = Grant {
            not_after_ms: 1_000,
            ..grant()
        };
        assert_eq!(check(&never, Ok(425), 1_000), Err(Refusal::TooLate(1_000)));
    }

    #[test]
    fn a_creation_is_begun_only_while_the_gate_is_known_to_be_open() {
        assert_eq!(check(&grant(), Ok(200), 1_000), Err(Refusal::Closed));
        for answer in [
            Ok(404),
            Ok(401),
            Ok(302),
            Ok(503),
            Ok(204),
            Err("no answer".to_owned()),
        ] {
            let refusal = check(&grant(), answer.clone(), 1_000);
            assert!(
                matches!(&refusal, Err(Refusal::Unreachable(reason)) if reason.contains("E_1.n:order_1")),
                "{answer:?}: {refusal:?}"
            );
        }
    }

    #[test]
    fn a_creation_ends_with_its_grant_and_has_one_attempt() {
        let options = |deadline_ms| CallOptions {
            account: Some("alpha".to_owned()),
            deadline_ms,
            max_attempts: Some(4),
        };
        for (deadline_ms, settings_deadline_ms, left_ms, expected) in [
            (None, Some(30_000), 60_000, 30_000),
            (None, Some(30_000), 2_000, 2_000),
            (None, None, 2_000, 2_000),
            (Some(5_000), Some(30_000), 60_000, 5_000),
            (Some(5_000), Some(30_000), 2_000, 2_000),
            (Some(40_000), Some(30_000), 60_000, 40_000),
        ] {
            let within = within(Some(options(deadline_ms)), settings_deadline_ms, left_ms);
            assert_eq!(within.account.as_deref(), Some("alpha"));
            assert_eq!(within.deadline_ms, Some(expected));
            assert_eq!(within.max_attempts, Some(1));
        }
        assert_eq!(within(None, Some(30_000), 7).deadline_ms, Some(7));
    }
}

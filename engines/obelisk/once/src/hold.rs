//! The hold of all creations, which an operator sets when the engine's database may be older than the
//! calls: after it was restored from a copy.

use voice_calling_obelisk_guest::variable;

/// The variable with the reason of the hold. Empty or not set: creations are not held.
const VARIABLE: &str = "VOICE_CALLING_HOLD";

/// Checks that creations are not held. The error is for people to read.
pub fn check(environment: &[(String, String)]) -> Result<(), String> {
    match variable(environment, VARIABLE).trim() {
        "" => Ok(()),
        reason => Err(format!("creations are held by {VARIABLE}: {reason}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn creations_are_held_while_there_is_a_reason() {
        let check = |name: &str, reason: &str| check(&[(name.to_owned(), reason.to_owned())]);
        for reason in ["restored", "0", "false"] {
            let held = check(VARIABLE, reason);
            assert!(held.is_err_and(|error| error.ends_with(reason)), "{reason}");
        }
        for (name, reason) in [(VARIABLE, ""), (VARIABLE, " "), ("HOLD", "restored")] {
            assert_eq!(check(name, reason), Ok(()), "{name} {reason:?}");
        }
    }
}

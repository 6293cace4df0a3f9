//! Phone numbers, as far as the service specifies them.

use crate::problem::problem;
use crate::types::Problem;

const DOCKET_DIGITS: usize = 12;

/// Checks a docket's number: exactly 12 ASCII digits, the country code included. The error does not
/// contain the number, since errors end up in logs.
pub(crate) fn check_docket_number(number: &str) -> Result<(), Problem> {
    let odd = number
        .chars()
        .enumerate()
        .find(|(_, c)| !c.is_ascii_digit());
    let found = match odd {
        Some((index, odd)) => format!("{odd:?} at position {}", index + 1),
        None if number.len() == DOCKET_DIGITS => return Ok(()),
        None => format!("{} digits", number.len()),
    };
    let allowed = "exactly 12 ASCII digits with the country code, without `+`";
    Err(problem("to-phone-number", found, allowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_docket_number_is_exactly_twelve_ascii_digits() {
        assert!(check_docket_number("919876543210").is_ok());
        for (number, found) in [
            ("", "0 digits"),
            ("91987654321", "11 digits"),
            ("9198765432101", "13 digits"),
            ("+91987654321", "'+' at position 1"),
            ("91-987654321", "'-' at position 3"),
            ("91987654321x", "'x' at position 12"),
            ("919876543210\n", "'\\n' at position 13"),
            ("\u{0669}19876543210", "'\u{0669}' at position 1"),
            ("\u{ff19}19876543210", "'\u{ff19}' at position 1"),
        ] {
            let error = check_docket_number(number).unwrap_err();
            assert_eq!(
                (error.subject.as_str(), error.found.as_str()),
                ("to-phone-number", found)
            );
        }
    }
}

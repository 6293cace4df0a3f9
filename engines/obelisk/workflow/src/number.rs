//! Phone numbers as people write them, and as the service takes them.

use voice_calling_core::types::Problem;

use crate::error::problem;

/// A number in the service's form: the country code included.
const DIGITS: usize = 12;

/// Checks `options.country-code`.
pub fn check_country_code(code: Option<&str>) -> Result<(), Problem> {
    let is_code = |code: &str| {
        let is_digits = code.bytes().all(|byte| byte.is_ascii_digit());
        (1..=3).contains(&code.len()) && is_digits && !code.starts_with('0')
    };
    match code {
        Some(code) if !is_code(code) => {
            let allowed = "1 to 3 digits, the first of them not 0, without `+`";
            Err(problem("options.country-code", code, allowed))
        }
        _ => Ok(()),
    }
}

/// Returns the number in the service's form. `+` and `00` begin an international number, and any
/// other leading zero a national one, as does a length other than 12. The problem does not show the
/// number, since it ends up in logs.
pub fn normalize(text: &str, country_code: Option<&str>) -> Result<String, Problem> {
    let refused = |found: &str| {
        let allowed = match country_code {
            Some(_) => "12 digits, the country code included or added",
            None => "12 digits with the country code, or `country_code` in the campaign's options",
        };
        Err(problem("to-phone-number", found, allowed))
    };
    let mut digits = String::new();
    let mut is_international = false;
    for (index, c) in text.chars().enumerate() {
        match c {
            '0'..='9' => digits.push(c),
            '+' if digits.is_empty() && !is_international => is_international = true,
            _ if is_separator(c) => {}
            _ => return refused(&format!("{c:?} at position {}", index + 1)),
        }
    }
    if !is_international && let Some(rest) = digits.strip_prefix("00") {
        (is_international, digits) = (true, rest.to_owned());
    }
    let found = digits.len();
    let is_national = !is_international && (digits.starts_with('0') || digits.len() != DIGITS);
    if is_national && let Some(code) = country_code {
        let rest = digits.strip_prefix('0').unwrap_or(&digits);
        digits = format!("{code}{rest}");
    }
    match digits.len() {
        // No country code begins with 0.
        DIGITS if digits.starts_with('0') => refused("a leading 0"),
        DIGITS => Ok(digits),
        _ => refused(&format!("{found} digits")),
    }
}

/// Returns `true` if the character only makes a number easier to read.
fn is_separator(c: char) -> bool {
    // The last ones are hyphens and dashes of Unicode.
    c.is_whitespace()
        || matches!(
            c,
            '-' | '.' | '/' | '(' | ')' | '[' | ']' | '\u{2010}'..='\u{2015}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_normalized_however_it_is_written() {
        for text in [
            "919876543210",
            "+919876543210",
            "+91 98765 43210",
            " 00 91-98765-43210\t",
            "(+91) 98765/43210",
            "[91] 98765.43210",
            "+91\u{a0}98765\u{2011}43210",
        ] {
            for code in [None, Some("91"), Some("49")] {
                let number = normalize(text, code).unwrap();
                assert_eq!(number, "919876543210", "{text:?} {code:?}");
            }
        }
        for (text, code, expected) in [
            ("98765 43210", "91", "919876543210"),
            ("098765-43210", "91", "919876543210"),
            ("(0151) 2345678", "49", "491512345678"),
            // Not taken for the country code 9, and not for one with 12 digits.
            ("0987654321", "351", "351987654321"),
            ("012345678901", "9", "912345678901"),
        ] {
            assert_eq!(normalize(text, Some(code)).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn any_other_number_is_refused_and_not_shown() {
        for (text, code, found) in [
            ("", Some("91"), "0 digits"),
            ("9876543210", None, "10 digits"),
            ("09876543210", None, "11 digits"),
            ("012345678901", None, "a leading 0"),
            ("+9876543210", Some("91"), "10 digits"),
            ("00 98765 43210", Some("91"), "10 digits"),
            ("+012345678901", Some("91"), "a leading 0"),
            ("+91 (0) 98765 43210", Some("91"), "13 digits"),
            ("98765432101", Some("91"), "11 digits"),
            ("91+9876543210", Some("91"), "'+' at position 3"),
            ("++919876543210", Some("91"), "'+' at position 2"),
            ("91987654321x", None, "'x' at position 12"),
            ("9198765４3210", None, "'４' at position 8"),
            ("919876543210,919876543211", None, "',' at position 13"),
            ("919876543210 919876543211", None, "24 digits"),
        ] {
            let problem = normalize(text, code).unwrap_err();
            assert_eq!(
                (&*problem.subject, &*problem.found),
                ("to-phone-number", found)
            );
            let names_option = problem.allowed.contains("country_code");
            assert_eq!(names_option, code.is_none(), "{text}");
        }
    }

    #[test]
    fn a_country_code_has_1_to_3_digits() {
        for code in [None, Some("1"), Some("91"), Some("351")] {
            assert!(check_country_code(code).is_ok());
        }
        for code in ["", "+91", "091", "0", "9191", "ab", "9１"] {
            let problem = check_country_code(Some(code)).unwrap_err();
            assert_eq!(problem.subject, "options.country-code");
        }
    }
}

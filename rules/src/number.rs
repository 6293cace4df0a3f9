//! Phone numbers as people write them, and as the service takes them.

use crate::{Problem, problem};

/// A number in the service's form: the country code included.
const DIGITS: usize = 12;

/// The zeros of the scripts whose decimal digits are read: ASCII, full-width, and those of India and
/// of Arabic.
const ZEROS: [char; 13] = [
    '0', '\u{ff10}', '\u{660}', '\u{6f0}', '\u{966}', '\u{9e6}', '\u{a66}', '\u{ae6}', '\u{b66}',
    '\u{be6}', '\u{c66}', '\u{ce6}', '\u{d66}',
];

/// Checks a country code.
///
/// # Errors
/// Returns an error if it is not 1 to 3 digits, the first of them not 0, without `+`.
pub fn check_country_code(subject: &str, code: &str) -> Result<(), Problem> {
    let is_digits = code.bytes().all(|byte| byte.is_ascii_digit());
    if (1..=3).contains(&code.len()) && is_digits && !code.starts_with('0') {
        return Ok(());
    }
    let allowed = "1 to 3 digits, the first of them not 0, without `+`";
    Err(problem(subject, code, allowed))
}

/// Returns the number in the service's form: 12 ASCII digits with the country code.
///
/// `+` and `00` begin an international number, and any other leading zero a national one, as does a
/// length other than 12. Space, hyphens, dots, slashes, brackets and invisible characters between
/// digits are ignored, and digits of other scripts are read.
///
/// ```
/// use voice_calling_rules::number::normalize;
///
/// let number = normalize("phone", "098765-43210", Some("91")).unwrap();
/// assert_eq!(number, "919876543210");
/// let problem = normalize("phone", "9.19877E+11", None).unwrap_err();
/// assert_eq!(problem.found, "a spreadsheet's short form, which has lost digits");
/// ```
///
/// # Errors
/// Returns an error if the text is not such a number. It does not show the number, since errors end
/// up in logs.
pub fn normalize(subject: &str, text: &str, country_code: Option<&str>) -> Result<String, Problem> {
    let refused = |found: &str| {
        let allowed = match country_code {
            Some(_) => "12 digits, the country code included or added",
            None => "12 digits with the country code, or a country code to add",
        };
        Err(problem(subject, found, allowed))
    };
    if let Some(form) = spreadsheet_form(text) {
        return refused(form);
    }
    let mut digits = String::new();
    let mut is_international = false;
    for (index, c) in text.chars().enumerate() {
        match c {
            _ if let Some(digit) = digit(c) => digits.push(digit),
            '+' | '\u{ff0b}' if digits.is_empty() && !is_international => is_international = true,
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
        _ if found == 0 => refused("no digits"),
        _ => refused(&format!("{found} digits")),
    }
}

/// Returns the name of a form that spreadsheets give to long numbers. Its digits would be read as
/// those of another number.
fn spreadsheet_form(text: &str) -> Option<&'static str> {
    let number = text.trim();
    // In many languages the decimal point is a comma.
    if number.contains(['e', 'E']) && number.replace(',', ".").parse::<f64>().is_ok() {
        return Some("a spreadsheet's short form, which has lost digits");
    }
    let (_, fraction) = number.split_once(['.', ','])?;
    let is_fraction = !fraction.is_empty() && fraction.bytes().all(|byte| byte == b'0');
    is_fraction.then_some("a decimal number, as a spreadsheet writes it")
}

/// Returns the ASCII digit of a decimal digit.
fn digit(c: char) -> Option<char> {
    ZEROS.iter().find_map(|zero| {
        let value = u32::from(c).checked_sub(u32::from(*zero))?;
        char::from_digit(value, 10)
    })
}

/// Returns `true` if the character only makes a number easier to read, or is invisible.
fn is_separator(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '-' | '.' | '/' | '(' | ')' | '[' | ']'
            // Hyphens and dashes.
            | '\u{2010}'..='\u{2015}'
            // The soft hyphen; characters without width, and those that set a direction, which
            // address books put around numbers; the mark at the beginning of a file.
            | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}' | '\u{feff}'
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
            "\u{feff}+91\u{200b}98765\u{ad}43210",
            "\u{202a}+91 98765 43210\u{202c}",
            "＋９１ ９８７６５ ４３２１０",
            "९१९८७६५४३२१०",
            "+٩١٩٨٧٦٥٤٣٢١٠",
        ] {
            for code in [None, Some("91"), Some("49")] {
                let number = normalize("phone", text, code).unwrap();
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
            let number = normalize("phone", text, Some(code)).unwrap();
            assert_eq!(number, expected, "{text}");
        }
    }

    #[test]
    fn any_other_number_is_refused_and_not_shown() {
        let short = "a spreadsheet's short form, which has lost digits";
        let decimal = "a decimal number, as a spreadsheet writes it";
        for (text, code, found) in [
            ("", Some("91"), "no digits"),
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
            ("919876543210,919876543211", None, "',' at position 13"),
            ("919876543210 919876543211", None, "24 digits"),
            ("9.19876543210E+11", None, short),
            ("9,2E+11", None, short),
            ("9e11", Some("91"), short),
            ("919876543210.0", None, decimal),
            // Twelve digits, of which one is not the number's.
            ("91987654321.0", None, decimal),
            ("9876543210,00", Some("91"), decimal),
            ("9 876 543 210.00", Some("91"), decimal),
            ("-9876543210.00", None, decimal),
        ] {
            let problem = normalize("phone", text, code).unwrap_err();
            assert_eq!((&*problem.subject, &*problem.found), ("phone", found));
            let names_code = problem.allowed.contains("a country code to add");
            assert_eq!(names_code, code.is_none(), "{text}");
        }
    }

    #[test]
    fn a_country_code_has_1_to_3_digits() {
        for code in ["1", "91", "351"] {
            assert!(check_country_code("country", code).is_ok());
        }
        for code in ["", "+91", "091", "0", "9191", "ab", "9１"] {
            let problem = check_country_code("country", code).unwrap_err();
            assert_eq!(problem.subject, "country");
        }
    }
}

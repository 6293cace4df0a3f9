//! A do-not-call list: one number per line.

use std::ops::RangeInclusive;

/// The number of digits of an entry, without leading zeros, with or without a country code.
const ENTRY_DIGITS: RangeInclusive<usize> = 7..=15;

/// Returns `true` if the list contains the number. Only an entry's digits count, without leading
/// zeros, and match every number that ends with them: `0091 98…`, `098…` and `98…` all match
/// `91 98…`. A `#` begins a comment. Any other line is an error, since it may be meant for a number
/// that would be called otherwise. So is an empty list, which may be about to be replaced.
pub(crate) fn has(list: &[u8], number: &str) -> Result<bool, String> {
    let number = digits(number.as_bytes());
    let list = list.strip_prefix(b"\xef\xbb\xbf").unwrap_or(list);
    if list.is_empty() {
        return Err("the list is empty; a list without numbers must have a comment (#)".to_owned());
    }
    for (index, line) in list.split(|byte| *byte == b'\n').enumerate() {
        let entry = line.split(|byte| *byte == b'#').next().unwrap_or_default();
        let wrong = |found: &str| {
            Err(format!(
                "line {} has {found}; allowed: one number of 7 to 15 digits, with spaces and + - . / ( ) [ ]",
                index + 1
            ))
        };
        let is_allowed = |byte: &u8| byte.is_ascii_digit() || b" +-.()[]/\t\r".contains(byte);
        if !entry.iter().all(is_allowed) {
            return wrong("something other than a number");
        }
        let fraction = entry.trim_ascii().split(|byte| *byte == b'.').nth(1);
        if fraction.is_some_and(|it| !it.is_empty() && it.iter().all(|byte| *byte == b'0')) {
            return wrong("a decimal number, as a spreadsheet writes it");
        }
        let entry = digits(entry);
        if entry.is_empty() {
            continue;
        }
        if !ENTRY_DIGITS.contains(&entry.len()) {
            return wrong(&format!("{} digits", entry.len()));
        }
        if number.ends_with(&entry) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the digits of a text, without leading zeros.
fn digits(text: &[u8]) -> Vec<u8> {
    let digits = text.iter().copied().filter(u8::is_ascii_digit);
    digits.skip_while(|digit| *digit == b'0').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBER: &str = "919876543210";

    #[test]
    fn a_number_is_found_however_it_is_written() {
        for entry in [
            "919876543210",
            "+91 98765 43210",
            "(+91) 98765-43210 # asked us on Monday",
            "[91]\t98765.432/10",
            "00919876543210",
            "09876543210",
            "9876543210",
        ] {
            for list in [
                entry.to_owned(),
                format!("\u{feff}{entry}\r\n"),
                format!("# spared\n\n911234567\n{entry}\n34\n"),
                format!("911234567\r\n{entry}"),
            ] {
                assert_eq!(has(list.as_bytes(), NUMBER), Ok(true), "{list:?}");
            }
        }
    }

    #[test]
    fn other_numbers_are_not_found() {
        for list in [
            "\n\r\n",
            "# 919876543210",
            "91987654321",
            "9198765432100",
            "1919876543210",
            "9198765\n65432100",
        ] {
            assert_eq!(has(list.as_bytes(), NUMBER), Ok(false), "{list:?}");
        }
    }

    #[test]
    fn a_line_that_is_no_number_is_an_error_that_does_not_show_it() {
        for line in [
            "phone",
            "919876543210,Asha",
            "91 98765\u{a0}43210",
            "<html>",
            "543210",
            "9876543210.00",
            "919876543210 919876543211",
            "919876543210\r919876543211",
        ] {
            let error = has(format!("911234567\n{line}\n").as_bytes(), NUMBER).unwrap_err();
            assert!(error.starts_with("line 2 "), "{error}");
            assert!(!error.contains(line), "{error}");
        }
        assert!(has(b"", NUMBER).is_err_and(|error| error.contains("empty")));
    }
}

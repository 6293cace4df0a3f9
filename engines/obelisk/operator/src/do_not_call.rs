//! A do-not-call list: one number a line.

/// Whether the list has the number. Only digits count, all of them: `0091 98…` and `+91 98…` are
/// two numbers. What follows `#` is a comment. A line that may be meant otherwise is an error, so
/// that nobody is called whom it would have spared.
pub fn has(list: &[u8], number: &str) -> Result<bool, String> {
    let number: Vec<u8> = digits(number.as_bytes()).collect();
    let list = list.strip_prefix(b"\xef\xbb\xbf").unwrap_or(list);
    for (index, line) in list.split(|byte| *byte == b'\n').enumerate() {
        let entry = line.split(|byte| *byte == b'#').next().unwrap_or_default();
        if !entry
            .iter()
            .all(|byte| is_digit(byte) || b" +-.()[]/\t\r".contains(byte))
        {
            return Err(format!(
                "line {} has more than a number; digits, spaces, and + - . / ( ) [ ] are allowed",
                index + 1
            ));
        }
        let mut entry = digits(entry).peekable();
        if entry.peek().is_some() && entry.eq(number.iter().copied()) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn digits(text: &[u8]) -> impl Iterator<Item = u8> {
    text.iter().copied().filter(is_digit)
}

fn is_digit(byte: &u8) -> bool {
    byte.is_ascii_digit()
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
        ] {
            for list in [
                entry.to_owned(),
                format!("\u{feff}{entry}\r\n"),
                format!("# spared\n\n12\n{entry}\n34\n"),
                format!("12\r\n{entry}"),
            ] {
                assert_eq!(has(list.as_bytes(), NUMBER), Ok(true), "{list:?}");
            }
        }
    }

    #[test]
    fn other_numbers_are_not_found() {
        for list in [
            "",
            "\n\r\n",
            "# 919876543210",
            "00919876543210",
            "9876543210",
            "91987654321",
            "9198765432100",
            "919876\n543210",
        ] {
            assert_eq!(has(list.as_bytes(), NUMBER), Ok(false), "{list:?}");
        }
        assert_eq!(has(b"\n+\n", ""), Ok(false));
    }

    #[test]
    fn a_line_that_is_no_number_is_an_error_that_does_not_show_it() {
        for line in [
            "phone",
            "919876543210,Asha",
            "91 98765\u{a0}43210",
            "<html>",
        ] {
            let error = has(format!("12\n{line}\n").as_bytes(), NUMBER).unwrap_err();
            assert!(error.starts_with("line 2 "), "{error}");
            assert!(!error.contains(line), "{error}");
        }
    }
}

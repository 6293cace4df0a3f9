//! The key of a create that is carried out once.

use crate::problem::problem;
use crate::request::check_not_empty;
use crate::types::Problem;

/// Checks a key. Two keys that look alike would be two creates, and two phones would ring: refused
/// are format and control characters, and space at the beginning or end, which a spreadsheet or a
/// copy out of a page adds unseen.
///
/// Keys that differ in nothing but their Unicode normalization are different keys. The combining
/// marks of the decomposed form cannot be refused, since whole scripts are written with them, and
/// the tables that compose them would add tens of kilobytes to every guest.
///
/// # Errors
/// Returns an error that names the character at fault.
pub fn check_key(key: &str) -> Result<(), Problem> {
    check_not_empty("key", key)?;
    let last = key.chars().count() - 1;
    let is_refused = |(index, c): &(usize, char)| {
        let is_outer = *index == 0 || *index == last;
        c.is_control() || is_format(*c) || (is_outer && c.is_whitespace())
    };
    match key.chars().enumerate().find(is_refused) {
        None => Ok(()),
        Some((index, c)) => Err(problem(
            "key",
            format!("U+{:04X} at position {}", u32::from(c), index + 1),
            "a key without format and control characters, and without space at its beginning and end",
        )),
    }
}

/// Returns `true` for the general category Cf of Unicode, and for the separators of lines and
/// paragraphs.
fn is_format(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{600}'..='\u{605}'
            | '\u{61c}'
            | '\u{6dd}'
            | '\u{70f}'
            | '\u{890}'..='\u{891}'
            | '\u{8e2}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{110bd}'
            | '\u{110cd}'
            | '\u{13430}'..='\u{1343f}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_no_invisible_character_and_no_space_around_it() {
        for key in [
            "crm-1",
            "a b",
            "a\u{a0}b",
            "\u{e9}",
            "e\u{301}",
            "\u{930}\u{93e}\u{92e}",
            "\u{1f4de}",
        ] {
            assert_eq!(check_key(key), Ok(()), "{key:?}");
        }
        for (key, found) in [
            ("", "an empty string"),
            (" ", "U+0020 at position 1"),
            (" crm-1", "U+0020 at position 1"),
            ("crm-1\u{a0}", "U+00A0 at position 6"),
            ("crm-1\u{3000}", "U+3000 at position 6"),
            ("a\0b", "U+0000 at position 2"),
            ("crm-1\n", "U+000A at position 6"),
            ("\u{feff}crm-1", "U+FEFF at position 1"),
            ("\u{e9}\u{e9}\u{200b}1", "U+200B at position 3"),
            ("crm\u{ad}-1", "U+00AD at position 4"),
            ("crm-1\u{61c}", "U+061C at position 6"),
            ("crm\u{180e}-1", "U+180E at position 4"),
            ("crm\u{2029}-1", "U+2029 at position 4"),
            ("\u{202a}crm-1\u{202c}", "U+202A at position 1"),
            ("crm-1\u{2060}", "U+2060 at position 6"),
            ("crm-1\u{e0031}", "U+E0031 at position 6"),
        ] {
            let problem = check_key(key).expect_err(key);
            assert_eq!((&*problem.subject, &*problem.found), ("key", found));
        }
    }
}

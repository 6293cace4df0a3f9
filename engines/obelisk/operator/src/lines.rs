//! A page of contacts: some of the lines of the source.

use crate::bindings::exports::voice_calling::operator::contacts::{ContactsPage, Entry};
use crate::contact;
use crate::table::Table;

/// The limits of a page. An entry counts as the JSON that the engine stores.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub contacts: usize,
    pub json_bytes: usize,
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Parses the contacts of a source from `position` on: JSON lines, or CSV if its first line is no
/// object. The last line may lack its line break.
pub(crate) fn page(source: &[u8], position: u64, limits: Limits) -> Result<ContactsPage, String> {
    if position > source.len() as u64 {
        return Err(format!(
            "the source ends before byte {position}, up to which it was read before"
        ));
    }
    let text = source.strip_prefix(BYTE_ORDER_MARK).unwrap_or(source);
    // Positions count from the beginning of the text: the mark is no part of it.
    let text = str::from_utf8(text).map_err(|error| error.to_string())?;
    match text.trim_ascii_start().chars().next() {
        None => Ok(ContactsPage {
            entries: Vec::new(),
            next: None,
        }),
        Some('{') => gather(json_lines(text, position), position, limits),
        Some(_) => {
            let table = Table::read(text)?;
            gather(table.contacts(position), position, limits)
        }
    }
}

/// Returns the contacts of lines of JSON, each with the position behind it.
fn json_lines(text: &str, position: u64) -> impl Iterator<Item = Result<(Entry, u64), String>> {
    let mut at = position;
    let rest = usize::try_from(position).ok().and_then(|it| text.get(it..));
    let lines = rest.unwrap_or_default().split_inclusive('\n');
    lines.filter_map(move |line| {
        let begin = at;
        at += line.len() as u64;
        let line = line.trim_ascii();
        let wrong = |error| format!("the line at byte {begin}: {error}");
        (!line.is_empty()).then(|| Ok((contact::read(line).map_err(wrong)?, at)))
    })
}

/// Returns the first contacts, as many as a page may have.
fn gather(
    contacts: impl Iterator<Item = Result<(Entry, u64), String>>,
    position: u64,
    limits: Limits,
) -> Result<ContactsPage, String> {
    let mut entries = Vec::new();
    let (mut at, mut json_bytes) = (position, 0);
    for contact in contacts {
        if entries.len() == limits.contacts {
            return Ok(ContactsPage {
                entries,
                next: Some(at),
            });
        }
        let (entry, next) = contact.map_err(|why| match why.starts_with("the line") {
            true => why,
            false => format!("the row at byte {at}: {why}"),
        })?;
        let size = serde_json::to_string(&entry).map_or(usize::MAX, |json| json.len());
        if size > limits.json_bytes {
            let most = limits.json_bytes;
            return Err(format!(
                "the contact at byte {at} has {size} bytes; allowed: at most {most}"
            ));
        }
        json_bytes += size;
        if json_bytes > limits.json_bytes {
            return Ok(ContactsPage {
                entries,
                next: Some(at),
            });
        }
        entries.push(entry);
        at = next;
    }
    Ok(ContactsPage {
        entries,
        next: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: Limits = Limits {
        contacts: 100,
        json_bytes: 262_144,
    };

    fn line(id: i64) -> String {
        format!(r#"{{"agent_id":{id},"to_phone_number":"919876543210","call_context":{{"ü":1}}}}"#)
    }

    /// Returns sources whose contacts are 1 to 4, in order.
    fn sources() -> Vec<String> {
        let [a, b, c, d] = [1, 2, 3, 4].map(line);
        vec![
            format!("{a}\n{b}\n{c}\n{d}\n"),
            format!("{a}\n{b}\n{c}\n{d}"),
            format!("{a}\r\n{b}\r\n{c}\r\n{d}\r\n"),
            format!("\u{feff}{a}\n{b}\n{c}\n{d}"),
            format!("\n\n{a}\n\r\n  \n{b}\n\n{c}\n{d}\n\n \n"),
            format!("\u{feff}\r\n{a}\n{b}\n{c}\n{d}\r"),
        ]
    }

    /// Reads all contacts as a workflow does.
    fn read_all(source: &str, limits: Limits) -> Vec<i64> {
        let (mut ids, mut position) = (Vec::new(), 0);
        loop {
            let page = page(source.as_bytes(), position, limits).unwrap();
            assert!(page.entries.len() <= limits.contacts);
            ids.extend(page.entries.iter().map(|entry| entry.agent_id));
            let Some(next) = page.next else {
                return ids;
            };
            assert!(position < next && next < source.len() as u64);
            position = next;
        }
    }

    #[test]
    fn each_contact_is_read_once_wherever_pages_end() {
        for source in sources() {
            for contacts in 1..=5 {
                let limits = Limits { contacts, ..MANY };
                assert_eq!(read_all(&source, limits), [1, 2, 3, 4], "{contacts}");
            }
        }
    }

    #[test]
    fn a_source_that_was_cut_gives_whole_lines_or_an_error() {
        let source = line(1) + "\n" + &line(2) + "\n";
        for cut in 0..source.len() {
            let is_part = ![0, line(1).len(), line(1).len() + 1, source.len() - 1].contains(&cut);
            let read = page(&source.as_bytes()[..cut], 0, MANY);
            assert_eq!(read.is_err(), is_part, "{cut}");
        }
        let shorter = page(source.as_bytes(), source.len() as u64 + 1, MANY);
        assert!(shorter.is_err_and(|error| error.contains("ends before byte")));
    }

    #[test]
    fn a_page_stays_below_its_size() {
        let entry = contact::read(&line(1)).unwrap();
        let size = serde_json::to_string(&entry).unwrap().len();
        for (contacts, json_bytes) in [(1, size), (1, 2 * size - 1), (2, 2 * size)] {
            let limits = Limits { json_bytes, ..MANY };
            let source = sources().remove(0);
            let first = page(source.as_bytes(), 0, limits).unwrap();
            assert_eq!(first.entries.len(), contacts);
            assert_eq!(read_all(&source, limits), [1, 2, 3, 4]);
        }
        let limits = Limits {
            json_bytes: size - 1,
            ..MANY
        };
        let error = page(line(1).as_bytes(), 0, limits).unwrap_err();
        assert!(error.contains("at byte 0") && error.contains(&size.to_string()));
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named_by_its_position() {
        let source = line(1) + "\n\n{\"agent_id\": \"x\"}\n";
        for (position, at) in [(0, line(1).len() + 2), (7, 7)] {
            let error = page(source.as_bytes(), position, MANY).unwrap_err();
            assert!(error.contains(&format!("at byte {at}: ")), "{error}");
        }
        let error = page(b"\xff\n", 0, MANY).unwrap_err();
        assert!(error.contains("utf-8"), "{error}");
    }

    #[test]
    fn a_byte_order_mark_is_one_only_at_the_beginning() {
        let source = format!("\u{feff}{}\n", line(1));
        assert!(page(source.as_bytes(), 0, MANY).is_ok());
        let twice = source.repeat(2);
        assert!(page(twice.as_bytes(), 0, MANY).is_err());
    }

    #[test]
    fn an_empty_source_has_one_empty_page() {
        let empty = ContactsPage {
            entries: Vec::new(),
            next: None,
        };
        assert_eq!(page(b"", 0, MANY), Ok(empty));
    }
}

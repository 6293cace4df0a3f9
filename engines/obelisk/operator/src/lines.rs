//! A page of contacts: the complete lines at the beginning of a part of the source.

use crate::bindings::exports::voice_calling::operator::contacts::{ContactsPage, Entry};
use crate::contact;

/// The limits of a page. An entry counts as the JSON that the engine stores.
#[derive(Clone, Copy)]
pub struct Limits {
    pub contacts: usize,
    pub json_bytes: usize,
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Parses the lines of `bytes`, which begin at `position` in the source. The last line may lack its
/// line break only if `is_end`, that is, if nothing follows in the source; otherwise it belongs to
/// the next page. A page that is not the last consumes at least one line, possibly an empty one.
pub fn page(
    bytes: &[u8],
    position: u64,
    is_end: bool,
    limits: Limits,
) -> Result<ContactsPage, String> {
    let mut page = ContactsPage {
        entries: Vec::new(),
        next: None,
    };
    let (mut taken, mut json_bytes) = (0, 0);
    while page.entries.len() < limits.contacts {
        let rest = &bytes[taken..];
        let line_bytes = match rest.iter().position(|byte| *byte == b'\n') {
            Some(index) => index + 1,
            None if is_end => rest.len(),
            None => break,
        };
        if line_bytes == 0 {
            break;
        }
        let at = position + taken as u64;
        if let Some(entry) = read(&rest[..line_bytes], at)? {
            let size = serde_json::to_string(&entry).map_or(usize::MAX, |json| json.len());
            if size > limits.json_bytes {
                let most = limits.json_bytes;
                return Err(format!(
                    "the line at byte {at} has a contact of {size} bytes; allowed: at most {most}"
                ));
            }
            json_bytes += size;
            if json_bytes > limits.json_bytes {
                break;
            }
            page.entries.push(entry);
        }
        taken += line_bytes;
    }
    if is_end && taken == bytes.len() {
        return Ok(page);
    }
    if taken == 0 {
        return Err(format!(
            "the line at byte {position} does not end within {} bytes; allowed: fewer than {}",
            bytes.len(),
            limits.json_bytes
        ));
    }
    page.next = Some(position + taken as u64);
    Ok(page)
}

/// Parses the contact in a line. Returns `None` if the line is empty.
fn read(line: &[u8], at: u64) -> Result<Option<Entry>, String> {
    let line = match at {
        0 => line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line),
        _ => line,
    };
    let line = line.trim_ascii();
    if line.is_empty() {
        return Ok(None);
    }
    let line = str::from_utf8(line).map_err(|error| error.to_string());
    let entry = line.and_then(contact::read);
    entry
        .map(Some)
        .map_err(|error| format!("the line at byte {at}: {error}"))
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

    /// Reads all contacts as a workflow does, with at most `most_bytes` bytes at a time.
    fn read_all(source: &[u8], most_bytes: usize, limits: Limits) -> Result<Vec<i64>, String> {
        let (mut ids, mut position) = (Vec::new(), 0);
        loop {
            let end = source.len().min(position + most_bytes);
            let is_end = end == source.len();
            let page = page(&source[position..end], position as u64, is_end, limits)?;
            assert!(page.entries.len() <= limits.contacts);
            ids.extend(page.entries.iter().map(|entry| entry.agent_id));
            let Some(next) = page.next else {
                return Ok(ids);
            };
            assert!(position < next as usize && (next as usize) < source.len());
            position = next as usize;
        }
    }

    #[test]
    fn each_contact_is_read_once_wherever_pages_end() {
        for source in sources() {
            let source = source.as_bytes();
            let longest = source.split(|byte| *byte == b'\n').map(<[u8]>::len).max();
            for most_bytes in longest.unwrap() + 1..=source.len() + 1 {
                for contacts in 1..=5 {
                    let limits = Limits { contacts, ..MANY };
                    assert_eq!(
                        read_all(source, most_bytes, limits),
                        Ok(vec![1, 2, 3, 4]),
                        "{most_bytes} bytes, {contacts} contacts"
                    );
                }
            }
        }
    }

    #[test]
    fn a_source_cut_anywhere_gives_whole_lines_or_an_error() {
        let source = line(1) + "\n" + &line(2) + "\n";
        for cut in 0..source.len() {
            let bytes = &source.as_bytes()[..cut];
            let whole = bytes.iter().filter(|byte| **byte == b'\n').count();
            // A partial line does not become a contact, even if it is wrongly said to be the end.
            let is_part = ![0, line(1).len(), line(1).len() + 1, source.len() - 1].contains(&cut);
            let ended = page(bytes, 0, true, MANY);
            assert_eq!(ended.is_err(), is_part, "{cut}");
            let cut_off = page(bytes, 0, false, MANY);
            assert_eq!(
                cut_off
                    .as_ref()
                    .is_ok_and(|page| page.entries.len() == whole),
                whole > 0
            );
            assert_eq!(cut_off.is_err(), whole == 0, "{cut}");
        }
    }

    #[test]
    fn a_page_stays_below_its_size() {
        let entry = contact::read(&line(1)).unwrap();
        let size = serde_json::to_string(&entry).unwrap().len();
        for (contacts, json_bytes) in [(1, size), (1, 2 * size - 1), (2, 2 * size)] {
            let limits = Limits { json_bytes, ..MANY };
            let source = sources().remove(0);
            let first = page(source.as_bytes(), 0, true, limits).unwrap();
            assert_eq!(first.entries.len(), contacts);
            let all = read_all(source.as_bytes(), source.len(), limits);
            assert_eq!(all, Ok(vec![1, 2, 3, 4]));
        }
        let limits = Limits {
            json_bytes: size - 1,
            ..MANY
        };
        let error = page(line(1).as_bytes(), 30, true, limits).unwrap_err();
        assert!(error.contains("at byte 30") && error.contains(&size.to_string()));
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named_by_its_position() {
        let source = line(1) + "\n\n{\"agent_id\": \"x\"}\n";
        let at = line(1).len() + 2 + 1_000;
        let error = page(source.as_bytes(), 1_000, true, MANY).unwrap_err();
        assert!(
            error.contains(&format!("at byte {at}: `agent_id`")),
            "{error}"
        );
        let error = page(b"\xff\n", 0, true, MANY).unwrap_err();
        assert!(error.contains("utf-8"), "{error}");
        let error = page(b"{\"agent_id\"", 5, false, MANY).unwrap_err();
        assert!(
            error.contains("at byte 5 does not end within 11 bytes"),
            "{error}"
        );
    }

    #[test]
    fn a_byte_order_mark_is_one_only_at_the_beginning() {
        let source = format!("\u{feff}{}", line(1));
        assert!(page(source.as_bytes(), 0, true, MANY).is_ok());
        assert!(page(source.as_bytes(), 9, true, MANY).is_err());
    }

    #[test]
    fn an_empty_source_has_one_empty_page() {
        let empty = ContactsPage {
            entries: Vec::new(),
            next: None,
        };
        assert_eq!(page(b"", 0, true, MANY), Ok(empty));
    }
}

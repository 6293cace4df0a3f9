//! Lists in CSV as spreadsheets write them, before they are parsed.

/// Returns the delimiter of values that is most frequent in the first line, outside of quotes: a
/// comma, a semicolon or a tab.
#[must_use]
pub fn delimiter(text: &str) -> u8 {
    let mut counts = [(0, b'\t'), (0, b';'), (0, b',')];
    let mut is_quoted = false;
    for byte in text.bytes() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\n' | b'\r' if !is_quoted => break,
            _ if is_quoted => {}
            _ => counts
                .iter_mut()
                .for_each(|it| it.0 += u32::from(it.1 == byte)),
        }
    }
    // Of equally frequent ones, the last.
    counts
        .into_iter()
        .max_by_key(|it| it.0)
        .map_or(b',', |it| it.1)
}

/// Returns the line, from 1, of a value whose quotes end before it does, or never: it would contain
/// the people in the rows that follow.
#[must_use]
pub fn open_quote(text: &str) -> Option<usize> {
    let ends = [delimiter(text), b'\r', b'\n'];
    let mut bytes = text.trim_start_matches('\u{feff}').bytes().peekable();
    let (mut line, mut opened, mut is_first) = (1, None, true);
    while let Some(byte) = bytes.next() {
        let next = bytes.peek();
        match opened {
            None if byte == b'"' && is_first => opened = Some(line),
            Some(_) if byte == b'"' && next == Some(&b'"') => _ = bytes.next(),
            Some(_) if byte == b'"' && next.is_none_or(|next| ends.contains(next)) => opened = None,
            Some(_) if byte == b'"' => break,
            _ => {}
        }
        is_first = ends.contains(&byte);
        line += usize::from(byte == b'\n');
    }
    opened
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_ends_where_its_quotes_do() {
        for (text, expected) in [
            ("\u{feff}\"a\",b\r\n\"1 \"\"x\"\"\n2\",\"\"\n", None),
            ("a;b\n1 \"x;\"2;3\"\n", None),
            ("a,b\n\"1,2\n3,4\n", Some(2)),
            ("a,b\n1,\"2\"x\n3,4\n", Some(2)),
        ] {
            assert_eq!(open_quote(text), expected, "{text:?}");
        }
    }
}

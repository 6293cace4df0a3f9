//! The one reader of JSON (RFC 8259): it finds where a value ends and what a string says.
//!
//! It does not interpret what it reads: numbers of any size and lone surrogates pass unchanged.
//! Each step returns `None` if the text is not JSON, and stops at the byte at fault.

/// A position in a text that may be JSON.
pub(crate) struct Reader<'a> {
    text: &'a str,
    /// The number of bytes read.
    position: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, position: 0 }
    }

    /// Reads a text that is one value, with at most white space around it. The error says where it
    /// is not.
    pub(crate) fn document(mut self) -> Result<&'a str, String> {
        match self.value() {
            Some(value) if self.peek().is_none() => Ok(value),
            _ => Err(self.error()),
        }
    }

    /// Reads a value of any depth; recursion would be limited by the stack.
    pub(crate) fn value(&mut self) -> Option<&'a str> {
        self.peek();
        let start = self.position;
        // The closing brackets that are still expected.
        let mut open = Vec::new();
        loop {
            let mut is_first = true;
            match self.peek() {
                Some(b'{') => open.push(b'}'),
                Some(b'[') => open.push(b']'),
                _ => {
                    self.scalar()?;
                    is_first = false;
                }
            }
            self.position += usize::from(is_first);
            loop {
                let Some(&closing) = open.last() else {
                    return Some(&self.text[start..self.position]);
                };
                if self.has_next(closing, is_first)? {
                    break;
                }
                open.pop();
                is_first = false;
            }
            if open.last() == Some(&b'}') {
                self.key()?;
            }
        }
    }

    /// Returns the next byte that is not white space, without consuming it.
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.byte() {
            self.position += 1;
        }
        self.byte()
    }

    /// Consumes the next byte if it is `byte`.
    pub(crate) fn consume(&mut self, byte: u8) -> bool {
        let is_next = self.byte() == Some(byte);
        self.position += usize::from(is_next);
        is_next
    }

    /// Returns `true` if an array or an object continues after its opening bracket or one of its
    /// values.
    pub(crate) fn has_next(&mut self, closing: u8, is_first: bool) -> Option<bool> {
        self.peek()?;
        if self.consume(closing) {
            return Some(false);
        }
        (is_first || self.consume(b',')).then_some(true)
    }

    /// Reads the key of a member, with its quotes, and the colon after it.
    pub(crate) fn key(&mut self) -> Option<&'a str> {
        let key = match self.peek()? {
            b'"' => self.scalar()?,
            _ => return None,
        };
        self.peek();
        self.consume(b':').then_some(key)
    }

    /// Reads a value that is neither an array nor an object.
    pub(crate) fn scalar(&mut self) -> Option<&'a str> {
        let next = self.peek()?;
        let start = self.position;
        match next {
            b'"' => self.string()?,
            b'-' | b'0'..=b'9' => self.number()?,
            b'n' => self.word("null")?,
            b't' => self.word("true")?,
            b'f' => self.word("false")?,
            _ => return None,
        }
        Some(&self.text[start..self.position])
    }

    fn word(&mut self, word: &str) -> Option<()> {
        word.bytes().all(|byte| self.consume(byte)).then_some(())
    }

    fn number(&mut self) -> Option<()> {
        self.consume(b'-');
        if !self.consume(b'0') {
            self.digits()?;
        }
        if self.consume(b'.') {
            self.digits()?;
        }
        if self.consume(b'e') || self.consume(b'E') {
            let _ = self.consume(b'+') || self.consume(b'-');
            self.digits()?;
        }
        Some(())
    }

    /// Consumes one or more digits.
    fn digits(&mut self) -> Option<()> {
        let start = self.position;
        while let Some(b'0'..=b'9') = self.byte() {
            self.position += 1;
        }
        (self.position > start).then_some(())
    }

    fn string(&mut self) -> Option<()> {
        self.position += 1;
        while !self.consume(b'"') {
            match self.byte()? {
                0..b' ' => return None,
                b'\\' => self.escape()?,
                _ => self.position += 1,
            }
        }
        Some(())
    }

    fn escape(&mut self) -> Option<()> {
        self.position += 1;
        let digits = match self.byte()? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => 0,
            b'u' => 4,
            _ => return None,
        };
        self.position += 1;
        for _ in 0..digits {
            self.byte().filter(u8::is_ascii_hexdigit)?;
            self.position += 1;
        }
        Some(())
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position).copied()
    }

    /// Describes the fault at the next byte, with its line and column.
    fn error(&self) -> String {
        let found = match self.byte() {
            Some(_) => "unexpected character",
            None => "unexpected end",
        };
        let read = self.text.bytes().take(self.position + 1);
        let (line, column) = read.fold((1, 0), |(line, column), byte| match byte {
            b'\n' => (line + 1, 0),
            _ => (line, column + 1),
        });
        format!("{found} at line {line} column {column}")
    }
}

/// Decodes a string; returns `None` if it is not valid Unicode (with a lone surrogate).
pub(crate) fn unescape(string: &str) -> Option<String> {
    let mut rest = &string[1..string.len() - 1];
    let mut text = String::with_capacity(rest.len());
    while let Some((before, escape)) = rest.split_once('\\') {
        let (character, bytes) = match escape.as_bytes()[0] {
            b'b' => ('\u{8}', 1),
            b'f' => ('\u{c}', 1),
            b'n' => ('\n', 1),
            b'r' => ('\r', 1),
            b't' => ('\t', 1),
            b'u' => unescape_unicode(escape)?,
            itself => (char::from(itself), 1),
        };
        text.push_str(before);
        text.push(character);
        rest = &escape[bytes..];
    }
    text.push_str(rest);
    Some(text)
}

/// Returns the character of an escape such as `u00e4`, or of two of them, and their length.
fn unescape_unicode(escape: &str) -> Option<(char, usize)> {
    let unit = |at: usize| u16::from_str_radix(escape.get(at..at + 4)?, 16).ok();
    let second = match escape.get(5..7) {
        Some("\\u") => unit(7),
        _ => None,
    };
    let units = [unit(1)?].into_iter().chain(second);
    let character = char::decode_utf16(units).next()?.ok()?;
    Some((character, 6 * character.len_utf16() - 1))
}

/// Writes a text as a string with necessary escapes only.
pub(crate) fn escape(text: &str, json: &mut String) {
    json.push('"');
    for character in text.chars() {
        match character {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\u{8}' => json.push_str("\\b"),
            '\u{c}' => json.push_str("\\f"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '\0'..' ' => json.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => json.push(character),
        }
    }
    json.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::RawValue;

    /// Texts with everything that JSON allows, and with some things that it does not.
    const TEXTS: [&str; 8] = [
        "nulls",
        r#" {"a" : [1, -0.5e+10, {} ,[] , true,false,null ],"b":{"c":"d"} } "#,
        r#"["\u00e4\ud83d\ude00\ud83d\"\\\/\b\f\n\r\t", "ä😀"]"#,
        "[\n 0 ,\n\t1.25E-3,\r\n [[[ ]]], \"\u{7f}\"\n]\n",
        r#"{"\ud800":1,"a":01,"a":+1}"#,
        "[1,]",
        r#"{"a":1,}"#,
        r#"{"a" 1} {]"#,
    ];

    /// The bytes that have a meaning in JSON, and some that do not.
    const BYTES: &[u8] = b"{}[]:,\"\\/bu019-+.eEntf \n\0\x1f\x7fx";

    fn assert_as_serde_json_reads(text: &str) {
        let expected = serde_json::from_str::<&RawValue>(text).map(RawValue::get);
        let expected = expected.ok();
        assert_eq!(Reader::new(text).document().ok(), expected, "{text:?}");
        if let Some(string) = expected.filter(|value| value.starts_with('"')) {
            let decoded = serde_json::from_str::<String>(string).ok();
            assert_eq!(unescape(string), decoded, "{string}");
        }
    }

    #[test]
    fn texts_are_read_as_by_serde_json_wherever_they_end_or_are_invalid() {
        for text in TEXTS {
            assert_as_serde_json_reads(text);
            for (index, replaced) in text.char_indices() {
                let (before, after) = text.split_at(index);
                assert_as_serde_json_reads(before);
                assert_as_serde_json_reads(after);
                for byte in BYTES.iter().copied().map(char::from) {
                    assert_as_serde_json_reads(&format!("{before}{byte}{after}"));
                    let after = &after[replaced.len_utf8()..];
                    assert_as_serde_json_reads(&format!("{before}{byte}{after}"));
                }
            }
        }
    }

    #[test]
    fn the_error_of_invalid_json_has_its_position() {
        for (text, found) in [
            ("", "unexpected end at line 1 column 0"),
            ("[1,", "unexpected end at line 1 column 3"),
            (
                "[1,\n\n {\"a\":+1}]",
                "unexpected character at line 3 column 7",
            ),
            ("\"\n\"", "unexpected character at line 2 column 0"),
            ("{} {}", "unexpected character at line 1 column 4"),
        ] {
            assert_eq!(Reader::new(text).document().unwrap_err(), found, "{text:?}");
        }
    }

    #[test]
    fn strings_are_unescaped_as_by_serde_json() {
        for escapes in [
            r"\ud83d\ude00",
            r"\ud83d",
            r"\ud83dx",
            r"\ud83d\n",
            r"\ud83d\u0041",
            r"\ude00\ud83d",
            r"\ud83d\ud83d\ude00",
            r"\u0041\u0000\uFFFF",
            r"\/\b\f\n\r\t\\\u005c",
        ] {
            assert_as_serde_json_reads(&format!("\"{escapes}\""));
            assert_as_serde_json_reads(&format!("\"a{escapes}b\""));
        }
    }

    #[test]
    fn texts_are_escaped_as_by_serde_json() {
        let characters = ('\0'..'\u{200}').chain(['\u{2028}', '\u{1f600}']);
        let text: String = characters.collect();
        let mut json = String::new();
        escape(&text, &mut json);
        assert_eq!(json, serde_json::to_string(&text).unwrap());
    }
}

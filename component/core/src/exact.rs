//! JSON values, compared regardless of their notation.

use crate::decimal::Decimal;
use crate::names::sorted;
use crate::reader::{Reader, escape, unescape};

/// The depth to which values are compared. Deeper values are the same only if they are written the
/// same.
const MAX_DEPTH: usize = 200;

/// The result of comparing two JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// They are the same value: white space, escapes, the order of members and the notation of
    /// numbers do not matter.
    Same,
    Different,
    /// They are written the same, but parsers may read them differently: an object has a repeated
    /// name, or they are nested too deep.
    Ambiguous,
}

/// Compares two JSON values, numbers as exact decimals.
pub(crate) fn compare(one: &str, other: &str) -> Comparison {
    let normalized = (Normalized::of(one), Normalized::of(other));
    let (Some(normal), Some(other_normal)) = normalized else {
        return match one == other {
            true => Comparison::Ambiguous,
            false => Comparison::Different,
        };
    };
    match normal.text == other_normal.text {
        true if normal.has_repeated_names => Comparison::Ambiguous,
        true => Comparison::Same,
        false => Comparison::Different,
    }
}

/// Returns the one text that all notations of a value share; a value that is nested too deep is
/// returned as it is written.
pub(crate) fn canonical(value: &str) -> String {
    Normalized::of(value).map_or_else(|| value.to_owned(), |normalized| normalized.text)
}

/// The one text that all notations of a value share.
struct Normalized {
    text: String,
    has_repeated_names: bool,
}

impl Normalized {
    /// Returns `None` if the value is nested too deep.
    fn of(value: &str) -> Option<Self> {
        let mut normalized = Self {
            text: String::with_capacity(value.len()),
            has_repeated_names: false,
        };
        normalized.value(&mut Reader::new(value), MAX_DEPTH)?;
        Some(normalized)
    }

    /// Writes the next value. The text is known to be JSON, so that only its depth can be a reason
    /// to fail.
    fn value(&mut self, reader: &mut Reader<'_>, depth: usize) -> Option<()> {
        match reader.peek()? {
            b'{' => self.object(reader, depth.checked_sub(1)?)?,
            b'[' => self.array(reader, depth.checked_sub(1)?)?,
            b'"' => self.string(reader.scalar()?),
            b'-' | b'0'..=b'9' => {
                let number = Decimal::of(reader.scalar()?);
                self.text.push_str(&number.canonical());
            }
            _ => self.text.push_str(reader.scalar()?),
        }
        Some(())
    }

    fn array(&mut self, reader: &mut Reader<'_>, depth: usize) -> Option<()> {
        reader.consume(b'[');
        self.text.push('[');
        let mut is_first = true;
        while reader.has_next(b']', is_first)? {
            self.value(reader, depth)?;
            self.text.push(',');
            is_first = false;
        }
        self.text.push(']');
        Some(())
    }

    fn object(&mut self, reader: &mut Reader<'_>, depth: usize) -> Option<()> {
        reader.consume(b'{');
        self.text.push('{');
        let start = self.text.len();
        // The positions at which each member begins, its name ends, and it ends.
        let mut members = Vec::new();
        while reader.has_next(b'}', members.is_empty())? {
            let begin = self.text.len();
            self.string(reader.key()?);
            let name_end = self.text.len();
            self.text.push(':');
            self.value(reader, depth)?;
            self.text.push(',');
            members.push((begin, name_end, self.text.len()));
        }
        let text = &self.text;
        let order = sorted(
            members
                .iter()
                .map(|(begin, name_end, _)| text[*begin..*name_end].into()),
        );
        let mut neighbours = order.windows(2);
        self.has_repeated_names |= neighbours.any(|pair| pair[0].0 == pair[1].0);
        let in_order = order.iter().map(|(_, index)| {
            let (begin, _, end) = members[*index];
            &text[begin..end]
        });
        let in_order: String = in_order.collect();
        self.text.truncate(start);
        self.text.push_str(&in_order);
        self.text.push('}');
        Some(())
    }

    /// Writes a string with necessary escapes only. A string that is not valid Unicode stays as it
    /// is written.
    fn string(&mut self, string: &str) {
        let decoded = match string.contains('\\') {
            true => unescape(string),
            false => None,
        };
        match decoded {
            Some(text) => escape(&text, &mut self.text),
            None => self.text.push_str(string),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Comparison::{Ambiguous, Different, Same};
    use super::*;
    use crate::simulation::rows;

    fn compared(one: &str, other: &str) -> Comparison {
        assert_eq!(compare(one, other), compare(other, one));
        compare(one, other)
    }

    const COMPARISONS: &str = r#"
        null | null | Same
        null | false | Different
        true | true | Same
        "a/b" | "\u0061\/b" | Same
        "\ud83d\ude00" | "😀" | Same
        "\ud800" | "\ud800" | Same
        "\ud800" | "\ud801" | Different
        "a\"b\\" | "a\u0022b\u005c" | Same
        "1" | 1 | Different
        [] | {} | Different
        [1,2] | [ 1 , 2  ] | Same
        [1,2] | [2,1] | Different
        [1] | [1,1] | Different
        [[1],2] | [[1,2]] | Different
        {"a":1,"b":2} | { "b" : 2 , "a" : 1 } | Same
        {"a":{"d":1,"c":2},"b":[]} | {"b":[],"a":{"c":2,"d":1}} | Same
        {"a":1} | {"a":1,"b":2} | Different
        {"a":1} | {"a":2} | Different
        {"\u0061":1} | {"a":1} | Same
        {"a":"b,c"} | {"a":"b","c":""} | Different
        {"a":1,"a":1} | {"a":1,"a":1} | Ambiguous
        {"a":1,"a":2} | {"a":2} | Different
        {"a":1,"\u0061":2} | {"a":1,"a":2} | Ambiguous
        [{"x":[{"a":1,"b":0,"a":1}]}] | [{"x":[{"a":1,"a":1,"b":0}]}] | Ambiguous

        Numbers are compared to the last digit.
        1 | 1.0 | Same
        1 | 1e0 | Same
        100 | 1E+2 | Same
        0.5 | 5e-1 | Same
        0.0 | -0 | Same
        0e99999999999999999999 | 0 | Same
        1 | -1 | Different
        12345678901234567890 | 12345678901234567891 | Different
        9007199254740993 | 9007199254740992.0 | Different
        12345678901234678.67 | 12345678901234678.66 | Different
        1e400 | 1e401 | Different
        1e99999999999999999999 | 1e99999999999999999999 | Same
        1e99999999999999999999 | 1e99999999999999999998 | Different
        10 | 1 | Different
        1.01 | 1.10 | Different"#;

    #[test]
    fn values_are_compared_regardless_of_their_notation() {
        for [one, other, expected] in rows(COMPARISONS) {
            let comparison = format!("{:?}", compared(one, other));
            assert_eq!(comparison, expected, "{one} {other}");
        }
    }

    #[test]
    fn values_of_up_to_200_levels_and_any_length_are_compared() {
        let nested = |depth: usize, inner: &str| {
            format!(
                "{}{inner}{}",
                r#"{"b":0,"a":["#.repeat(depth),
                "]}".repeat(depth)
            )
        };
        let spaced = |text: &str| text.replace(',', " , ");
        let text = nested(100, "1");
        assert_eq!(compared(&text, &spaced(&text)), Same);
        assert_eq!(compared(&text, &nested(100, "2")), Different);
        let long = format!("[{}]", vec!["1"; 10_001].join(","));
        assert_eq!(compared(&long, &spaced(&long)), Same);
        let deeper = nested(101, "1");
        assert_eq!(compared(&deeper, &deeper), Ambiguous);
        assert_eq!(compared(&deeper, &spaced(&deeper)), Different);
    }
}

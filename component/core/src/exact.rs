//! JSON values as such, whichever way they are written.

use serde_json::value::RawValue;

/// How deep values are compared. What is deeper is the same only if it is written the same.
const MAX_DEPTH: usize = 200;

/// How two JSON values compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// They are the same value: white space, escapes, the order of members, and how a number is
    /// written do not matter.
    Same,
    Different,
    /// They are written the same, but parsers may read them differently: a name occurs again in
    /// an object, or they are nested too deep.
    Ambiguous,
}

/// Compares two JSON values, numbers as exact decimals.
pub(crate) fn compare(one: &RawValue, other: &RawValue) -> Comparison {
    let normalized = (Normalized::of(one), Normalized::of(other));
    let (Some(one), Some(other)) = normalized else {
        return match one.get() == other.get() {
            true => Comparison::Ambiguous,
            false => Comparison::Different,
        };
    };
    match one.text == other.text {
        true if one.has_repeated_names => Comparison::Ambiguous,
        true => Comparison::Same,
        false => Comparison::Different,
    }
}

/// The one text that all ways to write a value have in common.
struct Normalized {
    text: String,
    has_repeated_names: bool,
}

impl Normalized {
    /// Returns `None` if the value is nested too deep.
    fn of(value: &RawValue) -> Option<Self> {
        let mut reader = Reader {
            rest: value.get(),
            written: Self {
                text: String::with_capacity(value.get().len()),
                has_repeated_names: false,
            },
        };
        reader.value(MAX_DEPTH)?;
        Some(reader.written)
    }
}

/// Reads a text that is known to be JSON, and writes it in its normal form.
struct Reader<'a> {
    rest: &'a str,
    written: Normalized,
}

impl<'a> Reader<'a> {
    fn value(&mut self, depth: usize) -> Option<()> {
        match self.peek() {
            b'{' => self.object(depth.checked_sub(1)?),
            b'[' => self.array(depth.checked_sub(1)?),
            b'"' => {
                self.string();
                Some(())
            }
            b'-' | b'0'..=b'9' => {
                let token = self.take_while(|byte| !b",]} \t\r\n".contains(&byte));
                self.written.text.push_str(&decimal(token));
                Some(())
            }
            _ => {
                let token = self.take_while(|byte| byte.is_ascii_lowercase());
                self.written.text.push_str(token);
                Some(())
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<()> {
        self.skip();
        self.written.text.push('[');
        while self.peek() != b']' {
            self.value(depth)?;
            self.written.text.push(',');
            self.skip_comma();
        }
        self.skip();
        self.written.text.push(']');
        Some(())
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        self.skip();
        self.written.text.push('{');
        let start = self.written.text.len();
        // Where each member begins, where its name ends, and where it ends.
        let mut members = Vec::new();
        while self.peek() != b'}' {
            let begin = self.written.text.len();
            self.string();
            let name_end = self.written.text.len();
            self.peek();
            self.skip(); // the colon
            self.written.text.push(':');
            self.value(depth)?;
            self.written.text.push(',');
            members.push((begin, name_end, self.written.text.len()));
            self.skip_comma();
        }
        self.skip();
        let text = &mut self.written.text;
        // Those with the same name stay in their order.
        members.sort_unstable_by(|one, other| {
            (&text[one.0..one.1], one.0).cmp(&(&text[other.0..other.1], other.0))
        });
        let mut neighbours = members.windows(2);
        self.written.has_repeated_names |=
            neighbours.any(|pair| text[pair[0].0..pair[0].1] == text[pair[1].0..pair[1].1]);
        if !members.is_sorted() {
            let sorted = members.iter().map(|(begin, _, end)| &text[*begin..*end]);
            let sorted: String = sorted.collect();
            text.replace_range(start.., &sorted);
        }
        text.push('}');
        Some(())
    }

    /// Writes a string without the escapes that it need not have. One that no Unicode string can
    /// hold stays as it is written.
    fn string(&mut self) {
        let token = self.string_token();
        let decoded: Option<String> = match token.contains('\\') {
            true => serde_json::from_str(token).ok(),
            false => None,
        };
        match decoded.and_then(|text| serde_json::to_string(&text).ok()) {
            Some(normal) => self.written.text.push_str(&normal),
            None => self.written.text.push_str(token),
        }
    }

    fn string_token(&mut self) -> &'a str {
        let mut is_escaped = false;
        let end = self.rest.bytes().skip(1).position(|byte| {
            let ends = byte == b'"' && !is_escaped;
            is_escaped = byte == b'\\' && !is_escaped;
            ends
        });
        let (token, rest) = self
            .rest
            .split_at(end.map_or(self.rest.len(), |end| end + 2));
        self.rest = rest;
        token
    }

    /// The next byte that is not white space.
    fn peek(&mut self) -> u8 {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        self.rest.as_bytes().first().copied().unwrap_or_default()
    }

    /// Passes over a bracket or a colon.
    fn skip(&mut self) {
        self.rest = &self.rest[1..];
    }

    fn skip_comma(&mut self) {
        if self.peek() == b',' {
            self.skip();
        }
    }

    fn take_while(&mut self, belongs: impl Fn(u8) -> bool) -> &'a str {
        let end = self.rest.bytes().position(|byte| !belongs(byte));
        let (token, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        token
    }
}

/// A number as its sign, its digits without zeros around them, and the power of ten of the last.
/// One whose exponent is beyond all reason stays as it is written.
fn decimal(token: &str) -> String {
    let (sign, unsigned) = match token.strip_prefix('-') {
        Some(unsigned) => ("-", unsigned),
        None => ("", token),
    };
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return "0".to_owned();
    }
    let zeros = digits.len() - digits.trim_end_matches('0').len();
    let shift = zeros as i64 - fraction.len() as i64;
    let exponent = exponent.parse::<i64>().ok();
    match exponent.and_then(|exponent| exponent.checked_add(shift)) {
        Some(exponent) => format!("{sign}{significant}e{exponent}"),
        None => token.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::Comparison::{Ambiguous, Different, Same};
    use super::*;

    fn compared(one: &str, other: &str) -> Comparison {
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap();
        let (one, other) = (raw(one), raw(other));
        assert_eq!(compare(&one, &other), compare(&other, &one));
        compare(&one, &other)
    }

    #[test]
    fn values_are_the_same_whichever_way_they_are_written() {
        for (one, other, expected) in [
            ("null", "null", Same),
            ("null", "false", Different),
            ("true", "true", Same),
            (r#""a/b""#, r#""\u0061\/b""#, Same),
            (r#""\ud83d\ude00""#, r#""😀""#, Same),
            (r#""\ud800""#, r#""\ud800""#, Same),
            (r#""\ud800""#, r#""\ud801""#, Different),
            (r#""a\"b\\""#, r#""a\u0022b\u005c""#, Same),
            (r#""1""#, "1", Different),
            ("[]", "{}", Different),
            ("[1,2]", "[ 1 ,\t2\r\n]", Same),
            ("[1,2]", "[2,1]", Different),
            ("[1]", "[1,1]", Different),
            ("[[1],2]", "[[1,2]]", Different),
            (r#"{"a":1,"b":2}"#, r#"{ "b" : 2 , "a" : 1 }"#, Same),
            (
                r#"{"a":{"d":1,"c":2},"b":[]}"#,
                r#"{"b":[],"a":{"c":2,"d":1}}"#,
                Same,
            ),
            (r#"{"a":1}"#, r#"{"a":1,"b":2}"#, Different),
            (r#"{"a":1}"#, r#"{"a":2}"#, Different),
            (r#"{"\u0061":1}"#, r#"{"a":1}"#, Same),
            (r#"{"a":"b,c"}"#, r#"{"a":"b","c":""}"#, Different),
            (r#"{"a":1,"a":1}"#, r#"{"a":1,"a":1}"#, Ambiguous),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#, Different),
            (r#"{"a":1,"\u0061":2}"#, r#"{"a":1,"a":2}"#, Ambiguous),
            (
                r#"[{"x":[{"a":1,"b":0,"a":1}]}]"#,
                r#"[{"x":[{"a":1,"a":1,"b":0}]}]"#,
                Ambiguous,
            ),
        ] {
            assert_eq!(compared(one, other), expected, "{one} {other}");
        }
    }

    #[test]
    fn numbers_are_compared_to_the_last_digit() {
        for (one, other, expected) in [
            ("1", "1.0", Same),
            ("1", "1e0", Same),
            ("100", "1E+2", Same),
            ("0.5", "5e-1", Same),
            ("0.0", "-0", Same),
            ("0e99999999999999999999", "0", Same),
            ("1", "-1", Different),
            ("12345678901234567890", "12345678901234567891", Different),
            ("9007199254740993", "9007199254740992.0", Different),
            ("12345678901234678.67", "12345678901234678.66", Different),
            ("1e400", "1e401", Different),
            ("1e99999999999999999999", "1e99999999999999999999", Same),
            (
                "1e99999999999999999999",
                "1e99999999999999999998",
                Different,
            ),
            ("10", "1", Different),
            ("1.01", "1.10", Different),
        ] {
            assert_eq!(compared(one, other), expected, "{one} {other}");
        }
    }

    #[test]
    fn values_are_compared_as_deep_as_200_levels() {
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
        let deeper = nested(101, "1");
        assert_eq!(compared(&deeper, &deeper), Ambiguous);
        assert_eq!(compared(&deeper, &spaced(&deeper)), Different);
    }
}

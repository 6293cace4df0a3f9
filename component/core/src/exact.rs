//! JSON values, compared regardless of their notation: numbers by hand, since serde_json has no
//! decimals.

use crate::json::Value;
use crate::tokens::{Token, Tokens};
use std::collections::BTreeMap;

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
    match (normalize(one), normalize(other)) {
        (Some((one, is_ambiguous)), Some((other, _))) if one == other => match is_ambiguous {
            true => Comparison::Ambiguous,
            false => Comparison::Same,
        },
        (None, None) if one == other => Comparison::Ambiguous,
        _ => Comparison::Different,
    }
}

/// Returns the one text that all notations of a value share; a value that is nested too deep is
/// returned as it is written.
pub(crate) fn canonical(value: &str) -> String {
    normalize(value).map_or_else(|| value.to_owned(), |(text, _)| text)
}

/// Returns the one text that all notations of a value share, and whether a name is repeated in it;
/// `None` if the value is nested too deep.
fn normalize(value: &str) -> Option<(String, bool)> {
    let mut rest = Rest {
        tokens: Tokens(value),
        has_repeated_names: false,
    };
    let mut text = String::with_capacity(value.len());
    let first = rest.tokens.next()?;
    rest.write_value(first, MAX_DEPTH, &mut text)?;
    Some((text, rest.has_repeated_names))
}

/// The part of a value that is still to be written.
struct Rest<'a> {
    tokens: Tokens<'a>,
    has_repeated_names: bool,
}

impl<'a> Rest<'a> {
    /// Writes the value that begins with a token. Only its depth can be a reason to fail.
    fn write_value(&mut self, token: Token<'a>, depth: usize, text: &mut String) -> Option<()> {
        match token {
            Token::Object => self.write_object(depth.checked_sub(1)?, text)?,
            Token::Array => self.write_array(depth.checked_sub(1)?, text)?,
            Token::Name(scalar) | Token::Scalar(scalar) => text.push_str(&canonical_scalar(scalar)),
            Token::End => {}
        }
        Some(())
    }

    fn write_array(&mut self, depth: usize, text: &mut String) -> Option<()> {
        text.push('[');
        loop {
            match self.tokens.next()? {
                Token::End => break,
                element => self.write_value(element, depth, text)?,
            }
            text.push(',');
        }
        text.push(']');
        Some(())
    }

    /// Writes the names in sorted order, each with its values in their original order.
    fn write_object(&mut self, depth: usize, text: &mut String) -> Option<()> {
        let mut members = BTreeMap::<_, String>::new();
        while let Token::Name(name) = self.tokens.next()? {
            let values = members.entry(canonical_scalar(name)).or_default();
            self.has_repeated_names |= !values.is_empty();
            let value = self.tokens.next()?;
            self.write_value(value, depth, values)?;
            values.push(',');
        }
        text.push('{');
        for (name, values) in members {
            text.push_str(&name);
            text.push(':');
            text.push_str(&values);
        }
        text.push('}');
        Some(())
    }
}

fn canonical_scalar(written: &str) -> String {
    match written.as_bytes()[0] {
        // A string that is not valid Unicode stays as it is written.
        b'"' if written.contains('\\') => {
            let text = Value::parse(written).ok().and_then(Value::to_text);
            text.map_or_else(|| written.to_owned(), |text| canonical_text(&text))
        }
        b'-' | b'0'..=b'9' => canonical_number(written),
        _ => written.to_owned(),
    }
}

/// Returns the one text that all notations of a number share: its digits without zeros at either
/// end, times a power of ten. If its exponent is out of all proportion, it stays as it is written.
fn canonical_number(written: &str) -> String {
    let unsigned = written.trim_start_matches('-');
    let sign = &written[..written.len() - unsigned.len()];
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let shortened = digits.trim_end_matches('0');
    let significant = shortened.trim_start_matches('0');
    let shift = (digits.len() - shortened.len()) as i64 - fraction.len() as i64;
    let exponent = exponent.parse::<i64>().ok();
    match exponent.and_then(|exponent| exponent.checked_add(shift)) {
        _ if significant.is_empty() => "0".to_owned(),
        Some(exponent) => format!("{sign}{significant}e{exponent}"),
        None => written.to_owned(),
    }
}

/// Returns the one text that all notations of a string share: with necessary escapes only.
pub(crate) fn canonical_text(text: &str) -> String {
    serde_json::to_string(text).expect("a text is JSON")
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

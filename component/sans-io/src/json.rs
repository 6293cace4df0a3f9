//! JSON as input and output.

use crate::strict::Strict;
use serde::{Deserialize, Serialize};
use serde_json::ser::Formatter;
use std::io;

/// The largest integer that every JSON library reads exactly: 2^53 - 1.
const LARGEST_INTEGER: u64 = 9_007_199_254_740_991;

/// Reads a value. The error says in one line what is wrong, and where.
pub(crate) fn read<'a, T: Deserialize<'a>>(json: &'a [u8]) -> Result<T, String> {
    let mut reader = serde_json::Deserializer::from_slice(json);
    let read = T::deserialize(Strict(&mut reader));
    let read = read.and_then(|value| reader.end().map(|()| value));
    read.map_err(|error| without_value(error.to_string().trim_start_matches('.')))
}

/// Removes from an error of serde the value that was found, which may be a phone number or a token:
/// "invalid type: integer `7`, expected a string" becomes "invalid type: integer, expected a
/// string".
fn without_value(error: &str) -> String {
    let found = ["invalid type: ", "invalid value: "]
        .iter()
        .find_map(|begin| Some(error.find(begin)? + begin.len()));
    let parts = found.and_then(|start| {
        let value = start + error[start..].find(['`', '"'])?;
        let expected = value + error[value..].rfind(", expected")?;
        Some((error[..value].trim_end(), &error[expected..]))
    });
    match parts {
        Some((before, after)) => format!("{before}{after}"),
        None => error.to_owned(),
    }
}

/// Writes a value. Equal values are written the same.
pub(crate) fn write(value: &impl Serialize, json: &mut Vec<u8>) {
    let mut serializer = serde_json::Serializer::with_formatter(json, ExactIntegers);
    value
        .serialize(&mut serializer)
        .expect("what the machine returns can be written as JSON");
}

/// Writes integers that some libraries would round as texts.
struct ExactIntegers;

impl Formatter for ExactIntegers {
    fn write_i64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: i64) -> io::Result<()> {
        match value.unsigned_abs() {
            0..=LARGEST_INTEGER => write!(writer, "{value}"),
            _ => write!(writer, "\"{value}\""),
        }
    }

    fn write_u64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: u64) -> io::Result<()> {
        match value {
            0..=LARGEST_INTEGER => write!(writer, "{value}"),
            _ => write!(writer, "\"{value}\""),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_that_a_double_cannot_hold_are_written_as_texts() {
        let mut json = Vec::new();
        let limit = LARGEST_INTEGER as i64;
        let signed = [limit, limit + 1, -limit, -limit - 1, i64::MIN];
        write(&(signed, LARGEST_INTEGER, u64::MAX, 7_u32, "7"), &mut json);
        assert_eq!(
            String::from_utf8(json).unwrap(),
            "[[9007199254740991,\"9007199254740992\",-9007199254740991,\"-9007199254740992\",\
             \"-9223372036854775808\"],9007199254740991,\"18446744073709551615\",7,\"7\"]"
        );
    }
}

//! The organization's API token, which goes into its header and nowhere else.

use crate::types::Problem;
use std::fmt;

/// The length from which a token is masked: a shorter one could be any word of a text.
const MASKED_FROM_BYTES: usize = 8;

/// The length from which the beginning of a token is masked anywhere: a shorter one could be a word
/// of the text.
const CUT_FROM_BYTES: usize = 16;

/// The maximum length of a token that is put into a header.
const MAX_TOKEN_BYTES: usize = 8_192;

/// The length of an escape such as `\u002b`.
const ESCAPE_BYTES: usize = 6;

/// The text before the token in the header.
const BEARER: &str = "Bearer ";

/// The text that replaces a token.
pub const MASK: &str = "[api token]";

/// The token, or the placeholder that an engine replaces in the outgoing header.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ApiToken(String);

impl ApiToken {
    /// Checks a token. The error says what was found, without the token.
    pub(crate) fn parse(value: &str) -> Result<Self, &'static str> {
        if value.is_empty() {
            return Err("an empty value");
        }
        if value.len() > MAX_TOKEN_BYTES {
            return Err("more than 8192 bytes, which servers do not accept in a header");
        }
        let scheme = value.get(..BEARER.len());
        if scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case(BEARER)) {
            return Err("a value that starts with `Bearer `, which is added when it is sent");
        }
        if value.chars().any(char::is_control) {
            return Err("a control character, such as a line break");
        }
        if !value.is_ascii() {
            return Err("a non-ASCII character, which a header cannot contain");
        }
        if value.starts_with(' ') || value.ends_with(' ') {
            return Err("a space at its beginning or end");
        }
        Ok(Self(value.to_owned()))
    }

    /// Returns the value of the header `auth_token`.
    pub(crate) fn header_value(&self) -> String {
        format!("{BEARER}{}", self.0)
    }

    /// Masks the token in a text, for errors and logs.
    pub(crate) fn mask(&self, text: &str) -> String {
        mask(&self.0, text)
    }

    pub(crate) fn mask_problem(&self, problem: Problem) -> Problem {
        mask_problem(problem, &self.0)
    }
}

/// Masks a token that was given in a setting or argument by mistake.
pub(crate) fn mask_problem(problem: Problem, token: &str) -> Problem {
    Problem {
        subject: mask(token, &problem.subject),
        found: mask(token, &problem.found),
        allowed: mask(token, &problem.allowed),
    }
}

/// Masks a token in a text: as it is, and as JSON libraries and addresses write it, with each
/// character escaped or not. Texts are cut in many places, so that a beginning of the token counts
/// too: with 16 bytes anywhere, with 8 at the very end. A token of less than 8 bytes is left alone.
///
/// This is public because hosts that show what a component answered, wrote or sent mask it by the
/// same rule. The token may be any text here, also one that no header can carry.
pub fn mask(token: &str, text: &str) -> String {
    let Some(first) = token
        .chars()
        .next()
        .filter(|_| token.len() >= MASKED_FROM_BYTES)
    else {
        return text.to_owned();
    };
    let mut masked = String::with_capacity(text.len());
    // The end of the part of the text that is written or masked.
    let mut done = 0;
    let starts = text.match_indices([first, '\\', '%']);
    for (start, _) in starts {
        let Some(end) = secret_end(token, text, start) else {
            continue;
        };
        // If two overlap, as in a token that begins with a repetition, both are one secret.
        if start >= done {
            masked.push_str(&text[done..start]);
            masked.push_str(MASK);
        }
        done = done.max(end);
    }
    masked.push_str(&text[done..]);
    masked
}

/// Returns the end of the secret that begins at `start`: the token, or as much of it as must not be
/// shown.
fn secret_end(token: &str, text: &str, start: usize) -> Option<usize> {
    let needed = token.len().min(CUT_FROM_BYTES);
    // The positions of the decodings of the text that match the token so far. A text with escapes
    // may be meant literally or not, so that there can be several.
    let mut positions = vec![start];
    for (matched, expected) in token.char_indices() {
        let is_cut = positions.iter().any(|position| is_cut(&text[*position..]));
        if is_cut && matched >= MASKED_FROM_BYTES {
            return Some(text.len());
        }
        let mut next = Vec::new();
        for position in &positions {
            for (character, bytes) in decodings(&text[*position..]).into_iter().flatten() {
                let end = position + bytes;
                if character == expected && !next.contains(&end) {
                    next.push(end);
                }
            }
        }
        if next.is_empty() {
            let end = positions.iter().max().copied();
            return end.filter(|_| matched >= needed);
        }
        positions = next;
    }
    positions.iter().max().copied()
}

/// Returns `true` if a text ends here, or within an escape.
fn is_cut(text: &str) -> bool {
    match text.as_bytes() {
        [] | [b'\\' | b'%'] => true,
        [b'\\', b'u', digits @ ..] => digits.len() < 4 && digits.iter().all(u8::is_ascii_hexdigit),
        [b'%', digit] => digit.is_ascii_hexdigit(),
        _ => false,
    }
}

/// Returns the decodings of a text's first character, with their lengths: as it is, and as JSON or
/// an address may write it.
fn decodings(text: &str) -> [Option<(char, usize)>; 2] {
    let first = text.chars().next();
    let hexadecimal = |range| u32::from_str_radix(text.get(range)?, 16).ok();
    let escaped = match text.as_bytes() {
        [b'%', _, _, ..] => hexadecimal(1..3).map(|byte| (byte, 3)),
        [b'\\', b'u', ..] => hexadecimal(2..ESCAPE_BYTES).map(|unit| (unit, ESCAPE_BYTES)),
        [b'\\', escaped @ (b'"' | b'\\' | b'/'), ..] => Some((u32::from(*escaped), 2)),
        _ => None,
    };
    let escaped = escaped.and_then(|(code, bytes)| Some((char::from_u32(code)?, bytes)));
    [first.map(|first| (first, first.len_utf8())), escaped]
}

impl fmt::Debug for ApiToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(MASK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;

    #[test]
    fn a_token_is_masked_whole_or_cut_and_in_every_notation() {
        let (short, long) = ("tok-0123456789", "tok-0123456789-abcdefgh");
        let special = r#"to/k"en\0123"#;
        let foreign = "geh\u{e9}imnis-\u{e9}\u{e9}\u{e9}";
        for (token, text, masked) in [
            (
                short,
                "a tok-0123456789 b tok-0123456789",
                "a [api token] b [api token]",
            ),
            (short, "echo: tok-01234", "echo: [api token]"),
            (short, "echo: tok-0", "echo: tok-0"),
            // A long beginning is masked anywhere.
            (long, "\"tok-0123456789-abc…\" is", "\"[api token]…\" is"),
            (long, "tok-0123456789 is a word", "tok-0123456789 is a word"),
            // It may be any word.
            ("call", "a call", "a call"),
            // As JSON writes it.
            (special, r#"> to\/k\"en\\01"#, "> [api token]"),
            // Cut within an escape.
            ("tok-01234567", r"> tok-0123\", "> [api token]"),
            ("tok-01234567", r"> tok-0123\u", "> [api token]"),
            ("tok-01234567", r"> tok-0123\u003", "> [api token]"),
            ("tok-01234567", r"> tok-\u00", r"> tok-\u00"),
            ("tok-01234567", r"> tok-0123\u0041", r"> tok-0123\u0041"),
            // No token.
            ("tok-01234567", r"\u0074ok-9", r"\u0074ok-9"),
            ("tok-01234567", r"\", r"\"),
            ("tok-01234567", r"\u", r"\u"),
            ("tok-01234567", r"\uD83D\uDE00", r"\uD83D\uDE00"),
            ("tok-01234567", r"\n\t\q \\ tok-", r"\n\t\q \\ tok-"),
            ("tok-01234567", "tok-012", "tok-012"),
            ("tok-01234567", "t\u{1f4de}ok-0123", "t\u{1f4de}ok-0123"),
            // A token that no header can carry.
            (foreign, &format!("a {foreign} b"), "a [api token] b"),
            (foreign, "a geh\u{e9}imnis-\u{e9}", "a [api token]"),
        ] {
            assert_eq!(mask(token, text), masked, "{token}");
        }
    }

    /// Returns a token of few characters, so that it repeats itself and looks like escapes.
    fn random_token(random: &mut Rng) -> String {
        let alphabets: [&[u8]; 4] = [b"A", b"AB", br"%4A1\u0", b"abcXYZ019-_.+/=%\"\\"];
        let start = alphabets[random.usize(..4)];
        let rest = alphabets[random.usize(1..4)];
        let (repeated, length) = (random.usize(..24), random.usize(8..48));
        let mut character = |index| {
            let alphabet = if index < repeated { start } else { rest };
            char::from(alphabet[random.usize(..alphabet.len())])
        };
        (0..length).map(&mut character).collect()
    }

    /// Returns a token as some library may write it, with each character escaped or not.
    fn escaped(random: &mut Rng, token: &str) -> String {
        let escapes = random.u8(..3);
        let mut write = |c: char| match (random.u8(..4), c) {
            (0, _) if escapes == 1 => format!("\\u{:04x}", u32::from(c)),
            (1, _) if escapes == 1 => format!("\\u{:04X}", u32::from(c)),
            (_, '"' | '\\' | '/') if escapes == 1 => format!("\\{c}"),
            (0, _) if escapes == 2 => format!("%{:02x}", u32::from(c)),
            (1 | 2, _) if escapes == 2 => format!("%{:02X}", u32::from(c)),
            (_, '%') if escapes == 2 => "%25".to_owned(),
            _ => c.to_string(),
        };
        token.chars().map(&mut write).collect()
    }

    #[test]
    fn no_token_is_shown_in_any_notation_cut_and_context() {
        let mut random = Rng::with_seed(7);
        for _ in 0..4_000 {
            let token = random_token(&mut random);
            let written = escaped(&mut random, &token);
            let before = match random.u8(..3) {
                0 => String::new(),
                // More of the same.
                1 => token[..1].repeat(random.usize(..20)),
                _ => written[..random.usize(..written.len())].to_owned(),
            };
            let whole = mask(&token, &format!("{before}{written}>"));
            let is_masked = whole.ends_with(&format!("{MASK}>"));
            assert!(is_masked, "{token} in {before}{written}: {whole}");
            // The text is cut so that at least eight characters are left, within an escape or not.
            let end = random.usize(written.len().min(8 * ESCAPE_BYTES)..=written.len());
            let cut = format!("{before}{}", &written[..end]);
            let masked = mask(&token, &cut);
            assert!(masked.ends_with(MASK), "{token} in {cut}: {masked}");
        }
    }

    #[test]
    fn tokens_that_no_header_can_carry_are_refused_without_being_shown() {
        for (value, found) in [
            ("", "an empty value"),
            ("BEARER abc", "starts with `Bearer `"),
            (&"t".repeat(8_193), "more than 8192 bytes"),
            ("abc\n", "control character"),
            ("abc\u{7f}", "control character"),
            ("t\u{f6}ken", "non-ASCII character"),
            (" abc", "space"),
            ("abc ", "space"),
        ] {
            let message = ApiToken::parse(value).unwrap_err();
            assert!(message.contains(found), "{value:?}: {message}");
        }
        for good in ["Bearer", "Bearer-abc", "a b", &"t".repeat(8_192)] {
            let token = ApiToken::parse(good).unwrap();
            assert_eq!(format!("{token:?}"), MASK);
            assert_eq!(token.header_value(), format!("Bearer {good}"));
        }
    }
}

//! The tokens that must stay hidden, and their masking in everything that the harness shows:
//! records, logs, errors, answers.
//!
//! A token is found unchanged, as JSON may write it, and percent-encoded. Other transformations
//! (base64, UTF-16, a part of it in the middle of a text) are not recognised.

use serde_json::Value;
use std::cmp::Reverse;
use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use voice_calling_core::settings::PREFIX;
use voice_calling_core::token;

/// The length at which an endless line of a guest is cut, since a token must not slip through
/// between two pieces of it.
const LONGEST_LINE: usize = 64 * 1024;

/// The tokens that a harness knows, the longest first, since one may be a part of another. Clones
/// share them.
#[derive(Clone, Default)]
pub struct Secrets(Arc<Mutex<Vec<String>>>);

impl Secrets {
    /// Adds a token, with or without `Bearer ` before it.
    pub fn add(&self, token: &str) {
        let token = token.trim();
        let token = token.strip_prefix("Bearer ").unwrap_or(token).trim();
        let mut tokens = self.tokens();
        if !token.is_empty() && !tokens.iter().any(|known| known == token) {
            tokens.push(token.to_owned());
            tokens.sort_by_key(|token| Reverse(token.len()));
        }
    }

    fn tokens(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the tokens in a guest's environment: the one without a name, and those of accounts.
    pub fn add_environment<'a>(&self, variables: impl IntoIterator<Item = (&'a str, &'a str)>) {
        for (name, value) in variables {
            let setting = name.strip_prefix(PREFIX).unwrap_or_default();
            if setting == "API_TOKEN" || setting.ends_with("_API_TOKEN") {
                self.add(value);
            }
        }
    }

    /// Returns a text without the tokens. Tokens of less than 8 bytes are ignored, since they could
    /// be any word.
    pub fn mask(&self, text: &str) -> String {
        let tokens = self.tokens();
        let masked = |text: String, token: &String| token::mask(token, &text);
        tokens.iter().fold(text.to_owned(), masked)
    }

    /// Returns JSON without the tokens, in names and in values.
    pub fn mask_json(&self, json: &Value) -> Value {
        match json {
            Value::String(text) => self.mask(text).into(),
            Value::Array(elements) => elements.iter().map(|value| self.mask_json(value)).collect(),
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| (self.mask(name), self.mask_json(value)))
                .collect(),
            other => other.clone(),
        }
    }

    /// Returns a writer of lines without the tokens.
    pub fn lines<W: Write>(&self, to: W) -> MaskedLines<W> {
        MaskedLines {
            secrets: self.clone(),
            to,
            line: Vec::new(),
            is_cut: false,
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} × {}", self.tokens().len(), token::MASK)
    }
}

/// Writes complete lines, without the tokens. The rest is written when this is dropped.
pub struct MaskedLines<W: Write> {
    secrets: Secrets,
    to: W,
    line: Vec<u8>,
    /// Whether the line was too long, so that the rest of it is skipped.
    is_cut: bool,
}

/// Shows nothing of the line, which is not masked yet.
impl<W: Write> fmt::Debug for MaskedLines<W> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("MaskedLines")
            .field("secrets", &self.secrets)
            .finish_non_exhaustive()
    }
}

impl<W: Write> MaskedLines<W> {
    fn write_line(&mut self, end: &str) -> io::Result<()> {
        let line = String::from_utf8_lossy(&self.line);
        let masked = self.secrets.mask(&line) + end;
        self.line.clear();
        self.to.write_all(masked.as_bytes())
    }
}

impl<W: Write> Write for MaskedLines<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let ends = piece.ends_with(b"\n");
            let text = piece.strip_suffix(b"\n").unwrap_or(piece);
            if self.is_cut {
                self.is_cut = !ends;
                continue;
            }
            let room = LONGEST_LINE - self.line.len();
            if text.len() > room {
                self.line.extend_from_slice(&text[..room]);
                self.is_cut = !ends;
                self.write_line(" [cut]\n")?;
                continue;
            }
            self.line.extend_from_slice(text);
            if ends {
                self.write_line("\n")?;
            }
        }
        Ok(bytes.len())
    }

    /// Keeps an incomplete line back.
    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl<W: Write> Drop for MaskedLines<W> {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            // Errors are ignored: no one is left to report them to.
            let _ = self.write_line("");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const CANARY: &str = "canary/5f1e\"0c77";

    fn secrets() -> Secrets {
        let secrets = Secrets::default();
        let environment = [
            ("VOICE_CALLING_BASE_URL", "http://127.0.0.1"),
            ("VOICE_CALLING_API_TOKEN", CANARY),
        ];
        secrets.add_environment(environment);
        secrets
    }

    fn written(pieces: &[&[u8]]) -> String {
        let mut written = Vec::new();
        let mut lines = secrets().lines(&mut written);
        for piece in pieces {
            lines.write_all(piece).unwrap();
        }
        let shown = "MaskedLines { secrets: 1 × [api token], .. }";
        assert_eq!(format!("{lines:?}"), shown);
        drop(lines);
        String::from_utf8(written).unwrap()
    }

    #[test]
    fn the_tokens_of_accounts_are_masked_too() {
        let secrets = Secrets::default();
        secrets.add_environment([
            ("VOICE_CALLING_ACCOUNTS", "alpha,south-west"),
            ("VOICE_CALLING_ALPHA_API_TOKEN", "token-of-alpha"),
            ("VOICE_CALLING_SOUTH_WEST_API_TOKEN", "token-of-south-west"),
            ("ANOTHER_API_TOKEN", "token-of-another"),
        ]);
        assert_eq!(
            secrets.mask("token-of-south-west, token-of-alpha, token-of-another"),
            "[api token], [api token], token-of-another"
        );
    }

    #[test]
    fn every_token_is_masked_whole_also_if_one_is_a_part_of_another() {
        let secrets = Secrets::default();
        for token in ["canary-1", "canary-1-and-more", "Bearer other-token\n", ""] {
            secrets.add(token);
        }
        assert_eq!(
            secrets.mask("canary-1-and-more, canary-1, other-token."),
            "[api token], [api token], [api token]."
        );
        assert_eq!(format!("{secrets:?}"), "3 × [api token]");
    }

    #[test]
    fn json_is_masked_in_names_and_values_and_in_json_within_it() {
        let inner = json!({ "echo": CANARY }).to_string();
        let json = json!({ CANARY: [CANARY, 1, null, inner] });
        let masked =
            json!({ "[api token]": ["[api token]", 1, null, "{\"echo\":\"[api token]\"}"] });
        assert_eq!(secrets().mask_json(&json), masked);
    }

    #[test]
    fn a_token_in_lines_is_masked_also_if_it_comes_in_pieces() {
        let pieces = [
            &b"one cana"[..],
            b"ry/5f1e\"0c7",
            b"7\ntwo\nthree canary/5f",
        ];
        assert_eq!(written(&pieces), "one [api token]\ntwo\nthree [api token]");
    }

    #[test]
    fn a_line_without_an_end_is_cut_and_the_next_one_is_whole() {
        let endless = "x".repeat(LONGEST_LINE - 10);
        let pieces = [endless.as_bytes(), CANARY.as_bytes(), b"more\nnext\n"];
        assert_eq!(
            written(&pieces),
            format!("{endless}[api token] [cut]\nnext\n")
        );
    }
}

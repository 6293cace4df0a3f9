//! Secrets that admit callers.

use subtle::ConstantTimeEq;

/// A shorter secret could be guessed.
const LEAST_CHARACTERS: usize = 24;

/// A secret that cannot be guessed.
pub struct Secret<'a>(&'a str);

impl<'a> Secret<'a> {
    /// Reads the value of the environment variable `variable`. The error says what is wrong with
    /// it, without the value.
    pub fn read(variable: &str, value: &'a str) -> Result<Self, String> {
        let characters = value.chars().count();
        // A proxy could rewrite other characters.
        let is_plain = value.chars().all(|c| c.is_ascii_alphanumeric());
        if characters < LEAST_CHARACTERS || !is_plain {
            return Err(format!(
                "{variable} has {characters} characters; allowed: {LEAST_CHARACTERS} or more, ASCII letters and digits only"
            ));
        }
        Ok(Self(value))
    }

    /// Compares in constant time, so that answers do not reveal how much of a guess was right.
    pub fn is(&self, given: &[u8]) -> bool {
        given.ct_eq(self.0.as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_guessed_or_written_otherwise_is_refused_and_not_shown() {
        for value in ["", "guessable", "0123456789-abcdefghij-XYZ"] {
            let why = Secret::read("SOME_VARIABLE", value).err().unwrap();
            assert!(why.contains("SOME_VARIABLE") && why.contains("24"), "{why}");
            assert!(value.is_empty() || !why.contains(value), "{why}");
        }
    }
}

//! The environment of a component: its variables, and the secrets in them that admit callers.

use subtle::ConstantTimeEq;

/// A shorter secret could be guessed.
const LEAST_CHARACTERS: usize = 24;

/// Returns the value of a variable, or an empty string if it is not set.
pub fn variable<'a>(environment: &'a [(String, String)], name: &str) -> &'a str {
    let mut variables = environment.iter();
    let value = variables.find_map(|(key, value)| (key == name).then_some(value.as_str()));
    value.unwrap_or_default()
}

/// Returns `true` if a caller gave the secret that a variable holds. The error says what is wrong
/// with the variable, without its value: no one is let in then.
pub fn admits(environment: &[(String, String)], name: &str, given: &[u8]) -> Result<bool, String> {
    let secret = variable(environment, name);
    let characters = secret.chars().count();
    // A proxy could rewrite other characters.
    let is_plain = secret.chars().all(|c| c.is_ascii_alphanumeric());
    if characters < LEAST_CHARACTERS || !is_plain {
        return Err(format!(
            "{name} has {characters} characters; allowed: {LEAST_CHARACTERS} or more, ASCII letters and digits only"
        ));
    }
    // In constant time, so that answers do not reveal how much of a guess was right.
    Ok(given.ct_eq(secret.as_bytes()).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(secret: &str, given: &str) -> Result<bool, String> {
        let environment = [("SOME_VARIABLE".to_owned(), secret.to_owned())];
        admits(&environment, "SOME_VARIABLE", given.as_bytes())
    }

    #[test]
    fn only_the_whole_secret_lets_in() {
        const SECRET: &str = "0123456789abcdefghijXYZ01";
        assert_eq!(admitted(SECRET, SECRET), Ok(true));
        for given in ["", &SECRET[1..], "0123456789abcdefghijXYz01"] {
            assert_eq!(admitted(SECRET, given), Ok(false), "{given}");
        }
    }

    #[test]
    fn what_could_be_guessed_or_written_otherwise_lets_no_one_in_and_is_not_shown() {
        for secret in ["", "guessable", "0123456789-abcdefghij-XYZ"] {
            let why = admitted(secret, secret).unwrap_err();
            assert!(why.contains("SOME_VARIABLE") && why.contains("24"), "{why}");
            assert!(secret.is_empty() || !why.contains(secret), "{why}");
        }
        assert!(admits(&[], "SOME_VARIABLE", b"").is_err());
    }
}

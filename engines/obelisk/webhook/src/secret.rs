//! The secret in the webhook's path. Deliveries are not signed: it is all that tells a delivery
//! of the service from one of anybody else.

use subtle::ConstantTimeEq;

/// The variable that holds the secret.
pub const VARIABLE: &str = "VOICE_CALLING_WEBHOOK_SECRET";

/// The part of the path, which the engine hands over as a variable.
pub const PATH_VARIABLE: &str = "path_secret";

/// Less could be guessed.
const LEAST_CHARACTERS: usize = 24;

/// Whether a delivery may be looked at.
#[derive(Debug, PartialEq, Eq)]
pub enum Entry {
    Allowed,
    /// The path has another secret, or none.
    Unknown,
    /// The secret in the environment is none: why.
    Unprotected(String),
}

/// Decides by the instance's environment.
pub fn check(environment: &[(String, String)]) -> Entry {
    let variable = |name: &str| {
        let mut variables = environment.iter();
        variables.find_map(|(key, value)| (key == name).then_some(value.as_str()))
    };
    let secret = variable(VARIABLE).unwrap_or_default();
    let characters = secret.chars().count();
    // Nothing that a proxy on the way could write in another way.
    let is_plain = secret.chars().all(|c| c.is_ascii_alphanumeric());
    if characters < LEAST_CHARACTERS || !is_plain {
        return Entry::Unprotected(format!(
            "{VARIABLE} has {characters} characters; {LEAST_CHARACTERS} or more are allowed, \
             ASCII letters and digits only"
        ));
    }
    let given = variable(PATH_VARIABLE).unwrap_or_default();
    // In constant time, so that answers do not tell how far a guess was right.
    match bool::from(given.as_bytes().ct_eq(secret.as_bytes())) {
        true => Entry::Allowed,
        false => Entry::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(secret: Option<&str>, given: Option<&str>) -> Entry {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let secret = secret.map(|it| pair(VARIABLE, it));
        let given = given.map(|it| pair(PATH_VARIABLE, it));
        check(&secret.into_iter().chain(given).collect::<Vec<_>>())
    }

    const SECRET: &str = "0123456789abcdefghijXYZ01";

    #[test]
    fn only_the_whole_secret_lets_a_delivery_in() {
        assert_eq!(entry(Some(SECRET), Some(SECRET)), Entry::Allowed);
        for guess in [
            None,
            Some(""),
            Some(&SECRET[1..]),
            Some("0123456789abcdefghijXYz01"),
        ] {
            assert_eq!(entry(Some(SECRET), guess), Entry::Unknown, "{guess:?}");
        }
    }

    #[test]
    fn a_secret_that_could_be_guessed_or_written_otherwise_lets_nobody_in() {
        for secret in [
            None,
            Some(""),
            Some("short"),
            Some("0123456789-abcdefghij-XYZ"),
        ] {
            let entry = entry(secret, secret);
            assert!(matches!(entry, Entry::Unprotected(_)), "{secret:?}");
        }
    }

    #[test]
    fn a_missing_secret_is_told_without_its_value() {
        let Entry::Unprotected(why) = entry(Some("guessable"), None) else {
            panic!("let in")
        };
        assert!(why.contains(VARIABLE) && why.contains("24"), "{why}");
        assert!(!why.contains("guessable"), "{why}");
    }
}

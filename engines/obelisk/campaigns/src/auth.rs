//! The token of the campaigns' endpoint.

use voice_calling_obelisk_guest::{Secret, variable};

/// The variable that holds the token.
pub const VARIABLE: &str = "VOICE_CALLING_OPERATOR_TOKEN";

/// Whether a request may be answered.
#[derive(Debug, PartialEq, Eq)]
pub enum Entry {
    Allowed,
    /// The token is wrong or missing.
    Unauthorized,
    /// The environment has no usable token, for this reason.
    Unprotected(String),
}

/// Decides from the instance's environment and the values of the header `authorization`.
pub fn check(environment: &[(String, String)], authorization: &[Vec<u8>]) -> Entry {
    let token = match Secret::read(VARIABLE, variable(environment, VARIABLE)) {
        Ok(token) => token,
        Err(why) => return Entry::Unprotected(why),
    };
    match authorization {
        [header] if bearer(header).is_some_and(|given| token.is(given)) => Entry::Allowed,
        _ => Entry::Unauthorized,
    }
}

/// Returns the token of `Bearer <token>` (RFC 6750, section 2.1; the scheme in either case).
fn bearer(header: &[u8]) -> Option<&[u8]> {
    const SCHEME: &[u8] = b"bearer ";
    let (scheme, token) = header.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then_some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdefghijXYZ01";

    fn entry(token: &str, headers: &[&str]) -> Entry {
        let headers: Vec<_> = headers.iter().map(|it| it.as_bytes().to_vec()).collect();
        check(&[(VARIABLE.to_owned(), token.to_owned())], &headers)
    }

    #[test]
    fn the_token_lets_in() {
        for scheme in ["Bearer", "bearer"] {
            assert_eq!(
                entry(TOKEN, &[&format!("{scheme} {TOKEN}")]),
                Entry::Allowed
            );
        }
    }

    #[test]
    fn anything_else_does_not() {
        let right = format!("Bearer {TOKEN}");
        for headers in [
            &[][..],
            &[""],
            &["Bearer"],
            &["Bearer "],
            &[TOKEN],
            &["Bearer 0123456789abcdefghijXYz01"],
            &[&format!("Basic {TOKEN}")],
            &[&format!("Bearer  {TOKEN}")],
            &[&format!("Bearer {TOKEN}, x")],
            &[&right, &right],
        ] {
            assert_eq!(entry(TOKEN, headers), Entry::Unauthorized, "{headers:?}");
        }
    }

    #[test]
    fn without_a_token_no_one_is_let_in() {
        for token in ["", "short"] {
            let entry = entry(token, &[&format!("Bearer {token}")]);
            assert!(matches!(entry, Entry::Unprotected(_)), "{token:?}");
        }
    }
}

//! The secret in the webhook's path, and the account after it. Deliveries are not signed: only the
//! secret distinguishes a delivery of the service from any other.

use voice_calling_obelisk_guest::{Secret, variable};

/// The variable that holds the secret.
pub const VARIABLE: &str = "VOICE_CALLING_WEBHOOK_SECRET";

/// The variable with the names of the accounts, separated by commas, as in the client's settings.
pub const ACCOUNTS_VARIABLE: &str = "VOICE_CALLING_ACCOUNTS";

/// The parts of the path, which the engine passes as variables.
pub const PATH_VARIABLE: &str = "path_secret";
pub const ACCOUNT_VARIABLE: &str = "account";

/// Whether a delivery may be processed.
#[derive(Debug, PartialEq, Eq)]
pub enum Entry {
    /// The delivery is for this account, or for the unnamed one if `None`.
    Allowed(Option<String>),
    /// The path has a wrong secret or none, or an account that the settings do not name.
    Unknown,
    /// The environment has no usable secret, for this reason.
    Unprotected(String),
}

/// Decides from the instance's environment.
pub fn check(environment: &[(String, String)]) -> Entry {
    let secret = match Secret::read(VARIABLE, variable(environment, VARIABLE)) {
        Ok(secret) => secret,
        Err(why) => return Entry::Unprotected(why),
    };
    if !secret.is(variable(environment, PATH_VARIABLE).as_bytes()) {
        return Entry::Unknown;
    }
    let account = variable(environment, ACCOUNT_VARIABLE);
    let mut accounts = variable(environment, ACCOUNTS_VARIABLE).split(',');
    match account {
        "" => Entry::Allowed(None),
        name if accounts.any(|account| account == name) => Entry::Allowed(Some(name.to_owned())),
        _ => Entry::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(variables: &[(&str, &str)]) -> Entry {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        check(&variables.iter().map(pair).collect::<Vec<_>>())
    }

    const SECRET: &str = "0123456789abcdefghijXYZ01";

    #[test]
    fn only_the_whole_secret_lets_a_delivery_in() {
        let ours = (VARIABLE, SECRET);
        assert_eq!(
            entry(&[ours, (PATH_VARIABLE, SECRET)]),
            Entry::Allowed(None)
        );
        assert_eq!(
            entry(&[ours, (PATH_VARIABLE, &SECRET[1..])]),
            Entry::Unknown
        );
        assert_eq!(entry(&[ours]), Entry::Unknown);
    }

    #[test]
    fn without_a_secret_no_one_is_let_in() {
        for variables in [&[][..], &[(VARIABLE, ""), (PATH_VARIABLE, "")]] {
            let entry = entry(variables);
            assert!(matches!(entry, Entry::Unprotected(_)), "{variables:?}");
        }
    }

    #[test]
    fn only_accounts_that_the_settings_name_are_known() {
        let of = |account, accounts| {
            entry(&[
                (VARIABLE, SECRET),
                (ACCOUNTS_VARIABLE, accounts),
                (PATH_VARIABLE, SECRET),
                (ACCOUNT_VARIABLE, account),
            ])
        };
        let allowed = Entry::Allowed(Some("north".to_owned()));
        assert_eq!(of("north", "north"), allowed);
        assert_eq!(of("north", "south,north"), allowed);
        for account in ["North", "nort", "south,north", ","] {
            assert_eq!(of(account, "south,north"), Entry::Unknown, "{account}");
        }
        assert_eq!(of("north", ""), Entry::Unknown);
    }
}

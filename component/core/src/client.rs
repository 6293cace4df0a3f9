//! The client, whose functions are those of the WIT package.

use crate::account::Account;
use crate::operation::Operation;
use crate::problem::{configuration_error, problem};
use crate::settings::Settings;
use crate::transport::Transport;
use crate::types::{CallOptions, Problem, RequestError};
use std::borrow::Cow;

/// The client of the service: its accounts, and a way into the world. Its functions are those of
/// the WIT package.
pub struct Client<T> {
    transport: T,
    /// The account without a name, or what is missing in its settings.
    unnamed: Result<Account, Problem>,
    named: Vec<Account>,
}

impl<T: Transport> Client<T> {
    /// A client with these settings.
    pub fn new(settings: Settings, transport: T) -> Self {
        let named = settings.named.into_iter();
        Self {
            transport,
            unnamed: settings
                .unnamed
                .map(|settings| Account::new(None, settings)),
            named: named
                .map(|(name, settings)| Account::new(Some(name), settings))
                .collect(),
        }
    }

    /// An operation that begins now.
    pub(crate) fn begin(
        &self,
        options: Option<CallOptions>,
    ) -> Result<Operation<'_, T>, RequestError> {
        let name = options
            .as_ref()
            .and_then(|options| options.account.as_deref());
        let account = self.account(name).map_err(|problem| {
            let accounts = self.named.iter().chain(&self.unnamed);
            let masked = accounts.fold(problem, |problem, account| {
                account.settings.token.mask_problem(problem)
            });
            configuration_error(masked)
        })?;
        let settings = match &options {
            Some(options) => account.settings.with_options(options)?,
            None => Cow::Borrowed(&account.settings),
        };
        Ok(Operation::begin(&self.transport, account, settings))
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.transport.now_ms()
    }

    fn account(&self, name: Option<&str>) -> Result<&Account, Problem> {
        let Some(name) = name else {
            return self.unnamed.as_ref().map_err(Problem::clone);
        };
        let mut named = self.named.iter();
        let found = named.find(|account| account.name.as_deref() == Some(name));
        found.ok_or_else(|| {
            let known = self
                .named
                .iter()
                .filter_map(|account| account.name.as_deref());
            let known: Vec<_> = known.collect();
            let allowed = match known.is_empty() {
                true => "none: VOICE_CALLING_ACCOUNTS lists no account".to_owned(),
                false => format!("one of {}", known.join(", ")),
            };
            let shown: String = name.chars().take(64).collect();
            problem("options.account", format!("{shown:?}"), allowed)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use crate::simulation::{NO_OPTIONS, Step, World, take_apart};
    use futures_util::future::join;

    const ACCOUNTS: [(&str, &str); 5] = [
        ("ACCOUNTS", "alpha,beta"),
        ("ALPHA_API_TOKEN", "token-of-alpha"),
        ("BETA_API_TOKEN", "token-of-beta"),
        ("BETA_BASE_URL", "https://beta.example"),
        ("MAX_IN_FLIGHT", "1"),
    ];

    fn account(name: &str) -> Option<CallOptions> {
        let account = Some(name.to_owned());
        Some(CallOptions {
            account,
            ..NO_OPTIONS
        })
    }

    fn details() -> Step {
        Step::ok("[]")
    }

    #[test]
    fn a_call_goes_to_the_account_that_it_names() {
        let world = World::with_script([details()]);
        let client = world.client(&ACCOUNTS);
        for (options, authority, token) in [
            (account("alpha"), "api.example", "Bearer token-of-alpha"),
            (account("beta"), "beta.example", "Bearer token-of-beta"),
            (Some(NO_OPTIONS), "api.example", "Bearer simulated-token"),
            (None, "api.example", "Bearer simulated-token"),
        ] {
            world.run(client.get_call_details("t", options)).unwrap();
            let sent = world.sent().pop().unwrap().request;
            assert_eq!(sent.authority, authority);
            assert_eq!(sent.headers, [("auth_token", token.to_owned())]);
        }
    }

    #[test]
    fn an_unknown_account_is_named_beside_those_that_there_are() {
        for (variables, allowed) in [
            (&ACCOUNTS[..], "one of alpha, beta"),
            (&[], "none: VOICE_CALLING_ACCOUNTS lists no account"),
        ] {
            for name in ["gamma", "", "Alpha", "ALPHA", "alpha "] {
                let world = World::default();
                let client = world.client(variables);
                let result = world.run(client.get_call_details("t", account(name)));
                let (case, failure) = take_apart(result.unwrap_err());
                assert_eq!(case, "permanent-configuration");
                let problem = failure.problem.unwrap();
                assert_eq!(
                    (&*problem.subject, &*problem.allowed),
                    ("options.account", allowed)
                );
                assert_eq!(problem.found, format!("{name:?}"));
                assert!(world.sent().is_empty());
            }
        }
    }

    #[test]
    fn without_settings_without_a_name_every_call_has_to_name_its_account() {
        let environment = [
            ("VOICE_CALLING_ACCOUNTS", "alpha"),
            ("VOICE_CALLING_ALPHA_BASE_URL", "https://api.example"),
            ("VOICE_CALLING_ALPHA_API_TOKEN", "token-of-alpha"),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let world = World::with_script([details()]);
        let client = Client::new(
            Settings::from_environment(environment).unwrap(),
            world.clone(),
        );
        let named = world.run(client.get_call_details("t", account("alpha")));
        assert!(named.is_ok());
        let unnamed = world.run(client.get_call_details("t", None));
        let (case, failure) = take_apart(unnamed.unwrap_err());
        assert_eq!(case, "permanent-configuration");
        assert_eq!(failure.problem.unwrap().subject, "VOICE_CALLING_BASE_URL");
        assert_eq!(world.sent().len(), 1);
    }

    #[test]
    fn accounts_share_no_rate_limit() {
        let limited = Step::status(429).with_header("retry-after", "7");
        let world = World::with_script([limited, details()]);
        let client = world.client(&ACCOUNTS);
        let limited = client.get_call_details("limited", account("alpha"));
        let other = client.get_call_details("other", account("beta"));
        let (limited, other) = world.run(join(limited, other));
        assert!(limited.is_ok() && other.is_ok());
        assert_eq!(world.sent_at_ms(), [0, 0, 7_000]);
    }

    #[test]
    fn accounts_share_no_places() {
        let world = World::with_script([details().after(100)]);
        let client = world.client(&ACCOUNTS);
        let one = client.get_call_details("one", account("alpha"));
        let other = client.get_call_details("other", account("beta"));
        let (one, other) = world.run(join(one, other));
        assert!(one.is_ok() && other.is_ok());
        assert_eq!(world.sent_at_ms(), [0, 0]);
    }

    #[test]
    fn options_take_the_place_of_settings_for_one_call() {
        let world = World::with_script([Step::status(503)]);
        let client = world.client(&[]);
        let options = CallOptions {
            max_attempts: Some(2),
            deadline_ms: Some(4_000),
            ..NO_OPTIONS
        };
        let result = world.run(client.get_call_details("t", Some(options)));
        assert!(result.is_err());
        assert_eq!(world.sent_at_ms(), [0, 1_000]);
        assert_eq!(world.sent()[0].limits.attempt_ms, 4_000);

        let result = world.run(client.get_call_details("t", None));
        assert!(result.is_err());
        assert_eq!(world.sent().len(), 6);
        assert_eq!(world.sent()[2].limits.attempt_ms, 10_000);
    }

    #[test]
    fn options_that_are_not_allowed_are_named_and_nothing_is_sent() {
        let world = World::default();
        let client = world.client(&[]);
        let deadline_ms = |ms| CallOptions {
            deadline_ms: Some(ms),
            ..NO_OPTIONS
        };
        let max_attempts = |count| CallOptions {
            max_attempts: Some(count),
            ..NO_OPTIONS
        };
        for (options, subject, found) in [
            (deadline_ms(0), "options.deadline-ms", "0"),
            (deadline_ms(86_400_001), "options.deadline-ms", "86400001"),
            (max_attempts(0), "options.max-attempts", "0"),
            (max_attempts(101), "options.max-attempts", "101"),
        ] {
            let result = world.run(client.get_call_details("t", Some(options)));
            let (case, failure) = take_apart(result.unwrap_err());
            assert_eq!(case, "permanent-invalid-input");
            let problem = failure.problem.unwrap();
            assert_eq!((&*problem.subject, &*problem.found), (subject, found));
        }
    }
}

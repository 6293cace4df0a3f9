//! The client, whose functions are those of the WIT package.

use crate::account::Account;
use crate::operation::Operation;
use crate::problem::{configuration_error, problem};
use crate::settings::Settings;
use crate::transport::Transport;
use crate::types::{CallOptions, Problem, RequestError};
use std::borrow::Cow;

/// The client of the service, with its accounts and its transport. Its functions are those of the
/// WIT package.
pub struct Client<T> {
    transport: T,
    /// The account without a name, or the problem with its settings.
    unnamed: Result<Account, Problem>,
    named: Vec<Account>,
}

impl<T: Transport> Client<T> {
    /// Creates a client with these settings.
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

    /// Begins an operation on the account that the options select.
    pub(crate) fn begin(
        &self,
        options: Option<CallOptions>,
    ) -> Result<Operation<'_, T>, RequestError> {
        let options = options.as_ref();
        let name = options.and_then(|options| options.account.as_deref());
        let account = self.account(name).map_err(|problem| {
            let accounts = self.named.iter().chain(&self.unnamed);
            let masked = accounts.fold(problem, |problem, account| {
                account.settings.token.mask_problem(problem)
            });
            configuration_error(masked)
        })?;
        let settings = match options {
            Some(options) => account.settings.with_options(options)?,
            None => Cow::Borrowed(&account.settings),
        };
        Ok(Operation::begin(&self.transport, account, settings))
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
    use crate::simulation::{NO_OPTIONS, Step, World, case_and_failure, rows};
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

    fn limits(deadline_ms: Option<u32>, max_attempts: Option<u32>) -> Option<CallOptions> {
        Some(CallOptions {
            deadline_ms,
            max_attempts,
            ..NO_OPTIONS
        })
    }

    #[test]
    fn an_operation_uses_the_account_that_it_names() {
        let world = World::with_script([Step::ok("[]")]);
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
    fn without_an_unnamed_account_every_operation_must_name_one() {
        let environment = [
            ("VOICE_CALLING_ACCOUNTS", "alpha"),
            ("VOICE_CALLING_ALPHA_BASE_URL", "https://api.example"),
            ("VOICE_CALLING_ALPHA_API_TOKEN", "token-of-alpha"),
        ];
        let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let settings = Settings::from_environment(environment).unwrap();
        let world = World::with_script([Step::ok("[]")]);
        let client = Client::new(settings, world.clone());
        let named = client.get_call_details("t", account("alpha"));
        assert!(world.run(named).is_ok());
        let unnamed = world.run(client.get_call_details("t", None));
        let (case, failure) = case_and_failure(unnamed.unwrap_err());
        assert_eq!(case, "permanent-configuration");
        assert_eq!(failure.problem.unwrap().subject, "VOICE_CALLING_BASE_URL");
        assert_eq!(world.sent().len(), 1);
    }

    #[test]
    fn accounts_share_neither_a_rate_limit_nor_permits() {
        for (step, sent_at_ms) in [
            (Step::limited("7"), vec![0, 0, 7_000]),
            (Step::ok("[]").after(100), vec![0, 0]),
        ] {
            let world = World::with_script([step, Step::ok("[]")]);
            let client = world.client(&ACCOUNTS);
            let one = client.get_call_details("one", account("alpha"));
            let other = client.get_call_details("other", account("beta"));
            let (one, other) = world.run(join(one, other));
            assert!(one.is_ok() && other.is_ok());
            assert_eq!(world.sent_at_ms(), sent_at_ms);
        }
    }

    #[test]
    fn options_override_settings_for_one_operation() {
        for (options, sent_at_ms, attempt_ms, connect_ms) in [
            (limits(Some(4_000), Some(2)), vec![0, 1_000], 4_000, 3_000),
            (limits(Some(1_000), None), vec![0], 1_000, 750),
            (limits(Some(60_000), Some(1)), vec![0], 10_000, 3_000),
            (None, vec![0, 1_000, 3_000, 7_000], 10_000, 3_000),
        ] {
            let world = World::with_script([Step::status(503)]);
            let result = world.run(world.client(&[]).get_call_details("t", options));
            assert!(result.is_err());
            assert_eq!(world.sent_at_ms(), sent_at_ms);
            let limits = world.sent()[0].limits;
            assert_eq!(
                (limits.attempt_ms, limits.connect_ms),
                (attempt_ms, connect_ms)
            );
        }
    }

    /// An option and its value, the case, and what is allowed.
    const NOT_ALLOWED: &str = r#"
        account "gamma" | permanent-configuration | one of alpha, beta
        account "" | permanent-configuration | one of alpha, beta
        account "ALPHA" | permanent-configuration | one of alpha, beta
        account "alpha " | permanent-configuration | one of alpha, beta
        deadline-ms 0 | permanent-invalid-input | 1 to 86400000 milliseconds
        deadline-ms 86400001 | permanent-invalid-input | 1 to 86400000 milliseconds
        max-attempts 0 | permanent-invalid-input | 1 to 100
        max-attempts 101 | permanent-invalid-input | 1 to 100"#;

    #[test]
    fn an_option_that_is_not_allowed_is_named_and_nothing_is_sent() {
        for [option, expected, allowed] in rows(NOT_ALLOWED) {
            let (name, value) = option.split_once(' ').unwrap();
            let options = match name {
                "account" => account(value.trim_matches('"')),
                "deadline-ms" => limits(value.parse().ok(), None),
                _ => limits(None, value.parse().ok()),
            };
            let world = World::default();
            let result = world.run(world.client(&ACCOUNTS).get_call_details("t", options));
            let (case, failure) = case_and_failure(result.unwrap_err());
            let problem = failure.problem.unwrap();
            assert_eq!((case, &*problem.found), (expected, value));
            assert_eq!(problem.subject, format!("options.{name}"));
            assert_eq!(problem.allowed, allowed);
            assert!(world.sent().is_empty());
        }
        let client = World::default().client(&[]);
        let (_, failure) = case_and_failure(client.begin(account("alpha")).err().unwrap());
        let allowed = "none: VOICE_CALLING_ACCOUNTS lists no account";
        assert_eq!(failure.problem.unwrap().allowed, allowed);
    }
}

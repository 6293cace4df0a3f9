//! The client, whose functions are those of the WIT package, and its accounts.

use crate::gate::Gate;
use crate::ledger::{Ledger, NoLedger};
use crate::operation::Operation;
use crate::permits::Permits;
use crate::problem::{configuration_failure, problem};
use crate::settings::{AccountSettings, Settings};
use crate::transport::Transport;
use crate::types::{CallOptions, Failure, Problem};
use std::borrow::Cow;

/// The client of the service, with its accounts, its transport, and the ledger for creates that have
/// a key. Its functions are those of the WIT package.
#[derive(Debug)]
pub struct Client<T, L = NoLedger> {
    transport: T,
    pub(crate) ledger: L,
    /// The account without a name, or the problem with its settings.
    unnamed: Result<Account, Problem>,
    named: Vec<Account>,
}

impl<T: Transport, L: Ledger> Client<T, L> {
    /// Creates a client with these settings.
    pub fn new(settings: Settings, transport: T, ledger: L) -> Self {
        let named = settings.named.into_iter();
        Self {
            transport,
            ledger,
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
    ) -> Result<Operation<'_, T, L>, Failure> {
        let options = options.as_ref();
        let name = options.and_then(|options| options.account.as_deref());
        let account = self.account(name).map_err(|problem| {
            let accounts = self.named.iter().chain(&self.unnamed);
            let masked = accounts.fold(problem, |problem, account| {
                account.settings.token.mask_problem(problem)
            });
            configuration_failure(masked)
        })?;
        let settings = match options {
            Some(options) => account.settings.with_options(options)?,
            None => Cow::Borrowed(&account.settings),
        };
        Ok(Operation::begin(
            &self.transport,
            &self.ledger,
            account,
            settings,
        ))
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

/// An account of the service, with its own token.
#[derive(Debug)]
pub(crate) struct Account {
    pub(crate) name: Option<String>,
    pub(crate) settings: AccountSettings,
    pub(crate) permits: Permits,
    /// Holds back the operations that begin after a rate limit as well as those in progress.
    pub(crate) gate: Gate,
}

impl Account {
    fn new(name: Option<String>, settings: AccountSettings) -> Self {
        Self {
            name,
            permits: Permits::new(settings.max_in_flight),
            gate: Gate::default(),
            settings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{NO_OPTIONS, Step, World};
    use futures_util::future::join;

    const ACCOUNTS: [(&str, &str); 4] = [
        ("ACCOUNTS", "alpha,beta"),
        ("ALPHA_API_TOKEN", "token-of-alpha"),
        ("BETA_API_TOKEN", "token-of-beta"),
        ("MAX_IN_FLIGHT", "1"),
    ];

    fn account(name: &str) -> Option<CallOptions> {
        let account = Some(name.to_owned());
        Some(CallOptions {
            account,
            ..NO_OPTIONS
        })
    }

    #[test]
    fn an_account_that_is_not_in_the_settings_is_unknown() {
        let world = World::default();
        for (variables, name, allowed) in [
            (&ACCOUNTS[..], "gamma", "one of alpha, beta"),
            (
                &[],
                "alpha",
                "none: VOICE_CALLING_ACCOUNTS lists no account",
            ),
        ] {
            let client = world.client(variables);
            let listed = world.run(client.list_agents("org-1", account(name)));
            let unknown = problem("options.account", format!("{name:?}"), allowed);
            assert_eq!(listed.unwrap_err(), configuration_failure(unknown));
        }
        assert!(world.sent().is_empty());
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
}

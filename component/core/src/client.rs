//! The client, whose functions are those of the WIT package.

use crate::account::Account;
use crate::failure::{configuration_error, problem};
use crate::operation::Operation;
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
        let account = self.account(name).map_err(configuration_error)?;
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
                true => "none, since VOICE_CALLING_ACCOUNTS names no account".to_owned(),
                false => format!("one of {}", known.join(", ")),
            };
            let shown: String = name.chars().take(64).collect();
            problem("options.account", format!("{shown:?}"), allowed)
        })
    }
}

//! The settings of a client.

use crate::error::Error;
use crate::transport::ReqwestTransport;
use reqwest::{redirect, retry};
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;
use voice_calling_core as core;
use voice_calling_core::Settings;
use voice_calling_core::settings::PREFIX;

/// When a create is sent again, although it may have been processed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CreateRetry {
    /// After 5xx and 408, as the specification asks. A create that was carried out and answered so
    /// is sent again, and two phones may ring, which the result reports in `may_be_duplicate`.
    ServerErrors,
    /// Only if nothing was sent, or if the service refused it with 429 or 425.
    NotSent,
    /// Never.
    Never,
}

/// The settings of a client. Settings that are not set have the defaults of the project's
/// `docs/settings.md`.
#[derive(Default)]
pub struct Builder {
    variables: Vec<(String, String)>,
    http: Option<reqwest::ClientBuilder>,
    #[cfg(feature = "ledger")]
    pub(crate) ledger: Option<crate::ledger::Keys>,
}

impl Builder {
    /// Returns a builder with the settings of the environment variables `VOICE_CALLING_…`.
    pub fn from_env() -> Self {
        // A variable that is not Unicode is not a setting, and none with the prefix may be one.
        let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        let variables = std::env::vars_os().map(|(name, value)| (text(name), text(value)));
        Self {
            variables: variables
                .filter(|(name, _)| name.starts_with(PREFIX))
                .collect(),
            ..Self::default()
        }
    }

    /// Sets a setting by its name in `docs/settings.md`, such as `MAX_RESPONSE_BYTES`, or that of
    /// an account, such as `ALPHA_API_TOKEN`. The value is checked by [`build`](Self::build).
    #[must_use]
    pub fn setting(mut self, name: &str, value: impl Display) -> Self {
        self.variables
            .push((format!("{PREFIX}{name}"), value.to_string()));
        self
    }

    /// Sets the URL of the service.
    #[must_use]
    pub fn base_url(self, base_url: impl Display) -> Self {
        self.setting("BASE_URL", base_url)
    }

    /// Sets the token, without `Bearer `.
    #[must_use]
    pub fn api_token(self, api_token: impl Display) -> Self {
        self.setting("API_TOKEN", api_token)
    }

    /// Sets the maximum number of attempts of an operation, an item of a batch or a poll: 1 to 100.
    #[must_use]
    pub fn max_attempts(self, max_attempts: u32) -> Self {
        self.setting("MAX_ATTEMPTS", max_attempts)
    }

    /// Sets the deadline of an operation, an item of a batch or a poll: 1 ms to a day.
    #[must_use]
    pub fn deadline(self, deadline: Duration) -> Self {
        self.setting("DEADLINE_MS", deadline.as_millis())
    }

    /// Sets the timeout of an attempt, the body included: 1 ms to the deadline.
    #[must_use]
    pub fn attempt_timeout(self, timeout: Duration) -> Self {
        self.setting("ATTEMPT_TIMEOUT_MS", timeout.as_millis())
    }

    /// Sets when a create is sent again.
    #[must_use]
    pub fn create_retry(self, create_retry: CreateRetry) -> Self {
        let value = match create_retry {
            CreateRetry::ServerErrors => "server-errors",
            CreateRetry::NotSent => "not-sent",
            CreateRetry::Never => "never",
        };
        self.setting("CREATE_RETRY", value)
    }

    /// Sets the HTTP client, whose proxies, certificate authorities and connection timeout apply. It
    /// follows no redirects and retries nothing, whatever it says: a create must be sent once, and
    /// judged by its own answer.
    #[must_use]
    pub fn http_client(mut self, http: reqwest::ClientBuilder) -> Self {
        self.http = Some(http);
        self
    }

    /// Sets the ledger that stores the creates that are carried out [once](crate::Client::once).
    #[cfg(feature = "ledger")]
    #[must_use]
    pub fn ledger(mut self, ledger: crate::Ledger) -> Self {
        self.ledger = Some(crate::ledger::Keys::File(ledger));
        self
    }

    /// Sets your own storage in place of a ledger.
    #[cfg(feature = "ledger")]
    #[must_use]
    pub fn ledger_storage(mut self, storage: impl crate::ledger::Storage) -> Self {
        self.ledger = Some(crate::ledger::Keys::Own(Arc::new(storage)));
        self
    }

    /// Returns the checked settings, and the transport.
    pub(crate) fn into_parts(self) -> Result<(Settings, ReqwestTransport), Error> {
        let settings = Settings::from_environment(self.variables)?;
        let transport = match self.http {
            Some(http) => {
                let http = built(http)?;
                ReqwestTransport::new(http.clone(), http)
            }
            None => {
                let tls = tls()?;
                let own = || own_http_client(tls.clone(), settings.connect_timeout());
                ReqwestTransport::new(built(own())?, built(own().no_proxy())?)
            }
        };
        Ok((settings, transport))
    }
}

fn built(http: reqwest::ClientBuilder) -> Result<reqwest::Client, Error> {
    let http = http.redirect(redirect::Policy::none());
    let http = http.retry(retry::never()).build();
    http.map_err(|error| configuration_error("the HTTP client", &error))
}

/// The time that an idle connection is kept. It is short, since a service that closes a connection
/// just when a create is sent on it leaves the outcome unknown.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);

fn own_http_client(tls: ClientConfig, connect_timeout: Duration) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .connect_timeout(connect_timeout)
        .pool_idle_timeout(IDLE_TIMEOUT)
}

fn tls() -> Result<ClientConfig, Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|tls| tls.with_platform_verifier())
        .map_err(|error| configuration_error("the certificates of this system", &error))?;
    Ok(tls.with_no_client_auth())
}

fn configuration_error(subject: &str, error: &dyn Display) -> Error {
    let allowed = "a system whose certificates and proxies can be read";
    let problem = core::problem(subject, error.to_string(), allowed);
    Error::from(core::configuration_error(problem))
}

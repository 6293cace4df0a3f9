//! The settings of a client.

use crate::Keys;
use crate::clock::Clock;
use crate::error::Error;
use crate::hook::{Ended, Hook, Outgoing};
use crate::transport::{RequestBody, Transport};
use crate::wire::Wire;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use std::fmt::{self, Display};
use std::time::Duration;
use voice_calling_core::Settings;
use voice_calling_core::settings::PREFIX;
use voice_calling_net::{Network, Proxies, Trust};

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
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use voice_calling::{Client, CreateRetry};
///
/// let client = Client::builder()
///     .base_url("https://api.example")
///     .api_token("token")
///     .max_attempts(3)
///     .deadline(Duration::from_secs(20))
///     .attempt_timeout(Duration::from_secs(5))
///     .create_retry(CreateRetry::NotSent)
///     .setting("MAX_IN_FLIGHT", 64)
///     .header("x-team", "renewals")
///     .build()?;
/// # Ok::<_, voice_calling::Error>(())
/// ```
#[derive(Default)]
pub struct Builder {
    variables: Vec<(String, String)>,
    proxies: Option<Proxies>,
    trust: Trust,
    headers: Vec<(String, String)>,
    hook: Option<Hook>,
    transport: Option<Box<dyn Transport>>,
    pub(crate) clock: Clock,
    #[cfg(feature = "ledger")]
    pub(crate) ledger: Option<crate::Ledger>,
}

impl Builder {
    /// Returns a builder with the settings of the environment variables `VOICE_CALLING_…`.
    ///
    /// # Examples
    /// ```
    /// let builder = voice_calling::Builder::from_env().base_url("https://api.example");
    /// assert!(format!("{builder:?}").contains("VOICE_CALLING_BASE_URL"));
    /// ```
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

    /// Sets a proxy for all requests, `http://host:port` or `https://host:port`, with
    /// `user:password@` if it wants them, in place of those of the variables `HTTPS_PROXY`,
    /// `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`. A service on loopback never has one.
    ///
    /// # Examples
    /// ```
    /// let builder = voice_calling::Client::builder().proxy("http://user:password@proxy.example:3128");
    /// ```
    #[must_use]
    pub fn proxy(mut self, url: &str) -> Self {
        self.proxies = Some(Proxies::all(url));
        self
    }

    /// Sets that no request has a proxy, whatever the variables say.
    #[must_use]
    pub fn no_proxy(mut self) -> Self {
        self.proxies = Some(Proxies::none());
        self
    }

    /// Sets the authorities that may certify the service, as certificates in PEM, in place of those
    /// of the system. On Linux, the variables `SSL_CERT_FILE` and `SSL_CERT_DIR` replace those too.
    ///
    /// # Examples
    /// ```
    /// # fn example() -> std::io::Result<()> {
    /// let pem = std::fs::read("/etc/company/authorities.pem")?;
    /// let builder = voice_calling::Client::builder().authorities(pem);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn authorities(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.trust.authorities = Some(pem.into());
        self
    }

    /// Sets the client's own certificate, with those of its issuers, and its private key, in PEM.
    ///
    /// # Examples
    /// ```
    /// # fn example() -> std::io::Result<()> {
    /// let pem = std::fs::read("/run/secrets/client.pem")?;
    /// let builder = voice_calling::Client::builder().client_certificate(pem);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn client_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.trust.client_certificate = Some(pem.into());
        self
    }

    /// Adds a header to all requests. It must not be one that the client sets itself.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Sets a hook that sees each attempt before it is sent, and may add headers to it. What it
    /// returns is called once the attempt has ended.
    ///
    /// # Examples
    /// ```
    /// use std::time::Instant;
    ///
    /// let builder = voice_calling::Client::builder().on_attempt(|outgoing| {
    ///     let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    ///     outgoing.headers.insert("traceparent", trace.parse().unwrap());
    ///     let began = Instant::now();
    ///     move |ended| println!("{:?} after {:?}", ended.status, began.elapsed())
    /// });
    /// ```
    #[must_use]
    pub fn on_attempt<E: FnOnce(Ended) + Send + 'static>(
        mut self,
        hook: impl Fn(&mut Outgoing<'_>) -> E + Send + Sync + 'static,
    ) -> Self {
        self.hook = Some(Box::new(move |outgoing| Box::new(hook(outgoing))));
        self
    }

    /// Sets a transport of your own in place of the crate's network. Proxies, authorities and the
    /// client's certificate are then its own.
    #[must_use]
    pub fn transport(mut self, transport: impl Transport) -> Self {
        self.transport = Some(Box::new(transport));
        self
    }

    /// Sets the ledger that stores the creates [with a key](crate::Client::with_key).
    ///
    /// # Examples
    /// ```
    /// use voice_calling::{Builder, Ledger};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let path = folder.path().join("calls.db");
    /// let builder = Builder::from_env().ledger(Ledger::open(path)?);
    /// # Ok::<_, voice_calling::Error>(())
    /// ```
    #[cfg(feature = "ledger")]
    #[must_use]
    pub fn ledger(mut self, ledger: crate::Ledger) -> Self {
        self.ledger = Some(ledger);
        self
    }

    /// Returns the checked settings, the core's environment, and the keys.
    pub(crate) fn into_parts(self) -> Result<(Settings, Wire, Keys), Error> {
        #[cfg(feature = "ledger")]
        let keys = Keys(self.ledger);
        #[cfg(not(feature = "ledger"))]
        let keys = Keys;
        let settings = Settings::from_environment(self.variables)?;
        let transport = match self.transport {
            Some(transport) => transport,
            None => Box::new(network(self.proxies, &self.trust, &settings)?),
        };
        let wire = Wire::new(transport, headers(&self.headers)?, self.hook, self.clock);
        Ok((settings, wire, keys))
    }
}

/// Shows the names of the settings, since their values may be tokens.
impl fmt::Debug for Builder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings: Vec<_> = self.variables.iter().map(|(name, _)| name).collect();
        let builder = &mut formatter.debug_struct("Builder");
        builder.field("settings", &settings).finish_non_exhaustive()
    }
}

/// Returns the crate's network, which can reach the services of all accounts.
fn network(
    proxies: Option<Proxies>,
    trust: &Trust,
    settings: &Settings,
) -> Result<Network<RequestBody>, Error> {
    let proxies = proxies.unwrap_or_else(Proxies::from_env);
    for base_url in settings.base_urls() {
        let uri = Uri::builder().scheme(base_url.scheme().as_str());
        let uri = uri.authority(base_url.authority()).path_and_query("/");
        if let Ok(uri) = uri.build() {
            let allowed = "one of these, in HTTPS_PROXY, HTTP_PROXY and ALL_PROXY as well";
            let proxy = proxies.of(&uri);
            proxy.map_err(|error| Error::configuration("proxy", error, allowed))?;
        }
    }
    let tls = trust.client().map_err(|error| {
        let allowed = "authorities of the system, or in PEM; a certificate and its key in PEM";
        Error::configuration("certificates", error, allowed)
    })?;
    Ok(Network::new(tls, proxies))
}

/// The headers that a client, or its HTTP library, sets itself.
const OWN_HEADERS: [&str; 8] = [
    "accept",
    "accept-encoding",
    "auth_token",
    "connection",
    "content-length",
    "content-type",
    "host",
    "transfer-encoding",
];

fn headers(headers: &[(String, String)]) -> Result<HeaderMap, Error> {
    let mut checked = HeaderMap::new();
    for (name, value) in headers {
        let subject = format!("the header {name:?}");
        let allowed = "a header of HTTP that the client does not set itself";
        let wrong = |found: &dyn Display| Error::configuration(&subject, found, allowed);
        let name = HeaderName::try_from(name).map_err(|error| wrong(&error))?;
        if OWN_HEADERS.contains(&name.as_str()) {
            return Err(wrong(&"one that the client sets"));
        }
        let value = HeaderValue::try_from(value).map_err(|error| wrong(&error))?;
        checked.append(name, value);
    }
    Ok(checked)
}

//! The settings: environment variables with the prefix `VOICE_CALLING_`, which every engine can
//! set.

use crate::base_url::BaseUrl;
use crate::problem::{configuration_failure, problem};
use crate::token::ApiToken;
use crate::transport::Scheme;
use crate::types::{CallOptions, Failure, Problem};
use crate::variables::{Variables, prefix_of, setting_problem, shown};
use std::borrow::Cow;
use std::ops::RangeInclusive;

/// The prefix of every variable.
pub const PREFIX: &str = "VOICE_CALLING_";

/// The names of the settings that an account has, without the prefix.
pub const NAMES: [&str; 16] = [
    "BASE_URL",
    "API_TOKEN",
    "MAX_ATTEMPTS",
    "BACKOFF_MS",
    "MAX_BACKOFF_MS",
    "CONNECT_TIMEOUT_MS",
    "ATTEMPT_TIMEOUT_MS",
    "DEADLINE_MS",
    "CREATE_RETRY",
    "TRUST_CONNECTION_TIMEOUT",
    "MAX_IN_FLIGHT",
    "MAX_REQUEST_BYTES",
    "MAX_RESPONSE_BYTES",
    "MAX_DELIVERY_BYTES",
    "ALLOW_INSECURE_HTTP",
    "LOG",
];

const A_DAY_MS: u64 = 86_400_000;
const DURATION_MS: RangeInclusive<u64> = 1..=A_DAY_MS;
const ATTEMPTS: RangeInclusive<u64> = 1..=100;
const BODY_BYTES: RangeInclusive<u64> = 1..=67_108_864;

/// The default maximum size of a delivery to the webhook: anyone can send one, and reading it costs
/// time.
pub const DEFAULT_MAX_DELIVERY_BYTES: usize = 1_048_576;

/// The maximum length of a base URL. Servers accept some 8000 bytes of it together with the path
/// and query of a request.
const MAX_BASE_URL_BYTES: usize = 2_048;

/// When a create may be retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateRetry {
    /// If it certainly created nothing, and also after 5xx and 408, as the service's specification
    /// asks for.
    ServerErrors,
    /// Only if it certainly created nothing.
    NotSent,
    /// Never.
    Never,
}

/// The checked settings of all accounts.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// The settings of the account without a name, or the problem with them.
    pub(crate) unnamed: Result<AccountSettings, Problem>,
    pub(crate) named: Vec<(String, AccountSettings)>,
}

/// The checked settings of an account.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AccountSettings {
    pub(crate) base_url: BaseUrl,
    pub(crate) token: ApiToken,
    pub(crate) max_attempts: u32,
    pub(crate) backoff_ms: u64,
    pub(crate) max_backoff_ms: u64,
    pub(crate) connect_timeout_ms: u64,
    pub(crate) attempt_timeout_ms: u64,
    pub(crate) deadline_ms: u64,
    pub(crate) create_retry: CreateRetry,
    pub(crate) trust_connection_timeout: bool,
    pub(crate) max_in_flight: usize,
    pub(crate) max_request_bytes: usize,
    pub(crate) max_response_bytes: usize,
    pub(crate) max_delivery_bytes: usize,
    pub(crate) log_attempts: bool,
}

impl Settings {
    /// Reads the settings from environment variables. Variables without the prefix are ignored. An
    /// unknown one with it is an error, since a misspelt `CREATE_RETRY` would let phones ring twice,
    /// unless an engine of this repository reads it or Kubernetes sets it for a service whose name
    /// begins with `voice-calling`.
    ///
    /// A wrong setting of one account is an error of all: nothing begins with settings that are
    /// wrong in part.
    pub fn from_environment(
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, Failure> {
        let variables = Variables::of(environment);
        Self::read(&variables).map_err(|problem| configuration_failure(variables.mask(problem)))
    }

    /// Returns the base URLs of all accounts.
    pub fn base_urls(&self) -> impl Iterator<Item = &BaseUrl> {
        let named = self.named.iter().map(|(_, settings)| settings);
        named
            .chain(&self.unnamed)
            .map(|settings| &settings.base_url)
    }

    fn read(variables: &Variables) -> Result<Self, Problem> {
        let accounts = variables.accounts()?.into_iter();
        let named = accounts.map(|account| {
            let prefix = prefix_of(&account);
            Ok((account, Scope { variables, prefix }.read()?))
        });
        let named: Vec<_> = named.collect::<Result<_, Problem>>()?;
        let is_needed = named.is_empty() || variables.get("API_TOKEN").is_some();
        let prefix = String::new();
        match (Scope { variables, prefix }).read() {
            Err(problem) if is_needed => Err(problem),
            unnamed => Ok(Self { unnamed, named }),
        }
    }
}

/// Reads the setting `MAX_DELIVERY_BYTES` alone, for parsing, which needs no client.
pub fn max_delivery_bytes(environment: Vec<(String, String)>) -> Result<usize, Failure> {
    let scope = Scope {
        variables: &Variables::of(environment),
        prefix: String::new(),
    };
    scope.max_delivery_bytes().map_err(configuration_failure)
}

impl AccountSettings {
    /// Returns the settings with the options of a call applied.
    pub(crate) fn with_options(&self, options: &CallOptions) -> Result<Cow<'_, Self>, Problem> {
        let mut settings = Cow::Borrowed(self);
        if let Some(deadline_ms) = options.deadline_ms {
            check_option(
                "options.deadline-ms",
                deadline_ms,
                DURATION_MS,
                " milliseconds",
            )?;
            // The timeouts are lowered when an operation's time is divided.
            settings.to_mut().deadline_ms = deadline_ms.into();
        }
        if let Some(max_attempts) = options.max_attempts {
            check_option("options.max-attempts", max_attempts, ATTEMPTS, "")?;
            settings.to_mut().max_attempts = max_attempts;
        }
        Ok(settings)
    }
}

fn check_option(
    subject: &str,
    value: u32,
    range: RangeInclusive<u64>,
    unit: &str,
) -> Result<(), Problem> {
    if range.contains(&value.into()) {
        return Ok(());
    }
    let allowed = format!("{} to {}{unit}", range.start(), range.end());
    Err(problem(subject, value.to_string(), allowed))
}

/// The variables of an account; it falls back to those without an account's name.
struct Scope<'a> {
    variables: &'a Variables,
    /// The prefix of the account's own variables, which is empty without a name.
    prefix: String,
}

impl Scope<'_> {
    fn read(&self) -> Result<AccountSettings, Problem> {
        let deadline_ms = self.number("DEADLINE_MS", DURATION_MS, 30_000)?;
        let attempt_timeout_ms =
            self.number_within("ATTEMPT_TIMEOUT_MS", 10_000, "DEADLINE_MS", deadline_ms)?;
        let max_backoff_ms = self.number("MAX_BACKOFF_MS", DURATION_MS, 8_000)?;
        let backoff_ms =
            self.number_within("BACKOFF_MS", 2_000, "MAX_BACKOFF_MS", max_backoff_ms)?;
        let booleans = [("false", false), ("true", true)];
        let allow_insecure_http = self.choice("ALLOW_INSECURE_HTTP", &booleans)?;
        Ok(AccountSettings {
            base_url: self.base_url(allow_insecure_http)?,
            token: self.token()?,
            max_attempts: self.number("MAX_ATTEMPTS", ATTEMPTS, 4)? as u32,
            backoff_ms,
            max_backoff_ms,
            connect_timeout_ms: self.number_within(
                "CONNECT_TIMEOUT_MS",
                3_000,
                "ATTEMPT_TIMEOUT_MS",
                attempt_timeout_ms,
            )?,
            attempt_timeout_ms,
            deadline_ms,
            create_retry: self.choice(
                "CREATE_RETRY",
                &[
                    ("server-errors", CreateRetry::ServerErrors),
                    ("not-sent", CreateRetry::NotSent),
                    ("never", CreateRetry::Never),
                ],
            )?,
            trust_connection_timeout: self.choice("TRUST_CONNECTION_TIMEOUT", &booleans)?,
            max_in_flight: self.number("MAX_IN_FLIGHT", 1..=100_000, 16)? as usize,
            max_request_bytes: self.number("MAX_REQUEST_BYTES", BODY_BYTES, 1_048_576)? as usize,
            max_response_bytes: self.number("MAX_RESPONSE_BYTES", BODY_BYTES, 8_388_608)? as usize,
            max_delivery_bytes: self.max_delivery_bytes()?,
            log_attempts: self.choice("LOG", &[("off", false), ("attempts", true)])?,
        })
    }

    fn max_delivery_bytes(&self) -> Result<usize, Problem> {
        let default = DEFAULT_MAX_DELIVERY_BYTES as u64;
        let bytes = self.number("MAX_DELIVERY_BYTES", BODY_BYTES, default)?;
        Ok(bytes as usize)
    }

    /// Returns the account's own name for a setting.
    fn own(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Returns the variable that sets a setting, and its value. The token of another account is
    /// never used.
    fn find(&self, name: &str) -> (String, Option<&str>) {
        let own = self.own(name);
        match self.variables.get(&own) {
            None if name != "API_TOKEN" => (name.to_owned(), self.variables.get(name)),
            value => (own, value),
        }
    }

    /// Returns a setting without a default. Docker and others keep the quotes of a line in a file
    /// of variables, and a service would reject a token with them.
    fn required(&self, name: &str, allowed: &str) -> Result<(String, &str), Problem> {
        let (variable, value) = self.find(name);
        let Some(value) = value else {
            return Err(setting_problem(&variable, "no value", allowed));
        };
        let is_between = |quote| value.starts_with(quote) && value.ends_with(quote);
        if is_between('"') || is_between('\'') {
            return Err(setting_problem(&variable, "a value in quotes", allowed));
        }
        Ok((variable, value))
    }

    fn base_url(&self, allow_insecure_http: bool) -> Result<BaseUrl, Problem> {
        let allowed = "http(s)://host[:port][/path], such as https://api.example";
        let (variable, value) = self.required("BASE_URL", allowed)?;
        if value.len() > MAX_BASE_URL_BYTES {
            let found = format!("{} bytes", value.len());
            let allowed = format!("at most {MAX_BASE_URL_BYTES} bytes");
            return Err(setting_problem(&variable, found, allowed));
        }
        let base_url =
            BaseUrl::parse(value).map_err(|found| setting_problem(&variable, found, allowed))?;
        let in_the_clear = base_url.scheme() == Scheme::Http && !base_url.is_loopback();
        if in_the_clear && !allow_insecure_http {
            let found = format!("http to the remote host {}", base_url.authority());
            let allowed = "https, or VOICE_CALLING_ALLOW_INSECURE_HTTP=true";
            return Err(setting_problem(&variable, found, allowed));
        }
        Ok(base_url)
    }

    fn token(&self) -> Result<ApiToken, Problem> {
        let allowed = "the token alone, in printable ASCII";
        let (variable, value) = self.required("API_TOKEN", allowed)?;
        ApiToken::parse(value).map_err(|found| setting_problem(&variable, found, allowed))
    }

    fn number(&self, name: &str, range: RangeInclusive<u64>, default: u64) -> Result<u64, Problem> {
        let (variable, Some(value)) = self.find(name) else {
            return Ok(default);
        };
        let digits = value.bytes().all(|b| b.is_ascii_digit());
        match value.parse() {
            Ok(number) if digits && range.contains(&number) => Ok(number),
            _ => {
                let allowed = format!("a whole number from {} to {}", range.start(), range.end());
                Err(setting_problem(&variable, shown(value), allowed))
            }
        }
    }

    /// Reads a duration of at most `limit`. A default is lowered to a small limit, an explicit
    /// value is not.
    fn number_within(
        &self,
        name: &str,
        default: u64,
        limit_name: &str,
        limit: u64,
    ) -> Result<u64, Problem> {
        let number = self.number(name, DURATION_MS, default.min(limit))?;
        let (variable, _) = self.find(name);
        // A value that is not the account's own is lowered, as a default is.
        if number <= limit || variable != self.own(name) {
            return Ok(number.min(limit));
        }
        let (limit_variable, _) = self.find(limit_name);
        let allowed = format!("at most {PREFIX}{limit_variable}, which is {limit}");
        Err(setting_problem(&variable, format!("\"{number}\""), allowed))
    }

    /// Reads one of a few words; the first is the default.
    fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<T, Problem> {
        let (variable, Some(value)) = self.find(name) else {
            return Ok(choices[0].1);
        };
        match choices.iter().find(|(word, _)| *word == value) {
            Some((_, choice)) => Ok(*choice),
            None => {
                let words: Vec<_> = choices.iter().map(|(word, _)| *word).collect();
                Err(setting_problem(&variable, shown(value), words.join(" or ")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::rows;

    const REQUIRED: &str = "BASE_URL=https://api.example API_TOKEN=secret-token";

    fn read(variables: &[(&str, &str)]) -> Result<Settings, Problem> {
        let variables = variables.iter();
        let environment =
            variables.map(|(name, value)| (format!("{PREFIX}{name}"), (*value).to_owned()));
        Settings::from_environment(environment).map_err(|failure| {
            assert_eq!(failure.kind.name(), "configuration");
            failure.problem.unwrap()
        })
    }

    /// Reads the variables from a text such as `A=1 B=2`.
    fn variables(text: &str) -> Vec<(&str, &str)> {
        let variables = text.split_whitespace();
        variables.map(|one| one.split_once('=').unwrap()).collect()
    }

    /// Reads the required settings with these variables.
    fn with(text: &str) -> Result<Settings, Problem> {
        read(&[variables(REQUIRED), variables(text)].concat())
    }

    /// Reads the settings of the account without a name.
    fn settings(text: &str) -> AccountSettings {
        with(text).unwrap().unnamed.unwrap()
    }

    /// Returns the problem with a variable, whose value may be any text.
    fn refused(name: &str, value: &str) -> Problem {
        let variables = [variables(REQUIRED), vec![(name, value)]].concat();
        let problem = read(&variables).expect_err(name);
        assert_eq!(problem.subject, format!("{PREFIX}{name}"), "{value:?}");
        problem
    }

    #[test]
    fn defaults_are_lowered_to_a_small_deadline_and_a_small_backoff() {
        let settings = settings("DEADLINE_MS=2000 MAX_BACKOFF_MS=100");
        assert_eq!(settings.attempt_timeout_ms, 2_000);
        assert_eq!(settings.connect_timeout_ms, 2_000);
        assert_eq!(settings.backoff_ms, 100);
        // For an account, so are the settings without a name.
        let alpha = "ACCOUNTS=alpha ALPHA_API_TOKEN=t ALPHA_DEADLINE_MS=8000";
        let inherited = with(&format!("{alpha} ATTEMPT_TIMEOUT_MS=9000")).unwrap();
        assert_eq!(inherited.named[0].1.attempt_timeout_ms, 8_000);
    }

    /// Additional variables, the variable at fault, what was found, and what is allowed. `pages` has
    /// the ranges of all.
    const REFUSED: &str = r#"
        MAX_ATTEMPTS=0 | MAX_ATTEMPTS | "0" | a whole number from 1 to 100
        MAX_ATTEMPTS=four | MAX_ATTEMPTS | "four" | from 1 to 100
        MAX_ATTEMPTS=+5 | MAX_ATTEMPTS | "+5" | from 1 to 100
        BACKOFF_MS=-1 | BACKOFF_MS | "-1" | from 1 to 86400000
        CONNECT_TIMEOUT_MS=1.5 | CONNECT_TIMEOUT_MS | "1.5" | from 1 to 86400000
        MAX_RESPONSE_BYTES=99999999999999999999999 | MAX_RESPONSE_BYTES | "99999999999999999999999" | from 1 to 67108864
        MAX_DELIVERY_BYTES=0 | MAX_DELIVERY_BYTES | "0" | a whole number from 1 to 
        ATTEMPT_TIMEOUT_MS=2001 DEADLINE_MS=2000 | ATTEMPT_TIMEOUT_MS | "2001" | at most VOICE_CALLING_DEADLINE_MS, which is 2000
        CONNECT_TIMEOUT_MS=20000 | CONNECT_TIMEOUT_MS | "20000" | at most VOICE_CALLING_ATTEMPT_TIMEOUT_MS, which is 10000
        BACKOFF_MS=9000 | BACKOFF_MS | "9000" | at most VOICE_CALLING_MAX_BACKOFF_MS, which is 8000
        TRUST_CONNECTION_TIMEOUT=yes | TRUST_CONNECTION_TIMEOUT | "yes" | false or true
        ALLOW_INSECURE_HTTP=1 | ALLOW_INSECURE_HTTP | "1" | false or true
        BASE_URL=http://api.example | BASE_URL | http to the remote host api.example | https, or VOICE_CALLING_ALLOW_INSECURE_HTTP=true
        BASE_URL=http://127.0.0.1.evil.example ALLOW_INSECURE_HTTP=false | BASE_URL | http to the remote host 127.0.0.1.evil.example | https
        LOG=secret-token | LOG | "[api token]" | off or attempts
        ACCOUNTS=alpha ALPHA_API_TOKEN=alphas-token LOG=alphas-token | LOG | "[api token]" | off or attempts

        CREATE_RETRIES=x | CREATE_RETRIES | unknown | CREATE_RETRY
        ACCOUNTS=alpha,beta BETA_API_TOKEN=t | ALPHA_API_TOKEN | no value | the token
        ACCOUNTS=alpha ALPHA_API_TOKEN=t ALPHA_MAX_ATTEMPTS=0 | ALPHA_MAX_ATTEMPTS | "0" | from 1 to 100
        ACCOUNTS=alpha ALPHA_API_TOKEN=t MAX_ATTEMPTS=0 | MAX_ATTEMPTS | "0" | from 1 to 100
        ACCOUNTS=alpha ALPHA_API_TOKEN=t ALPHA_BASE_URL=x | ALPHA_BASE_URL | scheme | http(s)://
        ACCOUNTS=alpha ALPHA_API_TOKEN=t ALPHA_LOG=x | ALPHA_LOG | "x" | off or attempts
        ACCOUNTS=alpha ALPHA_API_TOKEN=t ALPHA_ATTEMPT_TIMEOUT_MS=40000 | ALPHA_ATTEMPT_TIMEOUT_MS | "40000" | VOICE_CALLING_DEADLINE_MS
        ACCOUNTS=alpha ALPHA_API_TOKEN=t ALPHA_DEADLINE_MS=500 ALPHA_ATTEMPT_TIMEOUT_MS=501 | ALPHA_ATTEMPT_TIMEOUT_MS | "501" | VOICE_CALLING_ALPHA_DEADLINE_MS, which is 500"#;

    #[test]
    fn a_wrong_value_and_an_unknown_name_are_refused() {
        for [variables, subject, found, allowed] in rows(REFUSED) {
            let problem = with(variables).expect_err(variables);
            assert_eq!(problem.subject, format!("{PREFIX}{subject}"), "{variables}");
            assert!(problem.found.contains(found), "{variables}: {problem:?}");
            assert!(
                problem.allowed.contains(allowed),
                "{variables}: {problem:?}"
            );
        }
    }

    #[test]
    fn a_long_value_is_cut() {
        let problem = refused("LOG", &"\u{e4}".repeat(100));
        assert_eq!(problem.found, format!("\"{}\"…", "\u{e4}".repeat(32)));
    }

    #[test]
    fn an_option_out_of_its_range_is_refused() {
        for [deadline_ms, max_attempts, subject, allowed] in rows(
            "0        |     | options.deadline-ms  | 1 to 86400000 milliseconds
             86400001 |     | options.deadline-ms  | 1 to 86400000 milliseconds
                      | 0   | options.max-attempts | 1 to 100
                      | 101 | options.max-attempts | 1 to 100",
        ) {
            let options = CallOptions {
                account: None,
                deadline_ms: deadline_ms.parse().ok(),
                max_attempts: max_attempts.parse().ok(),
            };
            let found = format!("{deadline_ms}{max_attempts}");
            let refused = settings("").with_options(&options).unwrap_err();
            assert_eq!(refused, problem(subject, found, allowed));
        }
    }

    #[test]
    fn a_base_url_that_servers_do_not_accept_is_refused() {
        let url = |bytes: usize| format!("https://api.example/{}", "p".repeat(bytes - 20));
        let longest = url(2_048);
        assert!(read(&[("BASE_URL", &longest), ("API_TOKEN", "t")]).is_ok());
        let problem = refused("BASE_URL", &url(2_049));
        let said = (&*problem.found, &*problem.allowed);
        assert_eq!(said, ("2049 bytes", "at most 2048 bytes"));
    }

    #[test]
    fn a_token_or_a_base_url_in_quotes_is_refused_without_being_shown() {
        for name in ["API_TOKEN", "BASE_URL", "ALPHA_API_TOKEN"] {
            for value in [
                "\"https://secret\"",
                "'https://secret'",
                "'Bearer secret'",
                "\"\"",
            ] {
                let alpha = variables("ACCOUNTS=alpha ALPHA_API_TOKEN=t");
                let variables = [variables(REQUIRED), alpha, vec![(name, value)]].concat();
                let problem = read(&variables).expect_err(value);
                assert_eq!(problem.subject, format!("{PREFIX}{name}"));
                assert_eq!(problem.found, "a value in quotes");
            }
        }
        assert!(with("API_TOKEN=\"secret'").is_ok());
    }

    /// A host may add its own variables to the environment that it has inherited. An engine's
    /// placeholder is a token like any other.
    #[test]
    fn the_last_value_of_a_repeated_variable_counts() {
        let settings = settings("API_TOKEN={{secret:42}} MAX_ATTEMPTS=none MAX_ATTEMPTS=2");
        assert_eq!(settings.token.header_value(), "Bearer {{secret:42}}");
        assert_eq!(settings.max_attempts, 2);
    }

    #[test]
    fn the_settings_without_a_name_are_required_without_accounts_and_beside_a_token() {
        let alpha = "ACCOUNTS=alpha ALPHA_BASE_URL=https://api.example ALPHA_API_TOKEN=t";
        for (text, missing) in [
            ("", "BASE_URL"),
            ("BASE_URL=https://api.example", "API_TOKEN"),
            (&format!("{alpha} API_TOKEN=t"), "BASE_URL"),
        ] {
            let problem = read(&variables(text)).unwrap_err();
            let said = (problem.subject, &*problem.found);
            assert_eq!(said, (format!("{PREFIX}{missing}"), "no value"));
        }
        // Otherwise only calls that select no account need them.
        let settings = read(&variables(alpha)).unwrap();
        let missing = settings.unnamed.unwrap_err();
        assert_eq!(missing.subject, "VOICE_CALLING_BASE_URL");
    }
}

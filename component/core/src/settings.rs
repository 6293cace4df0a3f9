//! The settings: environment variables with the prefix `VOICE_CALLING_`, which every engine can
//! set.

use crate::base_url::BaseUrl;
use crate::problem::{configuration_error, problem};
use crate::token::{ApiToken, mask_problem};
use crate::transport::Scheme;
use crate::types::{CallOptions, Problem, RequestError};
use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::time::Duration;

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

/// The names of the accounts, separated by commas.
pub const ACCOUNTS: &str = "ACCOUNTS";

const MAX_ACCOUNTS: usize = 100;

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
    /// Reads the settings from environment variables. Variables without the prefix are ignored, and
    /// so are unknown ones with it, unless they look like a misspelt setting: a misspelt
    /// `CREATE_RETRY` would let phones ring twice.
    pub fn from_environment(
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, RequestError> {
        Self::read(environment).map_err(configuration_error)
    }

    /// Returns the longest connect timeout of all accounts.
    pub fn connect_timeout(&self) -> Duration {
        let named = self.named.iter().map(|(_, settings)| settings);
        let accounts = named.chain(&self.unnamed);
        let longest_ms = accounts.map(|settings| settings.connect_timeout_ms).max();
        Duration::from_millis(longest_ms.unwrap_or(0))
    }

    fn read(environment: impl IntoIterator<Item = (String, String)>) -> Result<Self, Problem> {
        let variables = with_prefix(environment);
        Self::read_variables(&variables)
            .map_err(|problem| tokens(&variables).into_iter().fold(problem, mask_problem))
    }

    fn read_variables(variables: &Variables) -> Result<Self, Problem> {
        let accounts = account_names(variables)?;
        check_names(variables, &accounts)?;
        let mut named = Vec::new();
        for name in &accounts {
            let scope = Scope {
                variables,
                account: Some(variable_part(name)),
            };
            named.push((name.clone(), scope.read()?));
        }
        let scope = Scope {
            variables,
            account: None,
        };
        let is_needed = named.is_empty() || value_of(variables, "API_TOKEN").is_some();
        match scope.read() {
            Err(problem) if is_needed => Err(problem),
            unnamed => Ok(Self { unnamed, named }),
        }
    }
}

/// Reads the setting `MAX_DELIVERY_BYTES` alone, for parsing, which needs no client.
pub fn max_delivery_bytes(environment: Vec<(String, String)>) -> Result<usize, RequestError> {
    let variables = with_prefix(environment);
    let scope = Scope {
        variables: &variables,
        account: None,
    };
    scope.max_delivery_bytes().map_err(configuration_error)
}

/// The variables with the prefix, which is removed from their names.
type Variables = Vec<(String, String)>;

fn with_prefix(environment: impl IntoIterator<Item = (String, String)>) -> Variables {
    let variables = environment.into_iter().filter_map(|(name, value)| {
        let name = name.strip_prefix(PREFIX)?;
        Some((name.to_owned(), value))
    });
    variables.collect()
}

/// Returns the tokens of all accounts, valid or not.
fn tokens(variables: &Variables) -> Vec<&str> {
    let tokens = variables
        .iter()
        .filter(|(name, _)| name.ends_with("API_TOKEN"));
    tokens.map(|(_, token)| token.as_str()).collect()
}

fn value_of<'a>(variables: &'a Variables, name: &str) -> Option<&'a str> {
    // The last value counts: hosts inherit an environment and add to it.
    let mut latest_first = variables.iter().rev();
    let variable = latest_first.find(|(variable, _)| variable == name)?;
    Some(&variable.1)
}

impl AccountSettings {
    /// Returns the settings with the options of a call applied.
    pub(crate) fn with_options(&self, options: &CallOptions) -> Result<Cow<'_, Self>, Problem> {
        let mut settings = Cow::Borrowed(self);
        if let Some(deadline_ms) = options.deadline_ms {
            let deadline_ms = option(
                "options.deadline-ms",
                deadline_ms,
                DURATION_MS,
                " milliseconds",
            )?;
            // The timeouts are lowered when an operation's time is divided.
            settings.to_mut().deadline_ms = deadline_ms;
        }
        if let Some(max_attempts) = options.max_attempts {
            option("options.max-attempts", max_attempts, ATTEMPTS, "")?;
            settings.to_mut().max_attempts = max_attempts;
        }
        Ok(settings)
    }
}

fn option(
    subject: &str,
    value: u32,
    range: RangeInclusive<u64>,
    unit: &str,
) -> Result<u64, Problem> {
    match range.contains(&value.into()) {
        true => Ok(value.into()),
        false => {
            let allowed = format!("{} to {}{unit}", range.start(), range.end());
            Err(problem(subject, value.to_string(), allowed))
        }
    }
}

fn whole_number(range: &RangeInclusive<u64>) -> String {
    format!("a whole number from {} to {}", range.start(), range.end())
}

/// Returns the form of an account's name in the names of its variables.
fn variable_part(account: &str) -> String {
    account.to_ascii_uppercase().replace('-', "_")
}

fn account_names(variables: &Variables) -> Result<Vec<String>, Problem> {
    let mut names: Vec<String> = Vec::new();
    let Some(list) = value_of(variables, ACCOUNTS) else {
        return Ok(names);
    };
    let mut taken = setting_names(&names);
    for name in list.split(',') {
        let follows = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !(name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(follows)) {
            let allowed = "names of lower-case letters, digits and hyphens that begin with a letter, separated by commas";
            return Err(setting_problem(ACCOUNTS, shown(list), allowed));
        }
        let own = NAMES.map(|setting| format!("{}_{setting}", variable_part(name)));
        if let Some(ambiguous) = own.iter().find(|variable| taken.contains(variable)) {
            let found = format!("{name:?}, which makes {PREFIX}{ambiguous} ambiguous");
            return Err(setting_problem(ACCOUNTS, found, "another name"));
        }
        if names.len() == MAX_ACCOUNTS {
            let found = format!("more than {MAX_ACCOUNTS} names");
            return Err(setting_problem(
                ACCOUNTS,
                found,
                format!("at most {MAX_ACCOUNTS}"),
            ));
        }
        taken.extend(own);
        names.push(name.to_owned());
    }
    Ok(names)
}

/// Returns the names of all settings, including those of `accounts`.
fn setting_names(accounts: &[String]) -> Vec<String> {
    let mut names = vec![ACCOUNTS.to_owned()];
    names.extend(NAMES.map(str::to_owned));
    for account in accounts {
        names.extend(NAMES.map(|setting| format!("{}_{setting}", variable_part(account))));
    }
    names
}

/// Rejects unknown variables whose names look like settings.
fn check_names(variables: &Variables, accounts: &[String]) -> Result<(), Problem> {
    let known = setting_names(accounts);
    for (name, _) in variables.iter().filter(|(name, _)| !known.contains(name)) {
        let upper = name.to_ascii_uppercase();
        if let Some(intended) = known.iter().find(|known| is_similar(&upper, known)) {
            let found = "an unknown setting";
            return Err(setting_problem(name, found, format!("{PREFIX}{intended}")));
        }
        let reversed = accounts.iter().find_map(|account| {
            let part = variable_part(account);
            let setting = upper.strip_suffix(&part)?.strip_suffix('_')?;
            NAMES
                .contains(&setting)
                .then(|| format!("{PREFIX}{part}_{setting}"))
        });
        if let Some(intended) = reversed {
            return Err(setting_problem(name, "an unknown setting", intended));
        }
        let of_no_account = |setting: &&str| {
            let account = upper.strip_suffix(*setting);
            *setting != "LOG" && account.is_some_and(|account| account.ends_with('_'))
        };
        if NAMES.iter().any(of_no_account) {
            let found = "a setting of an account that VOICE_CALLING_ACCOUNTS does not list";
            return Err(setting_problem(name, found, "settings of named accounts"));
        }
    }
    Ok(())
}

/// Returns `true` if the distance between two names is at most a third of the setting's name.
fn is_similar(name: &str, intended: &str) -> bool {
    let settings = NAMES.iter().filter(|setting| intended.ends_with(**setting));
    let limit = settings
        .map(|setting| setting.len())
        .max()
        .unwrap_or(intended.len())
        / 3;
    name.len().abs_diff(intended.len()) <= limit && edit_distance(name, intended) <= limit
}

/// Returns the number of characters to insert, remove or replace (the Levenshtein distance).
fn edit_distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, a) in from.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, b) in to.bytes().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[to.len()]
}

/// The variables of an account; it falls back to those without an account's name.
struct Scope<'a> {
    variables: &'a Variables,
    account: Option<String>,
}

impl Scope<'_> {
    fn read(&self) -> Result<AccountSettings, Problem> {
        let deadline_ms = self.number("DEADLINE_MS", DURATION_MS, 30_000)?;
        let attempt_timeout_ms =
            self.number_within("ATTEMPT_TIMEOUT_MS", 10_000, "DEADLINE_MS", deadline_ms)?;
        let max_backoff_ms = self.number("MAX_BACKOFF_MS", DURATION_MS, 8_000)?;
        let booleans = [("false", false), ("true", true)];
        let allow_insecure_http = self.choice("ALLOW_INSECURE_HTTP", &booleans)?;
        Ok(AccountSettings {
            base_url: self.base_url(allow_insecure_http)?,
            token: self.token()?,
            max_attempts: self.number("MAX_ATTEMPTS", ATTEMPTS, 4)? as u32,
            backoff_ms: self.number_within(
                "BACKOFF_MS",
                2_000,
                "MAX_BACKOFF_MS",
                max_backoff_ms,
            )?,
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
        match &self.account {
            Some(account) => format!("{account}_{name}"),
            None => name.to_owned(),
        }
    }

    /// Returns the variable that sets a setting, and its value. The token of another account is
    /// never used.
    fn find(&self, name: &str) -> (String, Option<&str>) {
        let own = self.own(name);
        match value_of(self.variables, &own) {
            None if name != "API_TOKEN" && self.account.is_some() => {
                (name.to_owned(), value_of(self.variables, name))
            }
            value => (own, value),
        }
    }

    fn required(&self, name: &str, allowed: &str) -> Result<(String, &str), Problem> {
        match self.find(name) {
            (variable, Some(value)) => Ok((variable, value)),
            (variable, None) => Err(setting_problem(&variable, "no value", allowed)),
        }
    }

    fn base_url(&self, allow_insecure_http: bool) -> Result<BaseUrl, Problem> {
        let allowed = "http(s)://host[:port][/path], such as https://api.example";
        let (variable, value) = self.required("BASE_URL", allowed)?;
        if value.len() > MAX_BASE_URL_BYTES {
            let allowed = format!("at most {MAX_BASE_URL_BYTES} bytes");
            return Err(setting_problem(
                &variable,
                format!("{} bytes", value.len()),
                allowed,
            ));
        }
        let base_url =
            BaseUrl::parse(value).map_err(|found| setting_problem(&variable, found, allowed))?;
        let in_the_clear = base_url.scheme() == Scheme::Http && !base_url.is_loopback();
        if in_the_clear && !allow_insecure_http {
            return Err(setting_problem(
                &variable,
                format!("http to the remote host {}", base_url.authority()),
                "https, or VOICE_CALLING_ALLOW_INSECURE_HTTP=true",
            ));
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
            _ => Err(setting_problem(
                &variable,
                shown(value),
                whole_number(&range),
            )),
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
        if number > limit && variable != self.own(name) {
            // A value that is not the account's own is lowered, as a default is.
            return Ok(limit);
        }
        if number > limit {
            let (limit_variable, _) = self.find(limit_name);
            return Err(setting_problem(
                &variable,
                format!("\"{number}\""),
                format!("at most {PREFIX}{limit_variable}, which is {limit}"),
            ));
        }
        Ok(number)
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

/// Returns a value as an error shows it.
fn shown(value: &str) -> String {
    let kept = &value[..value.floor_char_boundary(64)];
    let cut = if kept.len() < value.len() { "…" } else { "" };
    format!("{kept:?}{cut}")
}

fn setting_problem(name: &str, found: impl Into<String>, allowed: impl Into<String>) -> Problem {
    let name = &name[..name.floor_char_boundary(64)];
    problem(format!("{PREFIX}{name}"), found, allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{case_and_failure, rows};

    const REQUIRED: &str = "BASE_URL=https://api.example API_TOKEN=secret-token";

    fn read(variables: &[(&str, &str)]) -> Result<Settings, Problem> {
        let variables = variables.iter();
        let environment =
            variables.map(|(name, value)| (format!("{PREFIX}{name}"), (*value).to_owned()));
        Settings::from_environment(environment).map_err(|error| {
            let (case, failure) = case_and_failure(error);
            assert_eq!(case, "permanent-configuration");
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

    /// Additional variables, the variable at fault, what was found, and what is allowed.
    const REFUSED: &str = r#"
        MAX_ATTEMPTS=+5 | MAX_ATTEMPTS | "+5" | from 1 to 100
        MAX_DELIVERY_BYTES=0 | MAX_DELIVERY_BYTES | "0" | a whole number from 1 to 
        LOG=secret-token | LOG | "[api token]" | off or attempts
        ACCOUNTS=alpha ALPHA_API_TOKEN=alphas-token LOG=alphas-token | LOG | "[api token]" | off or attempts

        ACCOUNTS=alpha,beta BETA_API_TOKEN=t | ALPHA_API_TOKEN | no value | the token
        ACCOUNTS=alpha ALPHA_API_TOKEN=t ALPHA_MAX_ATTEMPTS=0 | ALPHA_MAX_ATTEMPTS | "0" | from 1 to 100
        ACCOUNTS=alpha ALPHA_API_TOKEN=t MAX_ATTEMPTS=0 | MAX_ATTEMPTS | "0" | from 1 to 100
        ACCOUNTS=alpha ALPHA_API_TOKEN=t ALPHA_BASE_URL=x | ALPHA_BASE_URL | scheme | http(s)://
        ACCOUNTS=alpha ALPHA_API_TOKEN=t ALPHA_LOG=x | ALPHA_LOG | "x" | off or attempts
        ACCOUNTS=alpha ALPHA_API_TOKEN=t ALPHA_ATTEMPT_TIMEOUT_MS=40000 | ALPHA_ATTEMPT_TIMEOUT_MS | "40000" | VOICE_CALLING_DEADLINE_MS
        ACCOUNTS=alpha ALPHA_API_TOKEN=t ALPHA_DEADLINE_MS=500 ALPHA_ATTEMPT_TIMEOUT_MS=501 | ALPHA_ATTEMPT_TIMEOUT_MS | "501" | VOICE_CALLING_ALPHA_DEADLINE_MS, which is 500

        ACCOUNTS=alpha,alpha | ACCOUNTS | "alpha", which makes VOICE_CALLING_ALPHA_BASE_URL ambiguous | another name
        ACCOUNTS=a,a-max | ACCOUNTS | "a-max", which makes VOICE_CALLING_A_MAX_BACKOFF_MS ambiguous | another name
        ACCOUNTS=a-max,a | ACCOUNTS | "a", which makes VOICE_CALLING_A_MAX_BACKOFF_MS ambiguous | another name

        CREATE_RETRIES=x | CREATE_RETRIES | unknown | CREATE_RETRY
        CREATERETRY=x | CREATERETRY | unknown | CREATE_RETRY
        CREATE_RETRY_=x | CREATE_RETRY_ | unknown | CREATE_RETRY
        create_retry=x | create_retry | unknown | CREATE_RETRY
        BASEURL=x | BASEURL | unknown | BASE_URL
        BASE_URI=x | BASE_URI | unknown | BASE_URL
        APITOKEN=x | APITOKEN | unknown | API_TOKEN
        API_TOKENS=x | API_TOKENS | unknown | API_TOKEN
        MAX_ATEMPT=x | MAX_ATEMPT | unknown | MAX_ATTEMPTS
        DEADLINE=x | DEADLINE | unknown | DEADLINE_MS
        LOGS=x | LOGS | unknown | LOG
        ACCOUNT=x | ACCOUNT | unknown | ACCOUNTS
        ACCOUNTS=alpha ALPHA_API_TOKEN=t ALPHA_CREATE_RETRIES=x | ALPHA_CREATE_RETRIES | unknown | ALPHA_CREATE_RETRY
        ACCOUNTS=alpha ALPHA_API_TOKEN=t alpha_API_TOKEN=x | alpha_API_TOKEN | unknown | ALPHA_API_TOKEN
        ACCOUNTS=alpha ALPHA_API_TOKEN=t APLHA_API_TOKEN=x | APLHA_API_TOKEN | unknown | ALPHA_API_TOKEN
        ACCOUNTS=alpha ALPHA_API_TOKEN=t CREATE_RETRY_ALPHA=x | CREATE_RETRY_ALPHA | unknown | ALPHA_CREATE_RETRY
        PROD_BASE_URL=x | PROD_BASE_URL | VOICE_CALLING_ACCOUNTS does not list | named accounts
        _DEADLINE_MS=x | _DEADLINE_MS | unknown | DEADLINE_MS
        prod_deadline_ms=x | prod_deadline_ms | VOICE_CALLING_ACCOUNTS does not list | named accounts"#;

    #[test]
    fn a_wrong_value_and_a_misspelt_name_are_refused() {
        for [variables, subject, found, allowed] in rows(REFUSED) {
            let problem = with(variables).expect_err(variables);
            assert_eq!(problem.subject, format!("{PREFIX}{subject}"), "{variables}");
            assert!(problem.found.contains(found), "{variables}: {problem:?}");
            assert!(
                problem.allowed.contains(allowed),
                "{variables}: {problem:?}"
            );
            if found == "unknown" {
                assert_eq!(problem.allowed, format!("{PREFIX}{allowed}"));
            }
        }
    }

    #[test]
    fn a_long_value_and_a_long_name_are_cut() {
        let problem = refused("LOG", &"\u{e4}".repeat(100));
        assert_eq!(problem.found, format!("\"{}\"…", "\u{e4}".repeat(32)));
        let name = format!("{}_API_TOKEN=t", "X".repeat(100));
        let problem = with(&name).unwrap_err();
        assert_eq!(problem.subject, format!("{PREFIX}{}", "X".repeat(64)));
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

    /// A host may add its own variables to the environment that it has inherited. An engine's
    /// placeholder is a token like any other.
    #[test]
    fn the_last_value_of_a_repeated_variable_counts() {
        let settings = settings("API_TOKEN={{secret:42}} MAX_ATTEMPTS=none MAX_ATTEMPTS=2");
        assert_eq!(settings.token.header_value(), "Bearer {{secret:42}}");
        assert_eq!(settings.max_attempts, 2);
    }

    #[test]
    fn unrelated_variables_are_ignored() {
        // Kubernetes sets the variables of the first line for a service named `voice-calling`.
        let others = "SERVICE_HOST SERVICE_PORT SERVICE_PORT_HTTP PORT PORT_8080_TCP \
            PORT_8080_TCP_ADDR PORT_8080_TCP_PORT PORT_8080_TCP_PROTO \
            ORIGIN WEBHOOK_SECRET ACCESS_LOG REGION \u{e4}";
        for name in others.split_whitespace().chain([""]) {
            assert!(with(&format!("{name}=x")).is_ok(), "{name}");
            let beside = format!("ACCOUNTS=alpha ALPHA_API_TOKEN=t {name}=x");
            assert!(with(&beside).is_ok(), "{name}");
        }
        let required = variables(REQUIRED).into_iter();
        let required = required.map(|(name, value)| (format!("{PREFIX}{name}"), value.to_owned()));
        let foreign = ["HOME", "voice_calling_log", "VOICE_CALLINGLOG"];
        let foreign = foreign.map(|name| (name.to_owned(), "x".to_owned()));
        assert!(Settings::from_environment(required.chain(foreign)).is_ok());
    }

    /// Without it they are not required beside an account, which the table of cases shows.
    #[test]
    fn a_token_without_a_name_requires_the_other_settings_without_a_name() {
        let named = "ACCOUNTS=alpha ALPHA_BASE_URL=https://api.example ALPHA_API_TOKEN=t";
        let missing = read(&variables(&format!("{named} API_TOKEN=t"))).unwrap_err();
        assert_eq!(missing.subject, "VOICE_CALLING_BASE_URL");
    }

    #[test]
    fn names_of_accounts_are_of_lower_case_letters_digits_and_hyphens() {
        assert!(with("ACCOUNTS=a1,b-- A1_API_TOKEN=t B___API_TOKEN=t").is_ok());
        for list in [
            "", ",", "alpha,", "Alpha", "1a", "-a", "a_b", "a b", "a, b", "\u{e4}",
        ] {
            assert_eq!(refused("ACCOUNTS", list).found, format!("{list:?}"));
        }
    }

    #[test]
    fn there_are_at_most_a_hundred_accounts() {
        let problem = |count: usize| {
            let names: Vec<_> = (0..count).map(|index| format!("a{index}")).collect();
            with(&format!("ACCOUNTS={}", names.join(","))).unwrap_err()
        };
        assert_eq!(problem(100).subject, "VOICE_CALLING_A0_API_TOKEN");
        assert_eq!(problem(101).subject, "VOICE_CALLING_ACCOUNTS");
    }
}

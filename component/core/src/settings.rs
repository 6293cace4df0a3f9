//! The settings: environment variables with the prefix `VOICE_CALLING_`, since
//! that is what every engine can give.

use crate::base_url::BaseUrl;
use crate::problem::{configuration_error, problem};
use crate::token::{ApiToken, mask_problem};
use crate::transport::Scheme;
use crate::types::{CallOptions, Problem, RequestError};
use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::time::Duration;

/// What every variable begins with.
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

/// How large a delivery to the webhook may be unless a setting says otherwise: anyone can send
/// one, and to read it costs time.
pub const DEFAULT_MAX_DELIVERY_BYTES: usize = 1_048_576;

/// A longer address leaves too little of the 8000 bytes that servers take for what is asked of it.
const MAX_BASE_URL_BYTES: usize = 2_048;

/// When a creating request may be retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateRetry {
    /// While it is certain that it did nothing, and after 5xx and 408 too, as the service's
    /// specification asks for.
    ServerErrors,
    /// Only while it is certain that it did nothing.
    NotSent,
    /// Not at all.
    Never,
}

/// The settings of all accounts, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Those without a name, or what is missing in them.
    pub(crate) unnamed: Result<AccountSettings, Problem>,
    pub(crate) named: Vec<(String, AccountSettings)>,
}

/// The settings of an account, checked.
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
    /// Reads the settings from environment variables. Those without the prefix are ignored, and
    /// those with it that are not settings, unless they look like one misspelt: a misspelt
    /// `CREATE_RETRY` would let phones ring twice.
    pub fn from_environment(
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, RequestError> {
        Self::read(environment).map_err(configuration_error)
    }

    /// The longest time that an account gives a connection.
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

/// Reads the setting `MAX_DELIVERY_BYTES` alone, which parsing needs without a client.
pub fn max_delivery_bytes(environment: Vec<(String, String)>) -> Result<usize, RequestError> {
    let variables = with_prefix(environment);
    let scope = Scope {
        variables: &variables,
        account: None,
    };
    scope.max_delivery_bytes().map_err(configuration_error)
}

/// The variables that have the prefix, without it.
type Variables = Vec<(String, String)>;

fn with_prefix(environment: impl IntoIterator<Item = (String, String)>) -> Variables {
    let variables = environment.into_iter().filter_map(|(name, value)| {
        let name = name.strip_prefix(PREFIX)?;
        Some((name.to_owned(), value))
    });
    variables.collect()
}

/// The tokens of all accounts, right or wrong.
fn tokens(variables: &Variables) -> Vec<&str> {
    let tokens = variables
        .iter()
        .filter(|(name, _)| name.ends_with("API_TOKEN"));
    tokens.map(|(_, token)| token.as_str()).collect()
}

fn value_of<'a>(variables: &'a Variables, name: &str) -> Option<&'a str> {
    // The last one counts: hosts inherit an environment and add to it.
    let mut latest_first = variables.iter().rev();
    let variable = latest_first.find(|(variable, _)| variable == name)?;
    Some(&variable.1)
}

impl AccountSettings {
    /// These settings with the options of a call in their place.
    pub(crate) fn with_options(&self, options: &CallOptions) -> Result<Cow<'_, Self>, Problem> {
        let mut settings = Cow::Borrowed(self);
        if let Some(deadline_ms) = options.deadline_ms {
            let deadline_ms = option(
                "options.deadline-ms",
                deadline_ms,
                DURATION_MS,
                " milliseconds",
            )?;
            let changed = settings.to_mut();
            changed.deadline_ms = deadline_ms;
            changed.attempt_timeout_ms = changed.attempt_timeout_ms.min(deadline_ms);
            changed.connect_timeout_ms = changed.connect_timeout_ms.min(deadline_ms);
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

// ------------------------------------------------------------------- names

/// What stands for an account in the names of its variables.
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

/// The names of all settings, those of these accounts too.
fn setting_names(accounts: &[String]) -> Vec<String> {
    let mut names = vec![ACCOUNTS.to_owned()];
    names.extend(NAMES.map(str::to_owned));
    for account in accounts {
        names.extend(NAMES.map(|setting| format!("{}_{setting}", variable_part(account))));
    }
    names
}

/// Refuses what looks like the name of a setting and is none.
fn check_names(variables: &Variables, accounts: &[String]) -> Result<(), Problem> {
    let known = setting_names(accounts);
    for (name, _) in variables.iter().filter(|(name, _)| !known.contains(name)) {
        let upper = name.to_ascii_uppercase();
        if let Some(meant) = known.iter().find(|known| is_near(&upper, known)) {
            let found = "an unknown setting";
            return Err(setting_problem(name, found, format!("{PREFIX}{meant}")));
        }
        let reversed = accounts.iter().find_map(|account| {
            let part = variable_part(account);
            let setting = upper.strip_suffix(&part)?.strip_suffix('_')?;
            NAMES
                .contains(&setting)
                .then(|| format!("{PREFIX}{part}_{setting}"))
        });
        if let Some(meant) = reversed {
            return Err(setting_problem(name, "an unknown setting", meant));
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

/// Whether a name is as far away from the meant one as a third of the setting's name, or less.
fn is_near(name: &str, meant: &str) -> bool {
    let settings = NAMES.iter().filter(|setting| meant.ends_with(**setting));
    let limit = settings
        .map(|setting| setting.len())
        .max()
        .unwrap_or(meant.len())
        / 3;
    name.len().abs_diff(meant.len()) <= limit && edits(name, meant) <= limit
}

/// How many characters are to be inserted, removed or replaced (the Levenshtein distance).
fn edits(from: &str, to: &str) -> usize {
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

// ------------------------------------------------------------------ values

/// The variables of an account: its own, and where it has none of its own, those without a name.
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
        let no_and_yes = [("false", false), ("true", true)];
        let allow_insecure_http = self.choice("ALLOW_INSECURE_HTTP", &no_and_yes)?;
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
            trust_connection_timeout: self.choice("TRUST_CONNECTION_TIMEOUT", &no_and_yes)?,
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

    /// The account's own name of a setting.
    fn own(&self, name: &str) -> String {
        match &self.account {
            Some(account) => format!("{account}_{name}"),
            None => name.to_owned(),
        }
    }

    /// A setting, and the name of the variable that has it. A token is never another account's.
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

    /// A duration that is at most another one. The default gives way to a small
    /// limit; what somebody has set does not.
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
            // What an account has not set itself gives way, as a default does.
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

    /// One of a few words; the first is the default.
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

/// A value in an error.
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
    use crate::simulation::{NO_OPTIONS, take_apart};

    const REQUIRED: [(&str, &str); 2] = [
        ("BASE_URL", "https://api.example"),
        ("API_TOKEN", "secret-token"),
    ];

    fn read(variables: &[(&str, &str)]) -> Result<Settings, Problem> {
        let variables = variables.iter();
        let environment =
            variables.map(|(name, value)| (format!("{PREFIX}{name}"), (*value).to_owned()));
        Settings::from_environment(environment).map_err(|error| {
            let (case, failure) = take_apart(error);
            assert_eq!(case, "permanent-configuration");
            failure.problem.unwrap()
        })
    }

    /// The settings of the account without a name, with these variables.
    fn settings(variables: &[(&str, &str)]) -> Result<AccountSettings, Problem> {
        read(&[&REQUIRED, variables].concat())?.unnamed
    }

    /// The settings of this account, with these variables.
    fn account(name: &str, variables: &[(&str, &str)]) -> AccountSettings {
        let settings = read(variables).unwrap();
        let mut named = settings.named.into_iter();
        named.find(|(known, _)| known == name).unwrap().1
    }

    // ----------------------------------------------------------------- values

    #[test]
    fn two_variables_suffice_and_the_rest_has_defaults() {
        let settings = settings(&[]).unwrap();
        assert_eq!(settings.base_url.authority(), "api.example");
        assert_eq!(settings.token.header_value(), "Bearer secret-token");
        assert_eq!(settings.max_attempts, 4);
        let back_off = (settings.backoff_ms, settings.max_backoff_ms);
        assert_eq!(back_off, (2_000, 8_000));
        assert_eq!(settings.connect_timeout_ms, 3_000);
        assert_eq!(settings.attempt_timeout_ms, 10_000);
        assert_eq!(settings.deadline_ms, 30_000);
        assert_eq!(settings.create_retry, CreateRetry::ServerErrors);
        assert!(!settings.trust_connection_timeout);
        assert_eq!(settings.max_in_flight, 16);
        assert_eq!(settings.max_request_bytes, 1_048_576);
        assert_eq!(settings.max_response_bytes, 8_388_608);
        assert!(!settings.log_attempts);
    }

    #[test]
    fn every_setting_can_be_set() {
        let settings = settings(&[
            ("MAX_ATTEMPTS", "1"),
            ("BACKOFF_MS", "2"),
            ("MAX_BACKOFF_MS", "3"),
            ("CONNECT_TIMEOUT_MS", "4"),
            ("ATTEMPT_TIMEOUT_MS", "5"),
            ("DEADLINE_MS", "6"),
            ("CREATE_RETRY", "not-sent"),
            ("TRUST_CONNECTION_TIMEOUT", "true"),
            ("MAX_IN_FLIGHT", "7"),
            ("MAX_REQUEST_BYTES", "8"),
            ("MAX_RESPONSE_BYTES", "9"),
            ("LOG", "attempts"),
        ])
        .unwrap();
        assert_eq!(settings.max_attempts, 1);
        assert_eq!((settings.backoff_ms, settings.max_backoff_ms), (2, 3));
        assert_eq!(settings.connect_timeout_ms, 4);
        assert_eq!(settings.attempt_timeout_ms, 5);
        assert_eq!(settings.deadline_ms, 6);
        assert_eq!(settings.create_retry, CreateRetry::NotSent);
        assert!(settings.trust_connection_timeout);
        assert_eq!(settings.max_in_flight, 7);
        assert_eq!(settings.max_request_bytes, 8);
        assert_eq!(settings.max_response_bytes, 9);
        assert!(settings.log_attempts);
        let never = self::settings(&[("CREATE_RETRY", "never")]).unwrap();
        assert_eq!(never.create_retry, CreateRetry::Never);
    }

    #[test]
    fn defaults_give_way_to_a_small_deadline_and_a_small_back_off() {
        let settings = settings(&[("DEADLINE_MS", "2000"), ("MAX_BACKOFF_MS", "100")]).unwrap();
        assert_eq!(settings.attempt_timeout_ms, 2_000);
        assert_eq!(settings.connect_timeout_ms, 2_000);
        assert_eq!(settings.backoff_ms, 100);
    }

    #[test]
    fn plain_http_needs_loopback_or_a_deliberate_word() {
        assert!(settings(&[]).is_ok());
        let with = |url, more: &[(&str, &str)]| {
            let required = [("BASE_URL", url), ("API_TOKEN", "t")];
            read(&[&required, more].concat())
        };
        assert!(with("http://127.0.0.1:8080", &[]).is_ok());
        let problem = with("http://localhost.evil.example", &[]).unwrap_err();
        assert_eq!(problem.subject, "VOICE_CALLING_BASE_URL");
        assert!(problem.found.contains("localhost.evil.example"));
        let allow = |word| with("http://api.example", &[("ALLOW_INSECURE_HTTP", word)]);
        assert!(allow("false").is_err() && allow("true").is_ok());
    }

    #[test]
    fn every_bad_value_names_its_variable_what_was_found_and_what_is_allowed() {
        let numbers = [
            "MAX_ATTEMPTS",
            "BACKOFF_MS",
            "MAX_BACKOFF_MS",
            "CONNECT_TIMEOUT_MS",
            "ATTEMPT_TIMEOUT_MS",
            "DEADLINE_MS",
            "MAX_IN_FLIGHT",
            "MAX_REQUEST_BYTES",
            "MAX_RESPONSE_BYTES",
            "MAX_DELIVERY_BYTES",
        ];
        let too_large = "99999999999999999999999";
        for name in numbers {
            for value in [
                "", "0", "-1", "+5", " 5", "5.0", "many", "\u{0665}", too_large,
            ] {
                let problem = settings(&[(name, value)]).expect_err(name);
                assert_eq!(problem.subject, format!("{PREFIX}{name}"), "{value:?}");
                assert_eq!(problem.found, format!("{value:?}"), "{name}");
                assert!(problem.allowed.starts_with("a whole number from 1 to "));
            }
        }
        for name in [
            "CREATE_RETRY",
            "TRUST_CONNECTION_TIMEOUT",
            "ALLOW_INSECURE_HTTP",
            "LOG",
        ] {
            for value in ["", "1", "TRUE", "yes"] {
                let problem = settings(&[(name, value)]).expect_err(name);
                assert_eq!(problem.subject, format!("{PREFIX}{name}"));
                assert_eq!(problem.found, format!("{value:?}"));
                assert!(problem.allowed.contains(" or "));
            }
        }
    }

    #[test]
    fn a_long_value_and_a_long_name_are_cut() {
        let problem = settings(&[("LOG", &"\u{e4}".repeat(100))]).unwrap_err();
        assert_eq!(problem.found, format!("\"{}\"…", "\u{e4}".repeat(32)));
        let name = format!("{}_API_TOKEN", "X".repeat(100));
        let problem = settings(&[(&name, "t")]).unwrap_err();
        assert_eq!(problem.subject, format!("{PREFIX}{}", "X".repeat(64)));
    }

    #[test]
    fn a_hundred_thousand_requests_may_be_open_and_no_more() {
        let most = settings(&[("MAX_IN_FLIGHT", "100000")]).unwrap();
        assert_eq!(most.max_in_flight, 100_000);
        let problem = settings(&[("MAX_IN_FLIGHT", "100001")]).unwrap_err();
        assert_eq!(problem.allowed, "a whole number from 1 to 100000");
    }

    #[test]
    fn base_urls_and_tokens_are_as_long_as_servers_take() {
        let with = |url: &str, token: &str| read(&[("BASE_URL", url), ("API_TOKEN", token)]);
        let url = |bytes: usize| {
            let begin = "https://api.example/";
            format!("{begin}{}", "p".repeat(bytes - begin.len()))
        };
        assert!(with(&url(2_048), &"t".repeat(8_192)).is_ok());
        let problem = with(&url(2_049), "t").unwrap_err();
        assert_eq!(problem.subject, "VOICE_CALLING_BASE_URL");
        assert_eq!(
            (&*problem.found, &*problem.allowed),
            ("2049 bytes", "at most 2048 bytes")
        );
        let problem = with(&url(100), &"t".repeat(8_193)).unwrap_err();
        assert_eq!(problem.subject, "VOICE_CALLING_API_TOKEN");
        assert!(problem.found.contains("8192"), "{}", problem.found);
    }

    #[test]
    fn timeouts_above_what_bounds_them_are_refused() {
        for (variables, name, limit) in [
            (
                &[("ATTEMPT_TIMEOUT_MS", "40000")][..],
                "ATTEMPT_TIMEOUT_MS",
                "DEADLINE_MS",
            ),
            (
                &[("CONNECT_TIMEOUT_MS", "20000")],
                "CONNECT_TIMEOUT_MS",
                "ATTEMPT_TIMEOUT_MS",
            ),
            (&[("BACKOFF_MS", "9000")], "BACKOFF_MS", "MAX_BACKOFF_MS"),
        ] {
            let problem = settings(variables).unwrap_err();
            assert_eq!(problem.subject, format!("{PREFIX}{name}"));
            assert!(problem.allowed.contains(limit), "{problem:?}");
        }
    }

    /// As where a host adds its own to the environment that it has inherited. A placeholder of an
    /// engine is a token like any other.
    #[test]
    fn of_a_variable_that_is_set_twice_the_last_value_counts() {
        let settings = settings(&[
            ("API_TOKEN", "{{secret:42}}"),
            ("MAX_ATTEMPTS", "none"),
            ("MAX_ATTEMPTS", "2"),
        ])
        .unwrap();
        assert_eq!(settings.token.header_value(), "Bearer {{secret:42}}");
        assert_eq!(settings.max_attempts, 2);
    }

    #[test]
    fn missing_and_empty_variables_are_named() {
        let problem = read(&[]).unwrap_err();
        assert_eq!(problem.subject, "VOICE_CALLING_BASE_URL");
        let problem = read(&REQUIRED[..1]).unwrap_err();
        assert_eq!(problem.subject, "VOICE_CALLING_API_TOKEN");
        let problem = read(&[("BASE_URL", ""), ("API_TOKEN", "t")]).unwrap_err();
        assert_eq!(problem.subject, "VOICE_CALLING_BASE_URL");
    }

    #[test]
    fn a_bad_token_is_never_shown() {
        for token in [
            "",
            "se\ncret",
            "Bearer secret",
            "bEARER secret",
            "secr\u{e9}t",
        ] {
            let problem = read(&[REQUIRED[0], ("API_TOKEN", token)]).unwrap_err();
            assert_eq!(problem.subject, "VOICE_CALLING_API_TOKEN");
            assert!(!format!("{problem:?}").contains("cret"), "{problem:?}");
        }
        assert!(!format!("{:?}", settings(&[]).unwrap()).contains("secret"));
    }

    // ------------------------------------------------------------------ names

    #[test]
    fn what_looks_like_a_setting_misspelt_is_refused() {
        for (name, meant) in [
            ("CREATE_RETRIES", "CREATE_RETRY"),
            ("CREATERETRY", "CREATE_RETRY"),
            ("CREATE_RETRY_", "CREATE_RETRY"),
            ("create_retry", "CREATE_RETRY"),
            ("Base_Url", "BASE_URL"),
            ("BASEURL", "BASE_URL"),
            ("BASE_URI", "BASE_URL"),
            ("APITOKEN", "API_TOKEN"),
            ("API_TOKENS", "API_TOKEN"),
            ("MAX_ATEMPT", "MAX_ATTEMPTS"),
            ("DEADLINE", "DEADLINE_MS"),
            ("LOGS", "LOG"),
            ("ACCOUNT", "ACCOUNTS"),
        ] {
            let problem = settings(&[(name, "x")]).expect_err(name);
            assert_eq!(problem.subject, format!("{PREFIX}{name}"));
            assert_eq!(problem.allowed, format!("{PREFIX}{meant}"), "{name}");
        }
    }

    #[test]
    fn what_looks_like_the_setting_of_an_account_that_there_is_not_is_refused() {
        for name in [
            "PROD_BASE_URL",
            "GAMMA_API_TOKEN",
            "_DEADLINE_MS",
            "prod_deadline_ms",
        ] {
            let problem = settings(&[(name, "x")]).unwrap_err();
            assert_eq!(problem.subject, format!("{PREFIX}{name}"));
        }
    }

    #[test]
    fn variables_that_have_nothing_to_do_with_it_pass() {
        let of_kubernetes = [
            "SERVICE_HOST",
            "SERVICE_PORT",
            "SERVICE_PORT_HTTP",
            "PORT",
            "PORT_8080_TCP",
            "PORT_8080_TCP_ADDR",
            "PORT_8080_TCP_PORT",
            "PORT_8080_TCP_PROTO",
        ];
        let others = [
            "ORIGIN",
            "WEBHOOK_SECRET",
            "ACCESS_LOG",
            "REGION",
            "\u{e4}",
            "",
        ];
        for name in of_kubernetes.iter().chain(&others) {
            let with_accounts = [("ACCOUNTS", "alpha"), ("ALPHA_API_TOKEN", "t"), (name, "x")];
            assert!(settings(&[(name, "x")]).is_ok(), "{name}");
            assert!(settings(&with_accounts).is_ok(), "{name}");
        }
        let environment = [
            ("HOME", "/"),
            ("voice_calling_log", "x"),
            ("VOICE_CALLINGLOG", "x"),
        ];
        let required = REQUIRED.map(|(name, value)| (format!("{PREFIX}{name}"), value.to_owned()));
        let foreign = environment.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert!(Settings::from_environment(required.into_iter().chain(foreign)).is_ok());
    }

    #[test]
    fn edits_are_inserted_removed_and_replaced_characters() {
        for (from, to, count) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("abc", "abc", 0),
            ("abc", "axc", 1),
            ("abc", "abxc", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(edits(from, to), count, "{from} {to}");
        }
    }

    // --------------------------------------------------------------- accounts

    #[test]
    fn an_account_has_settings_of_its_own_and_else_those_without_a_name() {
        let variables = [
            ("ACCOUNTS", "alpha,north-west"),
            ("BASE_URL", "https://api.example"),
            ("API_TOKEN", "unnamed"),
            ("DEADLINE_MS", "20000"),
            ("ALPHA_API_TOKEN", "of-alpha"),
            ("ALPHA_DEADLINE_MS", "12000"),
            ("NORTH_WEST_API_TOKEN", "of-north-west"),
            ("NORTH_WEST_BASE_URL", "https://nw.example"),
        ];
        for (name, token, host, deadline_ms) in [
            ("alpha", "Bearer of-alpha", "api.example", 12_000),
            ("north-west", "Bearer of-north-west", "nw.example", 20_000),
        ] {
            let account = account(name, &variables);
            assert_eq!(account.token.header_value(), token);
            assert_eq!(account.base_url.authority(), host);
            assert_eq!(account.deadline_ms, deadline_ms);
        }
        let unnamed = read(&variables).unwrap().unnamed.unwrap();
        assert_eq!(unnamed.token.header_value(), "Bearer unnamed");
        assert_eq!(unnamed.deadline_ms, 20_000);
    }

    #[test]
    fn a_token_is_never_that_of_another_account() {
        let problem = settings(&[("ACCOUNTS", "alpha")]).unwrap_err();
        assert_eq!(problem.subject, "VOICE_CALLING_ALPHA_API_TOKEN");
        let beta_alone = [("ACCOUNTS", "alpha,beta"), ("BETA_API_TOKEN", "t")];
        let problem = settings(&beta_alone).unwrap_err();
        assert_eq!(problem.subject, "VOICE_CALLING_ALPHA_API_TOKEN");
    }

    #[test]
    fn settings_without_a_name_are_needed_only_where_no_account_is_named() {
        let named = [
            ("ACCOUNTS", "alpha"),
            ("ALPHA_BASE_URL", "https://api.example"),
            ("ALPHA_API_TOKEN", "t"),
        ];
        let unnamed = read(&named).unwrap().unnamed;
        assert_eq!(unnamed.unwrap_err().subject, "VOICE_CALLING_BASE_URL");
        // A token is there to be used: then the rest must be right.
        let with_token = [&named[..], &[("API_TOKEN", "t")]].concat();
        assert_eq!(
            read(&with_token).unwrap_err().subject,
            "VOICE_CALLING_BASE_URL"
        );
    }

    #[test]
    fn a_bad_value_names_the_variable_that_it_came_from() {
        let account = [("ACCOUNTS", "alpha"), ("ALPHA_API_TOKEN", "t")];
        for (variable, value, limit) in [
            ("ALPHA_MAX_ATTEMPTS", "0", "from 1 to 100"),
            ("MAX_ATTEMPTS", "0", "from 1 to 100"),
            (
                "ALPHA_ATTEMPT_TIMEOUT_MS",
                "40000",
                "VOICE_CALLING_DEADLINE_MS",
            ),
            ("ALPHA_BASE_URL", "x", "http(s)://"),
            ("ALPHA_LOG", "x", "off or attempts"),
        ] {
            let variables = [&account[..], &[(variable, value)]].concat();
            let problem = settings(&variables).unwrap_err();
            assert_eq!(problem.subject, format!("{PREFIX}{variable}"));
            assert!(problem.allowed.contains(limit), "{problem:?}");
        }
        let both = [
            ("ALPHA_DEADLINE_MS", "500"),
            ("ALPHA_ATTEMPT_TIMEOUT_MS", "501"),
        ];
        let problem = settings(&[account, both].concat()).unwrap_err();
        assert!(
            problem
                .allowed
                .contains("VOICE_CALLING_ALPHA_DEADLINE_MS, which is 500")
        );
    }

    #[test]
    fn names_of_accounts_are_of_lower_case_letters_digits_and_hyphens() {
        let tokens = [("A1_API_TOKEN", "t"), ("B___API_TOKEN", "t")];
        let accounts = [("ACCOUNTS", "a1,b--")];
        assert!(settings(&[&accounts[..], &tokens].concat()).is_ok());
        for list in [
            "", ",", "alpha,", "Alpha", "1a", "-a", "a_b", "a b", "a, b", "\u{e4}",
        ] {
            let problem = settings(&[("ACCOUNTS", list)]).unwrap_err();
            assert_eq!(problem.subject, "VOICE_CALLING_ACCOUNTS");
            assert_eq!(problem.found, format!("{list:?}"));
        }
    }

    #[test]
    fn accounts_whose_variables_would_be_ambiguous_are_refused() {
        for (list, named, ambiguous) in [
            ("alpha,alpha", "alpha", "ALPHA_BASE_URL"),
            // MAX_BACKOFF_MS is a setting of its own.
            ("max", "max", "MAX_BACKOFF_MS"),
            ("a,a-max", "a-max", "A_MAX_BACKOFF_MS"),
            ("a-max,a", "a", "A_MAX_BACKOFF_MS"),
        ] {
            let problem = settings(&[("ACCOUNTS", list)]).unwrap_err();
            assert_eq!(problem.subject, "VOICE_CALLING_ACCOUNTS");
            let found = format!("\"{named}\", which makes VOICE_CALLING_{ambiguous} ambiguous");
            assert_eq!(problem.found, found);
        }
    }

    #[test]
    fn a_setting_of_an_account_misspelt_is_refused() {
        let account = [("ACCOUNTS", "alpha"), ("ALPHA_API_TOKEN", "t")];
        for (name, meant) in [
            ("ALPHA_CREATE_RETRIES", "ALPHA_CREATE_RETRY"),
            ("alpha_API_TOKEN", "ALPHA_API_TOKEN"),
            ("APLHA_API_TOKEN", "ALPHA_API_TOKEN"),
        ] {
            let problem = settings(&[&account[..], &[(name, "x")]].concat()).unwrap_err();
            assert_eq!(problem.subject, format!("{PREFIX}{name}"));
            assert_eq!(problem.allowed, format!("{PREFIX}{meant}"));
        }
    }

    // ---------------------------------------------------------------- options

    #[test]
    fn timeouts_give_way_to_the_deadline_of_a_call() {
        let settings = settings(&[]).unwrap();
        for (deadline_ms, attempt_timeout_ms, connect_timeout_ms) in
            [(60_000, 10_000, 3_000), (5_000, 5_000, 3_000), (1, 1, 1)]
        {
            let options = CallOptions {
                deadline_ms: Some(deadline_ms),
                ..NO_OPTIONS
            };
            let changed = settings.with_options(&options).unwrap();
            assert_eq!(changed.deadline_ms, u64::from(deadline_ms));
            assert_eq!(changed.attempt_timeout_ms, attempt_timeout_ms);
            assert_eq!(changed.connect_timeout_ms, connect_timeout_ms);
        }
        assert!(matches!(
            settings.with_options(&NO_OPTIONS),
            Ok(Cow::Borrowed(_))
        ));
    }

    #[test]
    fn what_an_account_inherits_gives_way_and_what_it_sets_does_not() {
        let with = |name: &str| {
            let of_alpha = [
                ("ACCOUNTS", "alpha"),
                ("ALPHA_API_TOKEN", "token"),
                ("ALPHA_DEADLINE_MS", "8000"),
                (name, "9000"),
            ];
            read(&[&REQUIRED[..], &of_alpha].concat())
        };
        let settings = with("ATTEMPT_TIMEOUT_MS").unwrap();
        assert_eq!(settings.named[0].1.attempt_timeout_ms, 8_000);
        assert!(with("ALPHA_ATTEMPT_TIMEOUT_MS").is_err());
    }

    #[test]
    fn an_account_behind_its_setting_is_refused() {
        let reversed = [
            ("ACCOUNTS", "alpha"),
            ("ALPHA_API_TOKEN", "token"),
            ("CREATE_RETRY_ALPHA", "never"),
        ];
        let problem = settings(&reversed).unwrap_err();
        assert_eq!(problem.subject, "VOICE_CALLING_CREATE_RETRY_ALPHA");
        assert_eq!(problem.allowed, "VOICE_CALLING_ALPHA_CREATE_RETRY");
    }

    #[test]
    fn there_are_at_most_a_hundred_accounts() {
        let problem = |count: usize| {
            let names: Vec<_> = (0..count).map(|index| format!("a{index}")).collect();
            settings(&[("ACCOUNTS", &names.join(","))]).unwrap_err()
        };
        assert_eq!(problem(100).subject, "VOICE_CALLING_A0_API_TOKEN");
        assert_eq!(problem(101).subject, "VOICE_CALLING_ACCOUNTS");
    }
}

//! The settings: environment variables with the prefix `VOICE_CALLING_`, since
//! that is what every engine can give.

use crate::base_url::BaseUrl;
use crate::failure::{configuration_error, problem};
use crate::token::ApiToken;
use crate::transport::Scheme;
use crate::types::{CallOptions, Problem, RequestError};
use std::borrow::Cow;
use std::ops::RangeInclusive;

/// What every variable begins with.
pub const PREFIX: &str = "VOICE_CALLING_";

/// The names of the settings that an account has, without the prefix.
pub const NAMES: [&str; 15] = [
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
    "ALLOW_INSECURE_HTTP",
    "LOG",
];

/// The names of the accounts, separated by commas.
pub const ACCOUNTS: &str = "ACCOUNTS";

const A_DAY_MS: u64 = 86_400_000;
const DURATION_MS: RangeInclusive<u64> = 1..=A_DAY_MS;
const ATTEMPTS: RangeInclusive<u64> = 1..=100;
const BODY_BYTES: RangeInclusive<u64> = 1..=67_108_864;

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
    pub(crate) log_attempts: bool,
}

impl Settings {
    /// Reads the settings from environment variables. Those without the prefix are ignored, and
    /// those with it that are no setting, unless they look like one misspelt: a misspelt
    /// `CREATE_RETRY` would let phones ring twice.
    pub fn from_environment(
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, RequestError> {
        Self::read(environment).map_err(configuration_error)
    }

    fn read(environment: impl IntoIterator<Item = (String, String)>) -> Result<Self, Problem> {
        let mut variables = Variables::new();
        for (name, value) in environment {
            if let Some(name) = name.strip_prefix(PREFIX) {
                variables.push((name.to_owned(), value));
            }
        }
        let accounts = account_names(&variables)?;
        check_names(&variables, &accounts)?;
        let mut named = Vec::new();
        for name in &accounts {
            let scope = Scope {
                variables: &variables,
                account: Some(variable_part(name)),
            };
            named.push((name.clone(), scope.read()?));
        }
        let scope = Scope {
            variables: &variables,
            account: None,
        };
        let is_needed = named.is_empty() || value_of(&variables, "API_TOKEN").is_some();
        match scope.read() {
            Err(problem) if is_needed => Err(problem),
            unnamed => Ok(Self { unnamed, named }),
        }
    }
}

/// The variables that have the prefix, without it.
type Variables = Vec<(String, String)>;

fn value_of<'a>(variables: &'a Variables, name: &str) -> Option<&'a str> {
    let variable = variables.iter().find(|(variable, _)| variable == name)?;
    Some(&variable.1)
}

impl AccountSettings {
    /// These settings with the options of a call in their place.
    pub(crate) fn with_options(&self, options: &CallOptions) -> Result<Cow<'_, Self>, Problem> {
        let mut settings = Cow::Borrowed(self);
        if let Some(deadline_ms) = options.deadline_ms {
            let deadline_ms = option("options.deadline-ms", deadline_ms, DURATION_MS)?;
            let changed = settings.to_mut();
            changed.deadline_ms = deadline_ms;
            changed.attempt_timeout_ms = changed.attempt_timeout_ms.min(deadline_ms);
            changed.connect_timeout_ms = changed.connect_timeout_ms.min(deadline_ms);
        }
        if let Some(max_attempts) = options.max_attempts {
            option("options.max-attempts", max_attempts, ATTEMPTS)?;
            settings.to_mut().max_attempts = max_attempts;
        }
        Ok(settings)
    }
}

fn option(subject: &str, value: u32, range: RangeInclusive<u64>) -> Result<u64, Problem> {
    match range.contains(&value.into()) {
        true => Ok(value.into()),
        false => Err(problem(subject, value.to_string(), whole_number(&range))),
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
    for name in list.split(',') {
        let follows = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if !(name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(follows)) {
            let allowed = "names of lower-case letters, digits and hyphens, which begin with a \
                           letter, separated by commas";
            return Err(setting_problem(ACCOUNTS, shown(list), allowed));
        }
        let taken = setting_names(&names);
        let own = NAMES.map(|setting| format!("{}_{setting}", variable_part(name)));
        if let Some(ambiguous) = own.iter().find(|variable| taken.contains(variable)) {
            let found = format!("{name:?}, for which {PREFIX}{ambiguous} has two meanings");
            return Err(setting_problem(ACCOUNTS, found, "another name"));
        }
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
        let of_no_account = |setting: &&str| {
            let account = upper.strip_suffix(*setting);
            *setting != "LOG" && account.is_some_and(|account| account.ends_with('_'))
        };
        if NAMES.iter().any(|setting| of_no_account(&setting)) {
            let found = "a setting of an account that VOICE_CALLING_ACCOUNTS does not name";
            return Err(setting_problem(name, found, "settings of named accounts"));
        }
    }
    Ok(())
}

/// Whether a name is a third of the meant one, or less, away from it.
fn is_near(name: &str, meant: &str) -> bool {
    let limit = meant.len() / 3;
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
            log_attempts: self.choice("LOG", &[("off", false), ("attempts", true)])?,
        })
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
            (variable, None) => Err(setting_problem(
                &variable,
                "nothing: it is not set",
                allowed,
            )),
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
        if number > limit {
            let (variable, _) = self.find(name);
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

    const REQUIRED: [(&str, &str); 2] = [
        ("BASE_URL", "https://api.example"),
        ("API_TOKEN", "secret-token"),
    ];

    fn settings(variables: &[(&str, &str)]) -> Result<Settings, ConfigurationProblem> {
        let all = REQUIRED.iter().chain(variables);
        Settings::from_environment(
            all.map(|(name, value)| (format!("{PREFIX}{name}"), (*value).to_owned())),
        )
    }

    #[test]
    fn two_variables_suffice_and_the_rest_has_defaults() {
        let settings = settings(&[]).unwrap();
        assert_eq!(settings.base_url.authority(), "api.example");
        assert_eq!(settings.token.header_value(), "Bearer secret-token");
        assert_eq!(settings.max_attempts, 4);
        assert_eq!((settings.backoff_ms, settings.max_backoff_ms), (250, 8_000));
        assert_eq!(settings.connect_timeout_ms, 3_000);
        assert_eq!(settings.attempt_timeout_ms, 10_000);
        assert_eq!(settings.deadline_ms, 30_000);
        assert_eq!(settings.create_retry, CreateRetry::ServerErrors);
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
        assert_eq!(settings.max_in_flight, 7);
        assert_eq!(settings.max_request_bytes, 8);
        assert_eq!(settings.max_response_bytes, 9);
        assert!(settings.log_attempts);
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
        assert!(settings(&[("BASE_URL", "http://127.0.0.1:8080")]).is_ok());
        let problem = settings(&[("BASE_URL", "http://localhost.evil.example")]).unwrap_err();
        assert_eq!(problem.variable, "VOICE_CALLING_BASE_URL");
        assert!(problem.found.contains("localhost.evil.example"));
        let remote = ("BASE_URL", "http://api.example");
        assert!(settings(&[remote, ("ALLOW_INSECURE_HTTP", "false")]).is_err());
        assert!(settings(&[remote, ("ALLOW_INSECURE_HTTP", "true")]).is_ok());
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
        ];
        let too_large = "99999999999999999999999";
        for name in numbers {
            for value in [
                "", "0", "-1", "+5", " 5", "5.0", "many", "\u{0665}", too_large,
            ] {
                let problem = settings(&[(name, value)]).expect_err(name);
                assert_eq!(problem.variable, format!("{PREFIX}{name}"), "{value:?}");
                assert_eq!(problem.found, format!("{value:?}"), "{name}");
                assert!(problem.allowed.starts_with("a whole number from 1 to "));
            }
        }
        for name in ["CREATE_RETRY", "ALLOW_INSECURE_HTTP", "LOG"] {
            for value in ["", "1", "TRUE", "yes"] {
                let problem = settings(&[(name, value)]).expect_err(name);
                assert_eq!(problem.variable, format!("{PREFIX}{name}"));
                assert_eq!(problem.found, format!("{value:?}"));
                assert!(problem.allowed.contains(" or "));
            }
        }
    }

    #[test]
    fn a_hundred_thousand_requests_may_be_open_and_no_more() {
        let most = settings(&[("MAX_IN_FLIGHT", "100000")]).unwrap();
        assert_eq!(most.max_in_flight, 100_000);
        let problem = settings(&[("MAX_IN_FLIGHT", "100001")]).unwrap_err();
        assert_eq!(problem.allowed, "a whole number from 1 to 100000");
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
            assert_eq!(problem.variable, format!("{PREFIX}{name}"));
            assert!(problem.allowed.contains(limit), "{problem:?}");
        }
    }

    #[test]
    fn missing_and_empty_and_misspelt_variables_are_named() {
        let problem = Settings::from_environment([]).unwrap_err();
        assert_eq!(problem.variable, "VOICE_CALLING_BASE_URL");
        let url = (
            "VOICE_CALLING_BASE_URL".to_owned(),
            "https://api.example".to_owned(),
        );
        let problem = Settings::from_environment([url]).unwrap_err();
        assert_eq!(problem.variable, "VOICE_CALLING_API_TOKEN");
        let problem = settings(&[("BASE_URL", "")]).unwrap_err();
        assert_eq!(problem.variable, "VOICE_CALLING_BASE_URL");
        let problem = settings(&[("CREATE_RETRIES", "not-sent")]).unwrap_err();
        assert_eq!(problem.variable, "VOICE_CALLING_CREATE_RETRIES");
        assert!(problem.allowed.contains("CREATE_RETRY"));
    }

    #[test]
    fn a_bad_token_is_never_shown() {
        for token in ["", "se\ncret", "Bearer secret", "secr\u{e9}t"] {
            let problem = settings(&[("API_TOKEN", token)]).unwrap_err();
            assert_eq!(problem.variable, "VOICE_CALLING_API_TOKEN");
            assert!(!format!("{problem:?}").contains("cret"), "{problem:?}");
        }
        assert!(!format!("{:?}", settings(&[]).unwrap()).contains("secret"));
    }
}

//! The settings: environment variables with the prefix `VOICE_CALLING_`, since
//! that is what every engine can give.

use crate::base_url::BaseUrl;
use crate::token::ApiToken;
use crate::transport::Scheme;
use crate::types::ConfigurationProblem;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// What every variable begins with.
pub const PREFIX: &str = "VOICE_CALLING_";

/// The names of all settings, without the prefix.
pub const NAMES: [&str; 14] = [
    "BASE_URL",
    "API_TOKEN",
    "MAX_ATTEMPTS",
    "BACKOFF_MS",
    "MAX_BACKOFF_MS",
    "CONNECT_TIMEOUT_MS",
    "ATTEMPT_TIMEOUT_MS",
    "DEADLINE_MS",
    "CREATE_RETRY",
    "MAX_IN_FLIGHT",
    "MAX_REQUEST_BYTES",
    "MAX_RESPONSE_BYTES",
    "ALLOW_INSECURE_HTTP",
    "LOG",
];

const A_DAY_MS: u64 = 86_400_000;
const DURATION_MS: RangeInclusive<u64> = 1..=A_DAY_MS;
const BODY_BYTES: RangeInclusive<u64> = 1..=67_108_864;

/// When a creating request may be repeated although the service answered it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateRetry {
    /// After 5xx and 408 too, as the service's specification asks for.
    ServerErrors,
    /// Only where it is certain that nothing was processed.
    NotSent,
}

/// The settings of a client, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub(crate) base_url: BaseUrl,
    pub(crate) token: ApiToken,
    pub(crate) max_attempts: u32,
    pub(crate) backoff_ms: u64,
    pub(crate) max_backoff_ms: u64,
    pub(crate) connect_timeout_ms: u64,
    pub(crate) attempt_timeout_ms: u64,
    pub(crate) deadline_ms: u64,
    pub(crate) create_retry: CreateRetry,
    pub(crate) max_in_flight: usize,
    pub(crate) max_request_bytes: usize,
    pub(crate) max_response_bytes: usize,
    pub(crate) log_attempts: bool,
}

impl Settings {
    /// Reads the settings from environment variables; those without the prefix
    /// are passed over. A variable with the prefix that is not a setting is an
    /// error, since a misspelt `CREATE_RETRY` would let phones ring twice.
    pub fn from_environment(
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigurationProblem> {
        let variables = Variables::collect(environment)?;
        let deadline_ms = variables.number("DEADLINE_MS", DURATION_MS, 30_000)?;
        let attempt_timeout_ms =
            variables.number_within("ATTEMPT_TIMEOUT_MS", 10_000, "DEADLINE_MS", deadline_ms)?;
        let max_backoff_ms = variables.number("MAX_BACKOFF_MS", DURATION_MS, 8_000)?;
        let allow_insecure_http =
            variables.choice("ALLOW_INSECURE_HTTP", &[("false", false), ("true", true)])?;
        Ok(Self {
            base_url: variables.base_url(allow_insecure_http)?,
            token: variables.token()?,
            max_attempts: variables.number("MAX_ATTEMPTS", 1..=100, 4)? as u32,
            backoff_ms: variables.number_within(
                "BACKOFF_MS",
                250,
                "MAX_BACKOFF_MS",
                max_backoff_ms,
            )?,
            max_backoff_ms,
            connect_timeout_ms: variables.number_within(
                "CONNECT_TIMEOUT_MS",
                3_000,
                "ATTEMPT_TIMEOUT_MS",
                attempt_timeout_ms,
            )?,
            attempt_timeout_ms,
            deadline_ms,
            create_retry: variables.choice(
                "CREATE_RETRY",
                &[
                    ("server-errors", CreateRetry::ServerErrors),
                    ("not-sent", CreateRetry::NotSent),
                ],
            )?,
            max_in_flight: variables.number("MAX_IN_FLIGHT", 1..=100_000, 16)? as usize,
            max_request_bytes: variables.number("MAX_REQUEST_BYTES", BODY_BYTES, 1_048_576)?
                as usize,
            max_response_bytes: variables.number("MAX_RESPONSE_BYTES", BODY_BYTES, 8_388_608)?
                as usize,
            log_attempts: variables.choice("LOG", &[("off", false), ("attempts", true)])?,
        })
    }
}

/// The variables that are there, by name without the prefix.
struct Variables(BTreeMap<String, String>);

impl Variables {
    fn collect(
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, ConfigurationProblem> {
        let mut variables = BTreeMap::new();
        for (variable, value) in environment {
            let Some(name) = variable.strip_prefix(PREFIX) else {
                continue;
            };
            if !NAMES.contains(&name) {
                let allowed = format!("one of {PREFIX}{{{}}}", NAMES.join(", "));
                return Err(problem(name, "a variable that is no setting", allowed));
            }
            variables.insert(name.to_owned(), value);
        }
        Ok(Self(variables))
    }

    fn required(&self, name: &str, allowed: &str) -> Result<&str, ConfigurationProblem> {
        match self.0.get(name) {
            Some(value) => Ok(value),
            None => Err(problem(name, "nothing: it is not set", allowed)),
        }
    }

    fn base_url(&self, allow_insecure_http: bool) -> Result<BaseUrl, ConfigurationProblem> {
        let allowed = "http(s)://host[:port][/path], such as https://api.example";
        let value = self.required("BASE_URL", allowed)?;
        let base_url =
            BaseUrl::parse(value).map_err(|found| problem("BASE_URL", found, allowed))?;
        let in_the_clear = base_url.scheme() == Scheme::Http && !base_url.is_loopback();
        if in_the_clear && !allow_insecure_http {
            return Err(problem(
                "BASE_URL",
                format!("http to the remote host {}", base_url.authority()),
                "https, or VOICE_CALLING_ALLOW_INSECURE_HTTP=true",
            ));
        }
        Ok(base_url)
    }

    fn token(&self) -> Result<ApiToken, ConfigurationProblem> {
        let allowed = "the token alone, in printable ASCII";
        let value = self.required("API_TOKEN", allowed)?;
        ApiToken::parse(value).map_err(|found| problem("API_TOKEN", found, allowed))
    }

    fn number(
        &self,
        name: &str,
        range: RangeInclusive<u64>,
        default: u64,
    ) -> Result<u64, ConfigurationProblem> {
        let Some(value) = self.0.get(name) else {
            return Ok(default);
        };
        let digits = value.bytes().all(|b| b.is_ascii_digit());
        match value.parse() {
            Ok(number) if digits && range.contains(&number) => Ok(number),
            _ => Err(problem(
                name,
                format!("{value:?}"),
                format!("a whole number from {} to {}", range.start(), range.end()),
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
    ) -> Result<u64, ConfigurationProblem> {
        let number = self.number(name, DURATION_MS, default.min(limit))?;
        if number > limit {
            return Err(problem(
                name,
                format!("\"{number}\""),
                format!("at most {PREFIX}{limit_name}, which is {limit}"),
            ));
        }
        Ok(number)
    }

    /// One of a few words; the first is the default.
    fn choice<T: Copy>(
        &self,
        name: &str,
        choices: &[(&str, T)],
    ) -> Result<T, ConfigurationProblem> {
        let Some(value) = self.0.get(name) else {
            return Ok(choices[0].1);
        };
        match choices.iter().find(|(word, _)| word == value) {
            Some((_, choice)) => Ok(*choice),
            None => {
                let words: Vec<_> = choices.iter().map(|(word, _)| *word).collect();
                Err(problem(name, format!("{value:?}"), words.join(" or ")))
            }
        }
    }
}

fn problem(
    name: &str,
    found: impl Into<String>,
    allowed: impl Into<String>,
) -> ConfigurationProblem {
    ConfigurationProblem {
        variable: format!("{PREFIX}{name}"),
        found: found.into(),
        allowed: allowed.into(),
        attempts: Vec::new(),
    }
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

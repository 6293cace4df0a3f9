//! The settings.

use crate::members::is_json;
use crate::service::{Service, run};
use std::collections::BTreeMap;
use voice_calling_core::base_url::BaseUrl;
use voice_calling_core::types::{ConfigurationProblem, DocketRequestV2, RequestError};
use voice_calling_core::{Client, Scheme, Settings};

const PREFIX: &str = "VOICE_CALLING_";

/// The variables that are whole numbers: the default, and the largest allowed.
const NUMBERS: [(&str, u64, u64); 9] = [
    ("MAX_ATTEMPTS", 4, 100),
    ("BACKOFF_MS", 250, 86_400_000),
    ("MAX_BACKOFF_MS", 8_000, 86_400_000),
    ("CONNECT_TIMEOUT_MS", 3_000, 86_400_000),
    ("ATTEMPT_TIMEOUT_MS", 10_000, 86_400_000),
    ("DEADLINE_MS", 30_000, 86_400_000),
    ("MAX_IN_FLIGHT", 16, 100_000),
    ("MAX_REQUEST_BYTES", 1_048_576, 67_108_864),
    ("MAX_RESPONSE_BYTES", 8_388_608, 67_108_864),
];

/// Numbers that may not be larger than another one.
const LIMITS: [(&str, &str); 3] = [
    ("BACKOFF_MS", "MAX_BACKOFF_MS"),
    ("CONNECT_TIMEOUT_MS", "ATTEMPT_TIMEOUT_MS"),
    ("ATTEMPT_TIMEOUT_MS", "DEADLINE_MS"),
];

/// The variables that are one of two words, the default first.
const WORDS: [(&str, [&str; 2]); 3] = [
    ("CREATE_RETRY", ["server-errors", "not-sent"]),
    ("ALLOW_INSECURE_HTTP", ["false", "true"]),
    ("LOG", ["off", "attempts"]),
];

/// The data is an environment, one `NAME=value` a line. It is accepted exactly where the
/// README's table allows it, and then a client does what it says; otherwise the error
/// names a variable that is at fault. Nothing that is shown depends on the token.
pub fn settings(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let environment: Vec<_> = text
        .split('\n')
        .filter_map(|line| line.split_once('='))
        .collect();
    let table = Table::of(&environment);
    let owned = |&(variable, value): &(&str, &str)| (variable.to_owned(), value.to_owned());
    let read = Settings::from_environment(environment.iter().map(owned));
    assert_token_not_shown(&environment, &read);
    match read {
        Ok(settings) => {
            assert_eq!(table.faults(), [""; 0], "accepted nevertheless");
            assert_read_as_set(&settings, &table);
            assert_created_as_set(&settings, &table);
        }
        Err(problem) => {
            let name = problem.variable.strip_prefix(PREFIX).expect("the prefix");
            assert!(table.faults().contains(&name), "{problem:?}");
            assert!(!problem.found.is_empty() && !problem.allowed.is_empty());
            assert_eq!(problem.attempts, []);
        }
    }
}

/// The variables with the prefix, by name without it; the last of a name counts.
struct Table<'a>(BTreeMap<&'a str, &'a str>);

impl<'a> Table<'a> {
    fn of(environment: &[(&'a str, &'a str)]) -> Self {
        let named =
            |(variable, value): &(&'a str, &'a str)| Some((variable.strip_prefix(PREFIX)?, *value));
        Self(environment.iter().filter_map(named).collect())
    }

    fn get(&self, name: &str) -> &'a str {
        self.0.get(name).copied().unwrap_or_default()
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.0.get(name) == Some(&value)
    }

    /// The number of that name, as it is set or by default.
    fn number(&self, name: &str) -> u64 {
        if let Some(value) = self.0.get(name) {
            return value.parse().unwrap_or(u64::MAX);
        }
        let number = NUMBERS.iter().find(|(number, ..)| *number == name);
        let default = number.expect("a number").1;
        let limit = LIMITS.iter().find(|(limited, _)| *limited == name);
        limit.map_or(default, |(_, limit)| default.min(self.number(limit)))
    }

    /// The names that are at fault: unknown, missing, wrong, or too large beside another.
    fn faults(&self) -> Vec<&str> {
        let is_known = |name: &&str| {
            ["BASE_URL", "API_TOKEN"].contains(name)
                || NUMBERS.iter().any(|(number, ..)| number == name)
                || WORDS.iter().any(|(word, _)| word == name)
        };
        let names = self.0.keys().copied();
        let mut faults: Vec<_> = names.filter(|name| !is_known(name)).collect();
        for (name, _, largest) in NUMBERS {
            let is_number = |value: &&str| {
                let digits = value.bytes().all(|byte| byte.is_ascii_digit());
                digits && (1..=largest).contains(&value.parse().unwrap_or(0))
            };
            if !self.0.get(name).is_none_or(is_number) {
                faults.push(name);
            }
        }
        for (name, limit) in LIMITS {
            if self.number(name) > self.number(limit) {
                faults.push(name);
            }
        }
        for (name, words) in WORDS {
            if !self.0.get(name).is_none_or(|value| words.contains(value)) {
                faults.push(name);
            }
        }
        let is_safe = |url: &BaseUrl| url.scheme() == Scheme::Https || url.is_loopback();
        let base_url = BaseUrl::parse(self.get("BASE_URL"));
        if !base_url.is_ok_and(|url| is_safe(&url) || self.is("ALLOW_INSECURE_HTTP", "true")) {
            faults.push("BASE_URL");
        }
        let token = self.get("API_TOKEN");
        let is_header = token.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if token.is_empty() || !is_header || token.trim() != token || token.starts_with("Bearer ") {
            faults.push("API_TOKEN");
        }
        faults
    }
}

/// What is shown of settings and of errors is the same for another token that is right
/// or wrong for the same reason.
fn assert_token_not_shown(
    environment: &[(&str, &str)],
    read: &Result<Settings, ConfigurationProblem>,
) {
    let disguised = environment.iter().map(|&(variable, value)| {
        let value = match variable {
            "VOICE_CALLING_API_TOKEN" => disguised(value),
            _ => value.to_owned(),
        };
        (variable.to_owned(), value)
    });
    let shown = format!("{:?}", Settings::from_environment(disguised));
    assert_eq!(format!("{read:?}"), shown, "the token is shown");
}

fn disguised(token: &str) -> String {
    let (head, rest) = match token.strip_prefix("Bearer ") {
        Some(rest) => ("Bearer ", rest),
        None => ("", token),
    };
    let rest = rest.replace(|c: char| c.is_ascii_alphanumeric(), "7");
    format!("{head}{rest}")
}

/// A read goes where it should with the token as it is, keeps to the times and attempts
/// that are set, and fails without the token in its error.
fn assert_read_as_set(settings: &Settings, table: &Table<'_>) {
    let token = table.get("API_TOKEN");
    let written = serde_json::to_string(token).expect("a text is JSON");
    let echo = format!("Bearer {token} {written}");
    let service = Service::answering(503, echo.as_bytes());
    let client = Client::new(settings.clone(), &service);
    let error = run(client.list_agents("org-1")).expect_err("a 503");

    let sent = service.sent.borrow();
    let (request, timeouts) = &sent[0];
    let base_url = BaseUrl::parse(table.get("BASE_URL")).expect("a base URL");
    let path = format!("{}/api/v1/agents?organizationId=org-1", base_url.path());
    assert_eq!(request.scheme, base_url.scheme());
    assert_eq!(request.authority, base_url.authority());
    assert_eq!(request.path_and_query, path);
    assert_eq!(request.headers, [("auth_token", format!("Bearer {token}"))]);
    assert_eq!(timeouts.attempt_ms, table.number("ATTEMPT_TIMEOUT_MS"));

    let count = sent.len() as u64;
    let max_attempts = table.number("MAX_ATTEMPTS");
    let deadline_ms = table.number("DEADLINE_MS");
    let max_backoff_ms = table.number("MAX_BACKOFF_MS");
    let no_time_left = service.time_ms() + max_backoff_ms >= deadline_ms;
    assert!(count == max_attempts || (count < max_attempts && no_time_left));
    assert!(service.time_ms() < deadline_ms);
    let pauses_ms = service.slept_ms.borrow();
    assert!(pauses_ms.iter().all(|ms| *ms <= max_backoff_ms));
    for (_, timeouts) in &*sent {
        let (connect_ms, attempt_ms) = (timeouts.connect_ms, timeouts.attempt_ms);
        assert!((1..=attempt_ms).contains(&connect_ms));
        assert!(connect_ms <= table.number("CONNECT_TIMEOUT_MS"));
        assert!(attempt_ms <= table.number("ATTEMPT_TIMEOUT_MS"));
    }
    let log = service.log.borrow();
    let logged = if table.is("LOG", "attempts") {
        count
    } else {
        0
    };
    assert_eq!(log.len() as u64, logged);
    assert!(log.iter().all(|line| is_json(line)));

    let RequestError::Unavailable(failure) = error else {
        panic!("a 503 became {error:?}");
    };
    assert_eq!(failure.attempts.len() as u64, count);
    let kept = &failure.response.body;
    // Tokens shorter than 8 bytes are not masked, and a token may look like the mask.
    let masked = token.len() >= 8 && !token.contains(['[', ']']) && !"api token".contains(token);
    assert!(!masked || !kept.contains(token), "{kept:?} shows the token");
    let is_cut = echo.len() as u64 > table.number("MAX_RESPONSE_BYTES");
    assert_eq!(failure.response.body_cut, is_cut);
}

/// A create is repeated after a 503 only where that is set, and not larger than is set.
fn assert_created_as_set(settings: &Settings, table: &Table<'_>) {
    const BODY: &str =
        r#"{"agent_id":7,"to_phone_number":"919876543210","extra_config":{"call_context":{}}}"#;
    let request = DocketRequestV2 {
        agent_id: 7,
        to_phone_number: "919876543210".to_owned(),
        call_context: "{}".to_owned(),
        external_id: None,
        extra: None,
    };
    let service = Service::answering(503, b"");
    let client = Client::new(settings.clone(), &service);
    let error = run(client.create_docket_v2(&request)).expect_err("a 503");
    let count = service.sent.borrow().len();
    let is_too_large = BODY.len() as u64 > table.number("MAX_REQUEST_BYTES");
    match error {
        RequestError::PermanentInvalidInput(input) => {
            assert_eq!((input.field.as_str(), count), ("request", 0));
            assert!(is_too_large);
        }
        RequestError::PermanentOutcomeUnknown(_) => {
            assert_eq!(count, 1);
            assert!(!is_too_large && table.is("CREATE_RETRY", "not-sent"));
        }
        RequestError::Unavailable(_) => {
            assert!(!is_too_large && !table.is("CREATE_RETRY", "not-sent"));
        }
        other => panic!("a 503 became {other:?}"),
    }
}

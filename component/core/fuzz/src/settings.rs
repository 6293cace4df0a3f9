//! The settings.

use crate::members::is_json;
use crate::service::{Service, run};
use std::collections::BTreeMap;
use voice_calling_core::base_url::BaseUrl;
use voice_calling_core::types::{CallOptions, DocketRequestV2, RequestError};
use voice_calling_core::{Client, Scheme, Settings};

const PREFIX: &str = "VOICE_CALLING_";

/// The variables that are whole numbers: the default, and the largest allowed.
const NUMBERS: [(&str, u64, u64); 10] = [
    ("MAX_ATTEMPTS", 4, 100),
    ("BACKOFF_MS", 2_000, 86_400_000),
    ("MAX_BACKOFF_MS", 8_000, 86_400_000),
    ("CONNECT_TIMEOUT_MS", 3_000, 86_400_000),
    ("ATTEMPT_TIMEOUT_MS", 10_000, 86_400_000),
    ("DEADLINE_MS", 30_000, 86_400_000),
    ("MAX_IN_FLIGHT", 16, 100_000),
    ("MAX_REQUEST_BYTES", 1_048_576, 67_108_864),
    ("MAX_RESPONSE_BYTES", 8_388_608, 67_108_864),
    ("MAX_DELIVERY_BYTES", 1_048_576, 67_108_864),
];

/// Numbers that may not be larger than another one.
const LIMITS: [(&str, &str); 3] = [
    ("BACKOFF_MS", "MAX_BACKOFF_MS"),
    ("CONNECT_TIMEOUT_MS", "ATTEMPT_TIMEOUT_MS"),
    ("ATTEMPT_TIMEOUT_MS", "DEADLINE_MS"),
];

/// The variables that are one of a few words.
const WORDS: [(&str, &[&str]); 4] = [
    ("CREATE_RETRY", &["server-errors", "not-sent", "never"]),
    ("TRUST_CONNECTION_TIMEOUT", &["false", "true"]),
    ("ALLOW_INSECURE_HTTP", &["false", "true"]),
    ("LOG", &["off", "attempts"]),
];

/// The data is an environment, one `NAME=value` a line. It is accepted exactly where the
/// README's table allows it, and then a client does what it says for every account;
/// otherwise the error names a variable that is at fault. Nothing that is shown depends on
/// a token.
pub fn settings(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let environment: Vec<_> = text
        .split('\n')
        .filter_map(|line| line.split_once('='))
        .collect();
    let variables = variables(&environment);
    let owned = |&(variable, value): &(&str, &str)| (variable.to_owned(), value.to_owned());
    let read = Settings::from_environment(environment.iter().map(owned));
    assert_tokens_not_shown(&environment, &read);

    let accounts = accounts(&variables);
    let mut faults = misspelt(&variables, accounts.as_deref().unwrap_or_default());
    if accounts.is_none() {
        faults.push("ACCOUNTS".to_owned());
    }
    let named = accounts.unwrap_or_default();
    let tables = named.iter().map(|name| Table::of(&variables, Some(name)));
    faults.extend(tables.flat_map(|table| table.faults()));
    let unnamed = Table::of(&variables, None);
    if named.is_empty() || variables.contains_key("API_TOKEN") {
        faults.extend(unnamed.faults());
    }

    match read {
        Ok(settings) => {
            assert_eq!(faults, [""; 0], "accepted nevertheless");
            for name in &named {
                Table::of(&variables, Some(name)).assert_kept_to(&settings);
            }
            match unnamed.faults().is_empty() {
                true => unnamed.assert_kept_to(&settings),
                false => unnamed.assert_no_account(&settings),
            }
        }
        Err(RequestError::PermanentConfiguration(failure)) => {
            let problem = failure.problem.expect("a problem");
            let name = problem.subject.strip_prefix(PREFIX).expect("the prefix");
            let shown = |fault: &String| fault[..fault.floor_char_boundary(64)] == *name;
            assert!(faults.iter().any(shown), "{problem:?} {faults:?}");
            assert!(!problem.found.is_empty() && !problem.allowed.is_empty());
            assert!(failure.attempts.is_empty() && !failure.may_have_created);
        }
        Err(other) => panic!("{other:?}"),
    }
}

/// The variables with the prefix, by name without it; the last of a name counts.
type Variables<'a> = BTreeMap<&'a str, &'a str>;

fn variables<'a>(environment: &[(&'a str, &'a str)]) -> Variables<'a> {
    let named =
        |(variable, value): &(&'a str, &'a str)| Some((variable.strip_prefix(PREFIX)?, *value));
    environment.iter().filter_map(named).collect()
}

// ------------------------------------------------------------------- names

/// The names of all settings of an account.
fn names() -> Vec<&'static str> {
    let numbers = NUMBERS.iter().map(|(name, ..)| *name);
    let words = WORDS.iter().map(|(name, _)| *name);
    let required = ["BASE_URL", "API_TOKEN"].into_iter();
    required.chain(numbers).chain(words).collect()
}

/// The variable of an account.
fn own(account: &str, name: &str) -> String {
    format!("{}_{name}", account.to_uppercase().replace('-', "_"))
}

/// All variables that mean something.
fn known(accounts: &[&str]) -> Vec<String> {
    let of_account = |account: &&str| names().into_iter().map(|name| own(account, name)).collect();
    let named: Vec<Vec<String>> = accounts.iter().map(of_account).collect();
    let unnamed = names().into_iter().chain(["ACCOUNTS"]).map(str::to_owned);
    unnamed.chain(named.concat()).collect()
}

/// The names of the accounts; none where they are at fault.
fn accounts<'a>(variables: &Variables<'a>) -> Option<Vec<&'a str>> {
    let Some(list) = variables.get("ACCOUNTS") else {
        return Some(Vec::new());
    };
    let accounts: Vec<_> = list.split(',').collect();
    let follows = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-');
    let is_name = |name: &&str| name.starts_with(|c: char| c.is_ascii_lowercase());
    let is_allowed = |name: &&str| is_name(name) && name.chars().all(follows);
    let mut known = known(&accounts);
    let count = known.len();
    known.sort();
    known.dedup();
    let are_allowed = accounts.len() <= 100 && accounts.iter().all(is_allowed);
    (are_allowed && known.len() == count).then_some(accounts)
}

/// The variables that look like settings and are none.
fn misspelt(variables: &Variables<'_>, accounts: &[&str]) -> Vec<String> {
    let known = known(accounts);
    let is_misspelt = |name: &&&str| {
        let upper = name.to_ascii_uppercase();
        let of_an_account = |setting: &str| setting != "LOG" && upper.ends_with(&own("", setting));
        let is_near = |known: &String| {
            let settings = names().into_iter().filter(|name| known.ends_with(name));
            let length = settings.map(str::len).max().unwrap_or(known.len());
            edits(upper.as_bytes(), known.as_bytes()) <= length / 3
        };
        let is_reversed = |account: &&str| {
            let part = own(account, "");
            let reversed = |name: &str| upper == format!("{name}_{}", part.trim_end_matches('_'));
            names().into_iter().any(reversed)
        };
        !known.iter().any(|known| known == **name)
            && (known.iter().any(is_near)
                || accounts.iter().any(is_reversed)
                || names().into_iter().any(of_an_account))
    };
    let misspelt = variables.keys().filter(is_misspelt);
    misspelt.map(|name| (*name).to_owned()).collect()
}

/// The Levenshtein distance, with the whole table.
fn edits(one: &[u8], two: &[u8]) -> usize {
    let mut table = vec![vec![0; two.len() + 1]; one.len() + 1];
    for i in 0..=one.len() {
        for j in 0..=two.len() {
            table[i][j] = match (i, j) {
                (0, _) => j,
                (_, 0) => i,
                _ => {
                    let replaced = table[i - 1][j - 1] + usize::from(one[i - 1] != two[j - 1]);
                    replaced.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1)
                }
            };
        }
    }
    table[one.len()][two.len()]
}

// ------------------------------------------------------------------ values

/// The settings of an account.
struct Table<'a> {
    variables: &'a Variables<'a>,
    account: Option<&'a str>,
}

impl<'a> Table<'a> {
    fn of(variables: &'a Variables<'a>, account: Option<&'a str>) -> Self {
        Self { variables, account }
    }

    /// The variable that has a setting.
    fn variable(&self, name: &str) -> String {
        let own = self.account.map(|account| own(account, name));
        let is_own = |own: &String| name == "API_TOKEN" || self.variables.contains_key(&**own);
        own.filter(is_own).unwrap_or(name.to_owned())
    }

    fn find(&self, name: &str) -> Option<&'a str> {
        self.variables.get(&*self.variable(name)).copied()
    }

    fn get(&self, name: &str) -> &'a str {
        self.find(name).unwrap_or_default()
    }

    fn is(&self, name: &str, value: &str) -> bool {
        self.find(name) == Some(value)
    }

    /// The number of that name, as it is set or by default.
    fn number(&self, name: &str) -> u64 {
        let limit = LIMITS.iter().find(|(limited, _)| *limited == name);
        if let Some(value) = self.find(name) {
            let number = value.parse().unwrap_or(u64::MAX);
            // What an account has from the settings without a name gives way.
            let inherits = self.account.is_some() && self.variable(name) == name;
            return match limit.filter(|_| inherits) {
                Some((_, limit)) => number.min(self.number(limit)),
                None => number,
            };
        }
        let number = NUMBERS.iter().find(|(number, ..)| *number == name);
        let default = number.expect("a number").1;
        limit.map_or(default, |(_, limit)| default.min(self.number(limit)))
    }

    /// The variables that are at fault: missing, wrong, or too large beside another.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (name, _, largest) in NUMBERS {
            let is_number = |value: &str| {
                let digits = value.bytes().all(|byte| byte.is_ascii_digit());
                digits && (1..=largest).contains(&value.parse().unwrap_or(0))
            };
            if !self.find(name).is_none_or(is_number) {
                faults.push(name);
            }
        }
        for (name, limit) in LIMITS {
            if self.number(name) > self.number(limit) {
                faults.push(name);
            }
        }
        for (name, words) in WORDS {
            if !self.find(name).is_none_or(|value| words.contains(&value)) {
                faults.push(name);
            }
        }
        let url = self.get("BASE_URL");
        let is_safe = |url: &BaseUrl| url.scheme() == Scheme::Https || url.is_loopback();
        let is_allowed = |url: BaseUrl| is_safe(&url) || self.is("ALLOW_INSECURE_HTTP", "true");
        if url.len() > 2_048 || !BaseUrl::parse(url).is_ok_and(is_allowed) {
            faults.push("BASE_URL");
        }
        let token = self.get("API_TOKEN");
        let is_header = token.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        let has_scheme = token.to_ascii_lowercase().starts_with("bearer ");
        let is_long = token.len() > 8_192;
        if token.is_empty() || !is_header || token.trim() != token || has_scheme || is_long {
            faults.push("API_TOKEN");
        }
        faults.iter().map(|name| self.variable(name)).collect()
    }

    fn options(&self) -> Option<CallOptions> {
        Some(CallOptions {
            account: self.account.map(str::to_owned),
            deadline_ms: None,
            max_attempts: None,
        })
    }

    fn assert_kept_to(&self, settings: &Settings) {
        self.assert_read_as_set(settings);
        self.assert_created_as_set(settings);
    }

    /// A call needs an account whose settings are right.
    fn assert_no_account(&self, settings: &Settings) {
        let service = Service::answering(200, b"[]");
        let client = Client::new(settings.clone(), &service);
        match run(client.list_agents("org-1", self.options())) {
            Err(RequestError::PermanentConfiguration(_)) => {}
            other => panic!("{other:?}"),
        }
        assert!(service.sent.borrow().is_empty());
    }

    /// A read goes where it should with the token as it is, keeps to the times and attempts
    /// that are set, and fails without the token in its error.
    fn assert_read_as_set(&self, settings: &Settings) {
        let token = self.get("API_TOKEN");
        let written = serde_json::to_string(token).expect("a text is JSON");
        let echo = format!("Bearer {token} {written}");
        let service = Service::answering(503, echo.as_bytes());
        let client = Client::new(settings.clone(), &service);
        let error = run(client.list_agents("org-1", self.options())).expect_err("a 503");

        let sent = service.sent.borrow();
        let (request, limits) = &sent[0];
        let base_url = BaseUrl::parse(self.get("BASE_URL")).expect("a base URL");
        let path = format!("{}/api/v1/agents?organizationId=org-1", base_url.path());
        assert_eq!(request.scheme, base_url.scheme());
        assert_eq!(request.authority, base_url.authority());
        assert_eq!(request.path_and_query, path);
        assert_eq!(request.headers, [("auth_token", format!("Bearer {token}"))]);
        assert_eq!(limits.attempt_ms, self.number("ATTEMPT_TIMEOUT_MS"));

        let count = sent.len() as u64;
        self.assert_paced(&service, count);
        for (_, limits) in &*sent {
            let (connect_ms, attempt_ms) = (limits.connect_ms, limits.attempt_ms);
            assert!((1..=attempt_ms).contains(&connect_ms));
            assert!(connect_ms <= self.number("CONNECT_TIMEOUT_MS"));
            assert!(attempt_ms <= self.number("ATTEMPT_TIMEOUT_MS"));
        }
        let log = service.log.borrow();
        let is_logged = self.is("LOG", "attempts");
        assert_eq!(log.len() as u64, if is_logged { count } else { 0 });
        assert!(log.iter().all(|line| is_json(line)));

        let RequestError::Unavailable(failure) = error else {
            panic!("a 503 became {error:?}");
        };
        assert_eq!(failure.attempts.len() as u64, count);
        let response = failure.response.expect("a 503");
        let kept = &response.body;
        // Tokens shorter than 8 bytes are not masked, and a token may look like the mask.
        let is_masked =
            token.len() >= 8 && !token.contains(['[', ']']) && !"api token".contains(token);
        assert!(
            !is_masked || !kept.contains(token),
            "{kept:?} shows the token"
        );
        let is_read = self.number("MAX_RESPONSE_BYTES").min(65_536);
        let is_cut = echo.len() as u64 > is_read;
        assert!(response.body_cut || !is_cut);
        assert!(!response.body_cut || is_cut || echo.len() > 8_192);
    }

    /// So many requests began within the attempts and the time that are set, after pauses that
    /// are set, and one more would not have.
    fn assert_paced(&self, service: &Service, count: u64) {
        let deadline_ms = self.number("DEADLINE_MS");
        let needed_ms = self.number("ATTEMPT_TIMEOUT_MS").min(deadline_ms / 2);
        let max_backoff_ms = self.number("MAX_BACKOFF_MS");
        let max_attempts = self.number("MAX_ATTEMPTS");
        let pauses_ms = service.slept_ms.borrow();
        assert_eq!(pauses_ms.len() as u64, count - 1);
        let mut ceiling_ms = self.number("BACKOFF_MS");
        for pause_ms in &*pauses_ms {
            assert!((ceiling_ms / 2..=ceiling_ms).contains(pause_ms));
            ceiling_ms = (2 * ceiling_ms).min(max_backoff_ms);
        }
        assert!(service.time_ms() <= deadline_ms - needed_ms);
        assert!(service.time_ms() < deadline_ms);
        let no_time_left = service.time_ms() + ceiling_ms >= deadline_ms - needed_ms;
        assert!(count == max_attempts || (count < max_attempts && no_time_left));
    }

    /// A create is retried after a 503 only where that is set, and not larger than is set.
    fn assert_created_as_set(&self, settings: &Settings) {
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
        let result = run(client.create_docket_v2(&request, self.options()));
        let count = service.sent.borrow().len() as u64;
        let is_too_large = BODY.len() as u64 > self.number("MAX_REQUEST_BYTES");
        match result.expect_err("a 503") {
            RequestError::PermanentInvalidInput(failure) => {
                let problem = failure.problem.expect("a problem");
                assert_eq!((problem.subject.as_str(), count), ("request", 0));
                assert!(is_too_large);
            }
            RequestError::PermanentOutcomeUnknown(failure) => {
                assert!(!is_too_large && failure.may_have_created);
                match self.find("CREATE_RETRY") {
                    None | Some("server-errors") => self.assert_paced(&service, count),
                    _ => assert_eq!(count, 1),
                }
            }
            other => panic!("a 503 became {other:?}"),
        }
    }
}

// ------------------------------------------------------------------ tokens

/// What is shown of settings and of errors is the same for other tokens that are right
/// or wrong for the same reason, wherever else a token stands by mistake.
fn assert_tokens_not_shown(environment: &[(&str, &str)], read: &Result<Settings, RequestError>) {
    let is_token =
        |variable: &str| variable.starts_with(PREFIX) && variable.ends_with("_API_TOKEN");
    let tokens = environment
        .iter()
        .filter(|(variable, _)| is_token(variable));
    let tokens: Vec<_> = tokens.map(|&(_, token)| token).collect();
    let shown = format!("{read:?}");
    let stands_elsewhere = |token: &str| {
        let mut others = environment
            .iter()
            .filter(|(variable, _)| !is_token(variable));
        token.len() >= 8 && others.any(|(_, value)| value.contains(token))
    };
    if tokens.iter().any(|token| stands_elsewhere(token)) {
        let mut elsewhere = tokens.iter().filter(|token| stands_elsewhere(token));
        assert!(
            elsewhere.all(|token| !shown.contains(token)),
            "a token is shown"
        );
        return;
    }
    let disguised = environment.iter().map(|&(variable, value)| {
        let value = match is_token(variable) {
            true => disguised(value),
            false => value.to_owned(),
        };
        (variable.to_owned(), value)
    });
    let expected = format!("{:?}", Settings::from_environment(disguised));
    assert_eq!(shown, expected, "a token is shown");
}

fn disguised(token: &str) -> String {
    let has_scheme = token.to_ascii_lowercase().starts_with("bearer ");
    let (head, rest) = token.split_at(if has_scheme { "Bearer ".len() } else { 0 });
    let rest = rest.replace(|c: char| c.is_ascii_alphanumeric(), "7");
    format!("{head}{rest}")
}

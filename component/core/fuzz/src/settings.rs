//! The settings.

use crate::service::{Service, run};
use std::collections::BTreeMap;
use voice_calling_core::base_url::BaseUrl;
use voice_calling_core::settings::{NAMES, PREFIX};
use voice_calling_core::types::{CallOptions, DocketRequestV2, Problem, RequestError};
use voice_calling_core::{Client, Scheme, Settings};

/// The data is an environment, one `NAME=value` a line. If it is accepted, a client does what it
/// says for every account; otherwise the error names a variable that is missing or that is there.
/// Nothing that is shown depends on a token.
pub fn settings(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let lines = text.split('\n').filter_map(|line| line.split_once('='));
    let environment: Vec<_> = lines.collect();
    let read = settings_of(&environment, str::to_owned);
    assert_tokens_not_shown(&environment, &read);
    let named = environment
        .iter()
        .filter_map(|(name, value)| Some((name.strip_prefix(PREFIX)?, *value)));
    let variables: BTreeMap<_, _> = named.collect();
    match read {
        Ok(settings) => {
            let accounts = variables.get("ACCOUNTS").map(|list| list.split(','));
            let accounts = accounts.into_iter().flatten().map(Some);
            for account in accounts.chain([None]) {
                let account = Account {
                    variables: &variables,
                    name: account,
                };
                account.assert_kept_to(&settings);
            }
        }
        Err(RequestError::PermanentConfiguration(failure)) => {
            assert!(failure.attempts.is_empty() && !failure.may_have_created);
            assert_named(&failure.problem.expect("a problem"), &variables);
        }
        Err(other) => panic!("{other:?}"),
    }
}

fn settings_of(
    environment: &[(&str, &str)],
    value: fn(&str) -> String,
) -> Result<Settings, RequestError> {
    let changed = |&(name, old): &(&str, &str)| match is_token(name) {
        true => (name.to_owned(), value(old)),
        false => (name.to_owned(), old.to_owned()),
    };
    Settings::from_environment(environment.iter().map(changed))
}

fn assert_named(problem: &Problem, variables: &BTreeMap<&str, &str>) {
    let name = problem.subject.strip_prefix(PREFIX).expect("the prefix");
    let shown = |variable: &str| variable[..variable.floor_char_boundary(64)] == *name;
    let is_there = variables.keys().any(|variable| shown(variable));
    let is_missing = problem.found == "no value"
        && ["BASE_URL", "API_TOKEN"]
            .iter()
            .any(|end| name.ends_with(end));
    assert!(is_there || is_missing || name.len() == 64, "{problem:?}");
    assert!(!problem.found.is_empty() && !problem.allowed.is_empty());
}

/// An account, or the settings without a name.
struct Account<'a> {
    variables: &'a BTreeMap<&'a str, &'a str>,
    name: Option<&'a str>,
}

impl Account<'_> {
    /// A setting: the account's own, or that without a name. A token is never another account's.
    fn get(&self, name: &str) -> Option<&str> {
        assert!(NAMES.contains(&name));
        let part = self
            .name
            .map(|account| account.to_uppercase().replace('-', "_"));
        let own = part.map_or(name.to_owned(), |part| format!("{part}_{name}"));
        let inherited = Some(name).filter(|name| *name != "API_TOKEN");
        let values = [Some(&*own), inherited].map(|name| self.variables.get(name?).copied());
        values.into_iter().flatten().next()
    }

    fn number(&self, name: &str, default: u64) -> u64 {
        let value = self.get(name);
        value.map_or(default, |value| value.parse().expect("a number"))
    }

    /// A request goes where it should with the token as it is, and keeps to the times and the
    /// attempts that are set. A create is sent again only where that is set.
    fn assert_kept_to(&self, settings: &Settings) {
        let options = || {
            Some(CallOptions {
                account: self.name.map(str::to_owned),
                deadline_ms: None,
                max_attempts: None,
            })
        };
        let request = DocketRequestV2 {
            agent_id: 7,
            to_phone_number: "919876543210".to_owned(),
            call_context: "{}".to_owned(),
            external_id: None,
            extra: None,
        };
        let of_read = Service::answering(503, b"");
        let client = Client::new(settings.clone(), &of_read);
        match run(client.list_agents("org-1", options())) {
            Err(RequestError::Unavailable(_)) => {}
            // Only the settings without a name may be wrong, and then they are not used.
            Err(RequestError::PermanentConfiguration(_)) => {
                assert!(self.name.is_none() && of_read.sent.borrow().is_empty());
                return;
            }
            other => panic!("a 503 became {other:?}"),
        }
        self.assert_paced(&of_read);

        let of_create = Service::answering(503, b"");
        let client = Client::new(settings.clone(), &of_create);
        match run(client.create_docket_v2(&request, options())) {
            Err(RequestError::PermanentOutcomeUnknown(failure)) => {
                self.assert_paced(&of_create);
                assert!(failure.may_have_created);
                let is_retried = matches!(self.get("CREATE_RETRY"), None | Some("server-errors"));
                assert!(is_retried || of_create.sent.borrow().len() == 1);
            }
            Err(RequestError::PermanentInvalidInput(_)) => {
                assert!(self.number("MAX_REQUEST_BYTES", u64::MAX) < 100);
            }
            other => panic!("a 503 became {other:?}"),
        }
    }

    fn assert_paced(&self, service: &Service) {
        let sent = service.sent.borrow();
        assert!((1..=self.number("MAX_ATTEMPTS", 4)).contains(&(sent.len() as u64)));
        assert!(service.time_ms() < self.number("DEADLINE_MS", 30_000));
        let base_url = BaseUrl::parse(self.get("BASE_URL").unwrap_or_default());
        let base_url = base_url.expect("a base URL");
        let is_private = base_url.scheme() == Scheme::Https || base_url.is_loopback();
        assert!(is_private || self.get("ALLOW_INSECURE_HTTP") == Some("true"));
        let token = format!("Bearer {}", self.get("API_TOKEN").unwrap_or_default());
        for (request, limits) in &*sent {
            assert_eq!(request.authority, base_url.authority());
            assert!(request.path_and_query.starts_with(base_url.path()));
            assert_eq!(request.headers[0], ("auth_token", token.clone()));
            assert!((1..=limits.attempt_ms).contains(&limits.connect_ms));
            assert!(limits.attempt_ms <= self.number("ATTEMPT_TIMEOUT_MS", 10_000));
            assert!(limits.connect_ms <= self.number("CONNECT_TIMEOUT_MS", 3_000));
        }
    }
}

// ------------------------------------------------------------------ tokens

fn is_token(variable: &str) -> bool {
    variable.starts_with(PREFIX) && variable.ends_with("_API_TOKEN")
}

/// What is shown of settings and of errors is the same for other tokens that are right
/// or wrong for the same reason, wherever else a token stands by mistake.
fn assert_tokens_not_shown(environment: &[(&str, &str)], read: &Result<Settings, RequestError>) {
    let shown = format!("{read:?}");
    let (tokens, others): (Vec<_>, Vec<_>) = environment
        .iter()
        .partition(|(variable, _)| is_token(variable));
    let is_elsewhere =
        |token: &str| token.len() >= 8 && others.iter().any(|(_, value)| value.contains(token));
    let mut elsewhere = tokens
        .iter()
        .map(|(_, token)| *token)
        .filter(|token| is_elsewhere(token))
        .peekable();
    if elsewhere.peek().is_some() {
        assert!(
            elsewhere.all(|token| !shown.contains(token)),
            "a token is shown"
        );
        return;
    }
    let expected = format!("{:?}", settings_of(environment, disguised));
    assert_eq!(shown, expected, "a token is shown");
}

fn disguised(token: &str) -> String {
    let has_scheme = token.to_ascii_lowercase().starts_with("bearer ");
    let (head, rest) = token.split_at(if has_scheme { "Bearer ".len() } else { 0 });
    let rest = rest.replace(|c: char| c.is_ascii_alphanumeric(), "7");
    format!("{head}{rest}")
}

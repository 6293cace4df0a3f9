//! Scenarios written by hand: statuses, timing, rate limits, and services that leak the token.

use super::batches::batches;
use super::bodies::strange;
use super::documents::documents;
use super::scenario::{BASE_URL, CANARY, CreateRetry, Satisfies, Scenario, Turn};
use crate::operation::{ArgumentKind, Operation};
use crate::script::{Piece, Step};
use bytes::Bytes;
use std::time::Duration;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

/// A sample of all statuses.
const STATUSES: [u16; 25] = [
    100, 201, 204, 206, 226, 300, 301, 304, 307, 400, 401, 403, 404, 405, 408, 409, 410, 422, 425,
    429, 499, 500, 503, 599, 600,
];

/// Values of `Retry-After`. Scenarios begin at 08:49:37 on that day.
const RETRY_AFTER: [&str; 18] = [
    "0",
    "1",
    " 7 ",
    "29",
    "31",
    "86400",
    "99999999999999999999999",
    "Sun, 06 Nov 1994 08:49:47 GMT",
    "Sunday, 06-Nov-94 08:49:42 GMT",
    "Sun Nov  6 08:49:39 1994",
    "Sun, 06 Nov 1994 08:49:00 GMT",
    "Fri, 31 Dec 9999 23:59:59 GMT",
    "Sun, 99 Nov 1994 08:49:47 GMT",
    "",
    "-1",
    "1.5",
    "4.5",
    "soon",
];

/// Returns the scenarios of an operation.
pub fn scenarios(operation: Operation) -> Vec<Scenario> {
    let mut all = rate_limits(operation);
    all.extend(late_services(operation));
    all.extend(little_time(operation));
    all.extend(redirects(operation));
    all.extend(echoes(operation));
    all.extend(attempts(operation));
    all.extend(one_after_the_other(operation));
    all.extend(documents(operation));
    all.extend(refused(operation));
    if operation == Operation::CreateDocketsV2 {
        all.extend(batches());
    }
    all
}

/// Returns an answer with the satisfying body, whatever that means under this status.
fn answered(operation: Operation, status: u16) -> Turn {
    let satisfying = Scenario::satisfying(operation);
    Turn {
        step: Step::status(status).body(operation.satisfying()),
        ..satisfying
    }
}

/// Returns a scenario for every status.
pub fn statuses(operation: Operation) -> Vec<Scenario> {
    // One operation that reads and one that creates get all statuses, the others a sample.
    let statuses: Vec<u16> = match Operation::READ_AND_CREATE.contains(&operation) {
        true => (100..=999).collect(),
        false => STATUSES.to_vec(),
    };
    let mut all = Vec::new();
    for status in statuses {
        let turns = [answered(operation, status)];
        let name = format!("every answer is {status}");
        let scenario = Scenario::new(name, operation, turns);
        if operation.is_create() {
            all.push(retrying(scenario.clone(), CreateRetry::NotSent));
        }
        all.push(scenario);
    }
    all
}

fn retrying(scenario: Scenario, create_retry: CreateRetry) -> Scenario {
    let name = format!(
        "{}, CREATE_RETRY={}",
        scenario.name,
        <&str>::from(create_retry)
    );
    Scenario::with(Scenario { name, ..scenario }, |settings| {
        settings.create_retry = create_retry
    })
}

/// Returns scenarios that use all allowed attempts.
fn attempts(operation: Operation) -> Vec<Scenario> {
    let mut all = Vec::new();
    for max_attempts in [1, 2, 4, 7] {
        for status in [429, 503] {
            let name = format!("every answer is {status}, MAX_ATTEMPTS={max_attempts}");
            let scenario = Scenario::new(name, operation, [answered(operation, status)]);
            all.push(Scenario::with(scenario, |settings| {
                settings.max_attempts = max_attempts
            }));
        }
    }
    all
}

/// Sequences of attempts with different outcomes: statuses, and names of [`turn`].
const IN_TURN: [&str; 19] = [
    "503, then an answer",
    "408, then an answer",
    "429, then an answer",
    "refused, then an answer",
    "refused, then 503, then an answer",
    "410, then an answer",
    "503, then 401",
    "503, then 422",
    "429, then 409",
    "503, then 429",
    "429, then 429, then 429, then 429, then an answer",
    "429, then 500, then 429",
    "503, then refused",
    "503, then lost",
    "408, then denied",
    "too long for the host, then an answer",
    "503, then too long for the host",
    "no connection in time, then an answer",
    "lost, then an answer",
];

fn turn(operation: Operation, name: &str) -> Turn {
    let fail = |code: ErrorCode| Turn::from(Step::fail(code));
    match name {
        "an answer" => Scenario::satisfying(operation),
        "refused" => fail(ErrorCode::ConnectionRefused),
        "no connection in time" => fail(ErrorCode::ConnectionTimeout),
        "too long for the host" => fail(ErrorCode::HttpRequestUriTooLong),
        "denied" => fail(ErrorCode::HttpRequestDenied),
        "lost" => fail(ErrorCode::ConnectionTerminated),
        status => answered(operation, status.parse().expect("a status")),
    }
}

/// Returns the effect of each setting on attempts with different outcomes.
fn one_after_the_other(operation: Operation) -> Vec<Scenario> {
    let mut all = Vec::new();
    for name in IN_TURN {
        let turns = name.split(", then ").map(|name| turn(operation, name));
        let scenario = Scenario::new(name, operation, turns);
        if operation.is_create() {
            let retries = [CreateRetry::NotSent, CreateRetry::Never];
            all.extend(retries.map(|retry| retrying(scenario.clone(), retry)));
        }
        if name.starts_with("no connection in time") {
            let trusting = Scenario {
                name: format!("{name}, TRUST_CONNECTION_TIMEOUT=true"),
                ..scenario.clone()
            };
            all.push(Scenario::with(trusting, |settings| {
                settings.trust_connection_timeout = true
            }));
        }
        all.push(scenario);
    }
    all
}

fn rate_limits(operation: Operation) -> Vec<Scenario> {
    let then_answer = |name: String, limited: Step| {
        let turns = [limited.into(), Scenario::satisfying(operation)];
        Scenario::new(format!("{name}, then an answer"), operation, turns)
    };
    let mut all = Vec::new();
    for status in [429, 503] {
        for value in RETRY_AFTER {
            let limited = Step::status(status).header("retry-after", value);
            all.push(then_answer(
                format!("{status} with Retry-After: {value:?}"),
                limited,
            ));
        }
        // The guest's clock shows 08:49:37.
        for (date, until) in [
            (
                "Sun, 06 Nov 1994 09:49:37 GMT",
                "Sun, 06 Nov 1994 09:49:44 GMT",
            ),
            (
                "Sun, 06 Nov 1994 07:49:37 GMT",
                "Sun, 06 Nov 1994 07:49:44 GMT",
            ),
            ("soon", "Sun, 06 Nov 1994 08:49:44 GMT"),
        ] {
            let limited = Step::status(status)
                .header("date", date)
                .header("retry-after", until);
            all.push(then_answer(
                format!("{status} at {date:?}, Retry-After: {until:?}"),
                limited,
            ));
        }
    }
    if operation.is_wait() {
        for status in [200, 404] {
            // The result is not ready, and the service asks for more than the pauses of the wait.
            let body = [r#"[]"#, r#"{"status":"OPEN"}"#];
            let body = body[usize::from(operation == Operation::WaitForDocket)];
            let pending = Step::status(status).body(body).header("retry-after", "9");
            let pending = Turn {
                satisfies: Satisfies::Yes,
                ..pending.into()
            };
            let name = format!("{status} with Retry-After: 9, then what is ready");
            let turns = [pending, Scenario::satisfying(operation)];
            let mut scenario = Scenario::new(name, operation, turns);
            scenario.arguments.not_found_is_pending = Some(true);
            all.push(scenario);
        }
    }
    all
}

/// Returns attempts that would begin too late for their answers.
fn little_time(operation: Operation) -> Vec<Scenario> {
    let limited = Step::status(429).header("retry-after", "1");
    let short = Scenario::new(
        "429 with Retry-After: 1, DEADLINE_MS=1010",
        operation,
        [limited.into()],
    );
    let short = Scenario::with(short, |settings| {
        settings.attempt_timeout_ms = 1_010;
        settings.deadline_ms = 1_010;
    });
    let refused = Step::fail(ErrorCode::ConnectionRefused).after_ms(9_900);
    let refused = Scenario::new(
        "every connection is refused after 9.9 s",
        operation,
        [refused.into()],
    );
    let mut all = vec![short, refused];
    if operation.is_wait() {
        let turns = [answered(operation, 503)];
        let mut scenario = Scenario::new("every answer is 503, for 12.5 s", operation, turns);
        scenario.arguments.timeout_ms = 12_500;
        all.push(scenario);
    }
    let as_options = |scenario: &Scenario| {
        let mut scenario = scenario.clone();
        scenario.name.push_str(", as options");
        Scenario::with(scenario, |settings| settings.as_options = true)
    };
    all.extend(all.iter().map(as_options).collect::<Vec<_>>());
    all
}

/// Returns services that are silent, or late with heads or bodies.
fn late_services(operation: Operation) -> Vec<Scenario> {
    let satisfying = operation.satisfying();
    let slow = |status: u16, pause_ms| {
        let pieces = [
            Piece::Bytes(satisfying.as_bytes()[..1].to_vec().into()),
            Piece::Pause(Duration::from_millis(pause_ms)),
            Piece::Bytes(satisfying.as_bytes()[1..].to_vec().into()),
        ];
        Turn {
            step: Step::status(status).pieces(pieces),
            ..Scenario::satisfying(operation)
        }
    };
    let late = |after_ms| Turn {
        step: Step::ok(satisfying).after_ms(after_ms),
        ..Scenario::satisfying(operation)
    };
    let cases = [
        ("silence", Step::silence().into()),
        (
            "silence, the request unread",
            Step::silence().without_reading().into(),
        ),
        ("an answer after 4.1 s", late(4_100)),
        ("an answer after 11 s", late(11_000)),
        ("a body with a pause of 4.1 s", slow(200, 4_100)),
        ("a body with a pause of 11 s", slow(200, 11_000)),
        ("a 503 whose body has a pause of 11 s", slow(503, 11_000)),
        ("an endless body, one byte a second", dripping(200)),
        (
            "a 429 with an endless body, one byte a second",
            dripping(429),
        ),
    ];
    let mut all = Vec::new();
    for (name, turn) in cases {
        let scenario = Scenario::new(name, operation, [turn]);
        let mut short = scenario.clone();
        short.name = format!("{name}, DEADLINE_MS=5000");
        short.settings.deadline_ms = 5_000;
        short.settings.attempt_timeout_ms = 2_000;
        all.push(short);
        all.push(scenario);
    }
    all
}

fn dripping(status: u16) -> Turn {
    let drip = Piece::Repeat {
        bytes: Bytes::from_static(b" "),
        times: None,
        pause: Duration::from_secs(1),
    };
    Step::status(status).pieces([drip]).into()
}

fn redirects(operation: Operation) -> Vec<Scenario> {
    let mut all = Vec::new();
    for status in [301, 302, 303, 307, 308] {
        for location in [
            "http://127.0.0.1:9999/elsewhere",
            "/elsewhere",
            "https://evil.example/",
        ] {
            let redirect = Step::status(status).header("location", location);
            let turns = [redirect.into(), Scenario::satisfying(operation)];
            let name = format!("{status} to {location}");
            all.push(Scenario::new(name, operation, turns));
        }
    }
    all
}

/// Returns services, and a host, that leak the token wherever they can.
fn echoes(operation: Operation) -> Vec<Scenario> {
    let escaped = CANARY.replace('\\', "\\\\").replace('"', "\\\"");
    let coded = |all: bool| -> String {
        let code = |one: char| match all || !one.is_ascii_alphanumeric() {
            true => format!("\\u{:04x}", u32::from(one)),
            false => one.to_string(),
        };
        CANARY.chars().map(code).collect()
    };
    let upper = |coded: String| coded.to_uppercase().replace("\\U", "\\u");
    let body = [
        format!("wrong: Bearer {CANARY}"),
        escaped.replace('/', "\\/"),
        escaped,
        coded(false),
        coded(true),
        upper(coded(true)),
    ];
    let body = body.join("; ");
    let mut turns: Vec<(String, Turn)> = Vec::new();
    for status in [200, 302, 400, 401, 404, 422, 429, 500, 503, 600] {
        let step = Step::status(status)
            .body(body.clone())
            .header("x-request-id", format!("{CANARY}/1"))
            .header("location", format!("/{CANARY}"));
        let turn = strange(operation, step);
        turns.push((format!("{status} with the token in its body"), turn));
    }
    let cut = format!("{}{CANARY}", "x".repeat(8_192 - 14));
    let cut_escape = format!("{}{}", "x".repeat(8_192 - 100), coded(true));
    let half = Piece::Bytes(CANARY.as_bytes()[..14].to_vec().into());
    let breaks = Piece::Break(ErrorCode::ConnectionTerminated);
    turns.extend([
        (
            "422 with the token where a body is cut".to_owned(),
            Step::status(422).body(cut).into(),
        ),
        (
            "422 with the escaped token where a body is cut".to_owned(),
            Step::status(422).body(cut_escape).into(),
        ),
        (
            "422 that ends early within the token".to_owned(),
            Step::status(422).pieces([half, breaks]).into(),
        ),
        (
            "the token in the host's own message".to_owned(),
            Step::fail(ErrorCode::InternalError(Some(format!("Bearer {CANARY}")))).into(),
        ),
    ]);
    let logged = |(name, turn): (String, Turn)| {
        Scenario::with(Scenario::new(name, operation, [turn]), |settings| {
            settings.log = true
        })
    };
    turns.into_iter().map(logged).collect()
}

/// Returns requests that must be refused: plain http to a remote host, and values too long.
fn refused(operation: Operation) -> Vec<Scenario> {
    let setting = |name| Scenario::refused(name, operation, "permanent-configuration");
    let mut all = vec![
        Scenario {
            base_url: "http://api.example".into(),
            ..setting("plain http to a remote host")
        },
        Scenario {
            base_url: format!("{BASE_URL}/{}", "p".repeat(70_000)).into(),
            ..setting("a base path of 70,000 bytes")
        },
        Scenario {
            token: "t".repeat(131_000).into(),
            ..setting("a token of 131,000 bytes")
        },
    ];
    use Operation::{GetCallDetails, ListAgents, WaitForCallDetails};
    if [ListAgents, GetCallDetails, WaitForCallDetails].contains(&operation) {
        let name = "an id of 70,000 bytes";
        let mut scenario = Scenario::refused(name, operation, "permanent-invalid-input");
        scenario.arguments.kind = ArgumentKind::TooLong;
        all.push(scenario);
    }
    all
}

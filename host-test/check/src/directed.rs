//! Scenarios that somebody has thought of: statuses, time, rate limits, batches, bodies
//! that nobody expects, and services that tell the token.

use super::scenario::{BASE_URL, CANARY, CreateRetry, Satisfies, Scenario, Settings, Turn};
use crate::error_codes;
use crate::operation::{Arguments, DOCKET_ID, Given, Operation, SATISFYING};
use crate::script::{Piece, Step};
use bytes::Bytes;
use std::time::Duration;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

/// Statuses that stand for all others.
const STATUSES: [u16; 25] = [
    100, 201, 204, 206, 226, 300, 301, 304, 307, 400, 401, 403, 404, 405, 408, 409, 410, 422, 425,
    429, 499, 500, 503, 599, 600,
];

/// What services put into `Retry-After`. Scenarios begin at 08:49:37 on that day.
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

/// Those of an operation.
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

/// Bodies and heads of an operation's answers that are too much, or not what they
/// should be.
pub fn too_much(operation: Operation) -> Vec<Scenario> {
    let mut all = bodies(operation);
    all.extend(heads(operation));
    if operation == Operation::CreateDocketsV2 {
        all.extend(large_batches());
    }
    all
}

fn with(scenario: Scenario, change: impl FnOnce(&mut Settings)) -> Scenario {
    let mut scenario = scenario;
    change(&mut scenario.settings);
    scenario
}

/// An answer with the satisfying body, whatever that is worth under this status.
fn answered(operation: Operation, status: u16) -> Turn {
    let satisfying = Scenario::satisfying(operation);
    Turn {
        step: Step::status(status).body(operation.satisfying()),
        ..satisfying
    }
}

/// Every status.
pub fn statuses(operation: Operation) -> Vec<Scenario> {
    // One that reads and one that creates stand for all others.
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
    with(Scenario { name, ..scenario }, |settings| {
        settings.create_retry = create_retry
    })
}

/// As many attempts as are allowed.
fn attempts(operation: Operation) -> Vec<Scenario> {
    let mut all = Vec::new();
    for max_attempts in [1, 2, 4, 7] {
        for status in [429, 503] {
            let name = format!("every answer is {status}, MAX_ATTEMPTS={max_attempts}");
            let scenario = Scenario::new(name, operation, [answered(operation, status)]);
            all.push(with(scenario, |settings| {
                settings.max_attempts = max_attempts
            }));
        }
    }
    all
}

/// Attempts that come to different things, and what each setting makes of them.
fn one_after_the_other(operation: Operation) -> Vec<Scenario> {
    let status = |status: u16| answered(operation, status);
    let refused = || Turn::from(Step::fail(ErrorCode::ConnectionRefused));
    let timed_out = || Turn::from(Step::fail(ErrorCode::ConnectionTimeout));
    let too_long = || Turn::from(Step::fail(ErrorCode::HttpRequestUriTooLong));
    let lost = || Turn::from(Step::fail(ErrorCode::ConnectionTerminated));
    let answer = || Scenario::satisfying(operation);
    let mut all = Vec::new();
    for (name, turns) in [
        ("503, then an answer", vec![status(503), answer()]),
        ("408, then an answer", vec![status(408), answer()]),
        ("429, then an answer", vec![status(429), answer()]),
        ("refused, then an answer", vec![refused(), answer()]),
        (
            "refused, 503, then an answer",
            vec![refused(), status(503), answer()],
        ),
        ("410, then an answer", vec![status(410), answer()]),
        ("503, then 401", vec![status(503), status(401)]),
        ("503, then 422", vec![status(503), status(422)]),
        ("429, then 409", vec![status(429), status(409)]),
        ("503, then 429", vec![status(503), status(429)]),
        (
            "429, then 500, then 429",
            vec![status(429), status(500), status(429)],
        ),
        ("503, then refused", vec![status(503), refused()]),
        ("503, then lost", vec![status(503), lost()]),
        (
            "408, then denied",
            vec![status(408), Step::fail(ErrorCode::HttpRequestDenied).into()],
        ),
        ("too long for the host", vec![too_long(), answer()]),
        (
            "503, then too long for the host",
            vec![status(503), too_long()],
        ),
        ("no connection in time", vec![timed_out(), answer()]),
        ("lost, then an answer", vec![lost(), answer()]),
    ] {
        let scenario = Scenario::new(name, operation, turns);
        if operation.is_create() {
            let retries = [CreateRetry::NotSent, CreateRetry::Never];
            all.extend(retries.map(|retry| retrying(scenario.clone(), retry)));
        }
        if name == "no connection in time" {
            let trusting = Scenario {
                name: format!("{name}, TRUST_CONNECTION_TIMEOUT=true"),
                ..scenario.clone()
            };
            all.push(with(trusting, |settings| {
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
        // The guest's clock says 08:49:37.
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
            // Not ready, and longer than the pauses of the wait.
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

/// Attempts that would begin too late to hear their answers.
fn little_time(operation: Operation) -> Vec<Scenario> {
    let limited = Step::status(429).header("retry-after", "1");
    let short = Scenario::new(
        "429 with Retry-After: 1, DEADLINE_MS=1010",
        operation,
        [limited.into()],
    );
    let short = with(short, |settings| {
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
        with(scenario, |settings| settings.as_options = true)
    };
    all.extend(all.iter().map(as_options).collect::<Vec<_>>());
    all
}

/// Silence, late heads, late and dripping bodies.
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

/// A service, and a host, that tell the token to whoever listens.
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
            "422 that breaks off within the token".to_owned(),
            Step::status(422).pieces([half, breaks]).into(),
        ),
        (
            "the token in the host's own message".to_owned(),
            Step::fail(ErrorCode::InternalError(Some(format!("Bearer {CANARY}")))).into(),
        ),
    ]);
    let logged = |(name, turn): (String, Turn)| {
        with(Scenario::new(name, operation, [turn]), |settings| {
            settings.log = true
        })
    };
    turns.into_iter().map(logged).collect()
}

/// A 2xx that is no JSON: a new agent's is never looked at.
fn strange(operation: Operation, step: Step) -> Turn {
    Turn {
        satisfies: match operation {
            Operation::CreateAgent => Satisfies::Yes,
            _ => Satisfies::No,
        },
        ..step.into()
    }
}

/// Answers that say more or less than they should, and whether they satisfy and are ready.
fn documents(operation: Operation) -> Vec<Scenario> {
    use Satisfies::{No, Yes};
    let calls = [
        ("no call", "[]", Yes, false),
        (
            "a call that rings",
            r#"[{"call_status":"RINGING"}]"#,
            Yes,
            false,
        ),
        (
            "a call of nulls",
            r#"[{"call_status":null,"call_insights":null}]"#,
            Yes,
            false,
        ),
        (
            "insights of nulls",
            r#"[{"call_status":"RINGING","call_insights":{"metadata":null,"user_interest":null,"next_action":null}}]"#,
            Yes,
            false,
        ),
        (
            "insights with a blank",
            r#"{"call_status":"RINGING","call_insights":{"metadata":{"a":null,"b":[{},""," "]},"user_interest":{"status":null}}}"#,
            Yes,
            true,
        ),
        (
            "insights of nothing in nothing",
            r#"{"call_status":"RINGING","call_insights":{"metadata":{"a":null,"b":[{},"",[[]]]},"user_interest":{"status":null}}}"#,
            Yes,
            false,
        ),
        (
            "insights with a zero",
            r#"[{"call_status":"RINGING","call_insights":{"user_interest":{"confidence_score":0}}}]"#,
            Yes,
            true,
        ),
        (
            "an answered call without insights",
            r#"[{"call_status":"ANSWERED"}]"#,
            Yes,
            false,
        ),
        (
            "a call that is ready and one that is not",
            r#"[{"call_status":"BUSY"},{"call_status":"RINGING"}]"#,
            Yes,
            false,
        ),
        (
            "calls that nobody answered",
            r#"[{"call_status":"BUSY"},{"call_status":"NO_ANSWER"}]"#,
            Yes,
            true,
        ),
        ("no list and no record", "7", No, false),
    ];
    let docket = |rest: &str| format!(r#"{{"docket_id":"{DOCKET_ID}",{rest}}}"#);
    let closed = r#""closed_at":"2025-01-02T03:04:05.678""#;
    let dockets = [
        ("an open docket", docket(r#""status":"OPEN""#), Yes, false),
        (
            "a closed docket with another status",
            docket(&format!(r#""status":"ARCHIVED",{closed}"#)),
            Yes,
            true,
        ),
        (
            "a closed docket without a status",
            docket(closed),
            Yes,
            true,
        ),
        (
            "a closed docket that is open",
            docket(&format!(r#""status":"OPEN",{closed}"#)),
            Yes,
            false,
        ),
        (
            "a closed docket in progress",
            docket(&format!(r#""status":"IN_PROGRESS",{closed}"#)),
            Yes,
            false,
        ),
        (
            "a docket with another status",
            docket(r#""status":"ARCHIVED","closed_at":null"#),
            Yes,
            false,
        ),
        (
            "a docket without its id",
            r#"{"status":"COMPLETED"}"#.to_owned(),
            Yes,
            true,
        ),
        (
            "a docket whose id is a number",
            r#"{"docket_id":7,"status":"COMPLETED"}"#.to_owned(),
            Yes,
            true,
        ),
        (
            "a docket whose id is in capitals",
            SATISFYING.replace(DOCKET_ID, &DOCKET_ID.to_uppercase()),
            Yes,
            true,
        ),
        (
            "another docket",
            SATISFYING.replace(DOCKET_ID, "11111111-0d51-4f0c-9a63-2f1a5c0d9e11"),
            No,
            false,
        ),
        (
            "a docket with no UUID",
            SATISFYING.replace(DOCKET_ID, "docket-7"),
            No,
            false,
        ),
    ];
    let created = [
        (
            "a docket whose id is no UUID",
            r#"{"docket_id":"7f8d3b0e0d514f0c9a632f1a5c0d9e11"}"#,
        ),
        (
            "a docket whose id is a path",
            r#"{"docket_id":"../agents"}"#,
        ),
        ("a docket whose id is null", r#"{"docket_id":null}"#),
    ];
    let started = [".", "..", "", "a\\u0000b"];
    let turn = |body: String, satisfies, ready| Turn {
        step: Step::ok(body),
        satisfies,
        ready,
    };
    let cases: Vec<(String, Turn)> = match operation {
        Operation::GetCallDetails | Operation::WaitForCallDetails => calls
            .map(|(name, body, satisfies, ready)| {
                (name.into(), turn(body.into(), satisfies, ready))
            })
            .into(),
        Operation::GetDocket | Operation::WaitForDocket | Operation::VerifyDocketCompleted => {
            dockets
                .map(|(name, body, satisfies, ready)| (name.into(), turn(body, satisfies, ready)))
                .into()
        }
        Operation::CreateDocket | Operation::CreateDocketV2 | Operation::CreateDocketsV2 => created
            .map(|(name, body)| (name.into(), turn(body.into(), No, false)))
            .into(),
        Operation::MakeCall => started
            .map(|id| {
                let body = format!(r#"{{"task_id":"{id}"}}"#);
                (format!("a task whose id is {id:?}"), turn(body, No, false))
            })
            .into(),
        Operation::CreateAgent | Operation::ListAgents => Vec::new(),
    };
    cases
        .into_iter()
        .map(|(name, turn)| Scenario::new(name, operation, [turn]))
        .collect()
}

/// Bodies that are too much, or not what they should be.
fn bodies(operation: Operation) -> Vec<Scenario> {
    let beginning = SATISFYING.strip_suffix('}').unwrap_or(SATISFYING);
    let object = |rest: &str| format!("{beginning},{rest}}}");
    // For an operation that reads a list, lists; for all others objects.
    let list = matches!(operation, Operation::ListAgents | Operation::GetCallDetails);
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep = object(&format!("\"x\":{deep}"));
    let elements = |count: usize| {
        let elements = format!("[{}0]", "0,".repeat(count - 1));
        match list {
            true => elements,
            false => object(&format!("\"x\":{elements}")),
        }
    };
    let gigabyte = Piece::Repeat {
        bytes: vec![b'x'; 1 << 20].into(),
        times: Some(1 << 10),
        pause: Duration::ZERO,
    };
    let endless = Piece::Repeat {
        bytes: vec![b' '; 1 << 16].into(),
        times: None,
        pause: Duration::ZERO,
    };
    let strange = |step: Step| self::strange(operation, step);
    // No list is asked for where an object comes, and the other way round.
    let perhaps = |step: Step| Turn {
        satisfies: match operation {
            Operation::ListAgents => Satisfies::No,
            _ => Satisfies::Perhaps,
        },
        ..Scenario::satisfying(operation).with(step)
    };
    let elements_of = |count: usize| Turn {
        satisfies: match list {
            true if count > 10_000 => Satisfies::No,
            true => Satisfies::Yes,
            false => Satisfies::Perhaps,
        },
        ..Scenario::satisfying(operation).with(Step::ok(elements(count)))
    };
    let satisfying = |step: Step| Scenario::satisfying(operation).with(step);
    let mut invalid = object("\"x\":\"?\"").into_bytes();
    if let Some(mark) = invalid.iter().rposition(|byte| *byte == b'?') {
        invalid[mark] = 0xff;
    }
    let bom = format!("\u{feff}{}", operation.satisfying());
    let gzip = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xab\xe6\x02\x00\x06\xb0\xa1\xdd";
    let html = "<!doctype html><title>Welcome</title>";
    let mut cases = vec![
        (
            "a body of 1 GB",
            strange(Step::status(200).pieces([gigabyte.clone()])),
        ),
        (
            "422 with a body of 1 GB",
            Step::status(422).pieces([gigabyte.clone()]).into(),
        ),
        (
            "503 with a body of 1 GB",
            Step::status(503).pieces([gigabyte]).into(),
        ),
        (
            "an endless body",
            strange(Step::status(200).pieces([endless.clone()])),
        ),
        (
            "429 with an endless body",
            Step::status(429).pieces([endless]).into(),
        ),
        ("JSON nested 100,000 deep", perhaps(Step::ok(deep))),
        ("a list of 10,000 elements", elements_of(10_000)),
        ("a list of 10,001 elements", elements_of(10_001)),
        ("a list of 4,000,000 elements", elements_of(4_000_000)),
        (
            "a list of 10,000,000 elements",
            strange(Step::ok(elements(10_000_000))),
        ),
        ("a byte that is no UTF-8", perhaps(Step::ok(invalid))),
        (
            "a byte order mark",
            Turn {
                satisfies: Satisfies::Perhaps,
                ..satisfying(Step::ok(bom))
            },
        ),
        (
            "gzip that nobody asked for",
            strange(Step::ok(gzip).header("content-encoding", "gzip")),
        ),
        (
            "JSON that is said to be a picture",
            satisfying(Step::ok(operation.satisfying()).header("content-type", "image/png")),
        ),
        ("204 without a body", strange(Step::status(204))),
        ("200 without a body", strange(Step::status(200))),
        (
            "200 with a page of HTML",
            strange(Step::ok(html).header("content-type", "text/html")),
        ),
        (
            "200 with half of the JSON",
            strange(Step::ok(&operation.satisfying()[..1])),
        ),
        (
            "200 with a body that is longer than it says",
            satisfying(Step::ok(operation.satisfying()).header("content-length", "1")),
        ),
    ];
    // Each byte becomes three, which takes time: some stand for all others.
    if [Operation::GetCallDetails, Operation::CreateDocketV2].contains(&operation) {
        let invalid = vec![0xff; (8 << 20) - 10];
        let invalid = [b"[{\"x\":\"", invalid.as_slice(), b"\"}]"].concat();
        cases.push(("8 MiB of bytes that are no UTF-8", Step::ok(invalid).into()));
    }
    if operation == Operation::GetCallDetails {
        let call = |padding: usize| {
            let [name, number] = ["a", "1"].map(|one| one.repeat(padding));
            format!(r#"{{"agent_name":"{name}","to_number":"{number}","call_status":"BUSY"}}"#)
        };
        let calls = |count: usize, call: &str| format!("[{}]", vec![call; count].join(","));
        cases.extend([
            (
                "100,000 calls in 7.6 MiB",
                Step::ok(calls(100_000, &call(12))).into(),
            ),
            (
                "10,000 calls in 7.6 MiB",
                satisfying(Step::ok(calls(10_000, &call(370)))),
            ),
        ]);
    }
    for code in [
        ErrorCode::ConnectionTerminated,
        ErrorCode::HttpResponseIncomplete,
    ] {
        let name = match code {
            ErrorCode::ConnectionTerminated => "a body that breaks off after all of its JSON",
            _ => "a body that breaks off before its first byte",
        };
        let begun = match code {
            ErrorCode::ConnectionTerminated => operation.satisfying(),
            _ => "",
        };
        let pieces = [Piece::Bytes(begun.into()), Piece::Break(code)];
        cases.push((name, Step::status(200).pieces(pieces).into()));
    }
    let scenario = |(name, turn)| Scenario::new(name, operation, [turn]);
    cases.into_iter().map(scenario).collect()
}

/// Heads that are too much.
fn heads(operation: Operation) -> Vec<Scenario> {
    let megabyte = "9".repeat(1 << 20);
    let mut many = Step::ok(operation.satisfying());
    // More do not fit into what hosts have for headers; real ones refuse them earlier.
    for index in 0..24_000 {
        many = many.header(format!("x-{index}"), "x");
    }
    let mut same = Step::ok(operation.satisfying());
    for _ in 0..24_000 {
        same = same.header("x-request-id", "x");
    }
    let of_a_megabyte = |name: &str, status: u16| {
        let step = Step::status(status).body(operation.satisfying());
        step.header(name, &megabyte)
    };
    let cases = [
        ("24,000 headers", many),
        ("24,000 times the same header", same),
        ("a header of 1 MB", of_a_megabyte("x-large", 200)),
        ("a request id of 1 MB", of_a_megabyte("x-request-id", 422)),
        ("a Retry-After of 1 MB", of_a_megabyte("retry-after", 429)),
    ];
    let turn = |step: Step| Scenario::satisfying(operation).with(step);
    let scenario = |(name, step)| Scenario::new(name, operation, [turn(step)]);
    cases.into_iter().map(scenario).collect()
}

/// What must not be sent: plain http to a host that is not this machine, and what is too long.
fn refused(operation: Operation) -> Vec<Scenario> {
    let setting = |name| must_be_refused(name, operation, "permanent-configuration");
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
        let mut scenario = must_be_refused(name, operation, "permanent-invalid-input");
        scenario.arguments.given = Given::TooLong;
        all.push(scenario);
    }
    all
}

fn must_be_refused(name: &str, operation: Operation, case: &'static str) -> Scenario {
    Scenario {
        refused: Some(case),
        ..Scenario::new(name, operation, [Scenario::satisfying(operation)])
    }
}

fn created(after_ms: u64) -> Turn {
    Turn {
        step: Step::status(201)
            .pieces(created_docket(""))
            .after_ms(after_ms),
        satisfies: Satisfies::Yes,
        ready: false,
    }
}

fn batch(name: &str, items: usize, turns: impl IntoIterator<Item = Turn>) -> Scenario {
    let mut scenario = Scenario::new(name, Operation::CreateDocketsV2, turns);
    scenario.arguments = Arguments {
        timeout_ms: 600_000,
        items,
        ..Arguments::default()
    };
    scenario
}

/// Batches in which all is well, some is, and nothing is.
fn batches() -> Vec<Scenario> {
    let limited = |after: &str| Turn::from(Step::status(429).header("retry-after", after));
    let unevenly = (0..60).map(|index| created((index * 37) % 200));
    let codes = error_codes::all().into_iter();
    let failing = codes.map(|code| Turn::from(Step::fail(code).after_ms(20)));
    let mut all = vec![
        batch("a batch of none", 0, [created(50)]),
        batch("a batch of 100", 100, [created(50)]),
        batch("a batch whose answers come out of order", 60, unevenly),
        batch(
            "a batch with a rate limit",
            40,
            [created(50), limited("5"), created(50)],
        ),
        batch(
            "a batch with a rate limit that nobody waits for",
            40,
            [created(50), limited("99999999999999999999"), created(50)],
        ),
        batch(
            "a batch with a rate limit for all, a day long",
            40,
            [limited("86400")],
        ),
        batch(
            "a batch whose connections are refused after 9.9 s",
            40,
            [Step::fail(ErrorCode::ConnectionRefused)
                .after_ms(9_900)
                .into()],
        ),
        batch(
            "a batch with every error code",
            60,
            failing.chain([created(10)]),
        ),
        batch("a batch that meets silence", 40, [Step::silence().into()]),
    ];
    for max_in_flight in [1, 3] {
        let name = format!("a batch with MAX_IN_FLIGHT={max_in_flight}");
        let scenario = batch(&name, 20, [created(50)]);
        all.push(with(scenario, |settings| {
            settings.max_in_flight = max_in_flight
        }));
    }
    let mut short = batch("a batch that has no time for all", 60, [created(500)]);
    short.arguments.timeout_ms = 1_200;
    all.push(short);
    all
}

/// Batches whose answers are large, and as bad as can be: each byte becomes three.
fn large_batches() -> Vec<Scenario> {
    let padded = |byte: u8, bytes: usize| Turn {
        step: Step::status(201).pieces(created_docket(vec![byte; bytes])),
        satisfies: Satisfies::Perhaps,
        ready: false,
    };
    let refused = Step::status(422).body(vec![b'x'; 1 << 20]);
    let at_once = batch(
        "a batch of 500 at once with answers of 16 kB",
        500,
        [padded(0xff, 16_000)],
    );
    let mut all = vec![
        batch(
            "a batch with answers of 8 MB",
            200,
            [padded(0xff, 8_000_000)],
        ),
        batch(
            "a batch with answers of 16 kB",
            1_000,
            [padded(0xff, 16_000)],
        ),
        batch("a batch of 1000", 1_000, [created(50)]),
        batch("a batch with refusals of 1 MB", 1_000, [refused.into()]),
        with(at_once, |settings| settings.max_in_flight = 500),
    ];
    let name = "a batch of 110 dockets of 0.9 MB";
    let mut scenario = must_be_refused(name, Operation::CreateDocketsV2, "permanent-invalid-input");
    scenario.arguments.items = 110;
    scenario.arguments.given = Given::Large { bytes: 900_000 };
    all.push(scenario);
    for (name, byte) in [("as large", b'x'), ("as large and no UTF-8", 0xff)] {
        let name = format!("a batch of 16 MB with answers {name}");
        let mut scenario = batch(&name, 18, [padded(byte, 900_000)]);
        scenario.arguments.given = Given::Large { bytes: 900_000 };
        all.push(scenario);
    }
    all
}

/// The answer to a docket of a batch, with the identifier of the docket as its id, and
/// something at its end.
pub fn created_docket(padding: impl Into<Vec<u8>>) -> [Piece; 5] {
    [
        Piece::Bytes(Bytes::from_static(b"{\"docket_id\":\"")),
        Piece::ExternalId,
        Piece::Bytes(Bytes::from_static(
            b"\",\"status\":\"OPEN\",\"created\":true,\"x\":\"",
        )),
        Piece::Bytes(padding.into().into()),
        Piece::Bytes(Bytes::from_static(b"\"}")),
    ]
}

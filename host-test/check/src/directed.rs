//! Scenarios that somebody has thought of: statuses, time, rate limits, batches, bodies
//! that nobody expects, and services that tell the token.

use super::scenario::{CANARY, Records, Satisfies, Scenario, Settings, Turn};
use crate::error_codes;
use crate::operation::{Arguments, Operation, SATISFYING};
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
const RETRY_AFTER: [&str; 17] = [
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
    "soon",
];

/// Those of an operation.
pub fn scenarios(operation: Operation) -> Vec<Scenario> {
    let mut all = rate_limits(operation);
    all.extend(late_services(operation));
    all.extend(redirects(operation));
    all.extend(echoes(operation));
    all.extend(attempts(operation));
    all.push(insecure(operation));
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
            let named = Scenario {
                name: format!("{}, CREATE_RETRY=not-sent", scenario.name),
                ..scenario.clone()
            };
            all.push(with(named, |settings| {
                settings.create_retry_not_sent = true
            }));
        }
        all.push(scenario);
    }
    all
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
    let name = "503, then an answer, CREATE_RETRY=not-sent";
    let turns = [answered(operation, 503), Scenario::satisfying(operation)];
    all.push(with(Scenario::new(name, operation, turns), |settings| {
        settings.create_retry_not_sent = true
    }));
    all
}

fn rate_limits(operation: Operation) -> Vec<Scenario> {
    let mut all = Vec::new();
    for status in [429, 503] {
        for value in RETRY_AFTER {
            let limited = Step::status(status).header("retry-after", value);
            let turns = [limited.into(), Scenario::satisfying(operation)];
            let name = format!("{status} with Retry-After: {value:?}, then an answer");
            all.push(Scenario::new(name, operation, turns));
        }
    }
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
    let body = format!(
        "wrong: Bearer {CANARY}; {escaped}; {}",
        escaped.replace('/', "\\/")
    );
    let mut turns: Vec<(String, Turn)> = Vec::new();
    for status in [200, 302, 400, 401, 404, 422, 429, 500, 503, 600] {
        let step = Step::status(status)
            .body(body.clone())
            .header("x-request-id", format!("{CANARY}/1"))
            .header("location", format!("/{CANARY}"));
        let turn = Turn {
            satisfies: nonsense(operation),
            step,
        };
        turns.push((format!("{status} with the token in its body"), turn));
    }
    let cut = format!("{}{CANARY}", "x".repeat(8_192 - 14));
    let half = Piece::Bytes(CANARY.as_bytes()[..14].to_vec().into());
    let breaks = Piece::Break(ErrorCode::ConnectionTerminated);
    turns.extend([
        (
            "422 with the token where a body is cut".to_owned(),
            Step::status(422).body(cut).into(),
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

/// What a 2xx that is no JSON is to this operation: a new agent's is never looked at.
fn nonsense(operation: Operation) -> Satisfies {
    match operation {
        Operation::CreateAgent => Satisfies::Yes(Records::These(Vec::new())),
        _ => Satisfies::No,
    }
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
    let strange = |step: Step| Turn {
        step,
        satisfies: nonsense(operation),
    };
    // No list is asked for where an object comes, and the other way round.
    let perhaps = |step: Step| Turn {
        step,
        satisfies: match operation {
            Operation::ListAgents => Satisfies::No,
            _ => Satisfies::Perhaps(Records::Whole),
        },
    };
    let marked = match Scenario::satisfying(operation).satisfies {
        Satisfies::Yes(records) => Satisfies::Perhaps(records),
        other => other,
    };
    let satisfying = |step: Step| Turn {
        step,
        ..Scenario::satisfying(operation)
    };
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
        (
            "a list of 100,001 elements",
            perhaps(Step::ok(elements(100_001))),
        ),
        (
            "a list of 4,000,000 elements",
            perhaps(Step::ok(elements(4_000_000))),
        ),
        (
            "a list of 10,000,000 elements",
            strange(Step::ok(elements(10_000_000))),
        ),
        ("a byte that is no UTF-8", perhaps(Step::ok(invalid))),
        (
            "a byte order mark",
            Turn {
                step: Step::ok(bom),
                satisfies: marked,
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
    // Each becomes three, which takes time: one that reads and one that creates stand
    // for all others.
    if Operation::READ_AND_CREATE.contains(&operation) {
        let invalid = strange(Step::ok(vec![0xff; 8 << 20]));
        cases.push(("8 MiB of bytes that are no UTF-8", invalid));
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
    let turn = |step: Step| Turn {
        step,
        ..Scenario::satisfying(operation)
    };
    let scenario = |(name, step)| Scenario::new(name, operation, [turn(step)]);
    cases.into_iter().map(scenario).collect()
}

/// Plain http to a host that is not this machine.
fn insecure(operation: Operation) -> Scenario {
    let turns = [Scenario::satisfying(operation)];
    Scenario {
        base_url: "http://api.example",
        ..Scenario::new("plain http to a remote host", operation, turns)
    }
}

fn created(after_ms: u64) -> Turn {
    Turn {
        step: Step::status(201)
            .pieces(created_docket(""))
            .after_ms(after_ms),
        satisfies: Satisfies::Yes(Records::Whole),
    }
}

fn batch(name: &str, items: usize, turns: impl IntoIterator<Item = Turn>) -> Scenario {
    let mut scenario = Scenario::new(name, Operation::CreateDocketsV2, turns);
    scenario.arguments = Arguments {
        timeout_ms: 600_000,
        items,
    };
    scenario
}

/// Batches in which all is well, some is, and nothing is.
fn batches() -> Vec<Scenario> {
    let limited = Step::status(429).header("retry-after", "5");
    let unevenly = (0..60).map(|index| created((index * 37) % 200));
    let codes = error_codes::all().into_iter();
    let failing = codes.map(|code| Turn::from(Step::fail(code).after_ms(20)));
    let mut all = vec![
        batch("a batch of none", 0, [created(50)]),
        batch("a batch of 100", 100, [created(50)]),
        batch("a batch of 1000", 1_000, [created(50)]),
        batch("a batch whose answers come out of order", 60, unevenly),
        batch(
            "a batch with a rate limit",
            40,
            [created(50), limited.into(), created(50)],
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
    let padded = |bytes: usize| Turn {
        step: Step::status(201).pieces(created_docket(vec![0xff; bytes])),
        satisfies: Satisfies::Perhaps(Records::Whole),
    };
    let refused = Step::status(422).body(vec![b'x'; 1 << 20]);
    vec![
        batch("a batch with answers of 8 MB", 200, [padded(8_000_000)]),
        batch("a batch with answers of 16 kB", 1_000, [padded(16_000)]),
        batch("a batch with refusals of 1 MB", 1_000, [refused.into()]),
    ]
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

//! Bodies and heads of answers that are too large or malformed.

use super::batches::large_batches;
use super::scenario::{Satisfies, Scenario, Turn};
use crate::operation::{Operation, SATISFYING};
use crate::script::{Piece, Step};
use std::time::Duration;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

/// Returns the scenarios of an operation.
pub fn scenarios(operation: Operation) -> Vec<Scenario> {
    let mut all = bodies(operation);
    all.extend(heads(operation));
    if operation == Operation::CreateDocketsV2 {
        all.extend(large_batches());
    }
    all
}

/// Returns a 2xx that is not JSON. The answer to a new agent is never parsed.
pub(super) fn strange(operation: Operation, step: Step) -> Turn {
    Turn {
        satisfies: match operation {
            Operation::CreateAgent => Satisfies::Yes,
            _ => Satisfies::No,
        },
        ..step.into()
    }
}

/// Returns bodies that are too large or malformed.
fn bodies(operation: Operation) -> Vec<Scenario> {
    let beginning = SATISFYING.strip_suffix('}').unwrap_or(SATISFYING);
    let object = |rest: &str| format!("{beginning},{rest}}}");
    // Operations that read a list get lists, all others objects.
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
    let repeated = |status: u16, bytes: Vec<u8>, times: Option<u64>| {
        Step::status(status).pieces([Piece::Repeat {
            bytes: bytes.into(),
            times,
            pause: Duration::ZERO,
        }])
    };
    let gigabyte = |status: u16| repeated(status, vec![b'x'; 1 << 20], Some(1 << 10));
    let endless = |status: u16| repeated(status, vec![b' '; 1 << 16], None);
    let strange = |step: Step| self::strange(operation, step);
    // An answer with an object where a list is expected is not accepted, nor the other way round.
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
        ("a body of 1 GB", strange(gigabyte(200))),
        ("422 with a body of 1 GB", gigabyte(422).into()),
        ("503 with a body of 1 GB", gigabyte(503).into()),
        ("an endless body", strange(endless(200))),
        ("429 with an endless body", endless(429).into()),
        ("JSON nested 100,000 deep", perhaps(Step::ok(deep))),
        ("a list of 10,000 elements", elements_of(10_000)),
        ("a list of 10,001 elements", elements_of(10_001)),
        ("a list of 4,000,000 elements", elements_of(4_000_000)),
        (
            "a list of 10,000,000 elements",
            strange(Step::ok(elements(10_000_000))),
        ),
        ("a byte that is not UTF-8", perhaps(Step::ok(invalid))),
        (
            "a byte order mark",
            Turn {
                satisfies: Satisfies::Perhaps,
                ..satisfying(Step::ok(bom))
            },
        ),
        (
            "gzip that was not requested",
            strange(Step::ok(gzip).header("content-encoding", "gzip")),
        ),
        (
            "JSON with the media type of an image",
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
    // Each byte becomes three, which takes time: two operations stand for all.
    if [Operation::GetCallDetails, Operation::CreateDocketV2].contains(&operation) {
        let invalid = vec![0xff; (8 << 20) - 10];
        let invalid = [b"[{\"x\":\"", invalid.as_slice(), b"\"}]"].concat();
        cases.push((
            "8 MiB of bytes that are not UTF-8",
            Step::ok(invalid).into(),
        ));
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
    let ends_early = |begun: &'static str, code| {
        Step::status(200).pieces([Piece::Bytes(begun.into()), Piece::Break(code)])
    };
    cases.extend([
        (
            "a body that ends early after all of its JSON",
            satisfying(ends_early(
                operation.satisfying(),
                ErrorCode::ConnectionTerminated,
            )),
        ),
        (
            "a body that ends early before its first byte",
            ends_early("", ErrorCode::HttpResponseIncomplete).into(),
        ),
    ]);
    let scenario = |(name, turn)| Scenario::new(name, operation, [turn]);
    cases.into_iter().map(scenario).collect()
}

/// Returns heads that are too large.
fn heads(operation: Operation) -> Vec<Scenario> {
    let megabyte = "9".repeat(1 << 20);
    // Hosts limit the size of headers to about this; real ones refuse them earlier.
    let headers = |name: fn(usize) -> String| {
        let satisfying = Step::ok(operation.satisfying());
        (0..24_000).fold(satisfying, |step, index| step.header(name(index), "x"))
    };
    let of_a_megabyte = |name: &str, status: u16| {
        let step = Step::status(status).body(operation.satisfying());
        step.header(name, &megabyte)
    };
    let cases = [
        ("24,000 headers", headers(|index| format!("x-{index}"))),
        (
            "24,000 times the same header",
            headers(|_| "x-request-id".to_owned()),
        ),
        ("a header of 1 MB", of_a_megabyte("x-large", 200)),
        ("a request id of 1 MB", of_a_megabyte("x-request-id", 422)),
        ("a Retry-After of 1 MB", of_a_megabyte("retry-after", 429)),
    ];
    let turn = |step: Step| Scenario::satisfying(operation).with(step);
    let scenario = |(name, step)| Scenario::new(name, operation, [turn(step)]);
    cases.into_iter().map(scenario).collect()
}

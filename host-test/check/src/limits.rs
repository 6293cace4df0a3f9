//! Scenarios that exceed a limit: bodies and heads of answers that are too large, large batches, and
//! calls that must be refused.

use super::scenario::{BASE_URL, Satisfies, Scenario, Turn, created_docket};
use crate::operation::{ArgumentKind, Arguments, Operation, SATISFYING};
use crate::script::{Piece, Step};
use std::time::Duration;

/// Returns the scenarios of an operation.
pub(crate) fn scenarios(operation: Operation) -> Vec<Scenario> {
    let mut all = bodies(operation);
    all.extend(heads(operation));
    all.extend(refused(operation));
    if operation == Operation::CreateDocketsV2 {
        all.extend(large_batches());
    }
    all
}

/// Returns bodies that are too large.
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
    let strange = |step: Step| Turn::strange(operation, step);
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

/// Returns requests that must be refused: plain http to a remote host, and values too long.
fn refused(operation: Operation) -> Vec<Scenario> {
    let setting = |name| Scenario::refused(name, operation, "configuration");
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
        let mut scenario = Scenario::refused(name, operation, "invalid-input");
        scenario.arguments.kind = ArgumentKind::TooLong;
        all.push(scenario);
    }
    all
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

/// Returns large batches with the worst possible answers: each byte becomes three.
fn large_batches() -> Vec<Scenario> {
    let padded = |byte: u8, bytes: usize| Turn {
        step: Step::status(201).pieces(created_docket(vec![byte; bytes])),
        satisfies: Satisfies::Perhaps,
        ready: false,
    };
    let created = Turn {
        step: Step::status(201).pieces(created_docket("")).after_ms(50),
        satisfies: Satisfies::Yes,
        ready: false,
    };
    let refusal = Step::status(422).body(vec![b'x'; 1 << 20]).after_ms(50);
    // A batch goes on as long as some of its requests succeed.
    let among_created = |turn: Turn, of: usize, count: usize| {
        let created = created.clone();
        (0..1_000).map(move |index| match index % of < count {
            true => turn.clone(),
            false => created.clone(),
        })
    };
    let large = among_created(padded(0xff, 8_000_000), 4, 1);
    let refusals = among_created(refusal.clone().into(), 20, 19);
    let at_once = batch(
        "a batch with many at once and answers of 16 kB",
        1_000,
        [padded(0xff, 16_000)],
    );
    let mut all = vec![
        batch("a batch with answers of 8 MB", 1_000, large),
        batch(
            "a batch with answers of 900 kB",
            1_000,
            among_created(padded(b'x', 900_000), 4, 1),
        ),
        batch(
            "a batch with answers of 16 kB",
            1_000,
            [padded(0xff, 16_000)],
        ),
        batch("a batch of 1000", 1_000, [created.clone()]),
        batch("a batch with refusals of 1 MB", 1_000, refusals),
        batch("a batch of refusals", 1_000, [refusal.into()]),
        Scenario::with(at_once, |settings| settings.max_in_flight = 500),
    ];
    let name = "a batch of 110 dockets of 0.9 MB";
    let mut scenario = Scenario::refused(name, Operation::CreateDocketsV2, "invalid-input");
    scenario.arguments.items = 110;
    scenario.arguments.kind = ArgumentKind::Large { bytes: 900_000 };
    all.push(scenario);
    for (name, byte) in [("as large", b'x'), ("as large and not UTF-8", 0xff)] {
        let name = format!("a batch of 16 MB with answers {name}");
        let mut scenario = batch(&name, 18, [padded(byte, 900_000)]);
        scenario.arguments.kind = ArgumentKind::Large { bytes: 900_000 };
        all.push(scenario);
    }
    all
}

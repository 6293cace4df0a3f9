//! Batches of dockets.

use super::scenario::{Satisfies, Scenario, Turn};
use crate::error_codes;
use crate::operation::{ArgumentKind, Arguments, Operation};
use crate::script::{Piece, Step};
use bytes::Bytes;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

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

/// Returns batches that succeed, succeed in part, or fail.
pub(super) fn batches() -> Vec<Scenario> {
    let limited = |after: &str| Turn::from(Step::status(429).header("retry-after", after));
    let unevenly = (0..60).map(|index| created((index * 37) % 200));
    let codes = error_codes::all().into_iter();
    let failing = codes.map(|code| Turn::from(Step::fail(code).after_ms(20)));
    let mut all = vec![
        batch("an empty batch", 0, [created(50)]),
        batch("a batch of 100", 100, [created(50)]),
        batch("a batch whose answers come out of order", 60, unevenly),
        batch(
            "a batch with a rate limit",
            40,
            [created(50), limited("5"), created(50)],
        ),
        batch(
            "a batch with a rate limit that is too long to wait for",
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
        all.push(Scenario::with(scenario, |settings| {
            settings.max_in_flight = max_in_flight
        }));
    }
    let mut short = batch("a batch that has no time for all", 60, [created(500)]);
    short.arguments.timeout_ms = 1_200;
    all.push(short);
    all
}

/// Returns large batches with the worst possible answers: each byte becomes three.
pub(super) fn large_batches() -> Vec<Scenario> {
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
        Scenario::with(at_once, |settings| settings.max_in_flight = 500),
    ];
    let name = "a batch of 110 dockets of 0.9 MB";
    let mut scenario =
        Scenario::refused(name, Operation::CreateDocketsV2, "permanent-invalid-input");
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

/// Returns the answer to a docket of a batch, with the docket's `external_id` as its id, and
/// `padding` at its end.
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

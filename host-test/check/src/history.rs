//! Random histories: settings, an operation, and a service that does anything. Each is determined
//! by its seed, and can be replayed.

use super::scenario::{
    BEGUN_UNIX_S, CANARY, CreateRetry, Satisfies, Scenario, Settings, Turn, created_docket,
};
use crate::error_codes;
use crate::operation::{Arguments, DOCKET_ID, Operation};
use crate::script::{Piece, Step};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::time::Duration;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

/// The date of answers that have one: [`BEGUN_UNIX_S`].
const ANSWERED_AT: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

/// Unusual values of `Retry-After`.
const RETRY_AFTER: [&str; 11] = [
    "",
    " 7 ",
    "1.5",
    "-1",
    "99999999999999999999999",
    "Sun, 06 Nov 1994 08:49:47 GMT",
    "Sunday, 06-Nov-94 08:49:42 GMT",
    "Sun Nov  6 08:49:39 1994",
    "Sun, 06 Nov 1994 08:49:00 GMT",
    "Fri, 31 Dec 9999 23:59:59 GMT",
    "Sun, 99 Nov 1994 08:49:47 GMT",
];

/// Returns the history of this seed, of one of these operations.
pub fn of_seed(seed: u64, operations: &[Operation]) -> Scenario {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    // No strategy here rejects values.
    let history = scenarios(operations.to_vec()).new_tree(&mut runner);
    Scenario {
        name: format!("history --seed {seed}"),
        ..history.expect("a history for every seed").current()
    }
}

fn scenarios(operations: Vec<Operation>) -> impl Strategy<Value = Scenario> {
    let turns = |operation| {
        (
            Just(operation),
            prop::collection::vec(turn(operation), 1..=10),
        )
    };
    let played = select(operations).prop_flat_map(turns);
    let date = prop_oneof![Just(BEGUN_UNIX_S), 0..4_102_444_800_u64];
    (settings(), arguments(), any::<u64>(), date, played).prop_map(
        |(settings, arguments, random, unix_time_s, (operation, turns))| Scenario {
            arguments,
            settings: match operation.is_wait() {
                true => with_fewer_polls(settings, arguments),
                false => settings,
            },
            random,
            unix_time_s,
            ..Scenario::new("", operation, turns)
        },
    )
}

/// Limits the number of polls: a hundred thousand prove no more than some hundred.
fn with_fewer_polls(settings: Settings, arguments: Arguments) -> Settings {
    let least_ms = u64::from(arguments.timeout_ms) / 200;
    Settings {
        backoff_ms: settings.backoff_ms.max(least_ms),
        max_backoff_ms: settings.max_backoff_ms.max(least_ms),
        ..settings
    }
}

fn arguments() -> impl Strategy<Value = Arguments> {
    let items = prop_oneof![1 => Just(0_usize), 1 => Just(1_usize), 8 => 2_usize..=12];
    let not_found = any::<Option<bool>>();
    (milliseconds(100_000), not_found, items).prop_map(
        |(timeout_ms, not_found_is_pending, items)| Arguments {
            timeout_ms: u32::try_from(timeout_ms).unwrap_or(u32::MAX),
            not_found_is_pending,
            items,
            ..Arguments::default()
        },
    )
}

fn settings() -> impl Strategy<Value = Settings> {
    // Half of the deadlines leave time for everything.
    let deadline = prop_oneof![milliseconds(100_000), 30_000..=100_000_u64];
    let limits = (milliseconds(100_000), deadline);
    let pauses = (milliseconds(10_000), milliseconds(10_000));
    let create_retry = select(vec![
        CreateRetry::ServerErrors,
        CreateRetry::ServerErrors,
        CreateRetry::NotSent,
        CreateRetry::Never,
    ]);
    let choices = (create_retry, any::<[bool; 3]>());
    (limits, pauses, 1..=6_u32, choices, 1..=8_usize).prop_map(
        |((one, other), (pause, longest), max_attempts, choices, max_in_flight)| {
            let (create_retry, [trust_connection_timeout, log, as_options]) = choices;
            let attempt_timeout_ms = one.min(other);
            Settings {
                max_attempts,
                backoff_ms: pause.min(longest),
                max_backoff_ms: pause.max(longest),
                attempt_timeout_ms,
                deadline_ms: one.max(other),
                create_retry,
                trust_connection_timeout,
                max_in_flight,
                log,
                // `DEADLINE_MS` then has its default, which no attempt may exceed.
                as_options: as_options && attempt_timeout_ms <= Settings::default().deadline_ms,
            }
        },
    )
}

/// Returns values of every order of magnitude up to `most`.
fn milliseconds(most: u64) -> impl Strategy<Value = u64> {
    (0..=most.ilog10(), 1..=9_u64, 0..=9_u64).prop_map(move |(power, digit, next)| {
        let unit = 10_u64.pow(power);
        (digit * unit + next * unit / 10).min(most)
    })
}

fn turn(operation: Operation) -> impl Strategy<Value = Turn> {
    let after_ms = prop_oneof![3 => Just(0), 3 => milliseconds(1_000), 1 => milliseconds(100_000)];
    let turn = prop_oneof![
        5 => satisfying(operation),
        5 => refusing(),
        4 => failing(),
        1 => endless(operation),
        1 => broken(operation),
        1 => nonsense(operation),
    ];
    (turn, after_ms, retry_after(), prop::bool::weighted(0.2)).prop_map(
        |(turn, after_ms, retry_after, is_dated): (Turn, u64, Option<String>, bool)| {
            let mut step = turn.step.after_ms(after_ms);
            if let Some(value) = retry_after {
                step = step.header("retry-after", value);
            }
            if is_dated {
                step = step.header("date", ANSWERED_AT);
            }
            Turn { step, ..turn }
        },
    )
}

/// Returns failures, one of them with the token in the host's own message.
fn failing() -> impl Strategy<Value = Turn> {
    let mut codes = error_codes::all();
    codes.push(ErrorCode::InternalError(Some(format!("Bearer {CANARY}"))));
    select(codes).prop_map(|code| Step::fail(code).into())
}

/// Returns silence, and bodies without an end, one byte a second.
fn endless(operation: Operation) -> impl Strategy<Value = Turn> {
    let dripping = |status| {
        Step::status(status).pieces([Piece::Repeat {
            bytes: " ".into(),
            times: None,
            pause: Duration::from_secs(1),
        }])
    };
    // The body of a request says to which item of a batch it belongs.
    let unread = match operation {
        Operation::CreateDocketsV2 => Step::silence(),
        _ => Step::silence().without_reading(),
    };
    let steps = prop_oneof![
        2 => Just(Step::silence()),
        1 => Just(unread),
        1 => select(vec![dripping(200), dripping(429)]),
    ];
    steps.prop_map(Turn::from)
}

/// Returns refusals and redirects, of a service that may echo the token wherever it can.
fn refusing() -> impl Strategy<Value = Turn> {
    let statuses = prop_oneof![
        8 => select(vec![429, 429, 503]),
        4 => select(vec![408, 425, 500, 502, 504, 599]),
        2 => select(vec![400, 401, 403, 404, 409, 410, 422, 499, 600]),
        1 => select(vec![301, 302, 303, 307, 308]),
    ];
    let places = vec![
        "http://127.0.0.1:9999/elsewhere",
        "/elsewhere",
        "https://evil.example/",
    ];
    let usual = (".{0,40}", select(places)).prop_map(|(body, place)| (body, place.to_owned()));
    let echoing = select(echoes()).prop_map(|body| (body, format!("/{CANARY}/1")));
    let answers = prop_oneof![3 => usual, 1 => echoing];
    let code = prop::option::weighted(0.1, select(error_codes::all()));
    (statuses, answers, code).prop_map(|(status, (body, place), code)| {
        let mut pieces = vec![Piece::Bytes(body.into())];
        pieces.extend(code.map(Piece::Break));
        let step = Step::status(status).pieces(pieces);
        let step = step
            .header("x-request-id", &place)
            .header("location", place);
        step.into()
    })
}

/// Returns texts with the token: in the notations of JSON, begun, and where an error's copy of a
/// body ends.
fn echoes() -> Vec<String> {
    let escaped = CANARY.replace('\\', "\\\\").replace('"', "\\\"");
    let coded = |all: bool| -> String {
        let code = |one: char| match all || !one.is_ascii_alphanumeric() {
            true => format!("\\u{:04x}", u32::from(one)),
            false => one.to_string(),
        };
        CANARY.chars().map(code).collect()
    };
    let upper = |coded: String| coded.to_uppercase().replace("\\U", "\\u");
    let notations = [
        format!("wrong: Bearer {CANARY}"),
        escaped.replace('/', "\\/"),
        escaped,
        coded(false),
        coded(true),
        upper(coded(true)),
    ];
    vec![
        notations.join("; "),
        CANARY[..14].to_owned(),
        format!("{}{CANARY}", "x".repeat(8_192 - 14)),
        format!("{}{}", "x".repeat(8_192 - 100), coded(true)),
    ]
}

/// Returns seconds, dates, past times, excessive times, and garbage.
fn retry_after() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        5 => Just(None),
        4 => (0..20_u64).prop_map(|seconds| Some(seconds.to_string())),
        1 => any::<u64>().prop_map(|seconds| Some(seconds.to_string())),
        1 => select(RETRY_AFTER.to_vec()).prop_map(|value| Some(value.to_owned())),
        1 => "[ -~]{0,12}".prop_map(Some),
    ]
}

/// Returns bodies that satisfy the operation if their status does: any status occurs.
fn satisfying(operation: Operation) -> impl Strategy<Value = Turn> {
    let status = prop_oneof![6 => Just(200_u16), 1 => 100..=999_u16];
    let pause = prop::option::of(milliseconds(20_000));
    (status, documents(operation), pause).prop_map(move |(status, (body, ready), pause_ms)| {
        let pieces = match (operation, pause_ms) {
            (Operation::CreateDocketsV2, _) => created_docket("").to_vec(),
            (_, None) => vec![Piece::Bytes(body.into())],
            (_, Some(pause_ms)) => {
                let (begun, rest) = body.as_bytes().split_at(body.len() / 2);
                vec![
                    Piece::Bytes(begun.to_vec().into()),
                    Piece::Pause(Duration::from_millis(pause_ms)),
                    Piece::Bytes(rest.to_vec().into()),
                ]
            }
        };
        Turn {
            step: Step::status(status).pieces(pieces),
            satisfies: Satisfies::Yes,
            ready,
        }
    })
}

/// Answers whose body ends early: behind all of its JSON, which counts, or in its middle.
fn broken(operation: Operation) -> impl Strategy<Value = Turn> {
    let status = select(vec![200, 201]);
    let code = select(error_codes::all());
    (status, code, any::<bool>()).prop_map(move |(status, code, is_whole)| {
        let json = operation.satisfying();
        let mut pieces = match (is_whole, operation) {
            (true, Operation::CreateDocketsV2) => created_docket("").to_vec(),
            (true, _) => vec![Piece::Bytes(json.into())],
            (false, _) => vec![Piece::Bytes(json[..json.len() / 2].into())],
        };
        pieces.push(Piece::Break(code));
        Turn {
            step: Step::status(status).pieces(pieces),
            satisfies: match is_whole {
                true => Satisfies::Yes,
                false => Satisfies::No,
            },
            ready: is_whole,
        }
    })
}

/// Returns a 2xx that is not JSON, echoes the token, or has another docket than the requested one.
fn nonsense(operation: Operation) -> impl Strategy<Value = Turn> {
    use Operation::{GetDocket, VerifyDocketCompleted, WaitForDocket};
    let other = operation.satisfying().replace(&DOCKET_ID[..8], "11111111");
    let others = match operation {
        GetDocket | WaitForDocket | VerifyDocketCompleted => vec![other],
        _ => echoes(),
    };
    // No text of this alphabet is JSON that satisfies an operation.
    let body = prop_oneof![2 => "[x{\\[:,]{0,40}", 1 => select(others)];
    body.prop_map(move |body| Turn::strange(operation, Step::ok(body)))
}

/// Returns bodies that satisfy an operation, whatever else they contain, and whether their content
/// is ready.
fn documents(operation: Operation) -> BoxedStrategy<(String, bool)> {
    let list = |records: Vec<(String, bool)>| {
        let ready = !records.is_empty() && records.iter().all(|(_, ready)| *ready);
        let records: Vec<_> = records.into_iter().map(|(record, _)| record).collect();
        (format!("[ {} ]", records.join(" ,\n")), ready)
    };
    match operation {
        Operation::ListAgents | Operation::GetCallDetails | Operation::WaitForCallDetails => {
            prop::collection::vec(record(), 0..4).prop_map(list).boxed()
        }
        _ => record()
            .prop_map(|(record, ready)| (format!(" {record}\n"), ready))
            .boxed(),
    }
}

/// Returns an object that has the required identifiers, members that may be of any type, and
/// unknown members.
fn record() -> impl Strategy<Value = (String, bool)> {
    let status = select(vec!["COMPLETED", "COMPLETED", "IN_PROGRESS", "OPEN"]);
    let known = select(vec![
        "closure_reason",
        "external_id",
        "call_context",
        "metadata",
        "created",
        "agent_name",
        "attempts",
    ]);
    let name = prop_oneof![
        2 => known.prop_map(|name| format!("\"{name}\"")),
        3 => "[a-z]{1,8}".prop_map(|name| format!("\"x_{name}\"")),
        1 => text(),
    ];
    let members = prop::collection::vec((name, json()), 0..6);
    (status, members).prop_map(|(status, members)| {
        let call_status = match status {
            "COMPLETED" => "BUSY",
            _ => "RINGING",
        };
        let mut object = format!(
            "{{\"docket_id\":\"{DOCKET_ID}\", \"task_id\":\"task-1\",\"status\":\"{status}\",\
             \"call_status\":\"{call_status}\""
        );
        for (name, value) in members {
            object.push_str(&format!(",{name}: {value}"));
        }
        object.push('}');
        (object, status == "COMPLETED")
    })
}

/// Returns any JSON in any notation: numbers with more digits than a float has, escapes, lone
/// surrogates, duplicate keys.
fn json() -> impl Strategy<Value = String> {
    let number = "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?";
    let leaf = prop_oneof![
        select(vec!["null", "true", "false", "{}", "[ ]"]).prop_map(str::to_owned),
        number,
        text(),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let members = prop::collection::vec(("\"[a-c]\"", inner.clone()), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..4)
                .prop_map(|elements| format!("[{}]", elements.join(", "))),
            members.prop_map(|members| {
                let members: Vec<_> = members
                    .into_iter()
                    .map(|(name, value)| format!("{name} :{value}"))
                    .collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

/// Returns a JSON string with its quotes.
fn text() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        6 => "[a-zA-Z0-9 _./-]",
        1 => select(vec!["\\n", "\\\"", "\\\\", "\\/", "\\u0000", "\\ud83d", "\\udc00", "\\u00e9"])
            .prop_map(str::to_owned),
        1 => select(vec!["é", "\u{2028}", "😀", "अ"]).prop_map(str::to_owned),
    ];
    prop::collection::vec(character, 0..12)
        .prop_map(|characters| format!("\"{}\"", characters.concat()))
}

//! Random histories: settings, an operation, and a service that does anything. Each is determined
//! by its seed, and can be replayed.

use super::batches::created_docket;
use super::scenario::{CreateRetry, Satisfies, Scenario, Settings, Turn};
use crate::error_codes;
use crate::operation::{Arguments, DOCKET_ID, Operation};
use crate::script::{Piece, Step};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::time::Duration;

/// The maximum number of simpler histories that are tried after a failure.
const SIMPLIFICATIONS: usize = 2_000;

/// Returns the history of this seed.
pub fn of_seed(seed: u64) -> Scenario {
    named(seed, tree(seed).current())
}

/// Returns the simplest history that derives from the one of this seed and still fails.
pub fn simplest(seed: u64, fails: impl Fn(&Scenario) -> bool) -> Scenario {
    let mut tree = tree(seed);
    let mut simplest = tree.current();
    for _ in 0..SIMPLIFICATIONS {
        if fails(&named(seed, tree.current())) {
            simplest = tree.current();
            if !tree.simplify() {
                break;
            }
        } else if !tree.complicate() {
            break;
        }
    }
    named(seed, simplest)
}

fn tree(seed: u64) -> impl ValueTree<Value = Scenario> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    // No strategy here rejects values, so there is always a tree.
    scenarios()
        .new_tree(&mut runner)
        .expect("a history for every seed")
}

fn named(seed: u64, scenario: Scenario) -> Scenario {
    Scenario {
        name: format!("history --seed {seed}"),
        seed: Some(seed),
        ..scenario
    }
}

fn scenarios() -> impl Strategy<Value = Scenario> {
    let turns = |operation| {
        (
            Just(operation),
            prop::collection::vec(turn(operation), 1..=10),
        )
    };
    let played = select(Operation::ALL).prop_flat_map(turns);
    let date = 0..4_102_444_800_u64;
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
        4 => satisfying(operation),
        5 => refusing(),
        4 => failing(),
        1 => Just(Step::silence().into()),
        1 => broken(operation),
        1 => nonsense(operation),
    ];
    (turn, after_ms).prop_map(|(turn, after_ms): (Turn, u64)| Turn {
        step: turn.step.after_ms(after_ms),
        ..turn
    })
}

fn failing() -> impl Strategy<Value = Turn> {
    select(error_codes::all()).prop_map(|code| Step::fail(code).into())
}

fn refusing() -> impl Strategy<Value = Turn> {
    let statuses = prop_oneof![
        4 => select(vec![429, 503]),
        2 => select(vec![408, 425, 500, 502, 504, 599]),
        1 => select(vec![301, 400, 401, 403, 404, 409, 410, 422, 499, 600]),
    ];
    (statuses, retry_after(), ".{0,40}").prop_map(|(status, retry_after, body)| {
        let step = Step::status(status).body(body);
        match retry_after {
            Some(value) => step.header("retry-after", value).into(),
            None => step.into(),
        }
    })
}

/// Returns seconds, dates, past times, excessive times, and garbage.
fn retry_after() -> impl Strategy<Value = Option<String>> {
    let date = (0..4_102_444_800_u64).prop_map(|unix_time_s| {
        let date = std::time::UNIX_EPOCH + Duration::from_secs(unix_time_s);
        httpdate::fmt_http_date(date)
    });
    prop_oneof![
        4 => Just(None),
        4 => (0..20_u64).prop_map(|seconds| Some(seconds.to_string())),
        1 => any::<u64>().prop_map(|seconds| Some(seconds.to_string())),
        1 => date.prop_map(Some),
        1 => "[ -~]{0,12}".prop_map(Some),
    ]
}

fn satisfying(operation: Operation) -> impl Strategy<Value = Turn> {
    (documents(operation), prop::option::of(milliseconds(20_000))).prop_map(
        move |((body, ready), pause_ms)| {
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
                step: Step::status(200).pieces(pieces),
                satisfies: Satisfies::Yes,
                ready,
            }
        },
    )
}

/// Answers whose body ends early: behind all of its JSON, which counts, or in its middle.
fn broken(operation: Operation) -> impl Strategy<Value = Turn> {
    let status = select(vec![200, 201, 404, 429, 503]);
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

fn nonsense(operation: Operation) -> impl Strategy<Value = Turn> {
    // No text of this alphabet is JSON that satisfies an operation.
    "[x{\\[:,]{0,40}".prop_map(move |body| Turn {
        step: Step::ok(body),
        satisfies: match operation {
            Operation::CreateAgent => Satisfies::Yes,
            _ => Satisfies::No,
        },
        ready: false,
    })
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

//! Anything may happen, for long: no phone rings twice without need, and the same seed gives the
//! same history.

use super::stage::*;
use std::collections::{BTreeMap, BTreeSet};

/// The observations of a host whose machine is driven by a random number generator.
struct Run {
    /// Every step, formatted.
    steps: Vec<String>,
    operations: BTreeMap<OperationId, Seen>,
}

#[derive(Default)]
struct Seen {
    creates: bool,
    is_cancelled: bool,
    sends: Vec<ExchangeId>,
    /// The last event of each exchange.
    outcomes: BTreeMap<ExchangeId, Heard>,
    done: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Heard {
    Status(u16),
    Failed(Delivery),
}

fn run(seed: u64) -> Run {
    let mut random = fastrand::Rng::with_seed(seed);
    let variables = [
        ("MAX_IN_FLIGHT", "4"),
        ("BACKOFF_MS", "500"),
        ("LOG", "attempts"),
    ];
    let mut stage = Stage::with_random(&variables, Random::Seed(seed));
    let mut steps = Vec::new();
    let mut operations = BTreeMap::<OperationId, Seen>::new();
    let mut open = Vec::<(ExchangeId, OperationId)>::new();
    let mut over = Vec::<ExchangeId>::new();
    let mut wake_at_ms = None;
    let mut next = 0;
    for _ in 0..400 {
        let mut events = Vec::new();
        let mut ended = Vec::new();
        for _ in 0..random.usize(0..4) {
            match random.u32(0..10) {
                0..4 => {
                    next += 1;
                    let creates = random.bool();
                    let seen = Seen {
                        creates,
                        ..Seen::default()
                    };
                    operations.insert(next, seen);
                    events.push(begin(next, if creates { create() } else { read() }));
                }
                4 if next > 0 => {
                    let operation = random.u64(1..=next);
                    let seen = operations.get_mut(&operation).unwrap();
                    seen.is_cancelled = true;
                    events.push(Event::Abandon(operation));
                }
                5 => {
                    let late = random.choice(&over);
                    events.extend(late.map(|exchange| answered(*exchange, 200, CREATED)));
                }
                _ if !open.is_empty() => {
                    let (exchange, operation) = open.swap_remove(random.usize(0..open.len()));
                    let (event, outcome) = what_comes(&mut random, exchange);
                    let seen = operations.get_mut(&operation).unwrap();
                    seen.outcomes.insert(exchange, outcome);
                    events.extend(event);
                    ended.push(exchange);
                }
                _ => {}
            }
        }
        stage.now_ms = match wake_at_ms {
            Some(wake_at_ms) if random.bool() => stage.now_ms.max(wake_at_ms),
            _ => stage.now_ms + random.u64(0..300),
        };
        let led = stage.step(events);
        over.append(&mut ended);
        wake_at_ms = led.wake_at_ms;
        assert!(wake_at_ms.is_none_or(|wake| wake > stage.now_ms));
        steps.push(format!("{:?} {wake_at_ms:?}", led.effects));
        for effect in &led.effects {
            match effect {
                Effect::Send(send) => {
                    open.push((send.exchange, send.operation));
                    let seen = operations.get_mut(&send.operation).unwrap();
                    assert_eq!(seen.done, 0, "an operation that has ended sends nothing");
                    assert!(!seen.is_cancelled, "nor one that is cancelled");
                    assert_eq!(seen.creates, send.creates);
                    seen.sends.push(send.exchange);
                }
                Effect::Abandon(exchange) => {
                    let before = open.len();
                    open.retain(|(open, _)| open != exchange);
                    assert_eq!(open.len() + 1, before, "only what is open, and once");
                    over.push(*exchange);
                }
                Effect::Done(done) => {
                    let seen = operations.get_mut(&done.operation).unwrap();
                    seen.done += 1;
                    assert!(open.iter().all(|(_, of)| *of != done.operation));
                }
                _ => {}
            }
        }
        for (operation, seen) in &operations {
            assert!(
                !seen.is_cancelled || seen.done == 1,
                "{operation} ends when it is cancelled"
            );
        }
    }
    Run { steps, operations }
}

fn what_comes(random: &mut fastrand::Rng, exchange: ExchangeId) -> (Vec<Event>, Heard) {
    match random.u32(0..8) {
        0 => (
            vec![failed(exchange, Delivery::NotSent)],
            Heard::Failed(Delivery::NotSent),
        ),
        1 => (
            vec![failed(exchange, Delivery::Unknown)],
            Heard::Failed(Delivery::Unknown),
        ),
        2 => (
            vec![
                head(exchange, 200),
                chunk(exchange, "{"),
                ended(exchange, Some("staged")),
            ],
            Heard::Status(200),
        ),
        3 => (vec![answered(exchange, 429, "")], Heard::Status(429)),
        4 => (vec![answered(exchange, 503, "")], Heard::Status(503)),
        5 => (vec![answered(exchange, 404, "")], Heard::Status(404)),
        _ => (vec![answered(exchange, 200, CREATED)], Heard::Status(200)),
    }
}

/// The outcomes after which a create is sent again: those that say that nothing was created, and
/// those that the service's specification asks clients to retry.
const RETRIED: [Heard; 3] = [
    Heard::Failed(Delivery::NotSent),
    Heard::Status(429),
    Heard::Status(503),
];

#[test]
fn a_create_is_retried_only_after_an_outcome_that_allows_it_and_never_while_in_flight() {
    let mut retries = 0;
    for seed in 0..60 {
        for (operation, seen) in run(seed).operations {
            assert!(seen.done <= 1, "{operation}");
            let distinct: BTreeSet<_> = seen.sends.iter().collect();
            assert_eq!(distinct.len(), seen.sends.len());
            let Some((_, before)) = seen.sends.split_last().filter(|_| seen.creates) else {
                continue;
            };
            for exchange in before {
                let outcome = seen.outcomes.get(exchange);
                let outcome = outcome.expect("no create is sent while another of it is open");
                assert!(RETRIED.contains(outcome), "{seed} {operation} {outcome:?}");
                retries += 1;
            }
        }
    }
    assert!(retries > 100, "{retries}");
}

#[test]
fn the_same_events_twice_have_the_same_effects() {
    for seed in 0..20 {
        let (one, other) = (run(seed), run(seed));
        assert_eq!(one.steps, other.steps);
    }
}

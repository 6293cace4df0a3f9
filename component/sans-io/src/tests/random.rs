//! Anything may happen, for long: no phone rings twice without need, and the same seed gives the
//! same history.

use super::stage::*;
use std::collections::{BTreeMap, BTreeSet};

/// The observations of a host whose machine is driven by a random number generator.
struct Run {
    /// Every step, formatted.
    steps: Vec<String>,
    operations: BTreeMap<OperationId, Observed>,
}

#[derive(Default)]
struct Observed {
    creates: bool,
    is_cancelled: bool,
    sends: Vec<ExchangeId>,
    /// The last event of each exchange.
    outcomes: BTreeMap<ExchangeId, Received>,
    done: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Received {
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
    let mut operations = BTreeMap::<OperationId, Observed>::new();
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
                    let observed = Observed {
                        creates,
                        ..Observed::default()
                    };
                    operations.insert(next, observed);
                    events.push(begin(next, if creates { create() } else { read() }));
                }
                4 if next > 0 => {
                    let operation = random.u64(1..=next);
                    let observed = operations.get_mut(&operation).unwrap();
                    observed.is_cancelled = true;
                    events.push(Event::Abandon(operation));
                }
                5 => {
                    let late = random.choice(&over);
                    events.extend(late.map(|exchange| answered(*exchange, 200, CREATED)));
                }
                _ if !open.is_empty() => {
                    let (exchange, operation) = open.swap_remove(random.usize(0..open.len()));
                    let (event, outcome) = random_response(&mut random, exchange);
                    let observed = operations.get_mut(&operation).unwrap();
                    observed.outcomes.insert(exchange, outcome);
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
        let stepped = stage.step(events);
        over.append(&mut ended);
        wake_at_ms = stepped.wake_at_ms;
        assert!(wake_at_ms.is_none_or(|wake| wake > stage.now_ms));
        steps.push(format!("{:?} {wake_at_ms:?}", stepped.effects));
        for effect in &stepped.effects {
            match effect {
                Effect::Send(send) => {
                    open.push((send.exchange, send.operation));
                    let observed = operations.get_mut(&send.operation).unwrap();
                    assert_eq!(
                        observed.done, 0,
                        "an operation that has ended sends nothing"
                    );
                    assert!(!observed.is_cancelled, "nor one that is cancelled");
                    assert_eq!(observed.creates, send.creates);
                    observed.sends.push(send.exchange);
                }
                Effect::Abandon(exchange) => {
                    let before = open.len();
                    open.retain(|(open, _)| open != exchange);
                    assert_eq!(open.len() + 1, before, "only what is open, and once");
                    over.push(*exchange);
                }
                Effect::Done(done) => {
                    let observed = operations.get_mut(&done.operation).unwrap();
                    observed.done += 1;
                    assert!(open.iter().all(|(_, of)| *of != done.operation));
                }
                _ => {}
            }
        }
        for (operation, observed) in &operations {
            assert!(
                !observed.is_cancelled || observed.done == 1,
                "{operation} ends when it is cancelled"
            );
        }
    }
    Run { steps, operations }
}

fn random_response(random: &mut fastrand::Rng, exchange: ExchangeId) -> (Vec<Event>, Received) {
    match random.u32(0..8) {
        0 => (
            vec![failed(exchange, Delivery::NotSent)],
            Received::Failed(Delivery::NotSent),
        ),
        1 => (
            vec![failed(exchange, Delivery::Unknown)],
            Received::Failed(Delivery::Unknown),
        ),
        2 => (
            vec![
                head(exchange, 200),
                chunk(exchange, "{"),
                ended(exchange, Some("staged")),
            ],
            Received::Status(200),
        ),
        3 => (vec![answered(exchange, 429, "")], Received::Status(429)),
        4 => (vec![answered(exchange, 503, "")], Received::Status(503)),
        5 => (vec![answered(exchange, 404, "")], Received::Status(404)),
        _ => (
            vec![answered(exchange, 200, CREATED)],
            Received::Status(200),
        ),
    }
}

/// The outcomes after which a create is sent again: those that say that nothing was created, and
/// those that the service's specification asks clients to retry.
const RETRIED: [Received; 3] = [
    Received::Failed(Delivery::NotSent),
    Received::Status(429),
    Received::Status(503),
];

#[test]
fn a_create_is_retried_only_after_an_outcome_that_allows_it_and_never_while_in_flight() {
    let mut retries = 0;
    for seed in 0..60 {
        for (operation, observed) in run(seed).operations {
            assert!(observed.done <= 1, "{operation}");
            let distinct: BTreeSet<_> = observed.sends.iter().collect();
            assert_eq!(distinct.len(), observed.sends.len());
            let Some((_, before)) = observed.sends.split_last().filter(|_| observed.creates) else {
                continue;
            };
            for exchange in before {
                let outcome = observed.outcomes.get(exchange);
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

//! Thousands of operations at once.

use super::stage::*;
use std::time::Instant;

const MANY: u64 = 10_000;

/// Returns a stage on which so many operations have begun, and the exchanges of those with places.
fn begun(places: &str, call: fn() -> Call) -> (Stage, Vec<ExchangeId>) {
    let mut stage = Stage::with(&[("MAX_IN_FLIGHT", places)]);
    let stepped = stage.step((0..MANY).map(|operation| begin(operation, call())));
    let exchanges = stepped.sends().iter().map(|send| send.exchange).collect();
    (stage, exchanges)
}

#[test]
fn ten_thousand_operations_are_answered_or_cancelled_in_linear_time() {
    let began = Instant::now();
    let (mut stage, exchanges) = begun("5000", create);
    assert_eq!(exchanges.len(), 5_000);
    let mut sent = 0;
    for exchange in exchanges.iter().take(1_000).rev() {
        let stepped = stage.step([answered(*exchange, 200, CREATED)]);
        assert!(stepped.done()[0].outcome.is_ok());
        sent += stepped.sends().len();
    }
    let mut ended = 1_000;
    for operation in 0..MANY {
        let stepped = stage.step([Event::Abandon(operation)]);
        ended += stepped.done().len();
        sent += stepped.sends().len();
    }
    assert_eq!(
        (ended, sent),
        (10_000, 5_000),
        "each has a place when it is free"
    );
    assert_eq!(stage.step([]).wake_at_ms, None);
    // No step examines all of them for each: this takes a tenth of a second.
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}

#[test]
fn ten_thousand_retries_that_are_due_at_once_are_sent_in_one_step() {
    let (mut stage, exchanges) = begun("10000", read);
    let answers = exchanges.iter().map(|it| answered(*it, 503, ""));
    stage.step(answers).assert_nothing();
    let stepped = stage.step_at(2_000, []);
    assert_eq!(stepped.sends().len() as u64, MANY);
    assert_eq!(stepped.wake_at_ms, Some(12_000));
}

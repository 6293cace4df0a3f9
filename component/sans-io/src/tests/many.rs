//! Thousands of operations at once.

use super::stage::*;
use std::time::Instant;

const MANY: u64 = 10_000;

#[test]
fn ten_thousand_operations_are_under_way_at_once() {
    let mut stage = Stage::with(&[("MAX_IN_FLIGHT", "10000")]);
    let began = Instant::now();
    let led = stage.step((0..MANY).map(|operation| begin(operation, create())));
    let exchanges: Vec<_> = led.sends().iter().map(|send| send.exchange).collect();
    assert_eq!(exchanges.len() as u64, MANY);
    // Answered in another order, and most of them at once.
    let (some, others) = exchanges.split_at(1_000);
    let mut done = 0;
    for exchange in some.iter().rev() {
        done += stage.step([answered(*exchange, 200, CREATED)]).done().len();
    }
    let others = others
        .iter()
        .map(|exchange| answered(*exchange, 200, CREATED));
    let led = stage.step(others);
    done += led.done().len();
    assert!(led.done().iter().all(|done| done.outcome.is_ok()));
    assert_eq!((done as u64, led.wake_at_ms), (MANY, None));
    // Nothing looks at all of them for each: this takes a tenth of a second.
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}

#[test]
fn ten_thousand_operations_are_abandoned_one_by_one() {
    let mut stage = Stage::with(&[("MAX_IN_FLIGHT", "5000")]);
    let began = Instant::now();
    let led = stage.step((0..MANY).map(|operation| begin(operation, create())));
    assert_eq!(led.sends().len(), 5_000);
    let mut sent = 0;
    for operation in 0..MANY {
        let led = stage.step([Event::Abandon(operation)]);
        assert_eq!(led.done()[0].operation, operation);
        sent += led.sends().len();
    }
    assert_eq!(sent, 5_000, "each has a place when it is free");
    assert_eq!(stage.step([]).wake_at_ms, None);
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}

#[test]
fn ten_thousand_retries_that_are_due_at_once_are_sent_in_one_step() {
    let mut stage = Stage::with(&[("MAX_IN_FLIGHT", "10000")]);
    let led = stage.step((0..MANY).map(|operation| begin(operation, read())));
    let answers: Vec<_> = led
        .sends()
        .iter()
        .map(|send| answered(send.exchange, 503, ""))
        .collect();
    let led = stage.step(answers);
    led.assert_nothing();
    let led = stage.step_at(2_000, []);
    assert_eq!(led.sends().len() as u64, MANY);
    assert_eq!(led.wake_at_ms, Some(12_000));
}

//! Cancelled operations report what is known, at once, and send nothing more.

use super::stage::*;
use voice_calling_core::CANCELLED;

/// Brings a read or a create with the number 1 into a state, and returns the other events of the
/// step that cancels it.
type State = fn(&mut Stage, Call) -> Vec<Event>;

/// States, with the case in which a read and a create end, and their number of attempts.
const STATES: [(State, &str, &str, usize); 12] = [
    // As it begins.
    (|_, call| vec![begin(1, call)], "timed-out", "timed-out", 0),
    // While others hold all places.
    (
        |stage, call| {
            stage.begin(2, read());
            stage.step([begin(1, call)]).assert_nothing();
            vec![]
        },
        "timed-out",
        "timed-out",
        0,
    ),
    // While a rate limit of others holds it back.
    (
        |stage, call| {
            let other = stage.begin(2, read());
            let limited = answered_with(other, 429, &[("retry-after", "9")], "");
            stage.step([limited]).assert_nothing();
            stage.step([begin(1, call)]).assert_nothing();
            vec![]
        },
        "timed-out",
        "timed-out",
        0,
    ),
    // In flight.
    (
        |stage, call| sent(stage, call, |_| vec![]),
        "timed-out",
        UNKNOWN,
        1,
    ),
    // In the body.
    (
        |stage, call| sent(stage, call, |it| vec![head(it, 200), chunk(it, "{")]),
        "timed-out",
        "unexpected-response",
        1,
    ),
    // A response in the same step counts.
    (
        |stage, call| vec![answered(stage.begin(1, call), 200, CREATED)],
        "ok",
        "ok",
        0,
    ),
    // A response without its end counts if it is complete.
    (
        |stage, call| sent(stage, call, |it| vec![head(it, 200), chunk(it, CREATED)]),
        "ok",
        "ok",
        0,
    ),
    // In the step in which its pause would begin.
    (
        |stage, call| vec![answered(stage.begin(1, call), 503, "")],
        "unavailable",
        UNKNOWN,
        1,
    ),
    // In the pause.
    (
        |stage, call| sent(stage, call, |it| vec![failed(it, Delivery::NotSent)]),
        "unreachable",
        "unreachable",
        1,
    ),
    (
        |stage, call| sent(stage, call, |it| vec![answered(it, 429, "")]),
        "rate-limited",
        "rate-limited",
        1,
    ),
    // When its pause is over.
    (
        |stage, call| {
            sent(stage, call, |it| vec![answered(it, 503, "")]);
            stage.now_ms = 9_000;
            vec![]
        },
        "unavailable",
        UNKNOWN,
        1,
    ),
    // A wait that has seen a docket is pending.
    (
        |stage, _| {
            let open = r#"{"status":"OPEN"}"#;
            let first = stage.begin(1, wait(60_000));
            stage.step([answered(first, 200, open)]).assert_nothing();
            stage.step_at(2_000, []).only_send();
            vec![]
        },
        "ok",
        "ok",
        0,
    ),
];

const UNKNOWN: &str = "outcome-unknown";

/// Sends the operation's request, and applies events that do not end it.
fn sent(stage: &mut Stage, call: Call, happens: fn(ExchangeId) -> Vec<Event>) -> Vec<Event> {
    let exchange = stage.begin(1, call);
    stage.step(happens(exchange)).assert_nothing();
    Vec::new()
}

#[test]
fn an_operation_ends_in_the_step_that_cancels_it_in_every_state() {
    for (index, (state, of_read, of_create, attempts)) in STATES.into_iter().enumerate() {
        for (call, expected) in [(read(), of_read), (create(), of_create)] {
            let mut stage = Stage::with(&[("MAX_IN_FLIGHT", "1")]);
            let mut events = state(&mut stage, call);
            events.push(Event::Abandon(1));
            let stepped = stage.step(events);
            let done = stepped.done();
            assert_eq!((done.len(), done[0].operation), (1, 1), "{index}");
            let outcome = &done[0].outcome;
            assert_eq!(case(outcome), expected, "{index}");
            if outcome.is_err() {
                let failure = failure(outcome);
                assert_eq!(failure.attempts.len(), attempts, "{index}");
                let message = &failure.message;
                assert_eq!(message.matches(CANCELLED).count(), 1, "{message}");
                let is_unknown = failure.kind.is_permanent();
                assert_eq!(failure.may_have_created, is_unknown, "{index}");
            }
            if let Ok(Output::WaitForDocket(waited)) = outcome {
                assert!(matches!(&waited.outcome, DocketOutcome::Pending(Some(_))));
            }
            // Nothing is left of the operation, and its exchange is ignored.
            let stepped = stage.step_at(stage.now_ms + 1_000_000, [Event::Abandon(1)]);
            let of_it = stepped.sends().iter().any(|send| send.operation == 1);
            assert!(!of_it && stepped.done().iter().all(|done| done.operation == 2));
            stage.step([answered(1, 200, CREATED)]);
        }
    }
}

#[test]
fn an_exchange_in_flight_is_cancelled_with_its_operation_and_others_go_on() {
    let mut stage = Stage::with(&[]);
    let other = stage.begin(2, create());
    let first = stage.begin(1, create());
    stage.now_ms = 700;
    let stepped = stage.step([Event::Abandon(1)]);
    let outcome = stepped.done_after_cancelling(first);
    let attempt = &failure(&outcome).attempts[0];
    assert_eq!(attempt.duration_ms, 700);
    assert_eq!(attempt.transport_error.as_deref(), Some(CANCELLED));
    stage.step([answered(first, 200, CREATED)]).assert_nothing();
    let stepped = stage.step([answered(other, 200, CREATED)]);
    assert_eq!(stepped.wake_at_ms, None);
    assert!(stepped.only_done().is_ok());
}

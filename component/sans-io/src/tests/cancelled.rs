//! Cancelled operations report what is known, at once, and send nothing more.

use super::stage::*;

const CANCELLED: &str = "cancelled by the caller";

/// Brings operation 1 into a state, and returns the other events of the step that cancels it.
type State = fn(&mut Stage) -> Vec<Event>;

/// Asserts that an error says that its operation was cancelled, and returns its case and the number
/// of its attempts.
fn case_and_attempts(outcome: &Result<Output, RequestError>) -> (String, usize) {
    if outcome.is_ok() {
        return (case(outcome), 0);
    }
    let failure = failure(outcome);
    let message = &failure.message;
    assert_eq!(message.matches(CANCELLED).count(), 1, "{message}");
    let is_unknown = case(outcome).starts_with("Permanent");
    assert_eq!(failure.may_have_created, is_unknown, "{outcome:?}");
    (case(outcome), failure.attempts.len())
}

/// `operation` in the core has the outcomes of attempts.
#[test]
fn an_operation_ends_in_the_step_that_cancels_it_in_every_state() {
    let unknown = "PermanentOutcomeUnknown";
    let states: [(State, &str, usize); 9] = [
        // As it begins.
        (|_| vec![begin(1, create())], "TimedOut", 0),
        // While others hold all places.
        (
            |stage| {
                stage.begin(2, read());
                stage.step([begin(1, create())]).assert_nothing();
                vec![]
            },
            "TimedOut",
            0,
        ),
        // While a rate limit of others holds it back.
        (
            |stage| {
                let other = stage.begin(2, read());
                let limited = answered_with(other, 429, &[("retry-after", "9")], "");
                stage.step([limited]).assert_nothing();
                stage.step([begin(1, create())]).assert_nothing();
                vec![]
            },
            "TimedOut",
            0,
        ),
        // In flight.
        (|stage| sent(stage, create(), |_| vec![]), unknown, 1),
        // A response in the same step counts.
        (
            |stage| vec![answered(stage.begin(1, create()), 200, CREATED)],
            "Ok",
            0,
        ),
        // A response without its end counts if it is complete.
        (
            |stage| {
                sent(stage, create(), |it| {
                    vec![head(it, 200), chunk(it, CREATED)]
                })
            },
            "Ok",
            0,
        ),
        // In the step in which its pause would begin.
        (
            |stage| vec![answered(stage.begin(1, create()), 503, "")],
            unknown,
            1,
        ),
        // When its pause is over.
        (
            |stage| {
                sent(stage, create(), |it| vec![answered(it, 503, "")]);
                stage.now_ms = 9_000;
                vec![]
            },
            unknown,
            1,
        ),
        // A wait that has seen a docket is pending.
        (
            |stage| {
                let open = r#"{"status":"OPEN"}"#;
                let first = stage.begin(1, wait(60_000));
                stage.step([answered(first, 200, open)]).assert_nothing();
                stage.step_at(2_000, []).only_send();
                vec![]
            },
            "Ok",
            0,
        ),
    ];
    for (index, (state, expected, attempts)) in states.into_iter().enumerate() {
        let mut stage = Stage::with(&[("MAX_IN_FLIGHT", "1")]);
        let mut events = state(&mut stage);
        events.push(Event::Abandon(1));
        let stepped = stage.step(events);
        let done = stepped.done();
        assert_eq!((done.len(), done[0].operation), (1, 1), "{index}");
        let outcome = &done[0].outcome;
        let expected = (expected.to_owned(), attempts);
        assert_eq!(case_and_attempts(outcome), expected, "{index}");
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

/// Sends the operation's request, and applies events that do not end it.
fn sent(stage: &mut Stage, call: Call, happens: fn(ExchangeId) -> Vec<Event>) -> Vec<Event> {
    let exchange = stage.begin(1, call);
    stage.step(happens(exchange)).assert_nothing();
    Vec::new()
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

//! Operations that are given up: they say what is known, at once, and send nothing more.

use super::stage::*;

const ABANDONED: &str = "cancelled by the caller";

fn abandon() -> [Event; 1] {
    [Event::Abandon(1)]
}

/// An error that says that its operation was abandoned.
fn assert_says_so(outcome: &Result<Answer, RequestError>) {
    let message = &failure(outcome).message;
    assert_eq!(message.matches(ABANDONED).count(), 1, "{message}");
}

/// Nothing is left of it.
fn assert_over(stage: &mut Stage) {
    let led = stage.step_at(stage.now_ms + 1_000_000, abandon());
    led.assert_nothing();
    assert_eq!(led.wake_at_ms, None);
}

fn assert_not_sent(outcome: &Result<Answer, RequestError>) {
    assert!(
        matches!(outcome, Err(RequestError::TimedOut(_))),
        "{outcome:?}"
    );
    let failure = failure(outcome);
    assert!(failure.attempts.is_empty() && !failure.may_have_created);
    assert_says_so(outcome);
}

fn assert_unknown(outcome: &Result<Answer, RequestError>) {
    assert!(
        matches!(outcome, Err(RequestError::PermanentOutcomeUnknown(_))),
        "{outcome:?}"
    );
    assert!(failure(outcome).may_have_created);
    assert_says_so(outcome);
}

#[test]
fn in_the_step_in_which_it_begins() {
    for call in [create(), read(), wait(1_000)] {
        let mut stage = Stage::with(&[]);
        let [abandon] = abandon();
        assert_not_sent(&stage.step([begin(1, call), abandon]).only_done());
        assert_over(&mut stage);
    }
}

#[test]
fn while_others_have_all_places() {
    let mut stage = Stage::with(&[("MAX_IN_FLIGHT", "1")]);
    let other = stage.begin(2, read());
    stage.step([begin(1, create())]).assert_nothing();
    assert_not_sent(&stage.step_at(100, abandon()).only_done());
    let led = stage.step([answered(other, 200, "{}")]);
    assert!(led.only_done().is_ok());
    assert_over(&mut stage);
}

#[test]
fn while_a_rate_limit_of_others_holds_it_back() {
    let mut stage = Stage::with(&[]);
    let other = stage.begin(2, read());
    let limited = answered_with(other, 429, &[("retry-after", "10")], "");
    stage.step([limited]).assert_nothing();
    stage.step([begin(1, create())]).assert_nothing();
    let led = stage.step_at(100, abandon());
    assert_eq!(led.wake_at_ms, Some(10_000), "the other one still waits");
    assert_not_sent(&led.only_done());
    let again = stage.step_at(10_000, []).only_send();
    assert_eq!(again.operation, 2);
}

#[test]
fn a_create_in_flight_is_unknown() {
    let mut stage = Stage::with(&[]);
    let exchange = stage.begin(1, create());
    let outcome = stage
        .step_at(700, abandon())
        .done_after_abandoning(exchange);
    assert_unknown(&outcome);
    let attempts = &failure(&outcome).attempts;
    assert_eq!((attempts.len(), attempts[0].duration_ms), (1, 700));
    assert_eq!(attempts[0].transport_error.as_deref(), Some(ABANDONED));
    stage
        .step([answered(exchange, 200, CREATED)])
        .assert_nothing();
    assert_over(&mut stage);
}

#[test]
fn a_create_whose_answer_comes_in_the_same_step_is_created() {
    for abandoned_first in [true, false] {
        let mut stage = Stage::with(&[]);
        let exchange = stage.begin(1, create());
        let mut events = vec![answered(exchange, 200, CREATED), Event::Abandon(1)];
        if abandoned_first {
            events.reverse();
        }
        let outcome = stage.step(events).only_done();
        assert!(
            matches!(outcome, Ok(Answer::CreateDocketV2(_))),
            "{outcome:?}"
        );
    }
}

#[test]
fn a_create_whose_answer_is_under_way_keeps_what_came() {
    let mut stage = Stage::with(&[]);
    let exchange = stage.begin(1, create());
    stage
        .step([head(exchange, 200), chunk(exchange, "{\"docket")])
        .assert_nothing();
    let outcome = stage.step(abandon()).done_after_abandoning(exchange);
    assert!(matches!(
        outcome,
        Err(RequestError::PermanentUnexpectedResponse(_))
    ));
    assert_says_so(&outcome);
    let response = failure(&outcome).response.as_ref().unwrap();
    assert_eq!(response.body, "{\"docket");
    assert_over(&mut stage);
}

#[test]
fn a_create_whose_whole_answer_has_come_is_created_although_its_end_has_not() {
    let mut stage = Stage::with(&[]);
    let exchange = stage.begin(1, create());
    stage
        .step([head(exchange, 200), chunk(exchange, CREATED)])
        .assert_nothing();
    let outcome = stage.step(abandon()).done_after_abandoning(exchange);
    assert!(
        matches!(outcome, Ok(Answer::CreateDocketV2(_))),
        "{outcome:?}"
    );
    assert_over(&mut stage);
}

#[test]
fn a_create_between_attempts_is_what_the_attempts_say() {
    type Case = fn(&RequestError) -> bool;
    for (event, is_case, may_have_created) in [
        (
            answered(1, 503, ""),
            (|error| matches!(error, RequestError::PermanentOutcomeUnknown(_))) as Case,
            true,
        ),
        (
            answered(1, 429, ""),
            |error| matches!(error, RequestError::RateLimited(_)),
            false,
        ),
        (
            failed(1, Delivery::NotSent),
            |error| matches!(error, RequestError::Unreachable(_)),
            false,
        ),
    ] {
        // In the pause, and in the very step in which the answer comes.
        for at_once in [true, false] {
            let mut stage = Stage::with(&[]);
            assert_eq!(stage.begin(1, create()), 1);
            let outcome = if at_once {
                stage.step([event.clone(), Event::Abandon(1)]).only_done()
            } else {
                stage.step([event.clone()]).assert_nothing();
                stage.step_at(200, abandon()).only_done()
            };
            assert!(is_case(outcome.as_ref().unwrap_err()), "{outcome:?}");
            let failure = failure(&outcome);
            assert_eq!(failure.may_have_created, may_have_created);
            assert_eq!(failure.attempts.len(), 1);
            assert_says_so(&outcome);
            assert_over(&mut stage);
        }
    }
}

#[test]
fn a_create_in_its_second_attempt_is_unknown_with_both() {
    let mut stage = Stage::with(&[]);
    let first = stage.begin(1, create());
    let resume_ms = stage.step([answered(first, 429, "")]).wake_at_ms.unwrap();
    let second = stage.step_at(resume_ms, []).only_send().exchange;
    let outcome = stage.step(abandon()).done_after_abandoning(second);
    assert_unknown(&outcome);
    assert_eq!(failure(&outcome).attempts.len(), 2);
    assert_over(&mut stage);
}

#[test]
fn a_create_is_over_in_the_step_in_which_its_pause_is_over_too() {
    let mut stage = Stage::with(&[]);
    let first = stage.begin(1, create());
    let resume_ms = stage.step([answered(first, 503, "")]).wake_at_ms.unwrap();
    let led = stage.step_at(resume_ms + 5, abandon());
    assert_unknown(&led.only_done());
    assert_over(&mut stage);
}

#[test]
fn a_read_in_flight_is_timed_out() {
    let mut stage = Stage::with(&[]);
    let exchange = stage.begin(1, read());
    let outcome = stage.step(abandon()).done_after_abandoning(exchange);
    assert!(
        matches!(outcome, Err(RequestError::TimedOut(_))),
        "{outcome:?}"
    );
    assert_eq!(failure(&outcome).attempts.len(), 1);
    assert_says_so(&outcome);
    assert_over(&mut stage);
}

#[test]
fn a_wait_is_pending_with_what_was_seen_last() {
    // In the pause before the next poll, and while that is under way.
    for polls in [1, 2] {
        let mut stage = Stage::with(&[("BACKOFF_MS", "1000")]);
        let first = stage.begin(1, wait(60_000));
        stage
            .step([answered(first, 200, r#"{"status":"OPEN"}"#)])
            .assert_nothing();
        let outcome = if polls == 1 {
            stage.step_at(400, abandon()).only_done()
        } else {
            let second = stage.step_at(1_000, []).only_send().exchange;
            stage.step(abandon()).done_after_abandoning(second)
        };
        let Ok(Answer::WaitForDocket(waited)) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!(waited.polls, polls);
        assert!(
            matches!(&waited.outcome, DocketOutcome::Pending(Some(seen)) if seen.status == Some(DocketStatus::Open)),
            "{waited:?}"
        );
        assert_over(&mut stage);
    }
}

#[test]
fn a_wait_that_saw_nothing_fails_as_its_poll_did() {
    let mut stage = Stage::with(&[]);
    let first = stage.begin(1, wait(60_000));
    let outcome = stage.step(abandon()).done_after_abandoning(first);
    assert!(
        matches!(outcome, Err(RequestError::TimedOut(_))),
        "{outcome:?}"
    );
    assert_eq!(failure(&outcome).attempts.len(), 1);
    assert_says_so(&outcome);
    assert_over(&mut stage);
}

#[test]
fn a_batch_tells_of_each_item_what_is_known() {
    // With many requests at once it is other futures that are woken.
    for in_flight in [3, 64] {
        let mut stage = Stage::with(&[("MAX_IN_FLIGHT", &in_flight.to_string())]);
        let led = stage.step([begin(1, batch(200, 60_000))]);
        let exchanges: Vec<_> = led.sends().iter().map(|send| send.exchange).collect();
        assert_eq!(exchanges.len(), in_flight);
        // One is created, one is in its pause, and the rest is in flight or waits.
        stage.step([
            answered(exchanges[0], 200, CREATED),
            answered_with(exchanges[1], 503, &[("retry-after", "5")], ""),
        ]);
        let led = stage.step_at(10, abandon());
        assert!(led.sends().is_empty());
        assert_eq!(led.done()[0].outcome, Ok(Answer::CreateDocketsV2));
        let items = led.items();
        assert_eq!(items.len(), 199, "each that was not reported");
        let mut begun = 0;
        for item in &items {
            let outcome = item.created.clone().map(Answer::CreateDocketV2);
            match failure(&outcome).attempts.len() {
                0 => assert_not_sent(&outcome),
                _ => {
                    assert_unknown(&outcome);
                    begun += 1;
                }
            }
        }
        assert_eq!(begun, led.abandoned().len() + 1);
        assert_over(&mut stage);
    }
}

#[test]
fn others_go_on() {
    let mut stage = Stage::with(&[]);
    let exchange = stage.begin(2, create());
    let first = stage.begin(1, create());
    let led = stage.step(abandon());
    assert_eq!(led.abandoned(), [first]);
    let led = stage.step([answered(exchange, 200, CREATED)]);
    assert!(led.only_done().is_ok());
}

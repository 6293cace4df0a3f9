//! Time passes only as the host says.

use super::stage::*;

const RETRY: [(&str, &str); 2] = [("BACKOFF_MS", "1000"), ("ATTEMPT_TIMEOUT_MS", "5000")];

#[test]
fn a_retry_is_sent_when_its_pause_is_over_and_no_earlier() {
    let mut stage = Stage::with(&RETRY);
    let first = stage.begin(1, create());
    stage.now_ms = 40;
    let led = stage.step([answered(first, 503, "")]);
    led.assert_nothing();
    let resume_ms = led.wake_at_ms.unwrap();
    assert!((540..=1_040).contains(&resume_ms), "{resume_ms}");
    let led = stage.step_at(resume_ms - 1, []);
    led.assert_nothing();
    assert_eq!(led.wake_at_ms, Some(resume_ms));
    let second = stage.step_at(resume_ms, []).only_send();
    assert_ne!(second.exchange, first);
    assert!(second.creates);
    let created = stage
        .step([answered(second.exchange, 200, CREATED)])
        .only_done();
    let Ok(Answer::CreateDocketV2(created)) = created else {
        panic!("{created:?}")
    };
    assert!(created.may_be_duplicate);
    let attempts: Vec<_> = created.attempts.iter().collect();
    assert_eq!(
        (attempts[0].status, attempts[0].duration_ms),
        (Some(503), 40)
    );
    assert_eq!(u64::from(attempts[1].started_ms), resume_ms);
}

#[test]
fn pauses_differ_by_the_seed_and_by_nothing_else() {
    let pause = |seed| {
        let mut stage = Stage::with_random(&RETRY, Random::Seed(seed));
        let first = stage.begin(1, read());
        stage.step([answered(first, 503, "")]).wake_at_ms
    };
    assert_eq!(pause(1), pause(1));
    let pauses: std::collections::BTreeSet<_> = (0..20).map(pause).collect();
    assert!(pauses.len() > 10, "{pauses:?}");
}

#[test]
fn a_fixed_number_is_each_that_is_drawn() {
    for (number, pauses_ms) in [(0, [1_000, 2_000]), (1_000, [2_000, 3_000])] {
        let mut stage = Stage::with_random(&[], Random::Fixed(number));
        let first = stage.begin(1, read());
        let wake_at_ms = stage.step([answered(first, 503, "")]).wake_at_ms.unwrap();
        assert_eq!(wake_at_ms, pauses_ms[0]);
        let second = stage.step_at(wake_at_ms, []).sends()[0].exchange;
        let led = stage.step([answered(second, 503, "")]);
        assert_eq!(led.wake_at_ms.unwrap() - wake_at_ms, pauses_ms[1]);
    }
}

#[test]
fn an_attempt_ends_when_its_time_is_up_and_its_exchange_with_it() {
    let mut stage = Stage::with(&RETRY);
    let first = stage.begin(1, create());
    let led = stage.step_at(4_999, []);
    led.assert_nothing();
    assert_eq!(led.wake_at_ms, Some(5_000));
    let outcome = stage.step_at(5_000, []).done_after_abandoning(first);
    assert!(matches!(
        outcome,
        Err(RequestError::PermanentOutcomeUnknown(_))
    ));
    assert!(failure(&outcome).may_have_created);
    // Whatever comes now is too late.
    for event in [
        answered(first, 200, CREATED),
        failed(first, Delivery::NotSent),
        head(first, 200),
        chunk(first, CREATED),
        ended(first, None),
    ] {
        stage.step([event]).assert_nothing();
    }
}

#[test]
fn a_read_without_an_answer_in_time_is_retried() {
    let mut stage = Stage::with(&RETRY);
    let first = stage.begin(1, read());
    let led = stage.step_at(5_000, []);
    assert_eq!((led.abandoned(), led.effects.len()), (vec![first], 1));
    let second = stage.step_at(led.wake_at_ms.unwrap(), []).only_send();
    assert!(
        stage
            .step([answered(second.exchange, 200, "{}")])
            .only_done()
            .is_ok()
    );
}

/// Or a created id would be lost with the attempt.
#[test]
fn an_answer_that_comes_in_the_step_in_which_its_time_is_up_counts() {
    let mut stage = Stage::with(&RETRY);
    let first = stage.begin(1, create());
    let outcome = stage
        .step_at(9_000, [answered(first, 200, CREATED)])
        .only_done();
    assert!(
        matches!(outcome, Ok(Answer::CreateDocketV2(_))),
        "{outcome:?}"
    );
}

#[test]
fn what_came_of_a_body_by_then_is_in_the_error_of_a_create() {
    for (before, at_the_end) in [
        (vec![], vec![head(1, 200), chunk(1, "{\"docket_id\":")]),
        (vec![head(1, 200)], vec![chunk(1, "{\"docket_id\":")]),
        (
            vec![head(1, 200), chunk(1, "{\"docket")],
            vec![chunk(1, "_id\":")],
        ),
        (vec![head(1, 200), chunk(1, "{\"docket_id\":")], vec![]),
    ] {
        let mut stage = Stage::with(&RETRY);
        assert_eq!(stage.begin(1, create()), 1);
        let led = stage.step(before);
        led.assert_nothing();
        assert_eq!(led.wake_at_ms, Some(5_000));
        let outcome = stage.step_at(5_000, at_the_end).done_after_abandoning(1);
        assert!(
            matches!(outcome, Err(RequestError::PermanentUnexpectedResponse(_))),
            "{outcome:?}"
        );
        let failure = failure(&outcome);
        assert!(failure.may_have_created);
        let response = failure.response.as_ref().unwrap();
        assert_eq!((response.status, &*response.body), (200, "{\"docket_id\":"));
        assert!(response.body_cut);
    }
}

#[test]
fn timers_are_fired_in_the_order_in_which_they_are_due() {
    let mut stage = Stage::with(&[("MAX_ATTEMPTS", "1")]);
    for (operation, attempt_ms) in [(1, 3_000), (2, 1_000), (3, 2_000)] {
        let options = CallOptions {
            account: None,
            deadline_ms: Some(attempt_ms),
            max_attempts: None,
        };
        stage
            .step([begin_with(operation, read(), Some(options))])
            .only_send();
    }
    let led = stage.step_at(2_500, []);
    let done: Vec<_> = led.done().iter().map(|done| done.operation).collect();
    assert_eq!((done, led.wake_at_ms), (vec![2, 3], Some(3_000)));
}

#[test]
fn a_clock_that_goes_back_stands_still() {
    let mut stage = Stage::with(&RETRY);
    let first = stage.begin(1, read());
    stage.now_ms = 1_000;
    stage.step([]).assert_nothing();
    stage.now_ms = 400;
    let led = stage.step([answered(first, 404, "")]);
    let done = led.only_done();
    assert_eq!(failure(&done).attempts[0].duration_ms, 1_000);
}

#[test]
fn a_wait_polls_until_its_docket_is_completed() {
    let mut stage = Stage::with(&[("BACKOFF_MS", "1000")]);
    let first = stage.begin(1, wait(60_000));
    let led = stage.step([answered(first, 200, r#"{"status":"OPEN"}"#)]);
    assert_eq!(led.wake_at_ms, Some(1_000));
    let second = stage.step_at(1_000, []).only_send().exchange;
    let led = stage.step([failed(second, Delivery::Unknown)]);
    led.assert_nothing();
    let third = stage
        .step_at(led.wake_at_ms.unwrap(), [])
        .only_send()
        .exchange;
    let completed = r#"{"status":"COMPLETED","docket_insights":{"x":1}}"#;
    let outcome = stage.step([answered(third, 200, completed)]).only_done();
    let Ok(Answer::WaitForDocket(waited)) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(waited.polls, 2);
    assert!(matches!(waited.outcome, DocketOutcome::Completed(_)));
}

#[test]
fn a_date_is_read_against_the_hosts() {
    let mut stage = Stage::with(&[]);
    let first = stage.begin(1, read());
    // Seven seconds after the beginning.
    let retry_after = [("Retry-After", "Sun, 06 Nov 1994 08:49:44 GMT")];
    let led = stage.step([answered_with(first, 429, &retry_after, "")]);
    assert_eq!(led.wake_at_ms, Some(7_000));
}

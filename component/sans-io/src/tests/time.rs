//! Time passes only as the host reports it.

use super::stage::*;

const RETRY: [(&str, &str); 2] = [("BACKOFF_MS", "1000"), ("ATTEMPT_TIMEOUT_MS", "5000")];

#[test]
fn pauses_differ_by_the_seed_and_by_nothing_else() {
    let pause = |seed| {
        let mut stage = Stage::new(&[], seed, false);
        let first = stage.begin(1, read());
        stage.step([answered(first, 503, "")]).wake_at_ms.unwrap()
    };
    assert_eq!(pause(1), pause(1));
    let pauses: std::collections::BTreeSet<_> = (0..20).map(pause).collect();
    assert!(pauses.len() > 10, "{pauses:?}");
}

#[test]
fn an_attempt_ends_when_its_time_is_up_and_its_exchange_with_it() {
    for (call, is_done) in [(create(), true), (read(), false)] {
        let mut stage = Stage::with(&RETRY);
        let first = stage.begin(1, call);
        let stepped = stage.step_at(4_999, []);
        stepped.assert_nothing();
        assert_eq!(stepped.wake_at_ms, Some(5_000));
        let stepped = stage.step_at(5_000, []);
        assert_eq!(stepped.cancelled_exchanges(), [first]);
        let done = stepped.done();
        assert_eq!(done.len(), usize::from(is_done));
        assert!(done.iter().all(|it| case(&it.outcome) == "outcome-unknown"));
        // A later event is ignored like one of an unknown exchange.
        stage.step([answered(first, 200, CREATED)]).assert_nothing();
        if !is_done {
            let second = stage.step_at(stepped.wake_at_ms.unwrap(), []).only_send();
            let answer = answered(second.exchange, 200, "{}");
            assert!(stage.step([answer]).only_done().is_ok());
        }
    }
}

/// Otherwise a created id would be lost with the attempt.
#[test]
fn the_part_of_a_response_in_the_step_of_its_deadline_counts() {
    let mut stage = Stage::with(&RETRY);
    let first = stage.begin(1, create());
    let stepped = stage.step_at(9_000, [answered(first, 200, CREATED)]);
    assert!(stepped.only_done().is_ok());

    let (half, rest) = ("{\"docket", "_id\":");
    for (before, at_the_end) in [
        (vec![], vec![head(1, 200), chunk(1, half), chunk(1, rest)]),
        (vec![head(1, 200)], vec![chunk(1, half), chunk(1, rest)]),
        (vec![head(1, 200), chunk(1, half)], vec![chunk(1, rest)]),
        (vec![head(1, 200), chunk(1, half), chunk(1, rest)], vec![]),
    ] {
        let mut stage = Stage::with(&RETRY);
        assert_eq!(stage.begin(1, create()), 1);
        let stepped = stage.step(before);
        stepped.assert_nothing();
        assert_eq!(stepped.wake_at_ms, Some(5_000));
        let outcome = stage.step_at(5_000, at_the_end).done_after_cancelling(1);
        assert_eq!(case(&outcome), "unexpected-response");
        let failure = failure(&outcome);
        assert!(failure.may_have_created);
        let response = failure.response.as_ref().unwrap();
        assert_eq!((response.status, response.body_cut), (200, true));
        assert_eq!(response.body, "{\"docket_id\":");
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
    let stepped = stage.step_at(2_500, []);
    let done: Vec<_> = stepped.done().iter().map(|done| done.operation).collect();
    assert_eq!((done, stepped.wake_at_ms), (vec![2, 3], Some(3_000)));
}

#[test]
fn a_clock_that_goes_back_does_not_move() {
    let mut stage = Stage::with(&RETRY);
    let first = stage.begin(1, read());
    stage.step_at(1_000, []).assert_nothing();
    let done = stage.step_at(400, [answered(first, 404, "")]).only_done();
    assert_eq!(failure(&done).attempts[0].duration_ms, 1_000);
}

#[test]
fn a_date_is_relative_to_that_of_the_host() {
    let mut stage = Stage::with(&[]);
    let first = stage.begin(1, read());
    // This is seven seconds after the beginning.
    let retry_after = [("Retry-After", "Sun, 06 Nov 1994 08:49:44 GMT")];
    let stepped = stage.step([answered_with(first, 429, &retry_after, "")]);
    assert_eq!(stepped.wake_at_ms, Some(7_000));
}

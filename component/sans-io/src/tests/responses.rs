//! The events of an exchange, in every order.

use super::stage::*;

/// Returns the outcome of a create, whose exchange is the first, when these events come in one
/// step.
fn outcome(events: Vec<Event>) -> Result<Output, Failure> {
    let mut stage = Stage::with(&[("MAX_ATTEMPTS", "1")]);
    assert_eq!(stage.begin(1, create()), 1);
    stage.step(events).only_done()
}

#[test]
fn a_response_may_come_at_once_or_in_pieces() {
    let (one, other) = CREATED.split_at(20);
    let whole = outcome(vec![answered(1, 200, CREATED)]);
    assert!(whole.is_ok(), "{whole:?}");
    let in_pieces = vec![
        head(1, 200),
        chunk(1, one),
        chunk(1, ""),
        chunk(1, other),
        ended(1, None),
    ];
    assert_eq!(outcome(in_pieces.clone()), whole);

    let mut stage = Stage::with(&[]);
    stage.begin(1, create());
    let (last, before) = in_pieces.split_last().unwrap();
    for event in before {
        stage.step([event.clone()]).assert_nothing();
    }
    assert_eq!(stage.step([last.clone()]).only_done(), whole);
}

#[test]
fn the_host_decides_whether_a_request_was_sent_until_it_contradicts_itself() {
    let not_sent = || failed(1, Delivery::NotSent);
    for (events, expected) in [
        (vec![not_sent()], "unreachable"),
        (vec![failed(1, Delivery::Denied)], "configuration"),
        (vec![failed(1, Delivery::Refused)], "invalid-input"),
        (vec![failed(1, Delivery::Unknown)], "outcome-unknown"),
        (vec![not_sent(), not_sent()], "unreachable"),
    ] {
        let outcome = outcome(events);
        assert_eq!(case(&outcome), expected);
        let is_unknown = expected == "outcome-unknown";
        assert_eq!(failure(&outcome).may_have_created, is_unknown);
    }
    for contradiction in [
        answered(1, 200, CREATED),
        head(1, 503),
        chunk(1, "{"),
        ended(1, None),
        failed(1, Delivery::Unknown),
        failed(1, Delivery::Denied),
    ] {
        let outcome = outcome(vec![not_sent(), contradiction.clone()]);
        assert_eq!(case(&outcome), "outcome-unknown", "{contradiction:?}");
        assert!(failure(&outcome).may_have_created);
    }
}

#[test]
fn a_body_that_fails_keeps_its_received_part_whatever_its_delivery() {
    for event in [ended(1, Some("staged")), failed(1, Delivery::NotSent)] {
        let outcome = outcome(vec![head(1, 200), chunk(1, "{\"docket"), event]);
        assert_eq!(case(&outcome), "unexpected-response");
        let failure = failure(&outcome);
        assert!(failure.may_have_created);
        assert_eq!(failure.response.as_ref().unwrap().body, "{\"docket");
        let attempt = &failure.attempts[0];
        assert_eq!(attempt.transport_error.as_deref(), Some("staged"));
    }
}

#[test]
fn events_of_unknown_exchanges_and_operations_are_ignored() {
    let mut stage = Stage::with(&[]);
    let exchange = stage.begin(1, create());
    for unknown in [0, exchange + 1, u64::MAX] {
        let stepped = stage.step([
            answered(unknown, 200, CREATED),
            failed(unknown, Delivery::NotSent),
            head(unknown, 200),
            chunk(unknown, CREATED),
            ended(unknown, None),
            Event::Abandon(2),
        ]);
        stepped.assert_nothing();
        assert_eq!(stepped.wake_at_ms, Some(10_000));
    }
    let answer = answered(exchange, 200, CREATED);
    assert!(stage.step([answer]).only_done().is_ok());
}

/// It cannot be known which one is right, so that the first one counts, and without an end the
/// attempt ends when its time is up: nothing is retried because of it.
#[test]
fn events_out_of_order_and_repeated_events_are_ignored() {
    let mut stage = Stage::with(&[]);
    stage.begin(1, create());
    let ends = || [chunk(1, "x"), ended(1, None), ended(1, Some("staged"))];
    stage.step(ends()).assert_nothing();
    let heads = [head(1, 200), head(1, 404), answered(1, 503, "")];
    stage.step(heads).assert_nothing();
    stage.step([chunk(1, CREATED)]).assert_nothing();
    let mut events = vec![ended(1, None)];
    events.extend(ends());
    events.extend([failed(1, Delivery::Unknown), answered(1, 200, "{}")]);
    assert!(stage.step(events).only_done().is_ok());
}

#[test]
fn a_response_that_is_too_large_is_cancelled_unless_it_has_ended() {
    for (ends, cancelled) in [(false, vec![1]), (true, vec![])] {
        let mut stage = Stage::with(&[("MAX_RESPONSE_BYTES", "100")]);
        stage.begin(1, create());
        let mut events = vec![head(1, 200), chunk(1, &"x".repeat(101))];
        events.extend(ends.then(|| ended(1, None)));
        let stepped = stage.step(events);
        assert_eq!(stepped.cancelled_exchanges(), cancelled);
        let outcome = &stepped.done()[0].outcome;
        assert_eq!(case(outcome), "unexpected-response");
    }
}

#[test]
fn the_first_header_with_a_name_in_any_case_counts() {
    let ids = [("X-Request-Id", "one"), ("x-request-id", "two")];
    let outcome = outcome(vec![answered_with(1, 200, &ids, CREATED)]);
    let Ok(Output::CreateDocketV2(created)) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(created.request_id.as_deref(), Some("one"));
}

#[test]
fn an_operation_whose_number_is_in_use_is_not_begun() {
    let mut stage = Stage::with(&[]);
    let exchange = stage.begin(1, create());
    let stepped = stage.step([begin(1, read())]);
    let said = r#"{"operation":1,"ignored":"begin: an operation with this number is in progress"}"#;
    assert_eq!(stepped.effects, [Effect::Log(said.to_owned())]);
    let created = stage.step([answered(exchange, 200, CREATED)]).only_done();
    assert!(matches!(created, Ok(Output::CreateDocketV2(_))));
    // Now the number may be used again.
    stage.begin(1, read());
}

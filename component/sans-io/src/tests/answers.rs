//! What hosts report of an exchange, in every order.

use super::stage::*;

fn outcome(events: Vec<Event>) -> Result<Answer, RequestError> {
    let mut stage = Stage::with(&[]);
    assert_eq!(stage.begin(1, create()), 1);
    stage.step(events).only_done()
}

#[test]
fn an_answer_may_come_at_once_or_in_pieces() {
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
fn a_body_that_breaks_keeps_what_came() {
    for event in [ended(1, Some("staged")), failed(1, Delivery::NotSent)] {
        let outcome = outcome(vec![head(1, 200), chunk(1, "{\"docket"), event]);
        assert!(matches!(
            outcome,
            Err(RequestError::PermanentUnexpectedResponse(_))
        ));
        let failure = failure(&outcome);
        assert!(
            failure.may_have_created,
            "whatever the host says of its delivery"
        );
        assert_eq!(failure.response.as_ref().unwrap().body, "{\"docket");
        let attempt = &failure.attempts[0];
        assert_eq!(attempt.transport_error.as_deref(), Some("staged"));
    }
}

#[test]
fn whether_it_was_sent_is_the_hosts_word() {
    let mut stage = Stage::with(&[("MAX_ATTEMPTS", "1")]);
    for (delivery, is) in [
        (Delivery::NotSent, "Unreachable"),
        (Delivery::Denied, "PermanentConfiguration"),
        (Delivery::Refused, "PermanentInvalidInput"),
        (Delivery::Unknown, "PermanentOutcomeUnknown"),
    ] {
        let exchange = stage.begin(1, create());
        let outcome = stage.step([failed(exchange, delivery)]).only_done();
        let debug = format!("{:?}", outcome.as_ref().unwrap_err());
        assert!(debug.contains(is), "{debug}");
        let unknown = delivery == Delivery::Unknown;
        assert_eq!(failure(&outcome).may_have_created, unknown);
    }
}

#[test]
fn a_host_that_contradicts_itself_does_not_know_whether_it_was_sent() {
    let not_sent = || failed(1, Delivery::NotSent);
    for contradiction in [
        vec![answered(1, 200, CREATED)],
        vec![head(1, 503)],
        vec![chunk(1, "{")],
        vec![ended(1, None)],
        vec![failed(1, Delivery::Unknown)],
        vec![failed(1, Delivery::Denied)],
    ] {
        let events = [vec![not_sent()], contradiction].concat();
        let outcome = outcome(events.clone());
        let Err(RequestError::PermanentOutcomeUnknown(failure)) = outcome else {
            panic!("{events:?}: {outcome:?}")
        };
        assert!(failure.may_have_created);
    }
}

#[test]
fn only_what_was_certainly_not_sent_is_sent_again_without_an_answer() {
    let mut stage = Stage::with(&[]);
    let first = stage.begin(1, create());
    let led = stage.step([failed(first, Delivery::NotSent)]);
    led.assert_nothing();
    let second = stage.step_at(led.wake_at_ms.unwrap(), []).only_send();
    let led = stage.step([failed(second.exchange, Delivery::Unknown)]);
    assert_eq!(led.wake_at_ms, None);
    let outcome = led.only_done();
    assert!(matches!(
        outcome,
        Err(RequestError::PermanentOutcomeUnknown(_))
    ));
}

#[test]
fn events_of_unknown_exchanges_and_operations_are_ignored() {
    let mut stage = Stage::with(&[]);
    let exchange = stage.begin(1, create());
    for unknown in [0, exchange + 1, u64::MAX] {
        let led = stage.step([
            answered(unknown, 200, CREATED),
            failed(unknown, Delivery::NotSent),
            head(unknown, 200),
            chunk(unknown, CREATED),
            ended(unknown, None),
            Event::Abandon(2),
        ]);
        led.assert_nothing();
        assert_eq!(led.wake_at_ms, Some(10_000));
    }
    assert!(
        stage
            .step([answered(exchange, 200, CREATED)])
            .only_done()
            .is_ok()
    );
    stage.step([Event::Abandon(1)]).assert_nothing();
}

/// Which one is right cannot be known, so that the first one counts, and without an end
/// the attempt ends when its time is up: nothing is sent a second time for it.
#[test]
fn what_comes_out_of_order_or_twice_is_ignored() {
    let mut stage = Stage::with(&[]);
    stage.begin(1, create());
    let led = stage.step([chunk(1, "x"), ended(1, None), ended(1, Some("staged"))]);
    led.assert_nothing();
    let led = stage.step([
        head(1, 200),
        head(1, 404),
        answered(1, 503, ""),
        chunk(1, CREATED),
    ]);
    led.assert_nothing();
    let led = stage.step([
        ended(1, None),
        chunk(1, "x"),
        ended(1, Some("staged")),
        failed(1, Delivery::Unknown),
        answered(1, 200, "{}"),
    ]);
    assert!(led.only_done().is_ok());
}

#[test]
fn an_answer_that_is_too_large_is_ended_unless_it_has_ended() {
    for (ends, abandoned) in [(false, vec![1]), (true, vec![])] {
        let mut stage = Stage::with(&[("MAX_RESPONSE_BYTES", "100")]);
        let sent = stage.step([begin(1, create())]).only_send();
        assert_eq!(sent.request.max_response_bytes, 100);
        let mut events = vec![head(1, 200), chunk(1, &"x".repeat(101))];
        events.extend(ends.then(|| ended(1, None)));
        let led = stage.step(events);
        assert_eq!(led.abandoned(), abandoned);
        assert!(matches!(
            led.done()[0].outcome,
            Err(RequestError::PermanentUnexpectedResponse(_))
        ));
    }
}

#[test]
fn of_the_headers_the_first_counts_in_any_case() {
    let mut stage = Stage::with(&[]);
    let exchange = stage.begin(1, create());
    let ids = [("X-Request-Id", "one"), ("x-request-id", "two")];
    let outcome = stage
        .step([answered_with(exchange, 200, &ids, CREATED)])
        .only_done();
    let Ok(Answer::CreateDocketV2(created)) = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!(created.request_id.as_deref(), Some("one"));
}

#[test]
fn an_operation_whose_number_is_in_use_is_not_begun() {
    let mut stage = Stage::with(&[]);
    let exchange = stage.begin(1, create());
    let led = stage.step([begin(1, read())]);
    let said = r#"{"operation":1,"ignored":"begin: an operation with this number is in progress"}"#;
    assert_eq!(led.effects, [Effect::Log(said.to_owned())]);
    let created = stage.step([answered(exchange, 200, CREATED)]).only_done();
    assert!(matches!(created, Ok(Answer::CreateDocketV2(_))));
    // From now on it may be used again.
    stage.begin(1, read());
}

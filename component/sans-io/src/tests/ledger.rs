//! Creates with keys: claims and records are effects, and the ledger's answers are events.

use super::stage::*;
use voice_calling_core::CANCELLED;
use voice_calling_core::ledger::{self, State};

fn begin_once(call: Call, key: &str) -> Event {
    Event::Begin {
        operation: 1,
        call,
        options: None,
        once: Some(key.to_owned()),
    }
}

fn taken(claim: ClaimId) -> Event {
    Event::Claimed { claim, found: None }
}

fn found(claim: ClaimId, state: State, answer: Option<&str>) -> Event {
    Event::Claimed {
        claim,
        found: Some(Found::Entry(ledger::Found {
            function: "dockets.create-docket-v2".to_owned(),
            state,
            begun_ms: 784_111_777_000,
            answer: answer.map(str::to_owned),
            differs_in: None,
        })),
    }
}

/// Returns a stage on which a create has a claim without an answer.
fn claimed() -> (Stage, ClaimId) {
    let mut stage = Stage::with(&[]);
    let stepped = stage.step([begin_once(create(), "crm-1")]);
    let [Effect::Claim(claim)] = &stepped.effects[..] else {
        panic!("{:?}", stepped.effects)
    };
    let create = &claim.create;
    assert_eq!(create.key, "crm-1");
    assert_eq!(create.function, "dockets.create-docket-v2");
    let arguments: Vec<_> = create.arguments.iter().map(|(name, _)| &**name).collect();
    let expected = ["agent_id", "to_phone_number", "call_context"];
    assert_eq!(arguments, expected);
    (stage, claim.claim)
}

fn record(effect: &Effect) -> (ClaimId, State, Option<&str>) {
    match effect {
        Effect::Record(Record { claim, outcome }) => {
            (*claim, outcome.state, outcome.answer.as_deref())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_create_is_sent_when_its_key_is_taken_and_recorded_before_it_is_done() {
    let (mut stage, claim) = claimed();
    stage.step([]).assert_nothing();
    let send = stage.step([taken(claim)]).only_send();
    let stepped = stage.step([answered(send.exchange, 200, CREATED)]);
    let [recorded, Effect::Done(done)] = &stepped.effects[..] else {
        panic!("{:?}", stepped.effects)
    };
    assert_eq!(record(recorded), (claim, State::Done, Some(CREATED)));
    assert!(done.outcome.is_ok() && !done.from_ledger);
}

#[test]
fn a_create_that_is_cancelled_before_its_claim_is_answered_is_recorded_as_free() {
    for events in [
        vec![Event::Abandon(1)],
        vec![taken(1), Event::Abandon(1)],
        vec![Event::Abandon(1), taken(1)],
    ] {
        let (mut stage, claim) = claimed();
        let stepped = stage.step(events);
        let [recorded, Effect::Done(done)] = &stepped.effects[..] else {
            panic!("{:?}", stepped.effects)
        };
        assert_eq!(record(recorded), (claim, State::Free, None));
        let failure = failure(&done.outcome);
        assert!(!failure.may_have_created && failure.message.ends_with(CANCELLED));
        stage.step([taken(claim)]).assert_nothing();
    }
    // After the create was sent its outcome is unknown.
    let (mut stage, claim) = claimed();
    let send = stage.step([taken(claim)]).only_send();
    let stepped = stage.step([Event::Abandon(1)]);
    assert_eq!(stepped.cancelled_exchanges(), [send.exchange]);
    let recorded = stepped
        .effects
        .iter()
        .find(|it| matches!(it, Effect::Record(_)));
    assert_eq!(record(recorded.unwrap()), (claim, State::Unknown, None));
}

#[test]
fn each_request_of_a_batch_has_its_own_claim_if_it_has_a_key() {
    let mut stage = Stage::with(&[]);
    let keys = [Some("a"), None, Some("c")].map(|key| key.map(str::to_owned));
    let requests = Event::Requests {
        operation: 1,
        requests: (0..3).map(docket_request).collect(),
        keys: Some(keys.into()),
        is_last: true,
    };
    let stepped = stage.step([begin(1, Call::CreateDocketsV2(60_000)), requests]);
    let claims = stepped.effects.iter().filter_map(|effect| match effect {
        Effect::Claim(claim) => Some((claim.create.item, &*claim.create.key, claim.claim)),
        _ => None,
    });
    let claims: Vec<_> = claims.collect();
    let [(Some(0), "a", first), (Some(2), "c", third)] = claims[..] else {
        panic!("{claims:?}")
    };
    assert_eq!(stepped.sends().len(), 1);
    let stepped = stage.step([found(first, State::Done, Some(CREATED)), taken(third)]);
    let items: Vec<_> = stepped
        .items()
        .iter()
        .map(|it| (it.index, it.from_ledger))
        .collect();
    assert_eq!(items, [(0, true)]);
    assert_eq!(stepped.sends()[0].item, Some(2));
}

#[test]
fn a_host_with_a_ledger_observes_dockets_that_have_keys() {
    let number = r#""to_phone_number":"910000000001""#;
    let docket = format!(r#"{{"docket_id":"{DOCKET_ID}",{number},"external_id":"crm-1"}}"#);
    for (has_ledger, body, observed) in [
        (true, &*docket, Some("crm-1")),
        (true, CREATED, None),
        (false, &*docket, None),
    ] {
        let mut stage = Stage::with_ledger(has_ledger);
        let exchange = stage.begin(1, read());
        let stepped = stage.step([answered(exchange, 200, body)]);
        let keys = match &stepped.effects[..] {
            [Effect::Observe(sighting), Effect::Done(_)] => Some(&*sighting.keys[0]),
            [Effect::Done(_)] => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(keys, observed);
    }
}

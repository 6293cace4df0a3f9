//! Batches: each result as soon as it is known.

use super::stage::*;
use voice_calling_core::CANCELLED;

/// More requests than a batch in one call may have.
const MANY: u64 = 3_000;

fn asks_for_more(stepped: &Stepped) -> bool {
    stepped.effects.contains(&Effect::More(1))
}

#[test]
fn a_batch_of_any_length_asks_for_requests_as_it_can_send_them() {
    let mut stage = Stage::with(&[("MAX_IN_FLIGHT", "2")]);
    let mut stepped = stage.step([begin(1, Call::CreateDocketsV2(60_000))]);
    assert_eq!(stepped.effects, [Effect::More(1)]);
    let (mut handed_over, mut open, mut indexes) = (0, Vec::new(), Vec::new());
    while stepped.done().is_empty() {
        open.extend(stepped.sends().iter().map(|send| send.exchange));
        indexes.extend(stepped.items().iter().map(|item| u64::from(item.index)));
        assert!(open.len() <= 2);
        let mut sends = stepped.sends().into_iter();
        assert!(sends.all(|send| send.creates && send.operation == 1 && send.item.is_some()));
        let mut events = Vec::new();
        if asks_for_more(&stepped) {
            // The earlier ones are sent or have ended.
            assert_eq!(handed_over, (indexes.len() + open.len()) as u64);
            let end = handed_over + 3;
            events.push(requests(handed_over..end, end == MANY));
            handed_over = end;
        }
        if !open.is_empty() {
            events.push(answered(open.remove(0), 200, CREATED));
        }
        stepped = stage.step(events);
    }
    indexes.extend(stepped.items().iter().map(|item| u64::from(item.index)));
    assert!(indexes.into_iter().eq(0..MANY));
    assert_eq!(stepped.done()[0].outcome, Ok(Output::CreateDocketsV2));
}

#[test]
fn an_open_batch_that_is_cancelled_reports_what_it_has_and_asks_for_nothing() {
    // So many that the futures of a batch have wakers of their own, although five may begin.
    let mut stage = Stage::with(&[("MAX_IN_FLIGHT", "40")]);
    stage.step([begin(1, Call::CreateDocketsV2(60_000))]);
    let sends = stage.step([requests(0..42, false)]).sends().len();
    let stepped = stage.step([Event::Abandon(1)]);
    assert_eq!((sends, stepped.cancelled_exchanges().len()), (5, 5));
    for item in stepped.items() {
        let outcome = item.created.clone().map(Output::CreateDocketV2);
        let expected = match item.index {
            0..5 => "outcome-unknown",
            _ => "not-begun",
        };
        assert_eq!(case(&outcome), expected);
        assert!(failure(&outcome).message.contains(CANCELLED));
    }
    assert_eq!(stepped.items().len(), 42);
    assert!(!asks_for_more(&stepped));
    assert_eq!(stepped.done().len(), 1);
    stage.step([requests(3..4, true)]).assert_nothing();
    // A batch that waits for requests ends as well.
    stage.step([begin(1, Call::CreateDocketsV2(60_000))]);
    assert_eq!(stage.step([Event::Abandon(1)]).done().len(), 1);
}

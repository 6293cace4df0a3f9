//! Batches: each result as soon as it is known.

use super::stage::*;

#[test]
fn each_result_is_told_as_soon_as_it_is_known_and_the_end_after_all_of_them() {
    let mut stage = Stage::with(&[("MAX_IN_FLIGHT", "2")]);
    let led = stage.step([begin(1, batch(3, 60_000))]);
    let sends = led.sends();
    let items: Vec<_> = sends
        .iter()
        .map(|send| (send.operation, send.item))
        .collect();
    assert_eq!(items, [(1, Some(0)), (1, Some(1))]);
    assert!(sends.iter().all(|send| send.creates));
    let (first, second) = (sends[0].exchange, sends[1].exchange);

    let led = stage.step([answered(second, 200, CREATED)]);
    assert_eq!((led.items()[0].index, led.effects.len()), (1, 2));
    assert!(led.items()[0].created.is_ok());
    let third = led.sends()[0];
    assert_eq!(third.item, Some(2));

    let led = stage.step([answered(first, 422, "")]);
    assert_eq!((led.items()[0].index, led.effects.len()), (0, 1));
    assert!(matches!(
        led.items()[0].created,
        Err(RequestError::PermanentRejected(_))
    ));

    let led = stage.step([answered(third.exchange, 200, CREATED)]);
    let [Effect::Item(item), Effect::Done(done)] = &led.effects[..] else {
        panic!("{:?}", led.effects)
    };
    assert_eq!((item.operation, item.index), (1, 2));
    assert_eq!(
        (done.operation, &done.outcome),
        (1, &Ok(Answer::CreateDocketsV2))
    );
}

//! Numbers with a fixed outcome, as test cards have one. The United Kingdom reserves them for
//! films: none of them is anyone's.

use super::call::CallStatus;
use super::fault::FaultOrder;

/// The effect that a number has on its dockets and direct calls.
#[derive(Debug)]
pub enum Effect {
    /// The calls have these results.
    Calls(&'static [CallStatus]),
    /// Every attempt rings until it is ended by hand.
    RingsOn,
    /// Every creation or notification has a fault, which is written as an order of one.
    Fault(&'static str),
}

/// The numbers with a fixed outcome, 12 digits each; the outcome in a few words; and the effect.
#[rustfmt::skip]
pub const TEST_NUMBERS: [(&str, &str, Effect); 13] = {
    use CallStatus::{Answered, Busy, NoAnswer};
    use Effect::{Calls, Fault, RingsOn};
    [
        ("447700900001", "answered at once", Calls(&[Answered])),
        ("447700900002", "busy, twice: the docket completes unanswered", Calls(&[Busy, Busy])),
        ("447700900003", "not answered, twice: likewise", Calls(&[NoAnswer, NoAnswer])),
        ("447700900004", "rings until you end the call", RingsOn),
        ("447700900422", "the create is refused with 422", Fault("create-docket:422")),
        ("447700900429", "the create is refused with 429, `Retry-After: 1`", Fault("create-docket:429:retry-after=1")),
        ("447700900503", "the create is answered 503; nothing is created", Fault("create-docket:503")),
        ("447700900504", "the create is carried out, and answered 503", Fault("create-docket:created-then-503")),
        ("447700900505", "the create is carried out, and never answered", Fault("create-docket:created-then-unanswered")),
        ("447700900506", "the webhook comes before the answer to the create", Fault("create-docket:completed-first")),
        ("447700900701", "the webhook is lost", Fault("webhook:lost")),
        ("447700900702", "the webhook comes twice", Fault("webhook:twice")),
        ("447700900703", "the webhook comes 5 seconds late", Fault("webhook:late")),
    ]
};

/// Returns the effect of a number, which may have a `+`.
fn effect(number: &str) -> Option<&'static Effect> {
    let digits = number.strip_prefix('+').unwrap_or(number);
    let found = TEST_NUMBERS.iter().find(|(number, ..)| *number == digits);
    Some(&found?.2)
}

pub(super) fn script_of(number: &str) -> Option<&'static [CallStatus]> {
    match effect(number)? {
        Effect::Calls(script) => Some(script),
        _ => None,
    }
}

/// Returns `true` if an attempt at the number ends only by hand.
pub(super) fn rings_on(number: &str) -> bool {
    matches!(effect(number), Some(Effect::RingsOn))
}

/// Returns the fault of a number, ordered for its creations or its notifications.
pub(super) fn order_of(number: &str) -> Option<FaultOrder> {
    match effect(number)? {
        Effect::Fault(order) => Some(order.parse().expect("an order")),
        _ => None,
    }
}

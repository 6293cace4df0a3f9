//! Numbers with a fixed outcome, as test cards have one. The United Kingdom reserves them for
//! films: none of them is anyone's.

use super::call::CallStatus;
use super::fault::{Fault, FaultOrder};

/// A number whose dockets and direct calls always have the same outcome.
pub struct TestNumber {
    /// The number, 12 digits.
    pub number: &'static str,
    /// The outcome, in a few words.
    pub outcome: &'static str,
    effect: Effect,
}

enum Effect {
    /// The results of the calls.
    Calls(&'static [CallStatus]),
    /// Every attempt rings until it is ended by hand.
    RingsOn,
    /// A fault of every creation or notification, as an order of one is written.
    Fault(&'static str),
}

/// All numbers with a fixed outcome.
#[rustfmt::skip]
pub const TEST_NUMBERS: [TestNumber; 13] = {
    use CallStatus::{Answered, Busy, NoAnswer};
    use Effect::{Calls, Fault, RingsOn};
    [
        of("447700900001", "answered at once", Calls(&[Answered])),
        of("447700900002", "busy, twice: the docket completes unanswered", Calls(&[Busy, Busy])),
        of("447700900003", "not answered, twice: likewise", Calls(&[NoAnswer, NoAnswer])),
        of("447700900004", "rings until you end the call", RingsOn),
        of("447700900422", "the create is refused with 422", Fault("create-docket:422")),
        of("447700900429", "the create is refused with 429, `Retry-After: 1`", Fault("create-docket:429:retry-after=1")),
        of("447700900503", "the create is answered 503; nothing is created", Fault("create-docket:503")),
        of("447700900504", "the create is carried out, and answered 503", Fault("create-docket:created-then-503")),
        of("447700900505", "the create is carried out, and never answered", Fault("create-docket:created-then-unanswered")),
        of("447700900506", "the webhook comes before the answer to the create", Fault("create-docket:completed-first")),
        of("447700900701", "the webhook is lost", Fault("webhook:lost")),
        of("447700900702", "the webhook comes twice", Fault("webhook:twice")),
        of("447700900703", "the webhook comes 5 seconds late", Fault("webhook:late")),
    ]
};

const fn of(number: &'static str, outcome: &'static str, effect: Effect) -> TestNumber {
    TestNumber {
        number,
        outcome,
        effect,
    }
}

/// Returns the effect of a number, which may have a `+`.
fn effect(number: &str) -> Option<&'static Effect> {
    let digits = number.strip_prefix('+').unwrap_or(number);
    let found = TEST_NUMBERS.iter().find(|test| test.number == digits);
    Some(&found?.effect)
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

pub(super) fn creation_fault(number: &str) -> Option<Fault> {
    let order = fault(number)?;
    order.endpoint.is_some().then_some(order.fault)
}

pub(super) fn notification_fault(number: &str) -> Option<Fault> {
    let order = fault(number)?;
    order.endpoint.is_none().then_some(order.fault)
}

fn fault(number: &str) -> Option<FaultOrder> {
    match effect(number)? {
        Effect::Fault(order) => Some(order.parse().expect("an order")),
        _ => None,
    }
}

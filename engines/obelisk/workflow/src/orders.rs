//! Orders by which a contact pauses its campaign: what stops it would stop all the others.

use voice_calling_core::types::{Failure, FailureKind};
use voice_calling_obelisk_guest::campaign::Order;

use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::execution::ExecutionId;
use crate::bindings::voice_calling::once::questions;
use crate::bindings::voice_calling::waits_obelisk_stub::campaign as stubs;
use crate::error::describe;

/// A pause requested by the service pauses the whole campaign if it is longer than this.
const MAX_CONTACT_PAUSE_MS: u64 = 60_000;

/// The number of unanswered questions about creations at which a campaign pauses.
const MOST_QUESTIONS: u32 = 5;

/// Returns `true` if the whole campaign should make a pause that the service asks for.
pub fn delays_every_contact(retry_after_ms: u64) -> bool {
    retry_after_ms > MAX_CONTACT_PAUSE_MS
}

/// Returns `true` if a contact that has waited for so long stands for all of them. A rate limit stops
/// one contact while others are created.
pub fn is_hopeless(kind: FailureKind, waited_ms: u64, within_ms: u64) -> bool {
    waited_ms > within_ms && kind != FailureKind::RateLimited
}

/// Pauses the campaign, until an operator resumes it, by answering the stub of its next order.
pub fn pause(gate: &str, reason: &str) {
    order(gate, &Order::Pause.to_text(reason));
}

/// Pauses the campaign for a time.
pub fn pause_for(gate: &str, failure: &Failure, ms: u64) {
    order(gate, &Order::pause_for(ms, &describe(failure)));
}

/// Pauses the campaign if many of its creations wait for a person.
pub fn pause_if_many_questions(gate: &str) {
    let campaign = gate.split_once('.').map_or(gate, |(campaign, _)| campaign);
    match questions::count(campaign) {
        Ok(open) if open >= MOST_QUESTIONS => {
            let reason = format!(
                "the outcomes of {open} creations are unknown: answer the questions, then resume"
            );
            pause(gate, &reason);
        }
        Ok(_) => {}
        Err(reason) => log::warn(&format!("the questions cannot be counted: {reason}")),
    }
}

/// Answers the stub as an operator would; an order that came first stands.
fn order(gate: &str, text: &str) {
    log::error(&format!("the campaign pauses itself: {text}"));
    let gate = ExecutionId {
        id: gate.to_owned(),
    };
    let _ = stubs::order_stub(&gate, Ok(text));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_campaign_pauses_for_what_delays_every_contact() {
        for (kind, is_hopeless_) in [
            (FailureKind::Unreachable, true),
            (FailureKind::RateLimited, false),
        ] {
            assert_eq!(is_hopeless(kind, 2, 1), is_hopeless_, "{kind:?}");
            assert!(!is_hopeless(kind, 1, 1), "{kind:?}");
        }
        assert_eq!([60_000, 60_001].map(delays_every_contact), [false, true]);
    }
}

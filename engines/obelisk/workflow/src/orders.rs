//! Orders by which a contact pauses its campaign: what stops it would stop all the others.

use voice_calling_core::types::RequestError;
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

/// Returns `true` if the error concerns all contacts, so that none can be called.
pub fn stops_every_contact(error: &RequestError) -> bool {
    use RequestError::{PermanentConfiguration, PermanentUnauthorized};
    matches!(error, PermanentConfiguration(_) | PermanentUnauthorized(_))
}

/// Returns `true` if the whole campaign should make a pause that the service asks for.
pub fn delays_every_contact(retry_after_ms: u64) -> bool {
    retry_after_ms > MAX_CONTACT_PAUSE_MS
}

/// Returns `true` if a contact that has waited for so long stands for all of them. A rate limit stops
/// one contact while others are created.
pub fn is_hopeless(error: &RequestError, waited_ms: u64, within_ms: u64) -> bool {
    waited_ms > within_ms && !matches!(error, RequestError::RateLimited(_))
}

/// Pauses the campaign, until an operator resumes it, by answering the stub of its next order.
pub fn pause(gate: &str, reason: &str) {
    order(gate, &Order::Pause.to_text(reason));
}

/// Pauses the campaign for a time.
pub fn pause_for(gate: &str, error: &RequestError, ms: u64) {
    order(gate, &Order::pause_for(ms, &describe(error)));
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
    use RequestError::*;
    use voice_calling_obelisk_guest::failure;

    #[test]
    fn a_campaign_pauses_for_what_stops_every_contact() {
        let failure = || failure("", false);
        for (error, stops_every_contact_, is_hopeless_) in [
            (PermanentUnauthorized(failure()), true, true),
            (PermanentConfiguration(failure()), true, true),
            (PermanentRejected(failure()), false, true),
            (PermanentInvalidInput(failure()), false, true),
            (Unreachable(failure()), false, true),
            (RateLimited(failure()), false, false),
        ] {
            assert_eq!(
                stops_every_contact(&error),
                stops_every_contact_,
                "{error:?}"
            );
            assert_eq!(is_hopeless(&error, 2, 1), is_hopeless_, "{error:?}");
            assert!(!is_hopeless(&error, 1, 1), "{error:?}");
        }
        assert_eq!([60_000, 60_001].map(delays_every_contact), [false, true]);
    }
}

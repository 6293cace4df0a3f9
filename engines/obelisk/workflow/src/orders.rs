//! The orders by which a campaign pauses itself: what stops one contact may stop all others.

use voice_calling_core::types::{Failure, FailureKind, NextStep};
use voice_calling_obelisk_guest::campaign::Order;

use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::execution::ExecutionId;
use crate::bindings::voice_calling::waits_obelisk_stub::campaign as stubs;
use crate::creator::retry_after_ms;
use crate::error::describe;

/// A pause requested by the service pauses the whole campaign if it is longer than this.
const MAX_CONTACT_PAUSE_MS: u64 = 60_000;

/// Returns the order that follows from a failure, if the next contact would meet the same. A rate
/// limit stops one contact while others are created.
pub(crate) fn pause_for(failure: &Failure, waited_ms: u64, within_ms: u64) -> Option<String> {
    let reason = describe(failure);
    let requested_ms = retry_after_ms(failure);
    match failure.next_step {
        // The contact has ended, as its options want it.
        NextStep::RetryLater if within_ms == 0 => None,
        NextStep::FixSetting => Some(Order::Pause.to_text(&reason)),
        NextStep::RetryLater if requested_ms > MAX_CONTACT_PAUSE_MS => {
            Some(Order::pause_for(requested_ms, &reason))
        }
        NextStep::RetryLater
            if waited_ms >= within_ms && failure.kind != FailureKind::RateLimited =>
        {
            Some(Order::Pause.to_text(&reason))
        }
        NextStep::RetryLater | NextStep::Refused | NextStep::Unknown => None,
    }
}

/// Answers the stub of the campaign's next order as an operator would; an order that came first
/// stands.
pub(crate) fn give(gate: &str, order: &str) {
    log::error(&format!("the campaign pauses itself: {order}"));
    let gate = ExecutionId {
        id: gate.to_owned(),
    };
    let _ = stubs::order_stub(&gate, Ok(order));
}

#[cfg(test)]
mod tests {
    use super::*;
    use voice_calling_core::types::HttpResponse;
    use voice_calling_obelisk_guest::failure::unreachable;

    #[test]
    fn a_campaign_pauses_for_what_stops_every_contact() {
        use FailureKind::{RateLimited, Unreachable};
        use NextStep::{FixSetting, Refused, RetryLater, Unknown};
        for (kind, next_step, retry_after_ms, waited_ms, expected) in [
            (
                Unreachable,
                FixSetting,
                None,
                0,
                Some("pause unreachable: "),
            ),
            (Unreachable, RetryLater, None, 9, None),
            (
                Unreachable,
                RetryLater,
                None,
                10,
                Some("pause unreachable: "),
            ),
            (RateLimited, RetryLater, None, 10, None),
            (RateLimited, RetryLater, Some(60_000), 0, None),
            (
                RateLimited,
                RetryLater,
                Some(60_001),
                0,
                Some("pause for 60001 ms: rate-limited: "),
            ),
            (Unreachable, Refused, None, 10, None),
            (Unreachable, Unknown, None, 10, None),
        ] {
            let mut failure = unreachable("");
            (failure.kind, failure.next_step) = (kind, next_step);
            failure.response = Some(HttpResponse {
                status: 429,
                body: String::new(),
                body_cut: false,
                request_id: None,
                retry_after_ms,
            });
            let found = pause_for(&failure, waited_ms, 10);
            assert_eq!(found.as_deref(), expected, "{failure:?} {waited_ms}");
            if next_step == RetryLater {
                assert_eq!(pause_for(&failure, waited_ms, 0), None);
            }
        }
    }
}

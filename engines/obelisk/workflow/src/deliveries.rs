//! Verifies a delivery that the webhook could not verify, or give to its run, at once; and gives it
//! to the run that waits for it.

use voice_calling_core::types::{CallOptions, Docket};
use voice_calling_obelisk_guest::{Completion, Unverified, Verdict, run_of_context};

use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::execution::{ExecutionId, StubError};
use crate::bindings::obelisk::workflow::workflow_support as engine;
use crate::bindings::voice_calling::client::webhooks as activities;
use crate::bindings::voice_calling::waits_obelisk_stub as stubs;
use crate::pace::Pauses;
use crate::waiting::after;

/// Returns the reason why a delivery is given up, for people to read.
fn given_up(reason: &Unverified) -> String {
    match reason {
        Unverified::NotFound => "its docket was unknown to the service for ten minutes".to_owned(),
        Unverified::NotCompleted => {
            "the service did not show its docket as completed for an hour".to_owned()
        }
        Unverified::NoAnswer(error) => {
            let reason = format!(
                "the service could not be reached for three days ({})",
                error.case()
            );
            log::error(&format!("a delivery is lost: {reason}"));
            reason
        }
    }
}

/// The time left for retries, by reason. The times are separate: a service that was unreachable for
/// hours may still be slow to show the docket.
struct RetryBudget {
    pauses: Pauses,
    not_found_ms: u64,
    not_completed_ms: u64,
    no_answer_ms: u64,
}

impl RetryBudget {
    fn begin() -> Self {
        Self {
            pauses: Pauses::new(500, 3_600_000),
            not_found_ms: 10 * 60_000,
            not_completed_ms: 60 * 60_000,
            no_answer_ms: 3 * 24 * 60 * 60_000,
        }
    }

    /// Returns the pause before the service is asked again, or `None` if the time is used up.
    fn pause_ms(&mut self, reason: &Unverified) -> Option<u64> {
        let left_ms = match reason {
            Unverified::NotFound => &mut self.not_found_ms,
            Unverified::NotCompleted => &mut self.not_completed_ms,
            Unverified::NoAnswer(_) => &mut self.no_answer_ms,
        };
        let pause_ms = self.pauses.next_ms().min(*left_ms);
        *left_ms -= pause_ms;
        (pause_ms > 0).then_some(pause_ms)
    }
}

/// `deliveries.deliver`
pub fn deliver(body: &str, account: Option<String>) -> Result<(), String> {
    let delivered = verify(body, account).and_then(|docket| give(docket, body));
    if let Err(reason) = &delivered {
        log::warn(&format!("dropped a delivery: {reason}"));
    }
    delivered
}

/// Gives the delivery to the run that its docket names.
fn give(docket: Docket, delivery: &str) -> Result<(), String> {
    let run = docket.call_context.as_deref().and_then(run_of_context);
    let run = run.ok_or("no run here created its docket")?;
    let completion = Completion {
        docket: docket.raw_json,
        delivery: delivery.to_owned(),
    };
    let stub = ExecutionId {
        id: run.completion(),
    };
    match stubs::docket::completion_stub(&stub, Ok(&completion.to_text())) {
        Ok(()) => Ok(()),
        Err(StubError::Conflict) => {
            Err("the run that created its docket has an answer already, or has ended".to_owned())
        }
        Err(StubError::ExecutionNotFound | StubError::TypeCheckError(_)) => {
            Err("the run that created its docket is unknown here".to_owned())
        }
    }
}

/// Returns the docket once the service confirms the delivery.
fn verify(body: &str, account: Option<String>) -> Result<Docket, String> {
    let options = CallOptions {
        account,
        deadline_ms: None,
        max_attempts: None,
    };
    let mut budget = RetryBudget::begin();
    loop {
        let asked = activities::verify_docket_completed(body, Some(&options));
        let reason = match Verdict::of(asked) {
            Verdict::Confirmed(docket) => return Ok(*docket),
            Verdict::Refused { reason, .. } => return Err(reason),
            Verdict::Open(reason) => reason,
        };
        let Some(pause_ms) = budget.pause_ms(&reason) else {
            return Err(given_up(&reason));
        };
        // A sleep that an operator cancels ends early, which does no harm.
        let _ = engine::sleep(after(pause_ms), None);
    }
}

#[cfg(test)]
mod tests {
    use voice_calling_core::types::RequestError;

    use super::*;

    /// Returns the remaining pauses of a delivery that stays unverified for the same reason.
    fn pauses_ms(budget: &mut RetryBudget, reason: &Unverified) -> Vec<u64> {
        std::iter::from_fn(|| budget.pause_ms(reason)).collect()
    }

    #[test]
    fn an_unverified_delivery_is_checked_again_up_to_a_limit() {
        let early = pauses_ms(&mut RetryBudget::begin(), &Unverified::NotFound);
        assert_eq!(early[..4], [500, 1_000, 2_000, 4_000]);
        assert_eq!((early.len(), early.iter().sum()), (11, 600_000));
        let open = pauses_ms(&mut RetryBudget::begin(), &Unverified::NotCompleted);
        assert_eq!((open.len(), open.iter().sum()), (13, 3_600_000));
        let unasked = pauses_ms(
            &mut RetryBudget::begin(),
            &Unverified::NoAnswer(RequestError::ExecutionFailed),
        );
        assert_eq!((unasked.len(), unasked.iter().sum()), (84, 259_200_000));
    }

    #[test]
    fn a_service_that_was_away_for_hours_may_still_be_slow_to_show_the_docket() {
        let mut budget = RetryBudget::begin();
        while budget.pauses != Pauses::new(7_200_000, 3_600_000) {
            let unasked = Unverified::NoAnswer(RequestError::ExecutionFailed);
            assert!(budget.pause_ms(&unasked).is_some());
        }
        let slow = pauses_ms(&mut budget, &Unverified::NotFound);
        assert_eq!(slow, [600_000]);
    }
}

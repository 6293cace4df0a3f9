//! Verifies a delivery that the webhook could not verify, or give to its run, at once; and gives it
//! to the run that waits for it.

use voice_calling_core::types::{CallOptions, Docket};
use voice_calling_obelisk_guest::{Completion, Unverified, Verdict, run_of_context};

use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::execution::{ExecutionId, StubError};
use crate::bindings::voice_calling::client::webhooks as activities;
use crate::bindings::voice_calling::waits_obelisk_stub as stubs;
use crate::pace::LimitedPauses;
use crate::sleep::sleep;

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

/// The pauses before the service is asked again, by reason. Their times are separate: a service that
/// was unreachable for hours may still be slow to show the docket.
struct Retries {
    not_found: LimitedPauses,
    not_completed: LimitedPauses,
    no_answer: LimitedPauses,
}

impl Retries {
    fn begin() -> Self {
        let pauses = |within_ms| LimitedPauses::new(500, 3_600_000, within_ms);
        Self {
            not_found: pauses(10 * 60_000),
            not_completed: pauses(60 * 60_000),
            no_answer: pauses(3 * 24 * 60 * 60_000),
        }
    }

    /// Returns the pause before the service is asked again, or `None` if the time is used up.
    fn pause_ms(&mut self, reason: &Unverified) -> Option<u64> {
        match reason {
            Unverified::NotFound => self.not_found.next_ms(),
            Unverified::NotCompleted => self.not_completed.next_ms(),
            Unverified::NoAnswer(_) => self.no_answer.next_ms(),
        }
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
    let mut retries = Retries::begin();
    loop {
        let asked = activities::verify_docket_completed(body, Some(&options));
        let reason = match Verdict::of(asked) {
            Verdict::Confirmed(docket) => return Ok(*docket),
            Verdict::Refused { reason, .. } => return Err(reason),
            Verdict::Open(reason) => reason,
        };
        let Some(pause_ms) = retries.pause_ms(&reason) else {
            return Err(given_up(&reason));
        };
        sleep(pause_ms);
    }
}

#[cfg(test)]
mod tests {
    use voice_calling_core::types::RequestError;

    use super::*;

    /// Returns the remaining pauses of a delivery that stays unverified for the same reason.
    fn pauses_ms(retries: &mut Retries, reason: &Unverified) -> Vec<u64> {
        std::iter::from_fn(|| retries.pause_ms(reason)).collect()
    }

    #[test]
    fn an_unverified_delivery_is_checked_again_up_to_a_limit() {
        let early = pauses_ms(&mut Retries::begin(), &Unverified::NotFound);
        assert_eq!(early[..4], [500, 1_000, 2_000, 4_000]);
        assert_eq!((early.len(), early.iter().sum()), (11, 600_000));
        let open = pauses_ms(&mut Retries::begin(), &Unverified::NotCompleted);
        assert_eq!((open.len(), open.iter().sum()), (13, 3_600_000));
        let unasked = pauses_ms(
            &mut Retries::begin(),
            &Unverified::NoAnswer(RequestError::ExecutionFailed),
        );
        assert_eq!((unasked.len(), unasked.iter().sum()), (84, 259_200_000));
    }
}

//! Verifies a delivery that the webhook could not verify, or give to its run, at once; and gives it
//! to the run that waits for it.

use voice_calling_core::types::Docket;
use voice_calling_obelisk_guest::{Completion, Verdict, run_of_context};

use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::execution::{ExecutionId, StubError};
use crate::bindings::voice_calling::client::webhooks as activities;
use crate::bindings::voice_calling::waits_obelisk_stub as stubs;
use crate::pace::LimitedPauses;
use crate::sleep::sleep;

/// The time for which the service is asked about a delivery.
const VERIFY_WITHIN_MS: u64 = 3 * 24 * 60 * 60_000;

/// `deliveries.deliver`
pub(crate) fn deliver(body: &str) -> Result<(), String> {
    let delivered = verify(body).and_then(|docket| give(docket, body));
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
fn verify(body: &str) -> Result<Docket, String> {
    let mut pauses = LimitedPauses::new(500, 3_600_000, VERIFY_WITHIN_MS);
    loop {
        let asked = activities::verify_docket_completed(body, None);
        let reason = match Verdict::of(asked) {
            Verdict::Confirmed(docket) => return Ok(*docket),
            Verdict::Refused { reason, .. } => return Err(reason),
            Verdict::Open(reason) => reason,
        };
        let Some(pause_ms) = pauses.next_ms() else {
            let reason = format!("the service has not confirmed it for three days: {reason}");
            log::error(&format!("a delivery is lost: {reason}"));
            return Err(reason);
        };
        sleep(pause_ms);
    }
}

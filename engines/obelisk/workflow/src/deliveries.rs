//! A delivery of the webhook, on its way to the run that waits for it.

use voice_calling_core::types::{Docket, RequestError, Verification};
use voice_calling_correlation::{Completion, run_of_context};

use crate::bindings::exports::voice_calling::workflows::deliveries::{DeliverError, Verdict};
use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::execution::{ExecutionId, StubError};
use crate::bindings::obelisk::workflow::workflow_support as engine;
use crate::bindings::voice_calling::client::webhooks as activities;
use crate::bindings::voice_calling::waits_obelisk_stub as stubs;
use crate::pace::Pauses;
use crate::waiting::after;

/// How often a delivery is verified: for three days. The service may tell before it shows, or may
/// not be there to be asked, and was answered that the delivery is accepted.
const LOOKS: u32 = 85;

/// `deliveries.deliver`
pub fn deliver(body: &str) -> Result<Verdict, DeliverError> {
    let docket = match look(body) {
        Ok(docket) => docket,
        Err(no_docket) => return no_docket,
    };
    let Some(run) = docket.call_context.as_deref().and_then(run_of_context) else {
        return Ok(Verdict::NotOurs);
    };
    let completion = Completion {
        docket: docket.raw_json,
        delivery: body.to_owned(),
    };
    let stub = ExecutionId {
        id: run.completion(),
    };
    match stubs::docket::completion_stub(&stub, Ok(&completion.to_text())) {
        Ok(()) => Ok(Verdict::Delivered),
        Err(StubError::Conflict) => Ok(Verdict::Taken(stub.id)),
        // The latter: an execution of that id, but no stub of ours.
        Err(StubError::ExecutionNotFound | StubError::TypeCheckError(_)) => Ok(Verdict::UnknownRun),
    }
}

/// The docket, once the service says the same as the delivery; else what to answer.
fn look(body: &str) -> Result<Docket, Result<Verdict, DeliverError>> {
    let not_a_completion = |reason| Err(DeliverError::PermanentNotACompletion(reason));
    let mut pauses = Pauses::new(500, 3_600_000);
    let mut look = 1;
    loop {
        let last = match activities::verify_docket_completed(body, None) {
            Ok(Verification::Confirmed(it)) => return Ok(it.docket),
            Ok(Verification::Contradicted(it)) => {
                if !it.contradicted.iter().any(|member| member == "status") {
                    return Err(Ok(Verdict::Contradicted(it.contradicted)));
                }
                Ok(Verdict::NotCompleted)
            }
            Ok(Verification::NotACompletion) => {
                return Err(not_a_completion("no completion of a docket".to_owned()));
            }
            Err(RequestError::PermanentInvalidInput(failure)) => {
                return Err(not_a_completion(failure.message));
            }
            // Told at once, so that the sender knows.
            Err(RequestError::PermanentNotFound(_)) if look == 1 => {
                return Err(Ok(Verdict::UnknownDocket));
            }
            Err(error) => Err(DeliverError::PermanentUnverifiable(error)),
        };
        if look == LOOKS {
            log::error("a delivery is given up, which the service did not confirm in three days");
            return Err(last);
        }
        look += 1;
        // Cancelled by an operator it is over early, which does no harm.
        let _ = engine::sleep(after(pauses.next_ms()), None);
    }
}

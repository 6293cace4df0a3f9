//! A delivery of the webhook, on its way to the run that waits for it.

use voice_calling_core::types::{Docket, DocketStatus, RequestError};
use voice_calling_core::webhooks;
use voice_calling_correlation::{Completion, run_of_context};

use crate::bindings::exports::voice_calling::workflows::deliveries::{DeliverError, Verdict};
use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::execution::{ExecutionId, StubError};
use crate::bindings::obelisk::workflow::workflow_support as engine;
use crate::bindings::voice_calling::client::dockets as activities;
use crate::bindings::voice_calling::waits_obelisk_stub as stubs;
use crate::pace::Pauses;
use crate::waiting::after;

/// How often the docket of a delivery is looked at: for three days. The service may tell before it
/// shows, or may not be there to be asked, and was answered that the delivery is accepted.
const LOOKS: u32 = 85;

/// `deliveries.deliver`
pub fn deliver(body: &str) -> Result<Verdict, DeliverError> {
    let docket_id = docket_of(body)?;
    let docket = match look(&docket_id) {
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

/// All that a delivery is believed in.
fn docket_of(body: &str) -> Result<String, DeliverError> {
    match webhooks::parse_docket_completed(body.as_bytes()) {
        Ok(Some(delivery)) => Ok(delivery.docket_id),
        Ok(None) => Err(DeliverError::PermanentNotACompletion(
            "no completion of a docket".to_owned(),
        )),
        Err(error) => Err(DeliverError::PermanentNotACompletion(format!("{error:?}"))),
    }
}

/// The docket, once the service says that it is completed; else what to answer.
fn look(docket_id: &str) -> Result<Docket, Result<Verdict, DeliverError>> {
    let mut pauses = Pauses::new(500, 3_600_000);
    let mut look = 1;
    loop {
        let found = activities::get_docket(docket_id);
        let last = match found {
            Ok(docket) if docket.status == Some(DocketStatus::Completed) => return Ok(docket),
            Ok(_) => Ok(Verdict::NotCompleted),
            // Told at once, so that the sender knows. An id that is no UUID was never sent.
            Err(RequestError::PermanentNotFound(_) | RequestError::PermanentInvalidInput(_))
                if look == 1 =>
            {
                return Err(Ok(Verdict::UnknownDocket));
            }
            Err(error) => Err(DeliverError::PermanentUnverifiable(error)),
        };
        if look == LOOKS {
            log::error(&format!("the delivery of docket {docket_id} is given up"));
            return Err(last);
        }
        look += 1;
        // Cancelled by an operator it is over early, which does no harm.
        let _ = engine::sleep(after(pauses.next_ms()));
    }
}

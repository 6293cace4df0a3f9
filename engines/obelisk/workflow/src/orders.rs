//! Orders to a running campaign: pause, resume, stop.

use voice_calling_obelisk_guest::RunId;
use voice_calling_obelisk_guest::campaign::Order;

use crate::bindings::exports::voice_calling::workflows::campaign::OrderError;
use crate::bindings::obelisk::types::execution::ExecutionId;
use crate::bindings::obelisk::workflow::workflow_support as engine;
use crate::bindings::voice_calling::once::orders as activities;
use crate::bindings::voice_calling::waits_obelisk_stub::campaign as stubs;
use crate::waiting::after;

/// The number of attempts to find a campaign that cannot accept an order yet.
const TRIES: u32 = 10;

const PAUSE_MS: u64 = 500;

/// The longest time between a gate's answer and the creation that it allows: asking the gate and
/// connecting to the service.
const IN_FLIGHT_MS: u64 = 5_000;

/// `campaign.pause`, `campaign.resume`, `campaign.stop`
pub fn give(campaign: &str, order: Order) -> Result<(), OrderError> {
    // The engine fails a workflow for good if it passes an id that the engine cannot parse.
    if RunId::read(campaign).is_none() {
        return Err(OrderError::PermanentNotFound);
    }
    let text = order.to_text(&engine::execution_id_current().id);
    let mut error = OrderError::PermanentNotFound;
    for _ in 0..TRIES {
        error = match activities::find(campaign) {
            Ok(Some(id)) => match stubs::order_stub(&ExecutionId { id }, Ok(&text)) {
                Ok(()) => {
                    if order != Order::Resume {
                        // By then, creations that were granted just before are sent or given up.
                        let _ = engine::sleep(after(IN_FLIGHT_MS), None);
                    }
                    return Ok(());
                }
                // Another order came first; the campaign will submit a stub for the next one.
                Err(error) => OrderError::Unreachable(format!("{error:?}")),
            },
            // The campaign may be about to submit the stub.
            Ok(None) => OrderError::PermanentNotFound,
            Err(reason) => OrderError::Unreachable(reason),
        };
        // A sleep that an operator cancels ends early, which does no harm.
        let _ = engine::sleep(after(PAUSE_MS), None);
    }
    Err(error)
}

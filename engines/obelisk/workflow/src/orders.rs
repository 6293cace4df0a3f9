//! Orders to a campaign that runs: pause, resume, stop.

use voice_calling_correlation::RunId;
use voice_calling_correlation::campaign::Order;

use crate::bindings::exports::voice_calling::workflows::campaign::OrderError;
use crate::bindings::obelisk::types::execution::ExecutionId;
use crate::bindings::obelisk::workflow::workflow_support as engine;
use crate::bindings::voice_calling::once::orders as activities;
use crate::bindings::voice_calling::waits_obelisk_stub::campaign as stubs;
use crate::waiting::after;

/// How often a campaign is looked for that cannot take an order just now.
const TRIES: u32 = 10;

const PAUSE_MS: u64 = 500;

/// How old the answer of a gate may be when a creation is sent: what asking it and connecting to the
/// service may take.
const IN_FLIGHT_MS: u64 = 5_000;

/// `campaign.pause`, `campaign.resume`, `campaign.stop`
pub fn give(campaign: &str, order: Order) -> Result<(), OrderError> {
    // The engine ends a workflow for good that gives it an id it cannot read.
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
                        // What was granted just before is sent, or given up.
                        let _ = engine::sleep(after(IN_FLIGHT_MS), None);
                    }
                    return Ok(());
                }
                // Another order was quicker: the campaign will have a stub for the next one.
                Err(error) => OrderError::Unreachable(format!("{error:?}")),
            },
            // It may be about to make the stub.
            Ok(None) => OrderError::PermanentNotFound,
            Err(reason) => OrderError::Unreachable(reason),
        };
        // Cancelled by an operator it is over early, which does no harm.
        let _ = engine::sleep(after(PAUSE_MS), None);
    }
    Err(error)
}

//! Orders to a campaign that runs: pause, resume, stop.

use voice_calling_correlation::RunId;

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Pause,
    Resume,
    Stop,
}

impl Order {
    const ALL: [(&str, Self); 3] = [
        ("pause", Self::Pause),
        ("resume", Self::Resume),
        ("stop", Self::Stop),
    ];

    /// What is written into the campaign's stub: with who orders, since the engine takes the same
    /// text twice.
    fn to_text(self, by: &str) -> String {
        let name = Self::ALL.iter().find(|(_, order)| *order == self);
        let name = name.map_or("", |(name, _)| name);
        format!("{name} {by}")
    }

    pub fn read(text: &str) -> Option<Self> {
        let (name, _) = text.split_once(' ')?;
        let order = Self::ALL.iter().find(|(known, _)| *known == name);
        order.map(|(_, order)| *order)
    }
}

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
                    // What was granted just before is sent, or given up.
                    let _ = engine::sleep(after(IN_FLIGHT_MS), None);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_read_as_it_was_written() {
        for (_, order) in Order::ALL {
            assert_eq!(Order::read(&order.to_text("E_1")), Some(order));
        }
        for text in ["", "stop", "Stop E_1", "halt E_1"] {
            assert_eq!(Order::read(text), None, "{text:?}");
        }
    }
}

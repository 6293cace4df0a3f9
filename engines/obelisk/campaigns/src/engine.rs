//! Requests to the engine.

use voice_calling_obelisk_guest::campaign::Order;
use wasi::clocks::monotonic_clock;

use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::execution::{ExecutionFailureKind, ExecutionId};
use crate::bindings::obelisk::types::time::ScheduleAt;
use crate::bindings::obelisk::webhook::webhook_support::{
    self as engine, ExecutionStatus, ExecutionStatusFinished, TryGetError,
};
use crate::bindings::voice_calling::workflows_obelisk_schedule::campaign as workflows;
use crate::execution::{Executions, Status};

/// The pauses between lookups of an order's result, 10 s in total.
const PAUSES_MS: [u64; 8] = [50, 100, 200, 400, 750, 1_500, 3_000, 4_000];

/// The engine that runs this endpoint.
pub struct Engine;

fn id(id: &str) -> ExecutionId {
    ExecutionId { id: id.to_owned() }
}

impl Executions for Engine {
    fn status(&self, execution: &str) -> Status {
        match engine::get_status(&id(execution)) {
            Err(_) => Status::Missing,
            Ok(ExecutionStatus::PendingAt(_) | ExecutionStatus::Cancelling) => Status::Pending,
            Ok(
                ExecutionStatus::Locked
                | ExecutionStatus::Paused
                | ExecutionStatus::BlockedByJoinSet,
            ) => Status::Going,
            Ok(ExecutionStatus::Finished(finished)) => match finished {
                ExecutionStatusFinished::Ok => Status::Ok,
                ExecutionStatusFinished::Err => Status::Err,
                ExecutionStatusFinished::ExecutionFailure(ExecutionFailureKind::Cancelled) => {
                    Status::Cancelled
                }
                ExecutionStatusFinished::ExecutionFailure(_) => Status::Failed,
            },
        }
    }

    fn result(&self, execution: &str) -> Option<String> {
        match engine::try_get(&id(execution)) {
            Ok(Ok(json) | Err(json)) => json,
            Err(_) => None,
        }
    }
}

/// The result of giving an order.
pub enum OrderResult {
    Yes,
    /// The error of the workflow, in the engine's JSON.
    No(Option<String>),
    /// The workflow takes longer; this is its execution id.
    NotYet(String),
}

/// Gives an order, and waits some seconds for its result.
pub fn send_order(order: Order, campaign: &str) -> OrderResult {
    // From here on the order is stored and survives a crash.
    let execution = match order {
        Order::Pause => workflows::pause_schedule(ScheduleAt::Now, campaign),
        Order::Resume => workflows::resume_schedule(ScheduleAt::Now, campaign),
        Order::Stop => workflows::stop_schedule(ScheduleAt::Now, campaign),
    };
    for pause_ms in PAUSES_MS {
        monotonic_clock::subscribe_duration(pause_ms * 1_000_000).block();
        // Polled, because `get` would keep a database connection while it waits.
        match engine::try_get(&execution) {
            Ok(Ok(_)) => return OrderResult::Yes,
            Ok(Err(error)) => return OrderResult::No(error),
            Err(TryGetError::NotFinishedYet) => {}
            Err(error) => {
                log::error(&format!("{} is lost: {error:?}", execution.id));
                return OrderResult::No(None);
            }
        }
    }
    OrderResult::NotYet(execution.id)
}

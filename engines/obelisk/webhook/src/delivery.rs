//! Processes one delivery: checks its form, hands it to the workflow that verifies it, and answers.

use voice_calling_core::settings::DEFAULT_MAX_DELIVERY_BYTES;
use voice_calling_core::types::RequestError;
use voice_calling_core::webhooks;
use voice_calling_correlation::{Completion, OVER};
use wasi::clocks::monotonic_clock;

use crate::answer::{Answer, Earlier, Verdict, of_error};
use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::execution::ExecutionId;
use crate::bindings::obelisk::types::time::ScheduleAt;
use crate::bindings::obelisk::webhook::webhook_support as engine;
use crate::bindings::voice_calling::workflows_obelisk_schedule::deliveries;

/// The pauses between lookups of the verdict, after which the service has waited long enough. Each
/// lookup costs the engine a query, which adds up if many deliveries come at a time.
const PAUSES_MS: [u64; 6] = [50, 100, 200, 400, 750, 1_500];

/// Processes a delivery for this account, after the secret was checked.
pub fn take(body: &[u8], account: Option<&str>) -> Answer {
    let text = String::from_utf8_lossy(body);
    match webhooks::parse_docket_completed(&text, DEFAULT_MAX_DELIVERY_BYTES) {
        Ok(Some(_)) => {}
        Ok(None) => return Answer::new(200, "ignored: not the completion of a docket"),
        Err(RequestError::PermanentInvalidInput(failure)) => {
            return Answer::new(400, failure.message);
        }
        Err(error) => return Answer::new(400, format!("{error:?}")),
    }
    // From here on the delivery is stored and survives a crash.
    let execution = deliveries::deliver_schedule(ScheduleAt::Now, &text, account);
    match wait_for(&execution) {
        Some(Ok(verdict)) => verdict.answer(|stub| earlier(stub, &text)),
        Some(Err(error)) => of_error(error.as_deref()),
        None => Answer::new(202, "accepted: it is being checked with the service"),
    }
}

/// Waits for the verdict, or the error in the engine's JSON; `None` if it takes too long.
fn wait_for(execution: &ExecutionId) -> Option<Result<Verdict, Option<String>>> {
    for pause_ms in PAUSES_MS {
        monotonic_clock::subscribe_duration(pause_ms * 1_000_000).block();
        // Polled, because `get` would keep a database connection while it waits.
        match engine::try_get(execution) {
            Ok(Ok(verdict)) => {
                let verdict = verdict.as_deref().map(serde_json::from_str);
                let Some(Ok(verdict)) = verdict else {
                    log::error(&format!("{} returned no verdict", execution.id));
                    return Some(Err(None));
                };
                return Some(Ok(verdict));
            }
            Ok(Err(error)) => return Some(Err(error)),
            Err(engine::TryGetError::NotFinishedYet) => {}
            Err(error) => {
                log::error(&format!("{} is lost: {error:?}", execution.id));
                return Some(Err(None));
            }
        }
    }
    None
}

/// Returns what the run already had when this delivery came.
fn earlier(stub: &str, text: &str) -> Earlier {
    let id = |id: &str| ExecutionId { id: id.to_owned() };
    let value = engine::try_get(&id(stub));
    if let Ok(Ok(Some(value))) = &value
        && let Ok(stored) = serde_json::from_str::<String>(value)
        && let Some(completion) = Completion::read(&stored)
    {
        return match completion.agrees_with(text) {
            true => Earlier::Same,
            false => Earlier::Different,
        };
    }
    let run = stub.rsplit_once('.').map_or("", |(run, _)| run);
    let says_over =
        |error: &String| serde_json::from_str::<String>(error).is_ok_and(|it| it == OVER);
    let is_over = match &value {
        Ok(Err(Some(error))) if says_over(error) => true,
        _ => matches!(
            engine::get_status(&id(run)),
            Ok(engine::ExecutionStatus::Finished(_))
        ),
    };
    if is_over {
        log::warn(&format!(
            "a completion came for {run}, which had already ended"
        ));
        return Earlier::None;
    }
    // The stub was cancelled or answered by hand.
    log::error(&format!(
        "the completion cannot be delivered to {run}: {stub} is used up"
    ));
    Earlier::Unusable
}

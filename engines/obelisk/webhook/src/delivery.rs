//! One delivery: looked at, handed to the workflow that checks it, answered.

use voice_calling_core::settings::DEFAULT_MAX_DELIVERY_BYTES;
use voice_calling_core::types::RequestError;
use voice_calling_core::webhooks;
use voice_calling_correlation::{Completion, OVER};
use wasi::clocks::monotonic_clock;

use crate::answer::{Answer, Had, Verdict, of_error};
use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::execution::ExecutionId;
use crate::bindings::obelisk::types::time::ScheduleAt;
use crate::bindings::obelisk::webhook::webhook_support as engine;
use crate::bindings::voice_calling::workflows_obelisk_schedule::deliveries;

/// The pauses after which is looked for the verdict; then the service has waited long enough. Each
/// look costs the engine a query, which many deliveries at a time would feel.
const PAUSES_MS: [u64; 6] = [50, 100, 200, 400, 750, 1_500];

/// Takes a delivery of a docket of this account. The secret was right.
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
    // From here on the delivery is stored, whatever dies.
    let execution = deliveries::deliver_schedule(ScheduleAt::Now, &text, account);
    match wait_for(&execution) {
        Some(Ok(verdict)) => verdict.answer(|stub| had(stub, &text)),
        Some(Err(error)) => of_error(error.as_deref()),
        None => Answer::new(202, "accepted: it is being checked with the service"),
    }
}

/// The verdict, or the error as the engine writes it; none where it takes too long.
fn wait_for(execution: &ExecutionId) -> Option<Result<Verdict, Option<String>>> {
    for pause_ms in PAUSES_MS {
        monotonic_clock::subscribe_duration(pause_ms * 1_000_000).block();
        // Not by `get`, which would keep a connection to the database while it waits.
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

/// What the run had got when this delivery came.
fn had(stub: &str, text: &str) -> Had {
    let id = |id: &str| ExecutionId { id: id.to_owned() };
    let value = engine::try_get(&id(stub));
    if let Ok(Ok(Some(value))) = &value
        && let Ok(stored) = serde_json::from_str::<String>(value)
        && let Some(completion) = Completion::read(&stored)
    {
        return match completion.agrees_with(text) {
            true => Had::TheSame,
            false => Had::SomethingElse,
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
        return Had::Nothing;
    }
    // The stub was cancelled or answered by hand.
    log::error(&format!(
        "the completion cannot be delivered to {run}: {stub} is used up"
    ));
    Had::Unusable
}

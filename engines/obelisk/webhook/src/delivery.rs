//! Processes one delivery: has the service verify it, and gives it to the run that waits for it.

use voice_calling_core::types::{CallOptions, Docket};
use voice_calling_obelisk_guest::{Api, Completion, OVER, Reply, Verdict, run_of_context};

use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::execution::ExecutionId;
use crate::bindings::obelisk::types::time::ScheduleAt;
use crate::bindings::obelisk::webhook::webhook_support as engine;
use crate::bindings::voice_calling::client::webhooks;
use crate::bindings::voice_calling::workflows_obelisk_schedule::deliveries;

/// The time for the service to answer, after which the sender has waited long enough.
const ANSWER_MS: u32 = 3_000;

/// Processes a delivery, after the secret was checked.
pub(crate) fn take(body: &[u8], environment: &[(String, String)]) -> Reply {
    let text = String::from_utf8_lossy(body);
    let options = CallOptions {
        deadline_ms: Some(ANSWER_MS),
        ..CallOptions::default()
    };
    let answer = match Verdict::of(webhooks::verify_docket_completed(&text, Some(&options))) {
        Verdict::Confirmed(docket) => give(*docket, &text, environment),
        Verdict::Refused { status, reason } => Ok(Reply::reason(status, reason)),
        Verdict::Open(reason) => Err(reason),
    };
    answer.unwrap_or_else(|reason| {
        log::warn(&format!("a delivery cannot be passed on yet: {reason}"));
        // From here on the delivery is stored and survives a crash.
        deliveries::deliver_schedule(ScheduleAt::Now, &text);
        Reply::reason(202, "accepted: it is being checked with the service")
    })
}

/// Gives the delivery to the run that its docket names. The error says why it is unknown whether the
/// run has it.
fn give(docket: Docket, delivery: &str, environment: &[(String, String)]) -> Result<Reply, String> {
    let Some(run) = docket.call_context.as_deref().and_then(run_of_context) else {
        return Ok(Reply::reason(
            200,
            "ignored: no run here created the docket",
        ));
    };
    let completion = Completion {
        docket: docket.raw_json,
        delivery: delivery.to_owned(),
    };
    let stub = run.completion();
    let value = serde_json::json!({ "ok": completion.to_text() }).to_string();
    match Api::of(environment)?.stub(&stub, &value)? {
        200 => Ok(Reply::reason(200, "the run has this completion")),
        404 => Ok(Reply::reason(
            404,
            "the run that created the docket is unknown here",
        )),
        409 => Ok(second(&stub, delivery)),
        status => Err(format!("the engine's API answered {status} for {stub}")),
    }
}

/// Returns the answer to a delivery whose run has an answer already.
fn second(stub: &str, delivery: &str) -> Reply {
    let id = |id: &str| ExecutionId { id: id.to_owned() };
    let run = stub.rsplit_once('.').map_or("", |(run, _)| run);
    let value = engine::try_get(&id(stub));
    if let Ok(Ok(Some(value))) = &value
        && let Ok(stored) = serde_json::from_str::<String>(value)
        && let Some(completion) = Completion::read(&stored)
    {
        if completion.delivery != delivery {
            log::warn(&format!(
                "another delivery came for {run}, which keeps the first"
            ));
        }
        return Reply::reason(200, "the run already has a completion");
    }
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
        // It ended by a poll, by its timeout, or by a person.
        log::warn(&format!(
            "a completion came for {run}, which had already ended"
        ));
        return Reply::reason(200, "the run had already ended");
    }
    // The stub was cancelled or answered by hand.
    log::error(&format!(
        "the completion cannot be delivered to {run}: {stub} is used up"
    ));
    Reply::reason(503, "the run cannot be reached: send it again")
}

//! The answer to `calls.get-call-details`, and when a wait takes it for complete.

use crate::answer::{MayHaveCreated, assert_kept, assert_passed_on};
use crate::members::{Members, elements, is_evidence, json_of};
use crate::service::{Service, client, run};
use voice_calling_core::types::{
    CallDetails, CallDetailsOutcome, CallInsights, CallStatus, WaitOptions,
};

const TASK_ID: &str = "t-1";

/// One poll and no time for another.
const ONE_POLL: WaitOptions = WaitOptions {
    timeout_ms: 1,
    not_found_is_pending: None,
};

/// Records are read from an array, or from a lone object, every field by itself; a wait
/// is over when every call was not answered or has insights that say something.
pub fn call_details(data: &[u8]) {
    let service = Service::answering(200, data);
    let client = client(&service);
    let json = json_of(data).unwrap_or_default();
    let came = match json.starts_with('{') {
        true => Some(vec![json.as_str()]),
        false => elements(&json),
    };
    let waited = run(client.wait_for_call_details(TASK_ID, ONE_POLL, None));
    match run(client.get_call_details(TASK_ID, None)) {
        Ok(list) => {
            let came = came.expect("records");
            assert_eq!(list.raw_json, json);
            assert_eq!(list.calls.len(), came.len());
            for (record, json) in list.calls.iter().zip(&came) {
                assert_read(record, json);
            }
            let waited = waited.expect("a wait reads what a get reads");
            assert_eq!((waited.polls, waited.failed_polls), (1, 0));
            let expected = match are_ready(&came) {
                true => CallDetailsOutcome::Completed(list),
                false => CallDetailsOutcome::Pending(Some(list)),
            };
            assert_eq!(waited.outcome, expected);
        }
        Err(error) => {
            assert_eq!(came, None, "records are lost");
            assert_kept(&error, data, MayHaveCreated::No);
            assert_eq!(Some(error), waited.err());
        }
    }
}

fn assert_read(record: &CallDetails, json: &str) {
    let came = Members::of(json);
    assert_passed_on(&record.call_context, came.object("call_context"));
    assert_eq!(record.call_status, came.text("call_status").map(status));
    assert_eq!(record.call_duration_s, came.number("call_duration"));
    for (name, text) in [
        ("agent_name", &record.agent_name),
        ("call_recording_url", &record.call_recording_url),
        ("from_number", &record.from_number),
        ("to_number", &record.to_number),
    ] {
        assert_eq!(*text, came.text(name), "{name}");
    }
    let insights = came.object("call_insights");
    assert_eq!(record.call_insights.is_some(), insights.is_some());
    if let Some((read, json)) = record.call_insights.as_ref().zip(insights) {
        assert_insights_read(read, json);
    }
}

fn assert_insights_read(insights: &CallInsights, json: &str) {
    let came = Members::of(json);
    assert_passed_on(&insights.metadata, came.object("metadata"));

    let inner = came.inner("user_interest");
    let interest = insights.user_interest.as_ref();
    assert_eq!(interest.is_some(), came.object("user_interest").is_some());
    if let Some(interest) = interest {
        assert_eq!(interest.status, inner.text("status"));
        assert_eq!(interest.confidence_score, inner.number("confidence_score"));
        assert_eq!(interest.reasoning, inner.text("reasoning"));
    }

    let inner = came.inner("next_action");
    let action = insights.next_action.as_ref();
    assert_eq!(action.is_some(), came.object("next_action").is_some());
    if let Some(action) = action {
        assert_eq!(action.value, inner.text("value"));
        assert_eq!(action.reason, inner.text("reason"));
    }
}

fn status(text: String) -> CallStatus {
    match text.as_str() {
        "ANSWERED" => CallStatus::Answered,
        "NO_ANSWER" => CallStatus::NoAnswer,
        "BUSY" => CallStatus::Busy,
        _ => CallStatus::Other(text),
    }
}

fn are_ready(records: &[&str]) -> bool {
    let is_ready = |json: &&str| {
        let record = Members::of(json);
        let status = record.text("call_status");
        matches!(status.as_deref(), Some("NO_ANSWER" | "BUSY"))
            || record.object("call_insights").is_some_and(is_evidence)
    };
    !records.is_empty() && records.iter().all(is_ready)
}

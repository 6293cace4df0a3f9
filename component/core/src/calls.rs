//! Calls that are placed directly, and their details.

use crate::client::Client;
use crate::json::{Object, Value, member_name, object_argument};
use crate::ledger::{Ledger, Recorded};
use crate::operation::{ResponseMeta, Success};
use crate::problem::problem;
use crate::record::{Field, Record};
use crate::request::{ApiRequest, Endpoint, check_identifier, check_no_control, check_not_empty};
use crate::settings::AccountSettings;
use crate::transport::Transport;
use crate::types::{
    CallDetails, CallDetailsList, CallDetailsOutcome, CallDetailsWait, CallInsights, CallOptions,
    CallRequest, CallStatus, Failure, NextAction, Problem, StartedCall, UserInterest, WaitOptions,
};
use std::collections::BTreeSet;

pub(crate) const MAKE_CALL: Endpoint = Endpoint::post("calls.make-call", "/make_call");
pub(crate) const GET_CALL_DETAILS: Endpoint =
    Endpoint::get("calls.get-call-details", "/call_details/{task_id}");
pub(crate) const WAIT_FOR_CALL_DETAILS: Endpoint =
    Endpoint::get("calls.wait-for-call-details", "/call_details/{task_id}");

impl<T: Transport, L: Ledger> Client<T, L> {
    /// Implements `calls.make-call`; it is carried out once if it has a key in the ledger.
    pub async fn make_call(
        &self,
        request: &CallRequest,
        options: Option<CallOptions>,
        key: Option<&str>,
    ) -> Result<Recorded<StartedCall>, Failure> {
        let operation = self.begin(options)?;
        let request = operation.request(|settings| make_call_request(request, settings))?;
        operation
            .create(&request, key, None, decode_started_call)
            .await
    }

    /// Implements `calls.get-call-details`.
    pub async fn get_call_details(
        &self,
        task_id: &str,
        options: Option<CallOptions>,
    ) -> Result<CallDetailsList, Failure> {
        let operation = self.begin(options)?;
        let request = operation.request(|_| details_request(&GET_CALL_DETAILS, task_id))?;
        let success = operation.send(&request).await?;
        success.decode(|body, meta| Ok(decode_call_details(body, meta)?.list))
    }

    /// Implements `calls.wait-for-call-details`.
    pub async fn wait_for_call_details(
        &self,
        task_id: &str,
        wait: WaitOptions,
        options: Option<CallOptions>,
    ) -> Result<CallDetailsWait, Failure> {
        let operation = self.begin(options)?;
        let request = operation.request(|_| details_request(&WAIT_FOR_CALL_DETAILS, task_id))?;
        let not_found_is_pending = wait.not_found_is_pending.unwrap_or(true);
        let mut latest = None;
        let mut check = |success: Success<'_>| {
            let details = success.decode(decode_call_details)?;
            latest = Some(details.list);
            Ok(details.are_ready)
        };
        let waited = operation
            .wait(&request, wait.timeout_ms, not_found_is_pending, &mut check)
            .await?;
        Ok(CallDetailsWait {
            outcome: match latest {
                Some(list) if waited.is_ready => CallDetailsOutcome::Completed(list),
                latest => CallDetailsOutcome::Pending(latest),
            },
            polls: waited.polls,
            failed_polls: waited.failed_polls,
            waited_ms: waited.waited_ms,
            held_back_ms: waited.held_back_ms,
        })
    }
}

fn make_call_request(
    request: &CallRequest,
    settings: &AccountSettings,
) -> Result<ApiRequest, Problem> {
    ApiRequest::create(&MAKE_CALL, &encode_call(request)?, settings)
}

fn details_request(endpoint: &'static Endpoint, task_id: &str) -> Result<ApiRequest, Problem> {
    check_identifier("task-id", task_id)?;
    ApiRequest::read(endpoint, "task-id", task_id)
}

fn encode_call(request: &CallRequest) -> Result<Record<'_>, Problem> {
    match &request.from_agent_name {
        Some(name) => check_not_empty("from-agent-name", name)?,
        None => check_extra_selects_agent(request)?,
    }
    check_not_empty("to-phone-number", &request.to_phone_number)?;
    check_no_control("to-phone-number", &request.to_phone_number)?;
    let extra_config = Record::new(vec![("call_context", encode_context(request)?)]);
    Record::new(vec![
        ("from_agent_name", Field::text(&request.from_agent_name)),
        ("to_phone_number", Field::Text(&request.to_phone_number)),
        ("extra_config", Field::Extensible(extra_config)),
    ])
    .with_extra("extra", request.extra.as_deref())
}

fn encode_context(request: &CallRequest) -> Result<Field<'_>, Problem> {
    let context = &request.call_context;
    let mut names = BTreeSet::new();
    if let Some((name, _)) = context.iter().find(|(name, _)| !names.insert(name)) {
        let argument = member_name("call-context", name);
        return Err(problem(argument, "a duplicate name", "each name once"));
    }
    Ok(match context.is_empty() {
        true => Field::Absent,
        false => Field::Texts(context),
    })
}

fn check_extra_selects_agent(request: &CallRequest) -> Result<(), Problem> {
    let extra = request.extra.as_deref();
    let extra = extra
        .map(|extra| object_argument("extra", extra))
        .transpose()?;
    match extra {
        Some(extra) if extra.names().any(|name| name != "extra_config") => Ok(()),
        _ => Err(problem(
            "from-agent-name",
            "none, and nothing in `extra`",
            "an agent's name, or an `extra` that selects the agent",
        )),
    }
}

fn decode_started_call(body: &str, meta: ResponseMeta) -> Result<StartedCall, String> {
    let object = Value::parse(body)?.to_object()?;
    let task_id = object.identifier("task_id")?;
    // A task id is useless if no details can be fetched with it.
    if let Err(problem) = details_request(&GET_CALL_DETAILS, &task_id) {
        return Err(format!("`task_id` is {}", problem.found));
    }
    Ok(StartedCall {
        task_id,
        raw_json: object.json(),
        request_id: meta.request_id,
        attempts: meta.attempts,
        may_be_duplicate: meta.may_be_duplicate,
    })
}

/// The details of a task, as far as they are available.
struct Details {
    list: CallDetailsList,
    are_ready: bool,
}

/// Decodes an array of records; a single object counts as an array of one.
fn decode_call_details(body: &str, meta: ResponseMeta) -> Result<Details, String> {
    let body = Value::parse(body)?;
    let records = match body.is_object() {
        true => vec![body],
        false => body
            .to_array()
            .map_err(|found| format!("{found}, not an array of records"))?,
    };
    // An element that is not an object has no known members.
    let records = records.into_iter();
    let records = records.map(|one| one.to_object().unwrap_or_else(|_| Object::empty(one)));
    let (mut calls, mut all_ready) = (Vec::new(), true);
    for record in records {
        all_ready &= is_ready(&record);
        calls.push(decode_record(&record));
    }
    Ok(Details {
        are_ready: all_ready && !calls.is_empty(),
        list: CallDetailsList {
            calls,
            raw_json: body.text().to_owned(),
            request_id: meta.request_id,
            attempts: meta.attempts,
        },
    })
}

fn decode_record(record: &Object<'_>) -> CallDetails {
    CallDetails {
        agent_name: record.text("agent_name"),
        call_context: record.object_json("call_context"),
        call_insights: record
            .object("call_insights")
            .map(|insights| decode_insights(&insights)),
        call_recording_url: record.text("call_recording_url"),
        from_number: record.text("from_number"),
        to_number: record.text("to_number"),
        call_status: record.text("call_status").map(decode_status),
        call_duration_s: record.number("call_duration"),
    }
}

fn decode_insights(insights: &Object<'_>) -> CallInsights {
    CallInsights {
        metadata: insights.object_json("metadata"),
        user_interest: insights
            .object("user_interest")
            .map(|interest| UserInterest {
                status: interest.text("status"),
                confidence_score: interest.number("confidence_score"),
                reasoning: interest.text("reasoning"),
            }),
        next_action: insights.object("next_action").map(|action| NextAction {
            value: action.text("value"),
            reason: action.text("reason"),
        }),
    }
}

fn decode_status(status: String) -> CallStatus {
    match status.as_str() {
        "ANSWERED" => CallStatus::Answered,
        "NO_ANSWER" => CallStatus::NoAnswer,
        "BUSY" => CallStatus::Busy,
        _ => CallStatus::Other(status),
    }
}

/// Returns `true` if the details of a call are ready. Insights come once the call is completed; a
/// call that was not answered has none. The meaning of other statuses is not specified, so that a
/// wait goes on.
fn is_ready(record: &Object<'_>) -> bool {
    let not_answered = matches!(
        record.text("call_status").as_deref(),
        Some("NO_ANSWER" | "BUSY")
    );
    let insights = record.member("call_insights");
    not_answered || insights.is_some_and(|insights| insights.is_object() && insights.has_content())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Step, World, assert_refused, rows};

    /// A call, the argument at fault, and what was found.
    const REFUSED: &str = r#"
        {"to_phone_number":"91","call_context":[]} | from-agent-name | none, and nothing in `extra`
        {"to_phone_number":"91","call_context":[],"extra":"{}"} | from-agent-name | none, and nothing in `extra`
        {"to_phone_number":"91","call_context":[],"extra":"{\"extra_config\":{\"agent\":\"a\"}}"} | from-agent-name | none, and nothing in `extra`
        {"to_phone_number":"91","call_context":[],"extra":"7"} | extra | a number
        {"from_agent_name":"a","to_phone_number":"","call_context":[]} | to-phone-number | an empty string
        {"from_agent_name":"a","to_phone_number":"9198\u0000","call_context":[]} | to-phone-number | '\0' at position 5
        {"from_agent_name":"a","to_phone_number":"91","call_context":[["a","1"],["b","1"],["a","1"]]} | call-context.a | a duplicate name
        {"from_agent_name":"a","to_phone_number":"91","call_context":[["a","1"],["b","1"],["b","1"],["a","1"]]} | call-context.b | a duplicate name
        {"from_agent_name":"a","to_phone_number":"91","call_context":[],"extra":"{\"to_phone_number\":1}"} | extra.to_phone_number | a member that is a field of the request
        {"from_agent_name":"a","to_phone_number":"91","call_context":[],"extra":"{\"extra_config\":{\"call_context\":{}}}"} | extra.extra_config.call_context | a member that is a field of the request"#;

    #[test]
    fn a_call_that_is_refused_is_not_sent() {
        assert_refused(REFUSED, async |client, call| {
            let call = serde_json::from_str(call).unwrap();
            client.make_call(&call, None, None).await.map(drop)
        });
    }

    /// Responses, and whether all calls of the task are ready: they have insights with content, or
    /// were not answered.
    const READINESS: &str = r#"
        [{"call_insights":{"metadata":{"n":0}},"call_status":"ANSWERED"}] | yes
        [{"call_insights":{"next_action":{"value":"REDIAL"}}}] | yes
        [{"call_insights":{"new":[false]}}] | yes
        [{"call_insights":null,"call_status":"NO_ANSWER"}] | yes
        [{"call_status":"BUSY"}] | yes
        [{"call_insights":{"metadata":{},"user_interest":null},"call_status":"ANSWERED"}] | no
        [{"call_insights":{"user_interest":{"status":"","reasoning":null}}}] | no
        [{"call_insights":{},"call_status":"ANSWERED"}] | no
        [{"call_insights":null,"call_status":"ANSWERED"}] | no
        [{"call_insights":"soon","call_status":"ANSWERED"}] | no
        [{"call_insights":["soon"]}] | no
        [{"call_status":"RINGING"}] | no
        [{"call_status":null}] | no
        [7] | no

        [] | no
        {"call_status":"BUSY"} | yes
        [{"call_status":"BUSY"},{"call_status":"BUSY"}] | yes
        [{"call_status":"BUSY"},{"call_status":"RINGING"}] | no
        [{"call_status":"BUSY"},null] | no"#;

    #[test]
    fn the_details_of_a_task_are_ready_when_all_its_records_are() {
        for [body, is_ready] in rows(READINESS) {
            let details = decode_call_details(body, ResponseMeta::default()).unwrap();
            assert_eq!(details.are_ready, is_ready == "yes", "{body}");
        }
    }

    #[test]
    fn a_status_that_is_not_specified_is_kept_as_it_is() {
        for (status, expected) in [
            ("ANSWERED", CallStatus::Answered),
            ("NO_ANSWER", CallStatus::NoAnswer),
            ("BUSY", CallStatus::Busy),
            ("busy", CallStatus::Other("busy".to_owned())),
        ] {
            assert_eq!(decode_status(status.to_owned()), expected);
        }
    }

    #[test]
    fn a_call_without_an_agent_needs_an_extra_that_may_select_one() {
        let world = World::with_script([Step::ok(r#"{"task_id":"task-1"}"#)]);
        let request = r#"{"to_phone_number":"91","call_context":[],"extra":"{\"agent\":8}"}"#;
        let request = serde_json::from_str(request).unwrap();
        let made = world.run(world.client(&[]).make_call(&request, None, None));
        assert_eq!(made.unwrap().answer.task_id, "task-1");
    }
}

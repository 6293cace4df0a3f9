//! Dockets: business tasks, created in either version of the endpoint, fetched,
//! and waited for.

use crate::client::Client;
use crate::json::{Object, Record, Value, Written, object_argument};
use crate::number::check_docket_number;
use crate::operation::{Operation, Sent, Success};
use crate::problem::problem;
use crate::request::{ApiRequest, Endpoint};
use crate::settings::AccountSettings;
use crate::transport::Transport;
use crate::types::{
    CallOptions, CreatedDocket, CreatedDocketV2, Docket, DocketOutcome, DocketRequest,
    DocketRequestV2, DocketStatus, DocketWait, Problem, RequestError, WaitOptions,
};
use uuid::Uuid;

const CREATE_DOCKET: Endpoint = Endpoint::post("dockets.create-docket", "/api/v1/dockets");
const CREATE_DOCKET_V2: Endpoint = Endpoint::post("dockets.create-docket-v2", "/api/v2/dockets");
const GET_DOCKET: Endpoint = Endpoint::get("dockets.get-docket", "/api/v1/dockets/{docket_id}");
const WAIT_FOR_DOCKET: Endpoint =
    Endpoint::get("dockets.wait-for-docket", "/api/v1/dockets/{docket_id}");

impl<T: Transport> Client<T> {
    /// `dockets.create-docket`
    pub async fn create_docket(
        &self,
        request: &DocketRequest,
        options: Option<CallOptions>,
    ) -> Result<CreatedDocket, RequestError> {
        let operation = self.begin(options)?;
        let request = operation.request(|settings| {
            ApiRequest::create(&CREATE_DOCKET, &encode_docket(request)?, settings)
        })?;
        operation
            .send(&request)
            .await?
            .decode(decode_created_docket)
    }

    /// `dockets.create-docket-v2`
    pub async fn create_docket_v2(
        &self,
        request: &DocketRequestV2,
        options: Option<CallOptions>,
    ) -> Result<CreatedDocketV2, RequestError> {
        let operation = self.begin(options)?;
        let request = operation.request(|settings| create_docket_v2_request(request, settings))?;
        operation
            .send(&request)
            .await?
            .decode(decode_created_docket_v2)
    }

    /// `dockets.get-docket`
    pub async fn get_docket(
        &self,
        docket_id: &str,
        options: Option<CallOptions>,
    ) -> Result<Docket, RequestError> {
        fetch_docket(&self.begin(options)?, docket_id).await
    }

    /// `dockets.wait-for-docket`
    pub async fn wait_for_docket(
        &self,
        docket_id: &str,
        wait: WaitOptions,
        options: Option<CallOptions>,
    ) -> Result<DocketWait, RequestError> {
        let operation = self.begin(options)?;
        let request = operation.request(|_| docket_request(&WAIT_FOR_DOCKET, docket_id))?;
        let not_found_is_pending = wait.not_found_is_pending.unwrap_or(false);
        let mut seen = None;
        let mut look = |answer: Success<'_>| {
            let decode = |answer: Value<'_>, sent| decode_docket(answer, sent, Some(docket_id));
            let docket = answer.decode(decode)?;
            let is_ready = is_completed(&docket);
            seen = Some(docket);
            Ok(is_ready)
        };
        let waited = operation
            .wait(&request, wait.timeout_ms, not_found_is_pending, &mut look)
            .await?;
        Ok(DocketWait {
            outcome: match seen {
                Some(docket) if waited.is_ready => DocketOutcome::Completed(docket),
                seen => DocketOutcome::Pending(seen),
            },
            polls: waited.polls,
            failed_polls: waited.failed_polls,
            waited_ms: waited.waited_ms,
            held_back_ms: waited.held_back_ms,
        })
    }
}

/// Fetches a docket, for itself or beside a delivery that names it.
pub(crate) async fn fetch_docket<T: Transport>(
    operation: &Operation<'_, T>,
    docket_id: &str,
) -> Result<Docket, RequestError> {
    let request = operation.request(|_| docket_request(&GET_DOCKET, docket_id))?;
    let success = operation.send(&request).await?;
    success.decode(|answer, sent| decode_docket(answer, sent, Some(docket_id)))
}

fn docket_request(endpoint: &'static Endpoint, docket_id: &str) -> Result<ApiRequest, Problem> {
    check_docket_id("docket-id", docket_id)?;
    Ok(ApiRequest::read(endpoint, "docket-id", docket_id)?.accepting_json())
}

/// The request that creates a docket in version 2, alone or in a batch.
pub(crate) fn create_docket_v2_request(
    request: &DocketRequestV2,
    settings: &AccountSettings,
) -> Result<ApiRequest, Problem> {
    ApiRequest::create(&CREATE_DOCKET_V2, &encode_docket_v2(request)?, settings)
}

fn encode_docket(request: &DocketRequest) -> Result<Record<'_>, Problem> {
    check_docket_number(&request.to_phone_number)?;
    Record::new(vec![
        ("agent_id", Written::Integer(request.agent_id)),
        ("to_phone_number", Written::Text(&request.to_phone_number)),
        ("extra_config", encode_context(&request.call_context)?),
    ])
    .with_extra("extra", request.extra.as_deref())
}

fn encode_docket_v2(request: &DocketRequestV2) -> Result<Record<'_>, Problem> {
    check_docket_number(&request.to_phone_number)?;
    Record::new(vec![
        ("agent_id", Written::Integer(request.agent_id)),
        ("to_phone_number", Written::Text(&request.to_phone_number)),
        ("extra_config", encode_context(&request.call_context)?),
        ("external_id", Written::text(&request.external_id)),
    ])
    .with_extra("extra", request.extra.as_deref())
}

fn encode_context(context: &str) -> Result<Written<'_>, Problem> {
    let context = object_argument("call-context", context)?;
    Ok(Written::Extensible(Record::new(vec![(
        "call_context",
        Written::Json(context.value()),
    )])))
}

/// A docket id is a UUID in its hyphenated form, which no path can misread.
pub(crate) fn check_docket_id(argument: &str, docket_id: &str) -> Result<(), Problem> {
    if docket_id.len() == 36 && Uuid::try_parse(docket_id).is_ok() {
        return Ok(());
    }
    let shown: String = docket_id.chars().take(40).collect();
    let allowed = "a UUID in its hyphenated form, 36 characters";
    Err(problem(argument, format!("{shown:?}"), allowed))
}

/// Reads a docket as the service returns it, from its `raw-json` for example; the error says what
/// is wrong with it.
pub fn read(json: &str) -> Result<Docket, String> {
    let nothing = Sent {
        request_id: None,
        attempts: Vec::new(),
        may_be_duplicate: false,
    };
    decode_docket(Value::parse(json)?, nothing, None)
}

fn decode_created_docket(answer: Value<'_>, sent: Sent) -> Result<CreatedDocket, String> {
    let docket = answer.to_object()?;
    Ok(CreatedDocket {
        docket_id: created_id(&docket)?,
        status: docket.text("status").map(decode_status),
        raw_json: docket.json(),
        request_id: sent.request_id,
        attempts: sent.attempts,
        may_be_duplicate: sent.may_be_duplicate,
    })
}

/// Decodes the answer to a creation in version 2, alone or in a batch.
pub(crate) fn decode_created_docket_v2(
    answer: Value<'_>,
    sent: Sent,
) -> Result<CreatedDocketV2, String> {
    let docket = answer.to_object()?;
    Ok(CreatedDocketV2 {
        docket_id: created_id(&docket)?,
        status: docket.text("status").map(decode_status),
        created: docket.boolean("created"),
        raw_json: docket.json(),
        request_id: sent.request_id,
        attempts: sent.attempts,
        may_be_duplicate: sent.may_be_duplicate,
    })
}

/// The id of a docket that was created: one that can be fetched.
fn created_id(docket: &Object<'_>) -> Result<String, String> {
    let docket_id = docket.identifier("docket_id")?;
    match check_docket_id("docket_id", &docket_id) {
        Ok(()) => Ok(docket_id),
        Err(problem) => Err(format!(
            "`docket_id` is {}; expected {}",
            problem.found, problem.allowed
        )),
    }
}

/// Decodes a docket. Where one was asked for, it is that one, and an answer without an id is
/// about it.
fn decode_docket(answer: Value<'_>, sent: Sent, asked: Option<&str>) -> Result<Docket, String> {
    let docket = answer.to_object()?;
    let docket_id = match (docket.identifier("docket_id"), asked) {
        (Ok(id), Some(asked)) if !id.eq_ignore_ascii_case(asked) => {
            let shown: String = id.chars().take(40).collect();
            return Err(format!(
                "`docket_id` is {shown:?}, not the docket that was requested"
            ));
        }
        (Ok(id), _) => id,
        (Err(_), Some(asked)) => asked.to_owned(),
        (Err(found), None) => return Err(found),
    };
    Ok(Docket {
        docket_id,
        agent_name: docket.text("agent_name"),
        status: docket.text("status").map(decode_status),
        call_type: docket.text("call_type"),
        from_number: docket.text("from_number"),
        to_phone_number: docket.text("to_phone_number"),
        call_context: docket.object_json("call_context"),
        external_id: docket.text("external_id"),
        closed_call_id: docket.text("closed_call_id"),
        latest_call_id: docket.text("latest_call_id"),
        closure_reason: docket.text("closure_reason"),
        outbound_call_count: docket.integer("outbound_call_count"),
        notification_status: docket.text("notification_status"),
        first_called_at: docket.text("first_called_at"),
        closed_at: docket.text("closed_at"),
        created_at: docket.text("created_at"),
        updated_at: docket.text("updated_at"),
        raw_json: docket.json(),
        request_id: sent.request_id,
        attempts: sent.attempts,
    })
}

/// No further calls are to be made: the status says so, or one that is not specified does not
/// deny that the docket was closed.
pub fn is_completed(docket: &Docket) -> bool {
    match &docket.status {
        Some(DocketStatus::Completed) => true,
        Some(DocketStatus::Open | DocketStatus::InProgress) => false,
        Some(DocketStatus::Other(_)) | None => {
            docket.closed_at.as_ref().is_some_and(|at| !at.is_empty())
        }
    }
}

fn decode_status(status: String) -> DocketStatus {
    match status.as_str() {
        "OPEN" => DocketStatus::Open,
        "IN_PROGRESS" => DocketStatus::InProgress,
        "COMPLETED" => DocketStatus::Completed,
        _ => DocketStatus::Other(status),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Step, World, no_attempts, take_apart};

    const DOCKET_ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";

    fn request() -> DocketRequestV2 {
        DocketRequestV2 {
            agent_id: 7,
            to_phone_number: "919876543210".into(),
            call_context: r#"{"big":12345678901234567890,"amount":0.10}"#.into(),
            external_id: None,
            extra: None,
        }
    }

    #[test]
    fn dockets_are_encoded_as_specified() {
        let encoded = |request: &DocketRequestV2| {
            encode_docket_v2(request)
                .map(|record| record.to_json())
                .unwrap()
        };
        let context =
            r#""extra_config":{"call_context":{"big":12345678901234567890,"amount":0.10}}"#;
        let head = r#"{"agent_id":7,"to_phone_number":"919876543210""#;
        assert_eq!(encoded(&request()), format!("{head},{context}}}"));
        let full = DocketRequestV2 {
            external_id: Some("crm \"7\"\n".into()),
            extra: Some(r#"{"priority":1.0}"#.into()),
            ..request()
        };
        assert_eq!(
            encoded(&full),
            format!(r#"{head},{context},"external_id":"crm \"7\"\n","priority":1.0}}"#)
        );
        let configured = DocketRequestV2 {
            call_context: "{}".into(),
            extra: Some(r#"{"extra_config":{"retries":2}}"#.into()),
            ..request()
        };
        assert_eq!(
            encoded(&configured),
            format!(r#"{head},"extra_config":{{"call_context":{{}},"retries":2}}}}"#)
        );
        let version_1 = DocketRequest {
            agent_id: i64::MIN,
            to_phone_number: "919876543210".into(),
            call_context: "{}".into(),
            extra: Some(r#"{"external_id":"x"}"#.into()),
        };
        assert_eq!(
            encode_docket(&version_1)
                .map(|record| record.to_json())
                .unwrap(),
            r#"{"agent_id":-9223372036854775808,"to_phone_number":"919876543210","extra_config":{"call_context":{}},"external_id":"x"}"#
        );
    }

    #[test]
    fn bad_arguments_of_a_docket_are_named() {
        let context = |json: &str| DocketRequestV2 {
            call_context: json.into(),
            ..request()
        };
        let extra = |json: &str| DocketRequestV2 {
            extra: Some(json.into()),
            ..request()
        };
        for (request, subject) in [
            (context(""), "call-context"),
            (context("[]"), "call-context"),
            (context("null"), "call-context"),
            (context("{\"a\":NaN}"), "call-context"),
            (extra("[]"), "extra"),
            (extra(r#"{"agent_id":8}"#), "extra.agent_id"),
            (extra(r#"{"to_phone_number":"9"}"#), "extra.to_phone_number"),
            (extra(r#"{"external_id":"x"}"#), "extra.external_id"),
            (
                extra(r#"{"extra_config":{"call_context":{}}}"#),
                "extra.extra_config.call_context",
            ),
            (
                DocketRequestV2 {
                    to_phone_number: "+91987654321".into(),
                    ..request()
                },
                "to-phone-number",
            ),
        ] {
            assert_eq!(
                encode_docket_v2(&request).err().unwrap().subject,
                subject,
                "{request:?}"
            );
        }
    }

    #[test]
    fn a_docket_id_is_a_hyphenated_uuid() {
        for good in [
            "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11",
            "7F8D3B0E-0D51-4F0C-9A63-2F1A5C0D9E11",
        ] {
            assert!(check_docket_id("docket-id", good).is_ok());
        }
        for bad in [
            "",
            ".",
            "..",
            "7f8d3b0e0d514f0c9a632f1a5c0d9e11",
            "{7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11}",
            "urn:uuid:7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11",
            "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e1g",
            "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11/",
            "../../../../../../../../../../make_call",
        ] {
            let problem = check_docket_id("docket-id", bad).unwrap_err();
            assert_eq!(problem.subject, "docket-id", "{bad}");
        }
    }

    fn decoded(json: &str, asked: Option<&str>) -> Result<Docket, String> {
        decode_docket(Value::parse(json)?, no_attempts(), asked)
    }

    #[test]
    fn nulls_and_odd_values_in_a_docket_cost_only_themselves() {
        let json = r#"{"docket_id":"d","agent_name":null,"status":"ARCHIVED","outbound_call_count":"3","external_id":7,"call_context":[],"closed_at":null,"first_called_at":"2026-01-02T03:04:05.678901","priority":{"kept":1.10}}"#;
        let docket = read(json).unwrap();
        assert_eq!(docket.status, Some(DocketStatus::Other("ARCHIVED".into())));
        assert_eq!(
            (docket.agent_name, docket.external_id, docket.closed_at),
            (None, None, None)
        );
        assert_eq!(
            (docket.outbound_call_count, docket.call_context),
            (None, None)
        );
        let first_called_at = docket.first_called_at.as_deref();
        assert_eq!(first_called_at, Some("2026-01-02T03:04:05.678901"));
        assert_eq!(docket.raw_json, json);
    }

    #[test]
    fn where_no_docket_was_asked_for_one_needs_an_id() {
        for (json, found) in [
            ("{}", "`docket_id` is missing"),
            (r#"{"docket_id":null}"#, "`docket_id` is null"),
            (r#"{"docket_id":""}"#, "`docket_id` is an empty string"),
            ("[]", "an array"),
        ] {
            let error = read(json).unwrap_err();
            assert!(error.starts_with(found), "{json}: {error}");
        }
    }

    #[test]
    fn an_answer_is_about_the_docket_that_was_asked_for_unless_it_names_another() {
        let upper = DOCKET_ID.to_uppercase();
        for (id, expected) in [
            (format!("\"{DOCKET_ID}\""), Ok(DOCKET_ID)),
            (format!("\"{upper}\""), Ok(&*upper)),
            ("null".into(), Ok(DOCKET_ID)),
            ("7".into(), Ok(DOCKET_ID)),
            ("\"\"".into(), Ok(DOCKET_ID)),
            (
                "\"d\"".into(),
                Err("`docket_id` is \"d\", not the docket that was requested"),
            ),
        ] {
            let docket = decoded(&format!(r#"{{"docket_id":{id}}}"#), Some(DOCKET_ID));
            let docket_id = docket.as_ref().map(|docket| &*docket.docket_id);
            assert_eq!(docket_id.map_err(String::as_str), expected, "{id}");
        }
        assert_eq!(decoded("{}", Some(DOCKET_ID)).unwrap().docket_id, DOCKET_ID);
    }

    #[test]
    fn another_docket_than_the_one_asked_for_is_an_unexpected_response() {
        let world = World::with_script([Step::ok(r#"{"docket_id":"d"}"#)]);
        let client = world.client(&[]);
        let error = world.run(client.get_docket(DOCKET_ID, None)).unwrap_err();
        let (case, failure) = take_apart(error);
        assert_eq!(case, "permanent-unexpected-response");
        assert_eq!(failure.response.unwrap().body, r#"{"docket_id":"d"}"#);
    }

    #[test]
    fn a_docket_is_completed_where_its_status_says_so_or_does_not_deny_that_it_was_closed() {
        for (members, completed) in [
            (r#""status":"COMPLETED""#, true),
            (r#""status":"COMPLETED","closed_at":null"#, true),
            (r#""status":"ARCHIVED","closed_at":"2026-01-02""#, true),
            (r#""closed_at":"2026-01-02""#, true),
            (r#""status":7,"closed_at":"2026-01-02""#, true),
            (r#""status":"IN_PROGRESS","closed_at":"2026-01-02""#, false),
            (r#""status":"OPEN","closed_at":"2026-01-02""#, false),
            (r#""status":"ARCHIVED""#, false),
            (r#""status":"ARCHIVED","closed_at":"""#, false),
            (r#""status":"completed""#, false),
            (r#""x":0"#, false),
        ] {
            let docket = decoded(&format!("{{{members}}}"), Some(DOCKET_ID)).unwrap();
            assert_eq!(is_completed(&docket), completed, "{members}");
        }
    }

    #[test]
    fn a_created_dockets_id_is_returned_whatever_is_beside_it() {
        let json = format!(r#"{{"docket_id":"{DOCKET_ID}","status":null,"created":"yes"}}"#);
        let answer = || Value::parse(&json).unwrap();
        let created = decode_created_docket_v2(answer(), no_attempts()).unwrap();
        assert_eq!(
            (&*created.docket_id, created.status, created.created),
            (DOCKET_ID, None, None)
        );
        let created = decode_created_docket(answer(), no_attempts()).unwrap();
        assert_eq!((&*created.docket_id, created.raw_json), (DOCKET_ID, json));
    }

    #[test]
    fn a_created_docket_whose_id_is_no_uuid_is_not_understood_and_may_exist() {
        for id in ["d", "7f8d3b0e0d514f0c9a632f1a5c0d9e11"] {
            let world = World::with_script([Step::ok(&format!(r#"{{"docket_id":"{id}"}}"#))]);
            let client = world.client(&[]);
            let result = world.run(client.create_docket_v2(&request(), None));
            let (case, failure) = take_apart(result.unwrap_err());
            assert_eq!(
                (case, failure.may_have_created),
                ("permanent-unexpected-response", true)
            );
            assert!(failure.message.contains(id), "{}", failure.message);
        }
    }

    #[test]
    fn a_token_in_the_place_of_a_docket_id_is_not_shown() {
        let echo = Step::ok(r#"{"docket_id":"simulated-token"}"#);
        let world = World::with_script([echo]);
        let client = world.client(&[]);
        let fetched = client.get_docket("7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11", None);
        let (case, failure) = take_apart(world.run(fetched).unwrap_err());
        assert_eq!(case, "permanent-unexpected-response");
        assert!(failure.message.contains("[api token]"), "{failure:?}");
        assert!(!failure.message.contains("simulated-token"), "{failure:?}");
    }
}

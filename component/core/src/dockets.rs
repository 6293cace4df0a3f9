//! Dockets: business tasks, created in either version of the endpoint, fetched,
//! and waited for.

use crate::client::Client;
use crate::json::{Object, Value, object_argument};
use crate::ledger::{Ledger, Recorded};
use crate::operation::{Operation, ResponseMeta, Success};
use crate::problem::problem;
use crate::record::{Field, Record};
use crate::request::{ApiRequest, Endpoint};
use crate::settings::AccountSettings;
use crate::transport::Transport;
use crate::types::{
    CallOptions, CreatedDocket, CreatedDocketV2, Docket, DocketOutcome, DocketRequest,
    DocketRequestV2, DocketStatus, DocketWait, Failure, Problem, WaitOptions,
};
use uuid::Uuid;

pub(crate) const CREATE_DOCKET: Endpoint =
    Endpoint::post("dockets.create-docket", "/api/v1/dockets");
pub(crate) const CREATE_DOCKET_V2: Endpoint =
    Endpoint::post("dockets.create-docket-v2", "/api/v2/dockets");
pub(crate) const GET_DOCKET: Endpoint =
    Endpoint::get("dockets.get-docket", "/api/v1/dockets/{docket_id}");
pub(crate) const WAIT_FOR_DOCKET: Endpoint =
    Endpoint::get("dockets.wait-for-docket", "/api/v1/dockets/{docket_id}");

/// The length of a phone number, the country code included.
const NUMBER_DIGITS: usize = 12;

impl<T: Transport, L: Ledger> Client<T, L> {
    /// Implements `dockets.create-docket`; it is carried out once if it has a key in the ledger.
    pub async fn create_docket(
        &self,
        request: &DocketRequest,
        options: Option<CallOptions>,
        key: Option<&str>,
    ) -> Result<Recorded<CreatedDocket>, Failure> {
        let operation = self.begin(options)?;
        let request = operation.request(|settings| create_docket_request(request, settings))?;
        operation
            .create(&request, key, None, decode_created_docket)
            .await
    }

    /// Implements `dockets.create-docket-v2`; it is carried out once if it has a key in the ledger.
    pub async fn create_docket_v2(
        &self,
        request: &DocketRequestV2,
        options: Option<CallOptions>,
        key: Option<&str>,
    ) -> Result<Recorded<CreatedDocketV2>, Failure> {
        let operation = self.begin(options)?;
        let request = operation.request(|settings| create_docket_v2_request(request, settings))?;
        operation
            .create(&request, key, None, decode_created_docket_v2)
            .await
    }

    /// Implements `dockets.get-docket`.
    pub async fn get_docket(
        &self,
        docket_id: &str,
        options: Option<CallOptions>,
    ) -> Result<Docket, Failure> {
        self.fetch_docket(&self.begin(options)?, docket_id).await
    }

    /// Implements `dockets.wait-for-docket`.
    pub async fn wait_for_docket(
        &self,
        docket_id: &str,
        wait: WaitOptions,
        options: Option<CallOptions>,
    ) -> Result<DocketWait, Failure> {
        let operation = self.begin(options)?;
        let request = operation.request(|_| docket_request(&WAIT_FOR_DOCKET, docket_id))?;
        let not_found_is_pending = wait.not_found_is_pending.unwrap_or(false);
        let mut latest = None;
        let mut check = |success: Success<'_>| {
            let docket = success.decode(|body, meta| decode_docket(body, meta, Some(docket_id)))?;
            let is_ready = is_completed(&docket);
            latest = Some(docket);
            Ok(is_ready)
        };
        let waited = operation
            .wait(&request, wait.timeout_ms, not_found_is_pending, &mut check)
            .await?;
        if let Some(docket) = &latest {
            self.ledger.observe(docket);
        }
        Ok(DocketWait {
            outcome: match latest {
                Some(docket) if waited.is_ready => DocketOutcome::Completed(docket),
                latest => DocketOutcome::Pending(latest),
            },
            polls: waited.polls,
            failed_polls: waited.failed_polls,
            waited_ms: waited.waited_ms,
            held_back_ms: waited.held_back_ms,
        })
    }

    /// Fetches a docket, for the caller or to verify a delivery that names it.
    pub(crate) async fn fetch_docket(
        &self,
        operation: &Operation<'_, T, L>,
        docket_id: &str,
    ) -> Result<Docket, Failure> {
        let request = operation.request(|_| docket_request(&GET_DOCKET, docket_id))?;
        let success = operation.send(&request).await?;
        let docket = success.decode(|body, meta| decode_docket(body, meta, Some(docket_id)))?;
        self.ledger.observe(&docket);
        Ok(docket)
    }
}

fn docket_request(endpoint: &'static Endpoint, docket_id: &str) -> Result<ApiRequest, Problem> {
    check_docket_id("docket-id", docket_id)?;
    Ok(ApiRequest::read(endpoint, "docket-id", docket_id)?.accepting_json())
}

fn create_docket_request(
    request: &DocketRequest,
    settings: &AccountSettings,
) -> Result<ApiRequest, Problem> {
    ApiRequest::create(&CREATE_DOCKET, &encode_docket(request)?, settings)
}

/// Builds the request that creates a docket in version 2, alone or in a batch.
pub(crate) fn create_docket_v2_request(
    request: &DocketRequestV2,
    settings: &AccountSettings,
) -> Result<ApiRequest, Problem> {
    ApiRequest::create(&CREATE_DOCKET_V2, &encode_docket_v2(request)?, settings)
}

/// Checks a request to create a docket in version 2, as is done before it is sent.
pub fn check_docket_v2(request: &DocketRequestV2) -> Result<(), Problem> {
    encode_docket_v2(request).map(|_| ())
}

/// Checks a docket's number: exactly 12 ASCII digits, the country code included. The error does not
/// contain the number, since errors end up in logs.
fn check_number(number: &str) -> Result<(), Problem> {
    let odd = number
        .chars()
        .enumerate()
        .find(|(_, c)| !c.is_ascii_digit());
    let found = match odd {
        Some((index, odd)) => format!("{odd:?} at position {}", index + 1),
        None if number.len() == NUMBER_DIGITS => return Ok(()),
        None => format!("{} digits", number.len()),
    };
    let allowed = "exactly 12 ASCII digits with the country code, without `+`";
    Err(problem("to-phone-number", found, allowed))
}

fn encode_docket(request: &DocketRequest) -> Result<Record<'_>, Problem> {
    check_number(&request.to_phone_number)?;
    Record::new(vec![
        ("agent_id", Field::Integer(request.agent_id)),
        ("to_phone_number", Field::Text(&request.to_phone_number)),
        ("extra_config", encode_context(&request.call_context)?),
    ])
    .with_extra("extra", request.extra.as_deref())
}

fn encode_docket_v2(request: &DocketRequestV2) -> Result<Record<'_>, Problem> {
    check_number(&request.to_phone_number)?;
    Record::new(vec![
        ("agent_id", Field::Integer(request.agent_id)),
        ("to_phone_number", Field::Text(&request.to_phone_number)),
        ("extra_config", encode_context(&request.call_context)?),
        ("external_id", Field::text(&request.external_id)),
    ])
    .with_extra("extra", request.extra.as_deref())
}

fn encode_context(context: &str) -> Result<Field<'_>, Problem> {
    let context = object_argument("call-context", context)?;
    Ok(Field::Extensible(Record::new(vec![(
        "call_context",
        Field::Json(context.value()),
    )])))
}

/// Checks that a docket id is a UUID in hyphenated form, which is unambiguous in a path.
pub fn check_docket_id(argument: &str, docket_id: &str) -> Result<(), Problem> {
    if docket_id.len() == 36 && Uuid::try_parse(docket_id).is_ok() {
        return Ok(());
    }
    let shown: String = docket_id.chars().take(40).collect();
    let allowed = "a UUID in its hyphenated form, 36 characters";
    Err(problem(argument, format!("{shown:?}"), allowed))
}

/// Decodes a docket as the service returns it, such as its `raw-json`; the error says what is wrong
/// with it.
pub fn decode(json: &str) -> Result<Docket, String> {
    decode_docket(json, ResponseMeta::default(), None)
}

fn decode_created_docket(body: &str, meta: ResponseMeta) -> Result<CreatedDocket, String> {
    let docket = Value::parse(body)?.to_object()?;
    Ok(CreatedDocket {
        docket_id: created_id(&docket)?,
        status: docket.text("status").map(decode_status),
        raw_json: docket.json(),
        request_id: meta.request_id,
        attempts: meta.attempts,
        may_be_duplicate: meta.may_be_duplicate,
    })
}

/// Decodes the response to a creation in version 2, alone or in a batch.
pub(crate) fn decode_created_docket_v2(
    body: &str,
    meta: ResponseMeta,
) -> Result<CreatedDocketV2, String> {
    let docket = Value::parse(body)?.to_object()?;
    Ok(CreatedDocketV2 {
        docket_id: created_id(&docket)?,
        status: docket.text("status").map(decode_status),
        created: docket.boolean("created"),
        raw_json: docket.json(),
        request_id: meta.request_id,
        attempts: meta.attempts,
        may_be_duplicate: meta.may_be_duplicate,
    })
}

/// Returns the id of a created docket, with which it can be fetched.
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

/// Decodes a docket. If `requested` names one, the response must be about that docket, and may lack
/// its id.
fn decode_docket(
    body: &str,
    meta: ResponseMeta,
    requested: Option<&str>,
) -> Result<Docket, String> {
    let docket = Value::parse(body)?.to_object()?;
    let docket_id = match (docket.identifier("docket_id"), requested) {
        (Ok(id), Some(requested)) if !id.eq_ignore_ascii_case(requested) => {
            let shown: String = id.chars().take(40).collect();
            return Err(format!(
                "`docket_id` is {shown:?}, not the docket that was requested"
            ));
        }
        (Ok(id), _) => id,
        (Err(_), Some(requested)) => requested.to_owned(),
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
        request_id: meta.request_id,
        attempts: meta.attempts,
    })
}

/// Returns `true` if no further calls will be made: the docket is completed, or it was closed and
/// has no status or an unspecified one.
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
    use crate::simulation::{DOCKET_ID, Step, World, assert_refused};

    #[test]
    fn a_docket_number_is_exactly_twelve_ascii_digits() {
        assert!(check_number("919876543210").is_ok());
        for (number, found) in [
            ("", "0 digits"),
            ("91987654321", "11 digits"),
            ("9198765432101", "13 digits"),
            ("+91987654321", "'+' at position 1"),
            ("91-987654321", "'-' at position 3"),
            ("91987654321x", "'x' at position 12"),
            ("919876543210\n", "'\\n' at position 13"),
            ("\u{0669}19876543210", "'\u{0669}' at position 1"),
            ("\u{ff19}19876543210", "'\u{ff19}' at position 1"),
        ] {
            let error = check_number(number).unwrap_err();
            assert_eq!(
                (error.subject.as_str(), error.found.as_str()),
                ("to-phone-number", found)
            );
        }
    }

    /// A version, the members of its request, the argument at fault, and what was found.
    const REFUSED: &str = r#"
        v1 "to_phone_number":"91987654321","call_context":"{}" | to-phone-number | 11 digits
        v1 "to_phone_number":"919876543210","call_context":"null" | call-context | null
        v1 "to_phone_number":"919876543210","call_context":"{}","extra":"{\"agent_id\":8}" | extra.agent_id | a member that is a field of the request
        v2 "to_phone_number":"919876543210","call_context":"{}","extra":"{\"external_id\":8}" | extra.external_id | a member that is a field of the request
        v2 "to_phone_number":"919876543210","call_context":"{}","extra":"{\"extra_config\":7}" | extra.extra_config | a number"#;

    #[test]
    fn a_docket_that_is_refused_is_not_sent() {
        assert_refused(REFUSED, async |client, request| {
            let (version, members) = request.split_once(' ').unwrap();
            let request = format!(r#"{{"agent_id":7,{members}}}"#);
            match version {
                "v1" => {
                    let request = serde_json::from_str(&request).unwrap();
                    client.create_docket(&request, None, None).await.map(drop)
                }
                _ => {
                    let request = serde_json::from_str(&request).unwrap();
                    client
                        .create_docket_v2(&request, None, None)
                        .await
                        .map(drop)
                }
            }
        });
    }

    #[test]
    fn the_context_of_a_docket_is_what_a_value_serializes_to() {
        let context = std::collections::BTreeMap::from([("name", "Asha")]);
        let first = DocketRequest::new(7, "919876543210").with_call_context(&context);
        let second = DocketRequestV2::new(7, "919876543210").with_call_context(&context);
        let contexts = [first.unwrap().call_context, second.unwrap().call_context];
        assert_eq!(contexts, [r#"{"name":"Asha"}"#; 2]);
    }

    #[test]
    fn a_docket_id_is_a_hyphenated_uuid() {
        for good in [DOCKET_ID, &DOCKET_ID.to_uppercase()] {
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

    #[test]
    fn a_docket_is_completed_if_its_status_says_so_or_it_was_closed_without_a_known_status() {
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
            let docket = format!(r#"{{"docket_id":"d",{members}}}"#);
            let docket = decode(&docket).unwrap();
            assert_eq!(is_completed(&docket), completed, "{members}");
        }
    }

    #[test]
    fn a_created_docket_has_the_id_of_the_answer_which_is_a_uuid() {
        let created = |docket_id: &str| {
            let body = format!(r#"{{"docket_id":"{docket_id}"}}"#);
            let first = decode_created_docket(&body, ResponseMeta::default());
            let second = decode_created_docket_v2(&body, ResponseMeta::default());
            [first.map(|it| it.docket_id), second.map(|it| it.docket_id)]
        };
        assert_eq!(
            created(DOCKET_ID),
            [(); 2].map(|()| Ok(DOCKET_ID.to_owned()))
        );
        for refused in created("7") {
            assert!(refused.unwrap_err().starts_with("`docket_id` is "));
        }
    }

    #[test]
    fn a_token_in_an_id_is_masked() {
        let world = World::with_script([Step::ok(r#"{"docket_id":"simulated-token"}"#)]);
        let client = world.client(&[]);
        let fetched = world.run(client.get_docket(DOCKET_ID, None));
        let failure = fetched.unwrap_err();
        assert_eq!(failure.kind.name(), "unexpected-response");
        let message = failure.message;
        assert!(message.contains("[api token]") && !message.contains("simulated-token"));
    }
}

//! The body of an answer, and of a delivery to the webhook.

use crate::members::{
    Members, assert_read, docket_id, elements, has_content, is_ambiguous, json_of,
};
use crate::service::{Service, TOKEN, client, run};
use voice_calling_core::Client;
use voice_calling_core::settings::DEFAULT_MAX_DELIVERY_BYTES;
use voice_calling_core::types::{
    AgentConfig, CallDetailsOutcome, CallRequest, DocketRequest, DocketRequestV2, RequestError,
    Verification, WaitOptions,
};
use voice_calling_core::webhooks::parse_docket_completed;

const DOCKET_ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";
const NUMBER: &str = "919876543210";

/// The maximum size of a body in an error.
const KEPT_BODY_BYTES: usize = 8_192;

/// The depths to which values are examined, and compared.
const CONTENT_LEVELS: usize = 64;
const COMPARED_LEVELS: usize = 201;

/// A body with which the service answers every request, and which is also delivered to the webhook.
struct Body<'a> {
    data: &'a [u8],
    json: &'a str,
    members: Members<'a>,
    client: Client<&'a Service>,
}

/// Checks that each field of an answer is read by itself, and that no id is lost whatever is beside
/// it; that a body that is not understood becomes an error with its beginning; that completions are
/// distinguished from other deliveries; and that a docket with the same values confirms them.
pub fn body(data: &[u8]) {
    let service = Service::responding_with(data);
    let json = json_of(data);
    let body = Body {
        data,
        json: &json,
        members: Members::of(&json),
        client: client(&service),
    };
    body.assert_agents_read();
    body.assert_call_details_read();
    body.assert_no_created_id_lost();
    body.assert_docket_read();
    body.assert_delivery_verified(&service);
}

impl Body<'_> {
    fn assert_agents_read(&self) {
        let elements = elements(self.json);
        match run(self.client.list_agents("org-1", None)) {
            Ok(list) => {
                let elements = elements.expect("a list");
                assert_eq!(
                    (&*list.raw_json, list.agents.len()),
                    (self.json, elements.len())
                );
                for (agent, json) in list.agents.iter().zip(elements) {
                    assert_read(agent, &Members::of(json));
                }
            }
            Err(error) => self.assert_kept(&error, elements.is_none(), false),
        }
        let config = AgentConfig::new("renewals");
        let created = run(self.client.create_agent(&config, None)).expect("any 2xx is an agent");
        let text = String::from_utf8_lossy(self.data);
        let json = Some(self.json).filter(|json| !json.is_empty());
        let no_json = Some(&*text).filter(|text| json.is_none() && !text.is_empty());
        assert_eq!(created.raw_json.as_deref(), json);
        assert_eq!(created.raw_text.as_deref(), no_json);
        let agent_id = self.members.get("agent_id").filter(|json| *json != "-0");
        assert_eq!(
            created.agent_id,
            agent_id.and_then(|json| json.parse().ok())
        );
    }

    /// Records are an array, or a single object; a wait is over when every call was not answered or
    /// has insights with content.
    fn assert_call_details_read(&self) {
        let records = match self.json.starts_with('{') {
            true => Some(vec![self.json]),
            false => elements(self.json),
        };
        let one_poll = WaitOptions {
            timeout_ms: 1,
            not_found_is_pending: None,
        };
        let waited = run(self.client.wait_for_call_details("t-1", one_poll, None));
        let list = match run(self.client.get_call_details("t-1", None)) {
            Ok(list) => list,
            Err(error) => {
                self.assert_kept(&error, records.is_none(), false);
                return assert_eq!(Some(error), waited.err());
            }
        };
        let records: Vec<_> = records
            .expect("records")
            .into_iter()
            .map(Members::of)
            .collect();
        assert_eq!(
            (&*list.raw_json, list.calls.len()),
            (self.json, records.len())
        );
        for (call, members) in list.calls.iter().zip(&records) {
            assert_read(call, members);
        }
        let is_ready = |members: &Members<'_>| {
            let insights = members.object("call_insights");
            matches!(
                members.text("call_status").as_deref(),
                Some("NO_ANSWER" | "BUSY")
            ) || insights.is_some_and(|json| has_content(json, CONTENT_LEVELS))
        };
        let expected = match !records.is_empty() && records.iter().all(is_ready) {
            true => CallDetailsOutcome::Completed(list),
            false => CallDetailsOutcome::Pending(Some(list)),
        };
        assert_eq!(
            waited.expect("a wait reads what a get reads").outcome,
            expected
        );
    }

    /// A phone may be ringing for each of these ids.
    fn assert_no_created_id_lost(&self) {
        let request = CallRequest {
            from_agent_name: Some("renewals".to_owned()),
            to_phone_number: NUMBER.to_owned(),
            call_context: Vec::new(),
            extra: None,
        };
        let task_id = self.members.identifier("task_id").filter(is_task_id);
        match run(self.client.make_call(&request, None)) {
            Ok(call) => {
                assert_eq!((Some(call.task_id), &*call.raw_json), (task_id, self.json));
                assert!(!call.may_be_duplicate && call.attempts.len() == 1);
            }
            Err(error) => self.assert_kept(&error, task_id.is_none(), true),
        }
        let request = DocketRequest {
            agent_id: 7,
            to_phone_number: NUMBER.to_owned(),
            call_context: "{}".to_owned(),
            extra: None,
        };
        let request_v2 = DocketRequestV2 {
            agent_id: 7,
            to_phone_number: NUMBER.to_owned(),
            call_context: "{}".to_owned(),
            external_id: None,
            extra: None,
        };
        let docket_id = docket_id(&self.members);
        let created = run(self.client.create_docket(&request, None));
        let created_v2 = run(self.client.create_docket_v2(&request_v2, None));
        match (created, created_v2) {
            (Ok(docket), Ok(docket_v2)) => {
                assert_read(&docket, &self.members);
                assert_read(&docket_v2, &self.members);
                let ids = [docket.docket_id, docket_v2.docket_id].map(Some);
                assert_eq!(ids, [docket_id.clone(), docket_id]);
                assert_eq!([docket.raw_json, docket_v2.raw_json], [self.json; 2]);
            }
            (Err(error), Err(error_v2)) => {
                self.assert_kept(&error, docket_id.is_none(), true);
                assert_eq!(error, error_v2);
            }
            (created, created_v2) => panic!("{created:?} and {created_v2:?}"),
        }
    }

    /// A docket is read if there is an object that does not name another one.
    fn assert_docket_read(&self) {
        let named = self.members.identifier("docket_id");
        let is_another = |id: &String| !id.eq_ignore_ascii_case(DOCKET_ID);
        match run(self.client.get_docket(DOCKET_ID, None)) {
            Ok(docket) => {
                assert_read(&docket, &self.members);
                assert_eq!(docket.raw_json, self.json);
                assert!(!is_another(&docket.docket_id));
                assert_eq!(docket.docket_id, named.unwrap_or(DOCKET_ID.to_owned()));
            }
            Err(error) => {
                let is_docket =
                    self.json.starts_with('{') && !named.as_ref().is_some_and(is_another);
                self.assert_kept(&error, !is_docket, false);
            }
        }
    }

    fn assert_delivery_verified(&self, service: &Service) {
        let text = String::from_utf8_lossy(self.data);
        let parsed = parse_docket_completed(&text, DEFAULT_MAX_DELIVERY_BYTES);
        let sent_before = service.sent.get();
        let verified = run(self.client.verify_docket_completed(&text, None));
        let requests = service.sent.get() - sent_before;
        let is_completion = self.is_completion();
        match (parsed, verified) {
            (
                Ok(Some(delivered)),
                Ok(Verification::Confirmed(verified) | Verification::Contradicted(verified)),
            ) => {
                assert!(is_completion, "any delivery became a completion");
                assert_read(&delivered, &self.members);
                assert_eq!(
                    Some(&delivered.docket_id),
                    docket_id(&self.members).as_ref()
                );
                assert_eq!(delivered.raw_json, self.json);
                let attempts = self.members.get("attempts").filter(|json| *json != "null");
                assert_eq!(delivered.attempts.as_deref(), attempts);
                assert_eq!((&verified.delivered, requests), (&delivered, 1));

                let is_denied = verified
                    .contradicted
                    .first()
                    .is_some_and(|name| name == "status");
                assert_eq!(is_denied, !self.is_done(), "what is not done is confirmed");
                // A docket with the same values confirms all of them that are unambiguous.
                let others = &verified.contradicted[usize::from(is_denied)..];
                let is_confirmed = others.is_empty() && verified.unverified.is_empty();
                assert!(is_confirmed || is_ambiguous(self.json, COMPARED_LEVELS));
            }
            (Ok(None), Ok(Verification::NotACompletion)) => {
                assert!(
                    !is_completion && !self.json.is_empty(),
                    "a completion is lost"
                );
                assert_eq!(requests, 0);
            }
            (Err(RequestError::PermanentInvalidInput(failure)), Err(error)) => {
                assert!(!is_completion || docket_id(&self.members).is_none());
                let subject = match self.json.is_empty() {
                    true => "body",
                    false => "body.docket_id",
                };
                assert_eq!(
                    failure.problem.as_ref().expect("a problem").subject,
                    subject
                );
                assert_eq!(error, RequestError::PermanentInvalidInput(failure));
                assert_eq!(requests, 0);
            }
            other => panic!("{other:?}"),
        }
    }

    /// Returns `true` if the body has members that only a docket as a whole has, by the rules of
    /// the WIT package.
    fn is_completion(&self) -> bool {
        let has_text =
            |members: &Members<'_>, name| members.text(name).is_some_and(|text| !text.is_empty());
        let insights = Members::of(self.members.object("call_insights").unwrap_or("{}"));
        let attempts = self.members.get("attempts");
        self.members.get("docket_id").is_some()
            && match self.members.text("status").as_deref() {
                Some("COMPLETED") => true,
                Some("OPEN" | "IN_PROGRESS") => false,
                _ => {
                    attempts.is_some_and(|json| has_content(json, CONTENT_LEVELS))
                        || has_text(&self.members, "dashboard_url")
                        || has_text(&insights, "call_disposition")
                }
            }
    }

    /// Returns `true` if the docket in the body is completed.
    fn is_done(&self) -> bool {
        match self.members.text("status").as_deref() {
            Some("COMPLETED") => true,
            Some("OPEN" | "IN_PROGRESS") => false,
            _ => self
                .members
                .text("closed_at")
                .is_some_and(|at| !at.is_empty()),
        }
    }

    /// Asserts that only a body that cannot be understood is an error, and that the error keeps its
    /// beginning, and never the token.
    fn assert_kept(&self, error: &RequestError, is_allowed: bool, may_have_created: bool) {
        assert!(is_allowed, "an answer is lost: {error:?}");
        let RequestError::PermanentUnexpectedResponse(failure) = error else {
            panic!("a body that is not understood became {error:?}");
        };
        assert!(failure.message.starts_with("unexpected response: "));
        assert_eq!(failure.may_have_created, may_have_created);
        assert_eq!(failure.attempts.len(), 1);
        let response = failure.response.as_ref().expect("the answer");
        let written = serde_json::to_string(TOKEN).expect("a text is JSON");
        for token in [TOKEN, &written[1..written.len() - 1]] {
            assert!(!response.body.contains(token) && !failure.message.contains(token));
        }
        let text = String::from_utf8_lossy(self.data);
        // Text that may be the token, or its beginning, is masked.
        if !text.contains(&TOKEN[..4]) && !text.contains(['\\', '%']) {
            let kept = &text[..text.floor_char_boundary(KEPT_BODY_BYTES)];
            let is_cut = kept.len() < text.len();
            assert_eq!((&*response.body, response.body_cut), (kept, is_cut));
        }
    }
}

/// Returns `true` if a path can contain it.
fn is_task_id(text: &String) -> bool {
    let encoded = |c: char| match c {
        '-' | '.' | '_' | '~' => 1,
        c if c.is_ascii_alphanumeric() => 1,
        c => 3 * c.len_utf8(),
    };
    !matches!(&**text, "." | "..")
        && !text.contains(char::is_control)
        && text.chars().map(encoded).sum::<usize>() <= 4_096
}

//! The body of an answer, and of a delivery to the webhook.

use crate::service::{Service, TOKEN, client, run};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use voice_calling_core::Client;
use voice_calling_core::settings::DEFAULT_MAX_DELIVERY_BYTES;
use voice_calling_core::types::{
    AgentConfig, CallRequest, DocketRequest, DocketRequestV2, Failure, FailureKind, WaitOptions,
};
use voice_calling_core::webhooks::parse_docket_completed;

const DOCKET_ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";
const NUMBER: &str = "919876543210";

/// The maximum size of a body in an error.
const KEPT_BODY_BYTES: usize = 8_192;

/// A body with which the service answers every request, and which is also delivered to the webhook.
struct Body<'a> {
    text: &'a str,
    /// The JSON value in the text; empty if there is none.
    json: &'a str,
    /// The members of the object, as serde_json reads them.
    members: BTreeMap<String, &'a RawValue>,
    client: Client<Service<'a>>,
}

/// Checks that JSON is passed on unharmed, that no id is lost, whatever is beside it, and that a
/// body that is not understood becomes an error with its beginning and without the token.
pub fn body(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let without_mark = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let json = serde_json::from_str::<&RawValue>(without_mark).map_or("", RawValue::get);
    let object = Some(json).filter(|json| json.starts_with('{'));
    let members = object.map_or(Ok(BTreeMap::new()), serde_json::from_str);
    // serde_json reads no object that has a name with a lone surrogate.
    let Ok(members) = members else { return };
    let body = Body {
        text: &text,
        json,
        members,
        client: client(data),
    };
    body.assert_lists_read();
    body.assert_created_read();
    body.assert_docket_read();
    body.assert_delivery_read();
}

impl Body<'_> {
    /// Returns the text of a member, if it can identify the subject of an answer.
    fn identifier(&self, name: &str) -> Option<String> {
        let text: String = serde_json::from_str(self.members.get(name)?.get()).ok()?;
        Some(text).filter(|text| !text.is_empty() && !text.contains('\u{fffd}'))
    }

    fn assert_lists_read(&self) {
        match run(self.client.list_agents("org-1", None)) {
            Ok(list) => assert_eq!(list.raw_json, self.json),
            Err(error) => self.assert_kept(&error, !self.json.starts_with('['), false),
        }
        match run(self.client.get_call_details("t-1", None)) {
            Ok(list) => assert_eq!(list.raw_json, self.json),
            Err(error) => self.assert_kept(&error, !self.json.starts_with(['[', '{']), false),
        }
        let one_poll = WaitOptions {
            timeout_ms: 1,
            not_found_is_pending: None,
        };
        let _ = run(self.client.wait_for_call_details("t-1", one_poll, None));
    }

    /// A phone may be ringing for each of these ids.
    fn assert_created_read(&self) {
        let config = AgentConfig::new("renewals");
        let agent = run(self.client.create_agent(&config, None, None));
        let agent = agent.expect("any 2xx is an agent").answer;
        let json = Some(self.json).filter(|json| !json.is_empty());
        let no_json = Some(self.text).filter(|text| json.is_none() && !text.is_empty());
        assert_eq!(agent.raw_json.as_deref(), json);
        assert_eq!(agent.raw_text.as_deref(), no_json);

        let request = CallRequest {
            from_agent_name: Some("renewals".to_owned()),
            to_phone_number: NUMBER.to_owned(),
            call_context: Vec::new(),
            extra: None,
        };
        let task_id = self.identifier("task_id").filter(|it| is_task_id(it));
        match run(self.client.make_call(&request, None, None)).map(|call| call.answer) {
            Ok(call) => assert_eq!((Some(call.task_id), &*call.raw_json), (task_id, self.json)),
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
        let created = run(self.client.create_docket(&request, None, None));
        let created_v2 = run(self.client.create_docket_v2(&request_v2, None, None));
        let docket_id = self.identifier("docket_id").filter(|it| is_uuid(it));
        for created in [
            created.map(|it| (it.answer.docket_id, it.answer.raw_json)),
            created_v2.map(|it| (it.answer.docket_id, it.answer.raw_json)),
        ] {
            match created {
                Ok((id, json)) => assert_eq!((Some(&id), &*json), (docket_id.as_ref(), self.json)),
                Err(error) => self.assert_kept(&error, docket_id.is_none(), true),
            }
        }
    }

    /// A docket is read if there is an object that does not name another one.
    fn assert_docket_read(&self) {
        let named = self.identifier("docket_id");
        let is_it = |id: &String| id.eq_ignore_ascii_case(DOCKET_ID);
        let is_docket = self.json.starts_with('{') && named.as_ref().is_none_or(is_it);
        match run(self.client.get_docket(DOCKET_ID, None)) {
            Ok(docket) => {
                assert!(is_docket && is_it(&docket.docket_id));
                assert_eq!(docket.raw_json, self.json);
            }
            Err(error) => self.assert_kept(&error, !is_docket, false),
        }
    }

    fn assert_delivery_read(&self) {
        let parsed = parse_docket_completed(self.text, DEFAULT_MAX_DELIVERY_BYTES);
        let docket_id = self.identifier("docket_id").filter(|it| is_uuid(it));
        match parsed {
            Ok(Some(delivered)) => {
                assert_eq!(Some(&delivered.docket_id), docket_id.as_ref());
                assert_eq!(delivered.raw_json, self.json);
            }
            Ok(None) => assert!(!self.json.is_empty(), "no JSON became a delivery"),
            Err(error) => {
                assert_eq!(error.kind, FailureKind::InvalidInput);
                assert!(docket_id.is_none(), "a delivery is lost: {error:?}");
            }
        }
        let _ = run(self.client.verify_docket_completed(self.text, None));
    }

    /// Asserts that only a body that cannot be understood is an error, and that the error keeps its
    /// beginning, and never the token.
    fn assert_kept(&self, failure: &Failure, is_allowed: bool, may_have_created: bool) {
        assert!(is_allowed, "an answer is lost: {failure:?}");
        assert_eq!(failure.kind, FailureKind::UnexpectedResponse);
        assert_eq!(failure.may_have_created, may_have_created);
        let response = failure.response.as_ref().expect("the answer");
        let written = serde_json::to_string(TOKEN).expect("a text is JSON");
        for token in [TOKEN, &written[1..written.len() - 1]] {
            assert!(!response.body.contains(token) && !failure.message.contains(token));
        }
        // Text that may be the token, or its beginning, is masked.
        if !self.text.contains(&TOKEN[..4]) && !self.text.contains(['\\', '%']) {
            let kept = &self.text[..self.text.floor_char_boundary(KEPT_BODY_BYTES)];
            let is_cut = kept.len() < self.text.len();
            assert_eq!((&*response.body, response.body_cut), (kept, is_cut));
        }
    }
}

fn is_uuid(text: &str) -> bool {
    let groups: Vec<_> = text.split('-').collect();
    let digits = |group: &&str| group.bytes().all(|byte| byte.is_ascii_hexdigit());
    groups.iter().all(digits) && groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
}

/// Returns `true` if a path can contain it.
fn is_task_id(text: &str) -> bool {
    let encoded = |c: char| match c {
        '-' | '.' | '_' | '~' => 1,
        c if c.is_ascii_alphanumeric() => 1,
        c => 3 * c.len_utf8(),
    };
    !matches!(text, "." | "..")
        && !text.contains(char::is_control)
        && text.chars().map(encoded).sum::<usize>() <= 4_096
}

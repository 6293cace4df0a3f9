//! The client as tools for AI agents: flat functions that return short texts. The unmodified client
//! is plugged in.

mod error;
mod output;

use bindings::voice_calling::client::{agents, calls, dockets, webhooks};
use bindings::voice_calling::types::types::{
    CallOptions, CallRequest, DocketOutcome, DocketRequestV2, WaitOptions,
};
use error::{invalid, of_create, of_read};
use output::Object;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;

#[allow(unsafe_code, clippy::too_many_arguments)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../wit/types", "../../wit", "../../wit/tools"],
        world: "voice-calling:tools/tools",
        generate_all,
        pub_export_macro: true,
    });
}

/// The times are short because an agent that waits holds up a person.
const DEFAULT_WAIT_S: u32 = 50;
const LONGEST_WAIT_S: u32 = 600;

struct Tools;

#[allow(unreachable_pub, unsafe_code)]
mod exports {
    use super::{Tools, bindings};
    bindings::export!(Tools with_types_in bindings);
}

impl bindings::Guest for Tools {
    fn list_agents(organization_id: String, raw: Option<bool>) -> Result<String, String> {
        let list = agents::list_agents(&organization_id, None).map_err(of_read)?;
        match raw {
            Some(true) => Ok(list.raw_json),
            _ => output::agents(list).text(),
        }
    }

    fn get_docket(docket_id: String, raw: Option<bool>) -> Result<String, String> {
        let docket = dockets::get_docket(&docket_id, None).map_err(of_read)?;
        match raw {
            Some(true) => Ok(docket.raw_json),
            _ => output::docket(docket).text(),
        }
    }

    fn wait_for_docket(docket_id: String, timeout_s: Option<u32>) -> Result<String, String> {
        let timeout_s = timeout_s.unwrap_or(DEFAULT_WAIT_S);
        if !(1..=LONGEST_WAIT_S).contains(&timeout_s) {
            return Err(invalid("timeout-s", timeout_s, "1 to 600", false));
        }
        let wait = WaitOptions {
            timeout_ms: timeout_s * 1_000,
            not_found_is_pending: None,
        };
        let waited = dockets::wait_for_docket(&docket_id, wait, None).map_err(of_read)?;
        let (outcome, docket) = match waited.outcome {
            DocketOutcome::Completed(docket) => ("completed", Some(docket)),
            DocketOutcome::Pending(docket) => ("pending", docket),
        };
        Object::default()
            .with("outcome", Some(outcome))
            .and(docket.map(output::docket))
            .text()
    }

    fn get_call(task_id: String, raw: Option<bool>) -> Result<String, String> {
        let details = calls::get_call_details(&task_id, None).map_err(of_read)?;
        match raw {
            Some(true) => Ok(details.raw_json),
            _ => output::calls(details).text(),
        }
    }

    fn verify_docket_completed(body: String) -> Result<String, String> {
        let verification = webhooks::verify_docket_completed(&body, None).map_err(of_read)?;
        output::verification(verification).text()
    }

    fn create_docket_and_call(
        agent_id: i64,
        to_phone_number: String,
        call_context: String,
        external_id: Option<String>,
    ) -> Result<String, String> {
        let request = DocketRequestV2 {
            agent_id,
            to_phone_number,
            call_context,
            external_id,
            extra: None,
        };
        let created = dockets::create_docket_v2(&request, Some(&once())).map_err(of_create)?;
        output::created_docket(created).text()
    }

    fn place_call(
        agent_name: String,
        to_phone_number: String,
        call_context: Option<String>,
    ) -> Result<String, String> {
        let request = CallRequest {
            from_agent_name: Some(agent_name),
            to_phone_number,
            call_context: call_context.map_or(Ok(Vec::new()), context)?,
            extra: None,
        };
        let started = calls::make_call(&request, Some(&once())).map_err(of_create)?;
        output::placed_call(started).text()
    }
}

/// Parses the context of a call, whose values are strings. The client rejects repeated names.
fn context(json: String) -> Result<Vec<(String, String)>, String> {
    let context: Result<Pairs, _> = serde_json::from_str(&json);
    let allowed = "a JSON object whose values are strings";
    let Pairs(pairs) = context.map_err(|error| invalid("call-context", error, allowed, true))?;
    Ok(pairs)
}

/// The members of an object in their order, including repeated names.
struct Pairs(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Pairs(Vec::new()))
    }
}

impl<'de> Visitor<'de> for Pairs {
    type Value = Self;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut members: A) -> Result<Self, A::Error> {
        while let Some(member) = members.next_entry()? {
            self.0.push(member);
        }
        Ok(self)
    }
}

/// Allows a single attempt: an agent asks a person before it tries a second time, whatever
/// happened.
fn once() -> CallOptions {
    CallOptions {
        account: None,
        deadline_ms: None,
        max_attempts: Some(1),
    }
}

//! The content of a creation.

#[cfg(feature = "program")]
use clap::ValueEnum;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::body::{self, JsonObject, Texts, not_empty};
use super::request::Endpoint;

/// The answer to a version 2 creation whose external id was seen before, which the specification
/// leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "program", derive(ValueEnum))]
pub enum RepeatedExternalId {
    /// Another docket: nothing is recognised.
    #[default]
    NewDocket,
    /// The earlier docket, with `created: false`.
    SameDocket,
}

/// The endpoint that created a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    DocketV1,
    DocketV2,
    /// A direct call: its only call has the id of the task.
    Call,
}

/// The body of a request that makes a phone ring.
#[derive(Clone, Debug)]
pub(super) struct Creation {
    pub(super) origin: Origin,
    pub(super) agent: AgentKey,
    pub(super) to_phone_number: String,
    pub(super) call_context: Box<RawValue>,
    /// Only in version 2 of dockets.
    pub(super) external_id: Option<String>,
}

/// The key that selects an agent.
#[derive(Clone, Debug)]
pub(super) enum AgentKey {
    Id(i64),
    Name(String),
}

#[derive(Deserialize)]
struct DocketBody {
    agent_id: i64,
    #[serde(deserialize_with = "phone_number")]
    to_phone_number: String,
    /// Only in version 2; version 1 ignores it.
    external_id: Option<String>,
    extra_config: DocketExtra,
}

#[derive(Deserialize)]
struct DocketExtra {
    call_context: JsonObject,
}

#[derive(Deserialize)]
struct CallBody {
    from_agent_name: String,
    #[serde(deserialize_with = "not_empty")]
    to_phone_number: String,
    extra_config: Option<CallExtra>,
}

#[derive(Deserialize)]
struct CallExtra {
    call_context: Option<Texts>,
}

/// Reads 12 digits including the country code (specification, "Limits").
fn phone_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let number = String::deserialize(deserializer)?;
    match number.len() == 12 && number.bytes().all(|byte| byte.is_ascii_digit()) {
        true => Ok(number),
        false => Err(D::Error::custom("expected 12 digits")),
    }
}

impl Creation {
    /// Reads the body of a request to `endpoint`, which starts calls.
    pub(super) fn read(endpoint: Endpoint, body: &[u8]) -> Result<Self, String> {
        if endpoint == Endpoint::MakeCall {
            let call: CallBody = body::read(body)?;
            let context = call.extra_config.and_then(|extra| extra.call_context);
            return Ok(Self {
                origin: Origin::Call,
                agent: AgentKey::Name(call.from_agent_name),
                to_phone_number: call.to_phone_number,
                call_context: context.map_or_else(JsonObject::empty, |texts| texts.0).0,
                external_id: None,
            });
        }
        let docket: DocketBody = body::read(body)?;
        let is_v2 = endpoint == Endpoint::CreateDocketV2;
        Ok(Self {
            origin: match is_v2 {
                true => Origin::DocketV2,
                false => Origin::DocketV1,
            },
            agent: AgentKey::Id(docket.agent_id),
            to_phone_number: docket.to_phone_number,
            call_context: docket.extra_config.call_context.0,
            external_id: docket.external_id.filter(|_| is_v2),
        })
    }
}

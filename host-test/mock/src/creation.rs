//! The content of a creation, and the detection of repeats. Time is passed in.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime};

#[cfg(feature = "clap")]
use clap::ValueEnum;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::body::{self, JsonObject, Texts, not_empty};
use super::request::Endpoint;

/// The time within which an equal creation counts as a repeat.
const WINDOW: Duration = Duration::from_secs(60);

/// The number of different creations that are remembered; beyond it, the memory is cleared.
const MOST_SEEN: usize = 100_000;

/// The answer to a version 2 creation whose external id was seen before, which the specification
/// leaves open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(ValueEnum))]
pub enum RepeatedExternalId {
    /// Another docket: nothing is recognised.
    #[default]
    NewDocket,
    /// The earlier docket, with `created: false`.
    SameDocket,
}

/// The body of a request that makes a phone ring.
#[derive(Debug)]
pub(super) struct Creation {
    pub(super) agent: AgentKey,
    pub(super) to_phone_number: String,
    pub(super) call_context: Box<RawValue>,
    /// Only in version 2 of dockets.
    pub(super) external_id: Option<String>,
}

/// The key that selects an agent.
#[derive(Debug)]
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
                agent: AgentKey::Name(call.from_agent_name),
                to_phone_number: call.to_phone_number,
                call_context: context.map_or_else(JsonObject::empty, |texts| texts.0).0,
                external_id: None,
            });
        }
        let docket: DocketBody = body::read(body)?;
        let is_v2 = endpoint == Endpoint::CreateDocketV2;
        Ok(Self {
            agent: AgentKey::Id(docket.agent_id),
            to_phone_number: docket.to_phone_number,
            call_context: docket.extra_config.call_context.0,
            external_id: docket.external_id.filter(|_| is_v2),
        })
    }
}

/// The creations of the last minute, for detecting duplicates, which a client must not make.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    hasher: RandomState,
    /// The id of the latest docket or call for each hash of number and context, and its time.
    started: HashMap<u64, (Uuid, SystemTime)>,
}

impl Repeats {
    /// Returns the id that an equal creation started within the last minute.
    pub(super) fn started_by(&self, creation: &Creation, now: SystemTime) -> Option<Uuid> {
        let (id, at) = self.started.get(&self.key(creation))?;
        is_recent(*at, now).then_some(*id)
    }

    /// Records that a creation started `id`.
    pub(super) fn start(&mut self, creation: &Creation, id: Uuid, now: SystemTime) {
        if self.started.len() >= MOST_SEEN {
            self.started.retain(|_, (_, at)| is_recent(*at, now));
        }
        if self.started.len() >= MOST_SEEN {
            self.started.clear();
        }
        self.started.insert(self.key(creation), (id, now));
    }

    fn key(&self, creation: &Creation) -> u64 {
        let context = creation.call_context.get();
        self.hasher.hash_one((&creation.to_phone_number, context))
    }
}

fn is_recent(at: SystemTime, now: SystemTime) -> bool {
    now.duration_since(at).unwrap_or_default() <= WINDOW
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::UNIX_EPOCH;

    fn creation(number: usize) -> Creation {
        Creation {
            agent: AgentKey::Id(7),
            to_phone_number: number.to_string(),
            call_context: JsonObject::empty().0,
            external_id: None,
        }
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_creation_repeats_what_was_started_within_a_minute() {
        let mut repeats = Repeats::default();
        let (asha, ravi, first) = (creation(1), creation(2), Uuid::new_v4());
        assert_eq!(repeats.started_by(&asha, at(0)), None);
        repeats.start(&asha, first, at(0));
        assert_eq!(repeats.started_by(&asha, at(60)), Some(first));
        assert_eq!(repeats.started_by(&asha, at(61)), None);
        assert_eq!(repeats.started_by(&ravi, at(0)), None);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut repeats = Repeats::default();
        for number in 0..MOST_SEEN {
            repeats.start(&creation(number), Uuid::nil(), at(number as u64 % 2));
        }
        repeats.start(&creation(MOST_SEEN), Uuid::nil(), at(61));
        assert_eq!(repeats.started.len(), MOST_SEEN / 2 + 1);
    }
}

//! The content of a creation, and the detection of repeats. Time is passed in.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime};

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use uuid::Uuid;

use super::body::{self, JsonObject, Problem, Texts, not_empty};
use super::request::Endpoint;
use super::task::Moment;

/// The time within which an equal creation counts as a repeat.
const WINDOW: Duration = Duration::from_secs(60);

/// The number of different creations that are remembered; beyond it, the memory is cleared.
const MOST_SEEN: usize = 100_000;

/// The number of moments that are kept for a docket that is not created yet.
const MOST_MOMENTS: usize = 20;

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
    /// Invented: the specification mentions this key without naming its field.
    PhoneNumber(String),
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
    from_agent_name: Option<String>,
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
    /// Reads the body of a request to `endpoint`, which starts calls. For a direct call, the field
    /// `agent_phone_field`, if any, may replace the agent's name.
    pub(super) fn read(
        endpoint: Endpoint,
        body: &[u8],
        agent_phone_field: Option<&str>,
    ) -> Result<Self, Problem> {
        if endpoint == Endpoint::MakeCall {
            return read_call(body, agent_phone_field);
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

fn read_call(body: &[u8], agent_phone_field: Option<&str>) -> Result<Creation, Problem> {
    let call: CallBody = body::read(body)?;
    let by_phone = agent_phone_field.and_then(|field| {
        let fields: HashMap<String, &RawValue> = serde_json::from_slice(body).ok()?;
        serde_json::from_str(fields.get(field)?.get()).ok()
    });
    let by_name = call.from_agent_name.map(AgentKey::Name);
    let agent = by_phone.map(AgentKey::PhoneNumber).or(by_name);
    let context = call.extra_config.and_then(|extra| extra.call_context);
    Ok(Creation {
        agent: agent.ok_or_else(|| Problem::missing("from_agent_name"))?,
        to_phone_number: call.to_phone_number,
        call_context: context.map_or_else(JsonObject::empty, |texts| texts.0).0,
        external_id: None,
    })
}

/// The creations of the last minute, for detecting duplicates, which a client must not make.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    hasher: RandomState,
    /// The creations by a hash of number and context.
    seen: HashMap<u64, Seen>,
}

#[derive(Debug)]
struct Seen {
    at: SystemTime,
    started: Option<(Uuid, SystemTime)>,
    /// The moments of requests that started nothing.
    refused: Vec<Moment>,
}

impl Repeats {
    /// Returns the id that an equal creation started within the last minute.
    pub(super) fn started_by(&self, creation: &Creation, now: SystemTime) -> Option<Uuid> {
        let (id, at) = self.seen.get(&self.key(creation))?.started?;
        is_recent(at, now).then_some(id)
    }

    /// Records that a creation started `id`. Returns the moments of the requests before it.
    pub(super) fn start(&mut self, creation: &Creation, id: Uuid, now: SystemTime) -> Vec<Moment> {
        let seen = self.see(creation, now);
        seen.started = Some((id, now));
        std::mem::take(&mut seen.refused)
    }

    /// Records a creation that started nothing.
    pub(super) fn refuse(&mut self, creation: &Creation, moment: Moment, now: SystemTime) {
        let seen = self.see(creation, now);
        if seen.refused.len() < MOST_MOMENTS {
            seen.refused.push(moment);
        }
    }

    fn key(&self, creation: &Creation) -> u64 {
        let context = creation.call_context.get();
        self.hasher.hash_one((&creation.to_phone_number, context))
    }

    fn see(&mut self, creation: &Creation, now: SystemTime) -> &mut Seen {
        if self.seen.len() >= MOST_SEEN {
            self.seen.retain(|_, seen| is_recent(seen.at, now));
        }
        if self.seen.len() >= MOST_SEEN {
            self.seen.clear();
        }
        let seen = self.seen.entry(self.key(creation)).or_insert(Seen {
            at: now,
            started: None,
            refused: Vec::new(),
        });
        seen.at = now;
        seen
    }
}

fn is_recent(at: SystemTime, now: SystemTime) -> bool {
    now.duration_since(at).unwrap_or_default() <= WINDOW
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::MomentKind;
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
        let moment = Moment::new(at(0), MomentKind::Request, "503");
        repeats.refuse(&asha, moment, at(0));
        assert_eq!(repeats.started_by(&asha, at(0)), None);
        let before = repeats.start(&asha, first, at(0));
        assert_eq!(before[0].text, "503");
        assert!(repeats.start(&asha, first, at(0)).is_empty());
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
        assert_eq!(repeats.seen.len(), MOST_SEEN / 2 + 1);
    }
}

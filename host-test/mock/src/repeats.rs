//! Creations that come again for the same number and context within a minute: the duplicate that
//! a client must not make. Time is passed in.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, SystemTime};

use serde_json::value::RawValue;

use super::endpoint::Endpoint;
use super::json_object::{FieldType, Fields, JsonObject};
use super::state::Target;
use super::timeline::Moment;

/// How long after a creation the same one repeats it.
const WINDOW: Duration = Duration::from_secs(60);

/// How many creations are remembered, the newest.
const KEPT: usize = 10_000;

/// How many moments are kept for a docket that is not created yet.
const KEPT_MOMENTS: usize = 20;

/// What a creation is recognised by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Creation {
    number: String,
    /// The text as it was sent.
    context: String,
}

impl Creation {
    /// What `body` asks for, where `endpoint` starts calls and the body can be read.
    pub(super) fn read(endpoint: Endpoint, body: &[u8]) -> Option<Self> {
        if !endpoint.starts_calls() {
            return None;
        }
        let body: Box<RawValue> = serde_json::from_slice(body).ok()?;
        let body = JsonObject::read(&body)?;
        let mut problems = Vec::new();
        let mut fields = Fields::new(&body, &["body"], &mut problems);
        let number = fields.required("to_phone_number")?;
        let extra: JsonObject = fields
            .optional("extra_config")
            .unwrap_or_else(JsonObject::empty);
        let mut fields = Fields::new(&extra, &["body"], &mut problems);
        let context: Option<JsonObject> = fields.optional("call_context");
        let context = context.unwrap_or_else(JsonObject::empty);
        Some(Self {
            number,
            context: context.text.get().to_owned(),
        })
    }
}

/// The creations of the last minute.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    seen: HashMap<Creation, Seen>,
    /// In the order of their dates; one that came again is in it more than once.
    dates: VecDeque<(SystemTime, Creation)>,
}

#[derive(Debug)]
struct Seen {
    at: SystemTime,
    started: Option<(Target, SystemTime)>,
    /// What became of requests that started nothing.
    refused: Vec<Moment>,
}

impl Repeats {
    /// What the same creation started within the last minute.
    pub(super) fn started_by(&self, creation: &Creation, now: SystemTime) -> Option<&Target> {
        let (target, at) = self.seen.get(creation)?.started.as_ref()?;
        is_recent(*at, now).then_some(target)
    }

    /// Takes note of what a creation started, and gives what came before it.
    pub(super) fn start(
        &mut self,
        creation: &Creation,
        target: &Target,
        now: SystemTime,
    ) -> Vec<Moment> {
        let seen = self.see(creation, now);
        seen.started = Some((target.clone(), now));
        std::mem::take(&mut seen.refused)
    }

    /// Takes note of a creation that started nothing.
    pub(super) fn refuse(&mut self, creation: &Creation, moment: Moment, now: SystemTime) {
        let seen = self.see(creation, now);
        if seen.refused.len() < KEPT_MOMENTS {
            seen.refused.push(moment);
        }
    }

    fn see(&mut self, creation: &Creation, now: SystemTime) -> &mut Seen {
        self.dates.push_back((now, creation.clone()));
        while let Some((at, oldest)) = self.dates.front() {
            if is_recent(*at, now) && self.dates.len() <= KEPT {
                break;
            }
            if self.seen.get(oldest).is_some_and(|seen| seen.at <= *at) {
                self.seen.remove(oldest);
            }
            self.dates.pop_front();
        }
        let seen = self.seen.entry(creation.clone()).or_insert(Seen {
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
    use crate::timeline::MomentKind;
    use std::time::UNIX_EPOCH;

    fn creation(number: &str) -> Creation {
        let context = r#"{"a":1.0}"#;
        let body = format!(
            r#"{{"to_phone_number":"{number}","extra_config":{{"call_context":{context}}}}}"#
        );
        Creation::read(Endpoint::CreateDocket, body.as_bytes()).expect("a creation")
    }

    fn at(seconds: u64) -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(seconds)
    }

    #[test]
    fn a_creation_repeats_what_was_started_within_a_minute() {
        let mut repeats = Repeats::default();
        let (asha, ravi) = (creation("1"), creation("2"));
        let first = Target::Call("first".to_owned());
        repeats.start(&asha, &first, at(0));
        assert_eq!(repeats.started_by(&asha, at(60)), Some(&first));
        assert_eq!(repeats.started_by(&asha, at(61)), None);
        assert_eq!(repeats.started_by(&ravi, at(0)), None);
    }

    #[test]
    fn what_came_of_refused_requests_belongs_to_the_creation_that_follows() {
        let mut repeats = Repeats::default();
        let asha = creation("1");
        let moment = Moment::new(at(0), MomentKind::Request, "503");
        repeats.refuse(&asha, moment, at(0));
        assert_eq!(repeats.started_by(&asha, at(1)), None);
        let target = Target::Call("first".to_owned());
        let before = repeats.start(&asha, &target, at(1));
        assert_eq!(before[0].text, "503");
        assert!(repeats.start(&asha, &target, at(2)).is_empty());
    }

    #[test]
    fn only_the_last_minute_is_remembered_and_no_more_than_10_000() {
        let mut repeats = Repeats::default();
        let target = Target::Call("one".to_owned());
        for number in 0..KEPT + 5 {
            repeats.start(&creation(&number.to_string()), &target, at(0));
        }
        assert_eq!((repeats.seen.len(), repeats.dates.len()), (KEPT, KEPT));
        repeats.start(&creation("again"), &target, at(61));
        repeats.start(&creation("again"), &target, at(122));
        assert_eq!((repeats.seen.len(), repeats.dates.len()), (1, 1));
    }

    #[test]
    fn only_what_starts_calls_is_a_creation() {
        let body = br#"{"to_phone_number":"1"}"#;
        let context = Creation::read(Endpoint::MakeCall, body).map(|one| one.context);
        assert_eq!(context.as_deref(), Some("{}"));
        assert_eq!(Creation::read(Endpoint::CreateAgent, body), None);
        assert_eq!(Creation::read(Endpoint::MakeCall, b"[]"), None);
    }
}

//! How calls end, and the results of answered ones.

use std::collections::BTreeMap;

#[cfg(feature = "program")]
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use strum::Display;

use super::body::JsonObject;
use super::number::script_of;

/// The result of a call: the statuses that the specification names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, Display)]
#[cfg_attr(feature = "program", derive(ValueEnum))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum CallStatus {
    /// No one answered.
    NoAnswer,
    /// The line was engaged.
    Busy,
    /// Answered: the call closes its docket.
    Answered,
}

/// The results of calls. Those of a number in `by_number` take precedence, then those of
/// [`TEST_NUMBERS`](crate::TEST_NUMBERS).
#[derive(Clone, Debug)]
pub struct Scripts {
    /// The attempts of a docket, at least one. Those after an answered one are never made; if none
    /// is answered, the docket closes after the last. A direct call ends as the last.
    pub docket: Vec<CallStatus>,
    /// The scripts of single numbers.
    pub by_number: BTreeMap<String, Vec<CallStatus>>,
}

impl Default for Scripts {
    fn default() -> Self {
        Self {
            docket: vec![CallStatus::NoAnswer, CallStatus::Answered],
            by_number: BTreeMap::new(),
        }
    }
}

impl Scripts {
    /// Returns `true` if each script has an attempt.
    pub(super) fn are_complete(&self) -> bool {
        let mut scripts = self.by_number.values().chain([&self.docket]);
        scripts.all(|script| !script.is_empty())
    }

    pub(super) fn of_docket(&self, number: &str) -> &[CallStatus] {
        let own = self.by_number.get(number).map(Vec::as_slice);
        own.or_else(|| script_of(number)).unwrap_or(&self.docket)
    }

    pub(super) fn of_direct_call(&self, number: &str) -> &[CallStatus] {
        let script = self.of_docket(number);
        &script[script.len() - 1..]
    }
}

/// The data points of an answered conversation (invented), with numbers that survive only as text.
const METADATA: &str = r#"{"language":"en","policy_number":12345678901234567890,"amount_due":0.10,"callback_requested":false}"#;

/// The end of a call, with the service's report of it, which it has if someone answered.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) status: CallStatus,
    /// The length of the call: finite, 0 or more.
    pub(super) seconds: f64,
    /// `call_disposition` in the completion webhook.
    pub(super) disposition: String,
    /// `user_interest.status` in the details of the call.
    pub(super) interest: String,
    /// `next_action.value` in the details of the call.
    pub(super) next_action: String,
    /// The data points, which are reported unchanged.
    pub(super) metadata: JsonObject,
}

impl Ending {
    /// Returns the ending that a script prescribes.
    pub(super) fn scripted(status: CallStatus) -> Self {
        Self {
            status,
            seconds: 42.5,
            disposition: "INTERESTED".to_owned(),
            interest: "INTERESTED".to_owned(),
            next_action: "SEND_LINK".to_owned(),
            metadata: serde_json::from_str(METADATA).expect("an object"),
        }
    }

    /// Returns the memory of its texts, in bytes.
    pub(super) fn size(&self) -> usize {
        let texts = [&self.disposition, &self.interest, &self.next_action];
        let metadata = self.metadata.0.get().len();
        metadata + texts.map(String::len).iter().sum::<usize>()
    }

    /// Returns the ending itself if someone answered.
    pub(super) fn answered(&self) -> Option<&Self> {
        (self.status == CallStatus::Answered).then_some(self)
    }
}

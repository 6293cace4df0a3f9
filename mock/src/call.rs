//! How calls end, and the results of answered ones.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
#[cfg(feature = "program")]
use clap::ValueEnum;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::body::JsonObject;
use super::number::script_of;

/// The result of a call: the statuses that the specification names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "program", derive(ValueEnum))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CallStatus {
    /// No one answered.
    NoAnswer,
    /// The line was engaged.
    Busy,
    /// Answered: the call closes its docket.
    Answered,
}

impl CallStatus {
    /// Returns the service's name of the status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoAnswer => "NO_ANSWER",
            Self::Busy => "BUSY",
            Self::Answered => "ANSWERED",
        }
    }
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

/// The end of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// No one picked up.
    NoAnswer,
    /// The line was engaged.
    Busy,
    /// Someone picked up: the call closes its docket.
    Answered(Conversation),
}

/// The service's report of an answered call. The default is that of a scripted call.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    /// The length of the call: finite, 0 or more.
    pub seconds: f64,
    /// `call_disposition` in the completion webhook.
    pub disposition: String,
    /// `user_interest.status` in the details of the call.
    pub interest: String,
    /// `next_action.value` in the details of the call.
    pub next_action: String,
    /// The data points: the text of a JSON object, which is reported unchanged.
    pub metadata: String,
}

impl Default for Conversation {
    fn default() -> Self {
        Self {
            seconds: 42.5,
            disposition: "INTERESTED".to_owned(),
            interest: "INTERESTED".to_owned(),
            next_action: "SEND_LINK".to_owned(),
            metadata: METADATA.to_owned(),
        }
    }
}

impl Conversation {
    /// Returns the data points as JSON, which [`Ending::check`] has validated.
    pub(super) fn metadata(&self) -> Box<RawValue> {
        RawValue::from_string(self.metadata.clone()).expect("checked JSON")
    }
}

impl Ending {
    /// Returns the ending that a script prescribes.
    pub(super) fn scripted(status: CallStatus) -> Self {
        match status {
            CallStatus::NoAnswer => Self::NoAnswer,
            CallStatus::Busy => Self::Busy,
            CallStatus::Answered => Self::Answered(Conversation::default()),
        }
    }

    /// Returns the resulting status of the call.
    pub fn status(&self) -> CallStatus {
        match self {
            Self::NoAnswer => CallStatus::NoAnswer,
            Self::Busy => CallStatus::Busy,
            Self::Answered(_) => CallStatus::Answered,
        }
    }

    pub(super) fn conversation(&self) -> Option<&Conversation> {
        match self {
            Self::Answered(conversation) => Some(conversation),
            Self::NoAnswer | Self::Busy => None,
        }
    }

    /// Returns the length of the call in seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.conversation()
            .map_or(0.0, |conversation| conversation.seconds)
    }

    /// Checks that the ending is valid. The error names the field, what was found, and what is
    /// allowed.
    pub(super) fn check(&self) -> Result<()> {
        let Some(conversation) = self.conversation() else {
            return Ok(());
        };
        let Conversation {
            seconds, metadata, ..
        } = conversation;
        ensure!(
            seconds.is_finite() && *seconds >= 0.0,
            "seconds is {seconds}; allowed: a number of at least 0"
        );
        let is_object = serde_json::from_str::<JsonObject>(metadata).is_ok();
        ensure!(
            is_object,
            "metadata is {metadata:?}; allowed: a string that holds a JSON object"
        );
        Ok(())
    }
}

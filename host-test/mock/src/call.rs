//! How calls end, and the results of answered ones.

use std::collections::BTreeMap;
use std::fmt;

#[cfg(feature = "clap")]
use clap::ValueEnum;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::body::JsonObject;

/// The result of a call: the statuses that the specification names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "clap", derive(ValueEnum))]
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

/// The results of calls by phone number. The order of precedence is: `by_number`, `seed`, the
/// defaults.
#[derive(Clone, Debug)]
pub struct Scripts {
    /// The attempts of a docket, at least one. Those after an answered one are never made; if none
    /// is answered, the docket closes after the last.
    pub docket: Vec<CallStatus>,
    /// The result of a direct call.
    pub direct_call: CallStatus,
    /// The scripts of single numbers. A direct call uses the first entry.
    pub by_number: BTreeMap<String, Vec<CallStatus>>,
    /// If set, other numbers have one to three attempts derived from this seed and the number, the
    /// same in every run.
    pub seed: Option<u64>,
}

impl Default for Scripts {
    fn default() -> Self {
        Self {
            docket: vec![CallStatus::NoAnswer, CallStatus::Answered],
            direct_call: CallStatus::Answered,
            by_number: BTreeMap::new(),
            seed: None,
        }
    }
}

impl Scripts {
    /// Returns `true` if each script has an attempt.
    pub(super) fn are_complete(&self) -> bool {
        let mut scripts = self.by_number.values().chain([&self.docket]);
        scripts.all(|script| !script.is_empty())
    }

    pub(super) fn of_docket(&self, number: &str) -> Vec<CallStatus> {
        self.of_number(number)
            .unwrap_or_else(|| self.docket.clone())
    }

    pub(super) fn of_direct_call(&self, number: &str) -> CallStatus {
        let script = self.of_number(number);
        script.map_or(self.direct_call, |script| script[0])
    }

    fn of_number(&self, number: &str) -> Option<Vec<CallStatus>> {
        let listed = self.by_number.get(number).cloned();
        listed.or_else(|| self.seed.map(|seed| drawn(seed, number)))
    }
}

/// Returns up to three attempts, each of which every second number answers (SplitMix64).
fn drawn(seed: u64, number: &str) -> Vec<CallStatus> {
    let mix = |x: u64| {
        let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    };
    let mut state = number.bytes().fold(mix(seed), |state, byte| {
        mix(state.wrapping_add(u64::from(byte)))
    });
    let mut script = Vec::new();
    while script.len() < 3 && script.last() != Some(&CallStatus::Answered) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        script.push(match mix(state) % 10 {
            0..5 => CallStatus::Answered,
            5..8 => CallStatus::NoAnswer,
            _ => CallStatus::Busy,
        });
    }
    script
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

    /// Checks that the ending is valid.
    pub(super) fn check(&self) -> Result<(), NotEnded> {
        let Some(conversation) = self.conversation() else {
            return Ok(());
        };
        let Conversation {
            seconds, metadata, ..
        } = conversation;
        if !seconds.is_finite() || *seconds < 0.0 {
            let problem = format!("seconds is {seconds}; allowed: a number of at least 0");
            return Err(NotEnded::Invalid(problem));
        }
        if serde_json::from_str::<JsonObject>(metadata).is_err() {
            let problem =
                format!("metadata is {metadata:?}; allowed: a string that holds a JSON object");
            return Err(NotEnded::Invalid(problem));
        }
        Ok(())
    }
}

/// The reason why a call was not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotEnded {
    /// No docket or direct call has this id, or it was removed.
    Unknown(String),
    /// This attempt is not ringing: it has ended, or has not begun.
    NotRinging {
        /// The attempt that should have been ended, from 1.
        attempt: usize,
        /// The attempt that is ringing instead.
        rings: Option<usize>,
    },
    /// The ending is invalid: names the field, what was found, and what is allowed.
    Invalid(String),
}

impl fmt::Display for NotEnded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(id) => write!(formatter, "no docket or direct call has the id {id:?}"),
            Self::NotRinging { attempt, rings } => {
                write!(formatter, "attempt {attempt} does not ring; ")?;
                match rings {
                    Some(rings) => write!(formatter, "attempt {rings} does"),
                    None => formatter.write_str("no attempt does"),
                }
            }
            Self::Invalid(problem) => formatter.write_str(problem),
        }
    }
}

impl std::error::Error for NotEnded {}

//! How a call ends, and what an answered one yields.

use std::fmt;

use serde_json::value::RawValue;

use super::call::CallStatus;
use super::json_object::{FieldType, JsonObject};

/// Data points of an answered conversation (invented): numbers that only survive as text.
const METADATA: &str = r#"{"language":"en","policy_number":12345678901234567890,"amount_due":0.10,"callback_requested":false}"#;

/// How one call ends.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// No one picked up.
    NoAnswer,
    /// The line was engaged.
    Busy,
    /// Someone picked up: the call closes its docket.
    Answered(Conversation),
}

/// What the service reports of an answered call. The default is what a call of a script yields.
#[derive(Clone, Debug, PartialEq)]
pub struct Conversation {
    /// How long it lasted: finite, 0 or more.
    pub seconds: f64,
    /// `call_disposition` in the completion webhook.
    pub disposition: String,
    /// `user_interest.status` in the details of the call.
    pub interest: String,
    /// `next_action.value` in the details of the call.
    pub next_action: String,
    /// The data points: the text of a JSON object, which is reported as it is written.
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
    /// The data points as JSON, which [`Ending::check`] has seen.
    pub(super) fn metadata(&self) -> Box<RawValue> {
        RawValue::from_string(self.metadata.clone()).expect("checked JSON")
    }
}

impl Ending {
    /// As a script has it.
    pub(super) fn scripted(status: CallStatus) -> Self {
        match status {
            CallStatus::NoAnswer => Self::NoAnswer,
            CallStatus::Busy => Self::Busy,
            CallStatus::Answered => Self::Answered(Conversation::default()),
        }
    }

    /// The status that it gives the call.
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

    /// Seconds that the call lasted.
    pub(super) fn seconds(&self) -> f64 {
        self.conversation()
            .map_or(0.0, |conversation| conversation.seconds)
    }

    /// What is wrong with it, if anything.
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
        let json = serde_json::from_str::<Box<RawValue>>(metadata).ok();
        if json.and_then(|json| JsonObject::read(&json)).is_none() {
            let problem =
                format!("metadata is {metadata:?}; allowed: a string that holds a JSON object");
            return Err(NotEnded::Invalid(problem));
        }
        Ok(())
    }
}

/// Why a call was not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotEnded {
    /// No docket or direct call has this id, or it was forgotten.
    Unknown(String),
    /// This attempt does not ring: it is over, or has not begun.
    NotRinging {
        /// The attempt that was to be ended, from 1.
        attempt: usize,
        /// The attempt that rings instead.
        rings: Option<usize>,
    },
    /// The ending itself is wrong: the field, what was found, and what is allowed.
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

//! The result of `parts.run-contact`, in the engine's JSON, and as it is shown.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The result of one attempt to call a contact.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The run has ended for good.
    Ended(Box<Row>),
    /// The contact is dispatched again.
    Again(IgnoredAny),
}

/// The result of a contact; by default, of one that the engine could not run.
#[derive(Debug, Default, Deserialize, Serialize)]
pub struct Row {
    /// The contact's index in the campaign, from 0; `None` if the engine could not run the run.
    pub index: Option<u32>,
    pub to_phone_number: Option<String>,
    pub external_id: Option<String>,
    /// The run's execution id.
    #[serde(skip_deserializing)]
    pub run: String,
    pub state: State,
    pub docket_id: Option<String>,
    /// `webhook` or `poll`.
    pub known_by: Option<String>,
    /// UNVERIFIED, as delivered by the webhook.
    pub insights: Option<Value>,
    /// Why no docket exists or why that is unknown, for people to read.
    pub error: Option<String>,
}

/// How a contact ended, with the names of `campaign-summary`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Completed,
    TimedOut,
    NotCreated,
    Spared,
    #[serde(alias = "given_up")]
    Unknown,
    #[default]
    Failed,
    Duplicate,
    Invalid,
}

//! The result of `parts.run-contact`, in the engine's JSON, and as it is shown.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;

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
    pub insights: Option<Insights>,
    /// Why no docket exists or why that is unknown, for people to read.
    pub error: Option<String>,
}

#[derive(Debug, Deserialize, Serialize)]
pub struct Insights {
    pub call_disposition: Option<String>,
    #[serde(serialize_with = "embed")]
    pub call_metadata: Option<String>,
}

/// Writes a string of JSON as that JSON; any other string stays one.
fn embed<S: Serializer>(text: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    match text.as_deref().map(serde_json::from_str::<&RawValue>) {
        Some(Ok(json)) => json.serialize(serializer),
        None | Some(Err(_)) => text.serialize(serializer),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_that_is_no_json_stays_text() {
        let insights = |metadata: Option<&str>| {
            let insights = Insights {
                call_disposition: None,
                call_metadata: metadata.map(str::to_owned),
            };
            serde_json::to_string(&insights).unwrap()
        };
        let document = |it: &str| format!(r#"{{"call_disposition":null,"call_metadata":{it}}}"#);
        assert_eq!(insights(None), document("null"));
        assert_eq!(insights(Some("no")), document(r#""no""#));
        assert_eq!(insights(Some(r#"[1.0]"#)), document("[1.0]"));
    }
}

//! What `parts.run-contact` returned, as the engine writes it, and how it is counted.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// What became of one try to call somebody.
#[derive(Debug, Deserialize)]
pub struct Row {
    pub index: u32,
    pub to_phone_number: String,
    pub external_id: Option<String>,
    pub ending: Ending,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// For good.
    Ended(Outcome),
    /// The contact is dispatched again.
    Again(IgnoredAny),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Ok(Box<Docket>),
    Err(Box<RawValue>),
}

/// What became of a docket.
#[derive(Debug, Deserialize)]
pub struct Docket {
    pub docket_id: String,
    pub completed: bool,
    pub known_by: Option<String>,
    pub unverified: Option<Delivery>,
}

/// What the webhook delivered.
#[derive(Debug, Deserialize)]
pub struct Delivery {
    pub call_insights: Option<Insights>,
}

#[derive(Debug, Deserialize)]
pub struct Insights {
    pub call_disposition: Option<String>,
    /// JSON.
    pub call_metadata: Option<String>,
}

/// How a contact ended, by the names of `campaign-summary`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Completed,
    TimedOut,
    NotCreated,
    Spared,
    Unknown,
    Failed,
}

impl State {
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::TimedOut => "timed_out",
            Self::NotCreated => "not_created",
            Self::Spared => "spared",
            Self::Unknown => "unknown",
            Self::Failed => "failed",
        }
    }
}

impl Outcome {
    pub fn state(&self) -> State {
        match self {
            Self::Ok(docket) if docket.completed => State::Completed,
            Self::Ok(_) => State::TimedOut,
            Self::Err(error) => match case(error.get()).as_str() {
                "permanent_invalid_input" | "permanent_not_created" => State::NotCreated,
                "permanent_spared" => State::Spared,
                "permanent_outcome_unknown" | "permanent_given_up" | "execution_failed" => {
                    State::Unknown
                }
                _ => State::Failed,
            },
        }
    }
}

/// The case of a variant: its name alone, or the only member of an object.
pub fn case(json: &str) -> String {
    match serde_json::from_str(json) {
        Ok(Value::String(name)) => name,
        Ok(Value::Object(members)) => members.into_iter().next().unwrap_or_default().0,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(ended: &str) -> State {
        let json = format!(
            r#"{{"index":3,"to_phone_number":"91","external_id":null,"ending":{{"ended":{ended}}}}}"#
        );
        let row: Row = serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}"));
        let Ending::Ended(outcome) = row.ending else {
            panic!("not ended")
        };
        outcome.state()
    }

    #[test]
    fn each_outcome_has_its_state() {
        let docket = |completed: bool| {
            format!(
                r#"{{"ok":{{"docket_id":"d","completed":{completed},"known_by":null,"docket":null,
                "unverified":null,"created":true,"polls":2,"last_poll_failure":null}}}}"#
            )
        };
        assert_eq!(state(&docket(true)), State::Completed);
        assert_eq!(state(&docket(false)), State::TimedOut);
        for (error, expected) in [
            (r#""execution_failed""#, State::Unknown),
            (
                r#"{"permanent_invalid_input":{"subject":"x"}}"#,
                State::NotCreated,
            ),
            (
                r#"{"permanent_not_created":{"unreachable":{}}}"#,
                State::NotCreated,
            ),
            (r#"{"permanent_spared":"on the list"}"#, State::Spared),
            (r#"{"permanent_outcome_unknown":{}}"#, State::Unknown),
            (r#"{"permanent_given_up":"no"}"#, State::Unknown),
            (r#""of_a_later_version""#, State::Failed),
        ] {
            assert_eq!(state(&format!(r#"{{"err":{error}}}"#)), expected, "{error}");
        }
    }

    #[test]
    fn a_state_is_written_by_its_name() {
        for state in [
            State::Completed,
            State::TimedOut,
            State::NotCreated,
            State::Spared,
            State::Unknown,
            State::Failed,
        ] {
            assert_eq!(serde_json::to_value(state).unwrap(), state.name());
        }
    }
}

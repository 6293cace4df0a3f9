//! The completion of a docket, as the text that a run receives through its stub.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The error that a run writes into its open stubs when it ends.
pub const OVER: &str = "the run is over";

/// The completion of a docket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completion {
    /// The docket as the service returned it: JSON.
    pub docket: String,
    /// The body of the delivery as received: JSON, whose insights the service cannot confirm.
    pub delivery: String,
}

impl Completion {
    /// Returns the value of the stub.
    pub fn to_text(&self) -> String {
        // Two strings always serialize.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses the value of the stub. Returns `None` if another text was written by hand.
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Returns `true` if another delivery reports the same for the same docket. Only the id and the
    /// insights count, not the time, the order of keys, or the attempts.
    pub fn agrees_with(&self, delivery: &str) -> bool {
        // Equal texts agree even if they cannot be parsed (because of a lone surrogate, say).
        if self.delivery == delivery {
            return true;
        }
        let Ok(ours) = serde_json::from_str::<Value>(&self.delivery) else {
            return false;
        };
        let Ok(theirs) = serde_json::from_str::<Value>(delivery) else {
            return false;
        };
        ["docket_id", "call_insights"]
            .iter()
            .all(|member| ours[member] == theirs[member])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_completion_survives_the_stub() {
        let completion = Completion {
            docket: r#"{"docket_id":"d","n":0.10}"#.into(),
            delivery: "{\"docket_id\":\"d\",\n\"x\":\"ü\"}".into(),
        };
        assert_eq!(Completion::read(&completion.to_text()), Some(completion));
        assert_eq!(Completion::read("yes"), None);
        assert_eq!(Completion::read("{}"), None);
    }

    #[test]
    fn a_delivery_contradicts_where_its_docket_or_its_insights_differ() {
        let completion_of = |delivery: &str| Completion {
            docket: "{}".into(),
            delivery: delivery.into(),
        };
        let first =
            completion_of(r#"{"docket_id":"d","call_insights":{"a":1,"b":2},"attempts":[1]}"#);
        for same in [
            r#"{"docket_id":"d","call_insights":{"a":1,"b":2},"attempts":[1]}"#,
            r#"{ "call_insights":{"b":2,"a":1}, "docket_id":"d", "attempts":[], "at":"now" }"#,
        ] {
            assert!(first.agrees_with(same), "{same}");
        }
        for other in [
            r#"{"docket_id":"d","call_insights":{"a":1,"b":3}}"#,
            r#"{"docket_id":"e","call_insights":{"a":1,"b":2}}"#,
            r#"{"docket_id":"d","call_insights":null}"#,
            "no JSON",
        ] {
            assert!(!first.agrees_with(other), "{other}");
        }
        let odd = r#"{"docket_id":"d","call_insights":{"a":"\ud800"}}"#;
        assert!(completion_of(odd).agrees_with(odd));
        let unanswered = completion_of(r#"{"docket_id":"d","call_insights":null}"#);
        assert!(unanswered.agrees_with(r#"{"docket_id":"d","attempts":[]}"#));
    }
}

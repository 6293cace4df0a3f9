//! The completion of a docket, as the text that a run receives through its stub.

use serde::{Deserialize, Serialize};

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
}

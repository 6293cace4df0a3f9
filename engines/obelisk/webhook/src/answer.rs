//! The answer to the service: an HTTP status with a reason.

/// An HTTP status and a reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub reason: String,
}

impl Answer {
    pub fn new(status: u16, reason: impl Into<String>) -> Self {
        Self {
            status,
            reason: reason.into(),
        }
    }

    /// Returns the body: `{"reason": …}`.
    pub fn body(&self) -> String {
        serde_json::json!({ "reason": self.reason }).to_string()
    }
}

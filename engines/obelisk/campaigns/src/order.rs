//! The reasons why an order was refused.

/// The reason why a campaign accepts no orders.
pub const OVER: &str = "the campaign accepts no orders: it has ended or was stopped";

/// Returns the status and the reason for an order that was refused, from the workflow's error in
/// the engine's JSON.
pub fn refusal(error: Option<&str>) -> (u16, String) {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum OrderError {
        PermanentNotFound,
        Unreachable(String),
        #[serde(other)]
        Other,
    }
    match error.map(serde_json::from_str) {
        Some(Ok(OrderError::PermanentNotFound)) => (409, OVER.to_owned()),
        Some(Ok(OrderError::Unreachable(reason))) => (
            503,
            format!("the order could not be delivered to the campaign: {reason}"),
        ),
        _ => (503, "the engine could not carry out the order".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_given_says_whether_to_repeat_it() {
        assert_eq!(refusal(Some(r#""permanent_not_found""#)).0, 409);
        let (status, reason) = refusal(Some(r#"{"unreachable":"API away"}"#));
        assert!(status == 503 && reason.ends_with("API away"), "{reason}");
        for error in [None, Some(r#""execution_failed""#), Some("trap")] {
            assert_eq!(refusal(error).0, 503, "{error:?}");
        }
    }
}

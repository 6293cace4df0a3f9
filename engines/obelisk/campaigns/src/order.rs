//! Orders of a campaign.

/// What an operator may order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Pause,
    Resume,
    Stop,
}

impl Order {
    /// By the last part of the path, and by the first word of what is written into the stub.
    pub fn named(word: &str) -> Option<Self> {
        match word {
            "pause" => Some(Self::Pause),
            "resume" => Some(Self::Resume),
            "stop" => Some(Self::Stop),
            _ => None,
        }
    }

    /// Reads the value of an order's stub, a JSON string: the order, and the execution that gave it.
    pub fn read(value: &str) -> Option<Self> {
        let text: String = serde_json::from_str(value).ok()?;
        Self::named(text.split_once(' ')?.0)
    }
}

/// Why an order was not given, by the error of the workflow as the engine writes it: the status,
/// and the reason.
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
        Some(Ok(OrderError::PermanentNotFound)) => {
            let reason = "the campaign takes no orders: it is over, or was stopped";
            (409, reason.to_owned())
        }
        Some(Ok(OrderError::Unreachable(reason))) => {
            (503, format!("the campaign could not be told: {reason}"))
        }
        _ => (503, "the engine could not carry out the order".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_known_by_its_first_word() {
        assert_eq!(Order::read(r#""pause E_1""#), Some(Order::Pause));
        for value in [
            "stop E_1",
            r#""stop""#,
            r#""""#,
            r#""{\"Rest\":{\"queue\":[]}}""#,
            r#"{"stop":1}"#,
            "7",
        ] {
            assert_eq!(Order::read(value), None, "{value}");
        }
    }

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

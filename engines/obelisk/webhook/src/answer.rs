//! The answer to the service: a verdict as an HTTP status with a reason.

use serde::Deserialize;

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

/// The result of `deliveries.deliver`, in the engine's JSON.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Delivered,
    Taken(String),
    NotOurs,
    Contradicted(Vec<String>),
    UnknownDocket,
    UnknownRun,
    NotCompleted,
}

impl Verdict {
    /// Returns the answer. `earlier` returns what an earlier delivery has already given to the run.
    pub fn answer(&self, earlier: impl FnOnce(&str) -> Earlier) -> Answer {
        match self {
            Self::Delivered => Answer::new(200, "the run has this completion"),
            Self::Taken(stub) => match earlier(stub) {
                Earlier::Same => Answer::new(200, "the run already has this completion"),
                Earlier::Different => {
                    Answer::new(409, "the run already has other insights of this docket")
                }
                Earlier::None => Answer::new(200, "the run had already ended"),
                Earlier::Unusable => Answer::new(503, "the run cannot be reached: send it again"),
            },
            Self::NotOurs => Answer::new(200, "ignored: no run here created the docket"),
            Self::Contradicted(members) => {
                let members = members.join(", ");
                Answer::new(409, format!("the service contradicts it: {members}"))
            }
            Self::UnknownDocket => Answer::new(404, "the service does not know the docket"),
            Self::UnknownRun => Answer::new(404, "the run that created the docket is unknown here"),
            Self::NotCompleted => {
                Answer::new(409, "the service says that the docket is not completed")
            }
        }
    }
}

/// The state of a run's completion when a delivery comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    Same,
    Different,
    /// The run ended without a completion: by a poll, by its timeout, or by a person.
    None,
    /// The run continues, and can no longer receive a completion.
    Unusable,
}

/// Returns the answer to a `deliver` that failed.
pub fn of_error(json: Option<&str>) -> Answer {
    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum DeliverError {
        PermanentNotACompletion(String),
        #[serde(other)]
        Other,
    }
    match json.map(serde_json::from_str) {
        Some(Ok(DeliverError::PermanentNotACompletion(reason))) => Answer::new(400, reason),
        _ => Answer::new(
            503,
            "the delivery could not be checked with the service: send it again",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Verdict {
        serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
    }

    #[test]
    fn each_verdict_has_its_status() {
        for (verdict, status) in [
            (r#""delivered""#, 200),
            (r#""not_ours""#, 200),
            (r#""unknown_docket""#, 404),
            (r#""unknown_run""#, 404),
            (r#""not_completed""#, 409),
            (r#"{"contradicted":["call_context"]}"#, 409),
        ] {
            let answer = read(verdict).answer(|_| panic!("asked what the run had got"));
            assert_eq!(answer.status, status, "{verdict}");
        }
    }

    #[test]
    fn a_delivery_that_came_second_is_judged_by_the_first() {
        let taken = read(r#"{"taken":"E_1.n:docket_1"}"#);
        for (earlier, status) in [
            (Earlier::Same, 200),
            (Earlier::None, 200),
            (Earlier::Different, 409),
            (Earlier::Unusable, 503),
        ] {
            let answer = taken.answer(|stub| {
                assert_eq!(stub, "E_1.n:docket_1");
                earlier
            });
            assert_eq!(answer.status, status, "{earlier:?}");
        }
    }

    #[test]
    fn an_error_of_the_workflow_is_the_senders_or_no_ones() {
        let broken = of_error(Some(r#"{"permanent_not_a_completion":"no JSON"}"#));
        assert_eq!(broken, Answer::new(400, "no JSON"));
        for error in [
            None,
            Some("execution error: trap"),
            Some(r#""execution_failed""#),
            Some(r#"{"permanent_unverifiable":{"unreachable":{}}}"#),
        ] {
            assert_eq!(of_error(error).status, 503, "{error:?}");
        }
    }
}

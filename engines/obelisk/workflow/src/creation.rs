//! What the answer to a creation means for its run. Whether a person's phone rings twice is
//! decided here.

use voice_calling_core::types::{Attempt, RequestError};

/// What became of a creation that was not answered with a docket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creation {
    /// Nothing was created, and the same may succeed later; the service may have said when.
    NotNow { retry_after_ms: Option<u64> },
    /// Nothing was created, and the same would fail again.
    Refused,
    /// A docket may exist.
    Unknown,
}

impl Creation {
    /// Judges an error of `create-docket-v2` by what it says was sent.
    pub fn of(error: &RequestError) -> Self {
        match error {
            // The engine lost the activity, perhaps after the request had left.
            RequestError::ExecutionFailed
            | RequestError::PermanentOutcomeUnknown(_)
            | RequestError::PermanentUnexpectedResponse(_)
            | RequestError::Unavailable(_) => Self::Unknown,
            RequestError::RateLimited(failure) if certainly_nothing(&failure.attempts) => {
                Self::NotNow {
                    retry_after_ms: failure.response.retry_after_ms,
                }
            }
            RequestError::Unreachable(failure) | RequestError::TimedOut(failure)
                if certainly_nothing(&failure.attempts) =>
            {
                Self::NotNow {
                    retry_after_ms: None,
                }
            }
            RequestError::PermanentConfiguration(problem)
                if certainly_nothing(&problem.attempts) =>
            {
                Self::Refused
            }
            RequestError::PermanentInvalidInput(_) => Self::Refused,
            RequestError::PermanentUnauthorized(failure)
            | RequestError::PermanentNotFound(failure)
            | RequestError::PermanentRejected(failure)
                if certainly_nothing(&failure.attempts) =>
            {
                Self::Refused
            }
            // An earlier attempt of the operation was answered in a way that leaves it open,
            // which takes another CREATE_RETRY than the deployment has.
            RequestError::RateLimited(_)
            | RequestError::Unreachable(_)
            | RequestError::TimedOut(_)
            | RequestError::PermanentConfiguration(_)
            | RequestError::PermanentUnauthorized(_)
            | RequestError::PermanentNotFound(_)
            | RequestError::PermanentRejected(_) => Self::Unknown,
        }
    }
}

/// Whether none of the attempts can have created anything. After a 5xx or 408 a docket may exist;
/// a redirection is what some services answer to a creation that they have carried out, and a
/// conflict what they answer to one that they have had before.
fn certainly_nothing(attempts: &[Attempt]) -> bool {
    let leaves_it_open = |status: u16| matches!(status, 300..400 | 408 | 409 | 500..600);
    !attempts
        .iter()
        .filter_map(|it| it.status)
        .any(leaves_it_open)
}

#[cfg(test)]
mod tests {
    use super::*;
    use voice_calling_core::types::{
        ConfigurationProblem, HttpFailure, HttpResponse, InvalidInput, TransportFailure,
        UnknownOutcome,
    };

    fn attempts(statuses: &[u16]) -> Vec<Attempt> {
        let attempt = |status: &u16| Attempt {
            status: (*status != 0).then_some(*status),
            transport_error: None,
            started_ms: 0,
            duration_ms: 0,
        };
        statuses.iter().map(attempt).collect()
    }

    fn http(statuses: &[u16], retry_after_ms: Option<u64>) -> HttpFailure {
        HttpFailure {
            message: String::new(),
            response: HttpResponse {
                status: statuses.last().copied().unwrap_or_default(),
                body: String::new(),
                body_cut: false,
                request_id: None,
                retry_after_ms,
            },
            attempts: attempts(statuses),
        }
    }

    fn transport(statuses: &[u16]) -> TransportFailure {
        TransportFailure {
            message: String::new(),
            attempts: attempts(statuses),
        }
    }

    fn problem(statuses: &[u16]) -> ConfigurationProblem {
        ConfigurationProblem {
            variable: String::new(),
            found: String::new(),
            allowed: String::new(),
            attempts: attempts(statuses),
        }
    }

    #[test]
    fn a_creation_is_repeated_only_where_it_certainly_did_nothing() {
        use RequestError::*;
        let later = |retry_after_ms| Creation::NotNow { retry_after_ms };
        let cases = [
            (RateLimited(http(&[429], Some(7))), later(Some(7))),
            (RateLimited(http(&[0, 429], None)), later(None)),
            (Unreachable(transport(&[0, 0])), later(None)),
            (TimedOut(transport(&[])), later(None)),
        ];
        for (error, expected) in cases {
            assert_eq!(Creation::of(&error), expected, "{error:?}");
        }
    }

    #[test]
    fn what_may_have_created_a_docket_is_unknown_whatever_the_error_is_called() {
        use RequestError::*;
        let cases = [
            ExecutionFailed,
            PermanentOutcomeUnknown(UnknownOutcome {
                message: String::new(),
                response: None,
                attempts: attempts(&[0]),
            }),
            PermanentUnexpectedResponse(http(&[200], None)),
            Unavailable(http(&[503], None)),
            RateLimited(http(&[503, 429], Some(7))),
            Unreachable(transport(&[408, 0])),
            TimedOut(transport(&[500])),
            PermanentConfiguration(problem(&[502])),
            PermanentUnauthorized(http(&[503, 401], None)),
            PermanentNotFound(http(&[599, 404], None)),
            PermanentRejected(http(&[408, 422], None)),
            PermanentRejected(http(&[303], None)),
            PermanentRejected(http(&[409], None)),
        ];
        for error in cases {
            assert_eq!(Creation::of(&error), Creation::Unknown, "{error:?}");
        }
    }

    #[test]
    fn a_refusal_ends_the_run() {
        use RequestError::*;
        let cases = [
            PermanentConfiguration(problem(&[])),
            PermanentInvalidInput(InvalidInput {
                field: String::new(),
                found: String::new(),
                allowed: String::new(),
            }),
            PermanentUnauthorized(http(&[401], None)),
            PermanentNotFound(http(&[404], None)),
            PermanentRejected(http(&[429, 422], None)),
        ];
        for error in cases {
            assert_eq!(Creation::of(&error), Creation::Refused, "{error:?}");
        }
    }
}

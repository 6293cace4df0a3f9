//! Interprets the answer to a creation. Whether a person's phone rings twice is decided here.

use voice_calling_core::types::RequestError;

use crate::error::is_permanent;

/// The fate of a creation that was not answered with a docket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creation {
    /// Nothing was created, and a retry may succeed; the service may have said when.
    NotNow { retry_after_ms: Option<u32> },
    /// Nothing was created, and a retry would fail.
    Refused,
    /// A docket may exist.
    Unknown,
}

impl Creation {
    /// Classifies an error of `create-docket-v2`.
    pub fn of(error: &RequestError) -> Self {
        let Some(failure) = error.failure() else {
            // The engine lost the activity, perhaps after the request was sent.
            return Self::Unknown;
        };
        let response = failure.response.as_ref();
        match (failure.may_have_created, is_permanent(error)) {
            (true, _) => Self::Unknown,
            (false, true) => Self::Refused,
            (false, false) => Self::NotNow {
                retry_after_ms: response.and_then(|response| response.retry_after_ms),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use voice_calling_core::types::{Failure, HttpResponse};

    fn failed(may_have_created: bool, retry_after_ms: Option<u32>) -> Failure {
        let response = HttpResponse {
            status: 429,
            body: String::new(),
            body_cut: false,
            request_id: None,
            retry_after_ms,
        };
        Failure {
            message: String::new(),
            problem: None,
            response: Some(response),
            attempts: Vec::new(),
            may_have_created,
        }
    }

    #[test]
    fn a_creation_is_repeated_only_where_it_certainly_did_nothing() {
        use RequestError::*;
        let later = |retry_after_ms| Creation::NotNow { retry_after_ms };
        let cases = [
            (RateLimited(failed(false, Some(7))), later(Some(7))),
            (Unreachable(failed(false, None)), later(None)),
            (TimedOut(failed(false, None)), later(None)),
            (PermanentRejected(failed(false, None)), Creation::Refused),
            (PermanentRejected(failed(true, None)), Creation::Unknown),
            (
                PermanentOutcomeUnknown(failed(true, None)),
                Creation::Unknown,
            ),
            (ExecutionFailed, Creation::Unknown),
        ];
        for (error, expected) in cases {
            assert_eq!(Creation::of(&error), expected, "{error:?}");
        }
    }
}

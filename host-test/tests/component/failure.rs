//! Looking into errors.

use voice_calling_host::types::*;

pub use voice_calling_check::operation::outcome;

pub fn statuses(error: &RequestError) -> Vec<Option<u16>> {
    let attempts = error.attempts().iter();
    attempts.map(|attempt| attempt.status).collect()
}

/// When attempts began and how long they took, in milliseconds.
pub fn times_ms(error: &RequestError) -> Vec<(u32, u32)> {
    let attempts = error.attempts().iter();
    attempts
        .map(|attempt| (attempt.started_ms, attempt.duration_ms))
        .collect()
}

/// What all errors have in common.
pub fn failure(error: &RequestError) -> &Failure {
    error.failure().expect("an error of the component")
}

/// Whether something may have been created.
pub fn may_have_created(error: &RequestError) -> bool {
    failure(error).may_have_created
}

/// What is wrong with an argument that was refused before anything was sent.
pub fn invalid_input<T: std::fmt::Debug>(result: Result<T, RequestError>) -> Problem {
    problem(result, "permanent-invalid-input")
}

/// What is wrong with a setting, or with the account that was named.
pub fn configuration<T: std::fmt::Debug>(result: Result<T, RequestError>) -> Problem {
    problem(result, "permanent-configuration")
}

fn problem<T: std::fmt::Debug>(result: Result<T, RequestError>, case: &str) -> Problem {
    let error = result.expect_err(case);
    assert_eq!(error.case(), case, "{error:?}");
    let failure = failure(&error);
    assert!(failure.attempts.is_empty(), "{failure:?}");
    assert_eq!(
        (&failure.response, failure.may_have_created),
        (&None, false)
    );
    let problem = failure.problem.clone().expect("a problem");
    for part in [&problem.subject, &problem.allowed] {
        assert!(failure.message.contains(part), "{failure:?}");
    }
    problem
}

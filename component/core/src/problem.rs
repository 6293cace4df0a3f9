//! Problems with settings and arguments, and the errors that report them before anything is sent.

use crate::types::{Failure, Problem, RequestError};

/// Describes a setting or argument at fault.
pub fn problem(
    subject: impl Into<String>,
    found: impl Into<String>,
    allowed: impl Into<String>,
) -> Problem {
    Problem {
        subject: subject.into(),
        found: found.into(),
        allowed: allowed.into(),
    }
}

/// Returns the payload of an error that reports a problem.
pub(crate) fn failure_of(problem: Problem) -> Failure {
    Failure {
        message: format!(
            "{}: found {}; allowed: {}",
            problem.subject, problem.found, problem.allowed
        ),
        problem: Some(problem),
        response: None,
        attempts: Vec::new(),
        may_have_created: false,
    }
}

/// Returns the error of a setting, before anything was sent.
pub fn configuration_error(problem: Problem) -> RequestError {
    RequestError::PermanentConfiguration(failure_of(problem))
}

/// The error of an argument, before anything was sent.
impl From<Problem> for RequestError {
    fn from(problem: Problem) -> Self {
        RequestError::PermanentInvalidInput(failure_of(problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::case_and_failure;

    #[test]
    fn a_problem_says_what_is_at_fault_what_was_found_and_what_is_allowed() {
        let problem = problem("task-id", "an empty string", "a string");
        let (case, failure) = case_and_failure(problem.clone().into());
        assert_eq!(case, "permanent-invalid-input");
        let said = "task-id: found an empty string; allowed: a string";
        assert_eq!((&*failure.message, failure.problem), (said, Some(problem)));
    }
}

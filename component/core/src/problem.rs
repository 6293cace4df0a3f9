//! Problems with settings and arguments, and the failures that report them before anything is sent.

use crate::types::{Failure, FailureKind, NextStep, Problem};

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

/// Returns the failure of a setting, before anything was sent.
pub fn configuration_failure(problem: Problem) -> Failure {
    Failure {
        problem: Some(problem.clone()),
        ..Failure::unsent(
            FailureKind::Configuration,
            NextStep::FixSetting,
            problem.to_string(),
        )
    }
}

/// The failure of an argument, before anything was sent.
impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Failure {
            problem: Some(problem.clone()),
            ..Failure::unsent(
                FailureKind::InvalidInput,
                NextStep::Refused,
                problem.to_string(),
            )
        }
    }
}

impl Failure {
    /// Returns a failure before anything was sent.
    pub(crate) fn unsent(kind: FailureKind, next_step: NextStep, message: String) -> Self {
        Self {
            kind,
            next_step,
            message,
            problem: None,
            response: None,
            attempts: Vec::new(),
            may_have_created: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_says_what_is_at_fault_what_was_found_and_what_is_allowed() {
        let problem = problem("task-id", "an empty string", "a string");
        let said = "task-id: found an empty string; allowed: a string";
        let of_argument = Failure::from(problem.clone());
        let of_setting = configuration_failure(problem.clone());
        for (failure, kind, next_step) in [
            (of_argument, FailureKind::InvalidInput, NextStep::Refused),
            (of_setting, FailureKind::Configuration, NextStep::FixSetting),
        ] {
            assert_eq!((failure.kind, failure.next_step), (kind, next_step));
            assert_eq!(
                (&*failure.message, failure.problem),
                (said, Some(problem.clone()))
            );
        }
    }
}

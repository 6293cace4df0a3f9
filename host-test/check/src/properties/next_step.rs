//! Checks that a failure says what follows from it.

use super::Judgement;
use crate::checks::Check;
use crate::operation::Returned;
use crate::scenario::Run;
use voice_calling_host::types::{Failure, FailureKind, NextStep};

pub(super) fn judge_result(judgement: &mut Judgement, run: &Run, returned: &Returned) {
    let Some(failure) = returned.as_ref().err().and_then(|error| error.failure()) else {
        return;
    };
    let expected = expected(failure, run.scenario.operation.is_create());
    judgement.expect(Check::NextStep, failure.next_step == expected, || {
        let (kind, found) = (failure.kind.name(), failure.next_step.name());
        format!(
            "{kind} is followed by {found}; expected {}",
            expected.name()
        )
    });
}

/// Returns what follows from a failure. Whether its other fields are right is checked elsewhere.
fn expected(failure: &Failure, is_create: bool) -> NextStep {
    use FailureKind::*;
    let status = failure.response.as_ref().map(|response| response.status);
    match failure.kind {
        _ if failure.may_have_created => NextStep::Unknown,
        OutcomeUnknown => NextStep::Unknown,
        RateLimited | Unavailable | Unreachable | TimedOut | NotBegun => NextStep::RetryLater,
        Configuration | Unauthorized | UnexpectedResponse => NextStep::FixSetting,
        // The path of a create does not exist.
        NotFound if is_create => NextStep::FixSetting,
        Rejected if matches!(status, Some(300..=399 | 402 | 405 | 407)) => NextStep::FixSetting,
        NotFound | Rejected | InvalidInput => NextStep::Refused,
    }
}

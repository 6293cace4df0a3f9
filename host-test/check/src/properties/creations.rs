//! Checks that nothing is created twice, and that everything that may exist is reported.

use super::{Judgement, describe};
use crate::checks::Check;
use crate::operation::Returned;
use crate::scenario::CreateRetry;
use crate::trace::{Attempt, Outcome, Trace};
use voice_calling_host::types::RequestError;

pub(super) fn judge(judgement: &mut Judgement, trace: &Trace) {
    let is_create = trace.run.scenario.operation.is_create();
    nothing_follows(judgement, Check::NoReplay, trace, |attempt| {
        is_create
            && !matches!(
                attempt.outcome(),
                Outcome::NotSent | Outcome::Status(429 | 425 | 408 | 500..=599, _)
            )
    });
    nothing_follows(judgement, Check::CreateRetry, trace, |attempt| {
        is_create
            && match trace.run.scenario.settings.create_retry {
                CreateRetry::ServerErrors => false,
                CreateRetry::NotSent => {
                    matches!(attempt.outcome(), Outcome::Status(408 | 500..=599, _))
                }
                CreateRetry::Never => true,
            }
    });
    nothing_follows(judgement, Check::FinalAnswers, trace, |attempt| {
        !attempt.may_be_repeated() && !attempt.on_the_edge && !attempt.is_pending()
    });
}

/// Checks that no request follows a final one.
fn nothing_follows(
    judgement: &mut Judgement,
    check: Check,
    trace: &Trace,
    is_final: impl Fn(&Attempt) -> bool,
) {
    for (index, attempt) in trace.attempts.iter().enumerate() {
        if is_final(attempt) {
            let next = trace.attempts.get(index + 1);
            let finding = |next: &Attempt| {
                let again_ms = next.sent.at_ms;
                format!(
                    "sent again at {again_ms} ms after {}",
                    describe(attempt.sent)
                )
            };
            judgement.extend(check, next.map(finding));
        }
    }
}

pub(super) fn judge_result(judgement: &mut Judgement, trace: &Trace, returned: &Returned) {
    if trace.on_the_edge() {
        return;
    }
    let is_create = trace.run.scenario.operation.is_create();
    match returned {
        Err(error) => {
            if let Some(failure) = error.failure() {
                let (found, due) = (failure.may_have_created, trace.may_have_created());
                judgement.expect(Check::CreationsAreReported, found == due, || {
                    format!("may-have-created is {found}, but the service saw otherwise")
                });
            }
            // After a transient error, callers may retry.
            if is_create && matches!(error, RequestError::Transient(_)) {
                let created = trace.attempts.iter().filter(|it| it.may_have_created());
                let kind = error.kind();
                let finding =
                    created.map(|attempt| format!("{kind} after {}", describe(attempt.sent)));
                judgement.extend(Check::NothingCreated, finding);
            }
        }
        Ok(answered) => {
            if let (true, Some((_, earlier))) = (is_create, trace.attempts.split_last()) {
                let found = answered.may_be_duplicate;
                let due = earlier.iter().any(Attempt::may_have_created);
                judgement.expect(Check::DuplicatesAreReported, found == due, || {
                    format!("may-be-duplicate is {found}, but the service saw otherwise")
                });
            }
        }
    }
}

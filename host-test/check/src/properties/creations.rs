//! What may have been created: nothing twice, and nothing that is not reported.

use super::findings::{Findings, told};
use crate::operation::Returned;
use crate::scenario::{CreateRetry, Run, Scenario};
use crate::trace::{Attempt, Outcome, Trace};

pub(super) fn no_replay(run: &Run, trace: &Trace) -> Option<Findings> {
    let may_be_processed = |attempt: &Attempt| {
        !matches!(
            attempt.outcome(),
            Outcome::NotSent | Outcome::Status(429 | 425 | 408 | 500..=599, _)
        )
    };
    let create = run.scenario.operation.is_create();
    (create && trace.attempts.iter().any(may_be_processed))
        .then(|| repeated(trace, |attempt| may_be_processed(attempt)))
}

pub(super) fn create_retry(run: &Run, trace: &Trace) -> Option<Findings> {
    let Scenario {
        operation,
        settings,
        ..
    } = &run.scenario;
    let is_final = |attempt: &Attempt| match settings.create_retry {
        CreateRetry::ServerErrors => false,
        CreateRetry::NotSent => {
            matches!(attempt.outcome(), Outcome::Status(408 | 500..=599, _))
        }
        CreateRetry::Never => true,
    };
    (operation.is_create() && trace.attempts.iter().any(is_final))
        .then(|| repeated(trace, is_final))
}

pub(super) fn final_answers(_: &Run, trace: &Trace) -> Option<Findings> {
    let is_final = |attempt: &Attempt| {
        !attempt.may_be_repeated() && !attempt.on_the_edge && !attempt.is_pending()
    };
    (trace.attempts.iter().any(is_final)).then(|| repeated(trace, is_final))
}

/// The requests that follow what nothing may follow.
fn repeated(trace: &Trace, is_final: impl Fn(&Attempt) -> bool) -> Findings {
    let pairs = trace.attempts.windows(2).filter(|pair| is_final(&pair[0]));
    pairs
        .map(|pair| {
            let again_ms = pair[1].sent.at_ms;
            format!("sent again at {again_ms} ms after {}", told(&pair[0]))
        })
        .collect()
}

/// An error without `permanent` in its name lets people repeat the call.
pub(super) fn nothing_created(run: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
    let case = returned.as_ref().err()?.case();
    if !run.scenario.operation.is_create() || case.starts_with("permanent") || trace.on_the_edge() {
        return None;
    }
    let created = trace
        .attempts
        .iter()
        .filter(|attempt| attempt.may_have_created());
    Some(
        created
            .map(|attempt| format!("{case} after {}", told(attempt)))
            .collect(),
    )
}

pub(super) fn creations_are_reported(
    _: &Run,
    trace: &Trace,
    returned: &Returned,
) -> Option<Findings> {
    let failure = returned.as_ref().err()?.failure()?;
    let found = (failure.may_have_created, trace.may_have_created());
    (!trace.on_the_edge()).then(|| differing("may-have-created", found))
}

pub(super) fn duplicates_are_reported(
    run: &Run,
    trace: &Trace,
    returned: &Returned,
) -> Option<Findings> {
    let answered = returned.as_ref().ok()?;
    let (_, earlier) = trace.attempts.split_last()?;
    let found = (
        answered.may_be_duplicate,
        earlier.iter().any(Attempt::may_have_created),
    );
    let judged = run.scenario.operation.is_create() && !trace.on_the_edge();
    judged.then(|| differing("may-be-duplicate", found))
}

fn differing(name: &str, (found, due): (bool, bool)) -> Findings {
    match found == due {
        true => Vec::new(),
        false => vec![format!("{name} is {found}, but the service saw otherwise")],
    }
}

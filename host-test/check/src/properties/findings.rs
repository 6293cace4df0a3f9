//! Findings, and the words for them.

use crate::checks::Check;
use crate::error_codes;
use crate::operation::{Answered, Returned};
use crate::scenario::Run;
use crate::script::{Received, ReceivedBody};
use crate::trace::{Attempt, Trace};
use std::collections::BTreeMap;
use voice_calling_host::types;

/// By how much a time limit may be overrun: what a guest needs to compute.
pub(super) const TOLERANCE_MS: u64 = 50;

/// By how much two clocks differ that round to milliseconds.
pub(super) const ROUNDING_MS: u64 = 2;

/// A date is a whole second, and so is what a guest knows of the time.
pub(super) const DATE_PRECISION_MS: u64 = 1_000;

/// How much of a body an error keeps at least.
pub(super) const KEPT_BODY_BYTES: usize = 1_024;

/// The findings against each check that had something to judge. A check without findings passes.
#[derive(Default)]
pub struct Judgement(pub BTreeMap<Check, Vec<String>>);

impl Judgement {
    /// Judges: what does not hold is found.
    pub(super) fn expect(&mut self, check: Check, holds: bool, otherwise: impl FnOnce() -> String) {
        let found = self.0.entry(check).or_default();
        if !holds {
            found.push(otherwise());
        }
    }

    /// Judges by what was found.
    pub(super) fn extend(&mut self, check: Check, findings: impl IntoIterator<Item = String>) {
        self.0.entry(check).or_default().extend(findings);
    }
}

/// The attempts that a result reports.
pub(super) fn reported_attempts(returned: &Returned) -> &[types::Attempt] {
    match returned {
        Ok(answered) => &answered.attempts,
        Err(error) => error.attempts(),
    }
}

/// The requests that a result reports: all of them, or those of the last poll of a wait.
/// None where that is not known: a wait that ends without what it waits for reports the last
/// poll that was answered.
pub(super) fn reported_part<'a>(
    run: &Run,
    trace: &Trace<'a>,
    returned: &Returned,
) -> Option<Trace<'a>> {
    let pending = |answered: &Answered| answered.waited.is_some_and(|wait| !wait.completed);
    if returned.as_ref().is_ok_and(pending) {
        return None;
    }
    Some(trace.last(match run.scenario.operation.is_wait() {
        true => reported_attempts(returned).len(),
        false => trace.attempts.len(),
    }))
}

/// An attempt, for people.
pub(super) fn describe(attempt: &Attempt) -> String {
    let received = match &attempt.sent.received {
        Received::Nothing => "silence".to_owned(),
        Received::Failure(code) => error_codes::name(code).to_owned(),
        Received::Answer(status, ReceivedBody::Whole) => status.to_string(),
        Received::Answer(status, ReceivedBody::Begun) => format!("{status} without the whole body"),
        Received::Answer(status, ReceivedBody::Broken) => format!("{status} with a broken body"),
    };
    format!("{received} at {} ms", attempt.sent.at_ms)
}

pub(super) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(200)]
}

//! Findings and their wording.

use crate::checks::Check;
use crate::error_codes;
use crate::operation::{Answered, Returned};
use crate::scenario::Run;
use crate::script::{Received, ReceivedBody};
use crate::trace::{Attempt, Trace};
use std::collections::BTreeMap;
use voice_calling_host::types;

/// The tolerance of a time limit: the time that a guest needs to compute.
pub(super) const TOLERANCE_MS: u64 = 50;

/// The largest difference between two clocks that round to milliseconds.
pub(super) const ROUNDING_MS: u64 = 2;

/// The precision of a date, and of the guest's knowledge of the time: whole seconds.
pub(super) const DATE_PRECISION_MS: u64 = 1_000;

/// The least number of bytes of a body that an error keeps.
pub(super) const KEPT_BODY_BYTES: usize = 1_024;

/// The findings against each check that applied. A check without findings passes.
#[derive(Default)]
pub struct Judgement(pub BTreeMap<Check, Vec<String>>);

impl Judgement {
    /// Adds a finding if the condition does not hold.
    pub(super) fn expect(&mut self, check: Check, holds: bool, otherwise: impl FnOnce() -> String) {
        let found = self.0.entry(check).or_default();
        if !holds {
            found.push(otherwise());
        }
    }

    /// Adds findings.
    pub(super) fn extend(&mut self, check: Check, findings: impl IntoIterator<Item = String>) {
        self.0.entry(check).or_default().extend(findings);
    }
}

/// Returns the attempts that a result reports.
pub(super) fn reported_attempts(returned: &Returned) -> &[types::Attempt] {
    match returned {
        Ok(answered) => &answered.attempts,
        Err(error) => error.attempts(),
    }
}

/// Returns the requests that a result reports: all of them, or those of the last poll of a wait;
/// `None` if that is unknown, since a wait that is not completed reports the last poll that was
/// answered.
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

/// Describes an attempt, for people to read.
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

//! When waits end, and what they report about themselves.

use super::findings::{Findings, ROUNDING_MS, TOLERANCE_MS};
use crate::operation::Returned;
use crate::scenario::Run;
use crate::trace::{Attempt, Trace};

/// A wait goes on until something is ready, and no longer.
pub(super) fn waits_end(run: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
    let completed = returned.as_ref().ok()?.waited?.completed;
    if trace.on_the_edge() {
        return None;
    }
    let ready = trace.attempts.iter().position(Attempt::is_ready);
    let (last, settings) = (trace.attempts.last(), &run.scenario.settings);
    let Some(last) = last else {
        return Some(vec!["ended without a poll".to_owned()]);
    };
    let mut found = Findings::new();
    if completed != ready.is_some() {
        found.push(format!(
            "completed is {completed}, but the service said otherwise"
        ));
    }
    if ready.is_some_and(|ready| ready + 1 < trace.attempts.len()) {
        found.push("polled again after it was ready".to_owned());
    }
    // A pause that does not fit is not begun.
    let pause_ms = settings.max_backoff_ms.max(last.asked_ms().unwrap_or(0));
    let due_ms = run.ended_ms.saturating_add(pause_ms + TOLERANCE_MS);
    if !completed && due_ms < u64::from(run.scenario.arguments.timeout_ms) {
        found.push(format!(
            "not completed, but ended after {} ms",
            run.ended_ms
        ));
    }
    Some(found)
}

/// What a wait says of its polls, where the service sees no more than requests.
pub(super) fn polls_are_counted(run: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
    let waited = returned.as_ref().ok()?.waited?;
    if trace.on_the_edge() {
        return None;
    }
    let requests = trace.attempts.len();
    // What is not repeated ends a poll, and a wait that ends well has seen no final error.
    let answered = trace
        .attempts
        .iter()
        .filter(|attempt| !attempt.may_be_repeated())
        .count();
    let least = answered.max(requests.div_ceil(run.scenario.settings.max_attempts as usize));
    let (polls, failed) = (waited.polls as usize, waited.failed_polls as usize);
    let near = u64::from(waited.waited_ms).abs_diff(run.ended_ms) <= ROUNDING_MS;
    let mut found = Findings::new();
    if !(least..=requests).contains(&polls) || failed + answered != polls {
        found.push(format!(
            "reports {polls} polls, {failed} of which failed, in {requests} requests with \
             {answered} answers"
        ));
    }
    if !near || waited.held_back_ms > 0 {
        found.push(format!("reports {waited:?}, it took {} ms", run.ended_ms));
    }
    Some(found)
}

//! The items of a batch, all of them, in order, and not too many at once.

use super::findings::{Findings, TOLERANCE_MS};
use crate::operation::{external_id, outcome};
use crate::scenario::Run;
use crate::script::{Heard, most_open};
use crate::trace::Trace;

pub(super) fn batch_order(index: usize, id: &str) -> Option<Findings> {
    Some(match id == external_id(index) {
        true => Vec::new(),
        false => vec![format!("result {index} is that of {id}")],
    })
}

pub(super) fn batch_is_complete(run: &Run, traces: &[Trace]) -> Findings {
    let Ok(returned) = &run.returned else {
        return Vec::new();
    };
    let items = run.scenario.arguments.items;
    let mut found = Findings::new();
    let had_time = !meets_rate_limit(run) && has_time(run);
    if returned.len() != items {
        found.push(format!("{} results for {items} requests", returned.len()));
    }
    if items != 1 {
        let known: usize = traces.iter().map(|trace| trace.attempts.len()).sum();
        if known != run.sent.len() {
            found.push(format!(
                "{} requests belong to no item",
                run.sent.len() - known
            ));
        }
    }
    for (index, (trace, returned)) in traces.iter().zip(returned).enumerate() {
        if trace.attempts.is_empty() && outcome(returned) != "timed-out" {
            found.push(format!(
                "item {index} was never sent and is {}",
                outcome(returned)
            ));
        }
        if trace.attempts.is_empty() && had_time {
            found.push(format!(
                "item {index} was never sent, although there was time"
            ));
        }
    }
    found
}

/// A rate limit that one item meets ends no other.
pub(super) fn limits_only_delay(run: &Run, traces: &[Trace]) -> Option<Findings> {
    if !meets_rate_limit(run) || !has_time(run) {
        return None;
    }
    let traces = traces.iter().enumerate();
    let never_sent = traces.filter(|(_, trace)| trace.attempts.is_empty());
    Some(
        never_sent
            .map(|(index, _)| format!("item {index} was never sent"))
            .collect(),
    )
}

pub(super) fn meets_rate_limit(run: &Run) -> bool {
    let mut heard = run.sent.iter().map(|sent| &sent.heard);
    heard.any(|heard| matches!(heard, Heard::Answer(429 | 425, _)))
}

/// Whether a batch ended before its time.
pub(super) fn has_time(run: &Run) -> bool {
    run.ended_ms + TOLERANCE_MS < u64::from(run.scenario.arguments.timeout_ms)
}

pub(super) fn max_in_flight(run: &Run) -> Findings {
    let limit = run.scenario.settings.max_in_flight;
    let most_open = most_open(&run.sent);
    match most_open > limit {
        true => vec![format!(
            "{most_open} requests at once, the limit is {limit}"
        )],
        false => Vec::new(),
    }
}

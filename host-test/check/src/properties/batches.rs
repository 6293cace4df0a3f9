//! Checks that a batch returns all items, in order, and never sends too many at once.

use super::{Judgement, TOLERANCE_MS};
use crate::checks::Check;
use crate::operation::{external_id, outcome};
use crate::scenario::Run;
use crate::script::{Received, most_open};
use crate::trace::Trace;

pub(super) fn judge(judgement: &mut Judgement, run: &Run, traces: &[Trace]) {
    let limit = run.scenario.settings.max_in_flight;
    let most_open = most_open(&run.sent);
    judgement.expect(Check::MaxInFlight, most_open <= limit, || {
        format!("{most_open} requests at once, the limit is {limit}")
    });
    let results = run.returned.iter().flatten();
    let never_sent = traces.iter().zip(results).enumerate();
    let never_sent = never_sent.filter(|(_, (trace, returned))| {
        trace.attempts.is_empty() && outcome(returned) != "not-begun"
    });
    let never_sent = never_sent.map(|(index, _)| format!("item {index} was never sent"));
    // A rate limit for one item ends no other; without one, all items are sent, unless too many
    // fail.
    let has_time = run.ended_ms + TOLERANCE_MS < u64::from(run.scenario.arguments.timeout_ms);
    match meets_rate_limit(run) {
        true if has_time => judgement.extend(Check::LimitsOnlyDelay, never_sent),
        false if has_time && run.returned.is_ok() => {
            judgement.extend(Check::BatchIsComplete, never_sent);
        }
        _ => {}
    }
    is_complete(judgement, run, traces);
    is_in_order(judgement, run);
}

fn is_complete(judgement: &mut Judgement, run: &Run, traces: &[Trace]) {
    let check = Check::BatchIsComplete;
    judgement.extend(check, []);
    let Ok(returned) = &run.returned else {
        return;
    };
    let items = run.scenario.arguments.items;
    judgement.expect(check, returned.len() == items, || {
        format!("{} results for {items} requests", returned.len())
    });
    let known: usize = traces.iter().map(|trace| trace.attempts.len()).sum();
    judgement.expect(check, items == 1 || known == run.sent.len(), || {
        format!("{} requests belong to no item", run.sent.len() - known)
    });
    for (index, (trace, returned)) in traces.iter().zip(returned).enumerate() {
        let outcome = outcome(returned);
        let is_right = !trace.attempts.is_empty() || ["timed-out", "not-begun"].contains(&outcome);
        judgement.expect(check, is_right, || {
            format!("item {index} was never sent and is {outcome}")
        });
    }
}

fn is_in_order(judgement: &mut Judgement, run: &Run) {
    let Ok(returned) = &run.returned else {
        return;
    };
    if run.scenario.arguments.items > 1 {
        let ids = returned.iter().map(|one| one.as_ref().ok()?.id.as_deref());
        for (index, id) in ids.enumerate() {
            if let Some(id) = id {
                judgement.expect(Check::BatchOrder, id == external_id(index), || {
                    format!("result {index} is that of {id}")
                });
            }
        }
    }
}

pub(super) fn meets_rate_limit(run: &Run) -> bool {
    let mut received = run.sent.iter().map(|sent| &sent.received);
    received.any(|received| matches!(received, Received::Answer(429 | 425, _)))
}

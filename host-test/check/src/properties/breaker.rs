//! Checks that a batch begins nothing further once too many of its requests failed, and only then:
//! `bulk.create-dockets-v2` has the rule.

use super::Judgement;
use super::batches::meets_rate_limit;
use crate::checks::Check;
use crate::operation::{Returned, outcome};
use crate::scenario::Run;
use crate::trace::Trace;
use voice_calling_host::types::NextStep;

/// The number of failures in a row that end a batch, if they are no refusals. Requests that are open
/// count, until one succeeds.
const FAILURES: usize = 5;

/// The number of failures in a row that end a batch, whatever they are.
const ALL_FAILURES: usize = 25;

/// A request of a batch that was sent.
struct Item {
    /// The index of its first attempt among all requests.
    index: usize,
    began_ms: u64,
    /// The end of its last attempt. It ends then, unless a rate limit of another one held it back.
    ended_ms: u64,
    is_held_back: bool,
    ending: Ending,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ending {
    Succeeded,
    Refused,
    Failed,
}

pub(super) fn judge(judgement: &mut Judgement, run: &Run, traces: &[Trace]) {
    let Ok(returned) = &run.returned else {
        return;
    };
    let items = traces.iter().zip(returned);
    let items = items.filter_map(|(trace, returned)| Item::of(run, trace, returned));
    let mut items: Vec<_> = items.collect();
    items.sort_by_key(|item| item.index);
    let begun_too_soon = items.iter().enumerate().filter_map(|(begun, item)| {
        let why_not = why_not(&items[..begun], item.began_ms)?;
        Some(format!(
            "a request begins at {} ms, {why_not}",
            item.began_ms
        ))
    });
    judgement.extend(Check::BatchStops, begun_too_soon);
    let is_stopped = returned.iter().any(|one| outcome(one) == "not-begun");
    judgement.expect(Check::BatchStops, !is_stopped || may_stop(&items), || {
        "requests are not begun, although too few have failed".to_owned()
    });
}

impl Item {
    fn of(run: &Run, trace: &Trace, returned: &Returned) -> Option<Self> {
        let (first, last) = (trace.attempts.first()?, trace.attempts.last()?);
        let ending = match returned {
            Ok(_) => Ending::Succeeded,
            Err(error) if error.failure()?.next_step == NextStep::Refused => Ending::Refused,
            Err(_) => Ending::Failed,
        };
        Some(Self {
            index: first.sent.index,
            began_ms: first.sent.at_ms,
            ended_ms: last.ended_ms().unwrap_or(run.ended_ms),
            is_held_back: ending == Ending::Failed && meets_rate_limit(run),
            ending,
        })
    }

    fn has_failed_before(&self, moment_ms: u64) -> bool {
        self.ending != Ending::Succeeded && self.ended_ms < moment_ms && !self.is_held_back
    }

    fn has_succeeded_by(&self, moment_ms: u64) -> bool {
        self.ending == Ending::Succeeded && self.ended_ms <= moment_ms
    }
}

/// Returns why none may begin at a moment, after those that have begun. What happens in the same
/// millisecond may have happened in any order: the best of them counts.
fn why_not(begun: &[Item], moment_ms: u64) -> Option<String> {
    let end_ms = |item: &Item| item.ended_ms;
    let succeeded = begun.iter().filter(|it| it.has_succeeded_by(moment_ms));
    let last_success_ms = succeeded.clone().map(end_ms).max();
    let is_in_row = |item: &&Item| last_success_ms.is_none_or(|ms| ms < item.ended_ms);
    let failed = begun.iter().filter(|it| it.has_failed_before(moment_ms));
    let in_a_row = failed.clone().filter(is_in_row).count();
    if in_a_row >= ALL_FAILURES {
        return Some(format!("after {in_a_row} failures in a row"));
    }
    let at_risk = begun.iter().filter(|item| match item.ending {
        Ending::Failed => is_in_row(item),
        Ending::Succeeded | Ending::Refused => item.ended_ms > moment_ms,
    });
    let at_risk = at_risk.count();
    // A failure takes back what earlier successes permit.
    let failed_ms = failed.filter(|it| it.ending == Ending::Failed).map(end_ms);
    let since_ms = failed_ms.max().unwrap_or(0);
    let permitted = FAILURES + succeeded.filter(|it| it.ended_ms >= since_ms).count();
    (at_risk >= permitted)
        .then(|| format!("with {at_risk} open or failed; permitted are {permitted}"))
}

/// Returns `true` if so many have failed in a row that the batch may have stopped.
fn may_stop(items: &[Item]) -> bool {
    let failed = items.iter().filter(|it| it.ending != Ending::Succeeded);
    failed.clone().any(|last| {
        let is_between = |item: &Item, first: &Item| {
            let is_after = first.ended_ms < item.ended_ms && item.ended_ms < last.ended_ms;
            item.ending == Ending::Succeeded && is_after && !last.is_held_back
        };
        let in_a_row = failed.clone().filter(|first| {
            let is_before = first.ended_ms <= last.ended_ms || first.is_held_back;
            is_before && !items.iter().any(|item| is_between(item, first))
        });
        let service = in_a_row.clone().filter(|it| it.ending == Ending::Failed);
        service.count() >= FAILURES || in_a_row.count() >= ALL_FAILURES
    })
}

//! Checks when waits end, and what they report about themselves.

use super::{Judgement, ROUNDING_MS, TOLERANCE_MS};
use crate::checks::Check;
use crate::operation::Returned;
use crate::trace::{Attempt, Trace};

pub(super) fn judge_result(judgement: &mut Judgement, trace: &Trace, returned: &Returned) {
    let run = trace.run;
    let waited = returned.as_ref().ok().and_then(|answered| answered.waited);
    let (Some(waited), false) = (waited, trace.on_the_edge()) else {
        return;
    };
    // A wait continues until a result is ready, and no longer.
    let (completed, settings) = (waited.completed, &run.scenario.settings);
    let ready = trace.attempts.iter().position(Attempt::is_ready);
    judgement.expect(Check::WaitsEnd, !trace.attempts.is_empty(), || {
        "ended without a poll".to_owned()
    });
    judgement.expect(Check::WaitsEnd, completed == ready.is_some(), || {
        format!("completed is {completed}, but the service said otherwise")
    });
    let is_last = ready.is_none_or(|ready| ready + 1 == trace.attempts.len());
    judgement.expect(Check::WaitsEnd, is_last, || {
        "polled again after it was ready".to_owned()
    });
    // A pause that does not fit into the remaining time is not begun.
    let asked_ms = trace.attempts.last().and_then(Attempt::asked_ms);
    let pause_ms = settings.max_backoff_ms.max(asked_ms.unwrap_or(0));
    let due_ms = run.ended_ms.saturating_add(pause_ms + TOLERANCE_MS);
    let is_over = due_ms >= u64::from(run.scenario.arguments.timeout_ms);
    judgement.expect(Check::WaitsEnd, completed || is_over, || {
        format!("not completed, but ended after {} ms", run.ended_ms)
    });

    // Checks the reported polls, though the service sees only requests: a request that may not be
    // retried ends a poll, and a wait that succeeds has received no final error.
    let requests = trace.attempts.len();
    let answered = trace.attempts.iter().filter(|it| !it.may_be_repeated());
    let answered = answered.count();
    let least = answered.max(requests.div_ceil(settings.max_attempts as usize));
    let (polls, failed) = (waited.polls as usize, waited.failed_polls as usize);
    let is_counted = (least..=requests).contains(&polls) && failed + answered == polls;
    judgement.expect(Check::PollsAreCounted, is_counted, || {
        format!(
            "reports {polls} polls, {failed} of which failed, in {requests} requests with \
             {answered} answers"
        )
    });
    let near = u64::from(waited.waited_ms).abs_diff(run.ended_ms) <= ROUNDING_MS;
    judgement.expect(
        Check::PollsAreCounted,
        near && waited.held_back_ms == 0,
        || format!("reports {waited:?}, it took {} ms", run.ended_ms),
    );
}

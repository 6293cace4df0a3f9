//! The times and the number of requests.

use super::batches::meets_rate_limit;
use super::{
    DATE_PRECISION_MS, Judgement, ROUNDING_MS, TOLERANCE_MS, describe, reported_attempts,
    reported_part,
};
use crate::checks::Check;
use crate::operation::{Operation, Returned};
use crate::scenario::{Run, Settings};
use crate::script::ReceivedBody;
use crate::trace::{Attempt, Outcome, Trace};

/// Returns the time at which the operation with these requests began: that of the call, unless the
/// requests are those of a poll or of an item of a batch, whose result states the time.
pub(super) fn began_ms(reported: &Trace, returned: &Returned) -> u64 {
    let scenario = &reported.run.scenario;
    match (
        reported.attempts.first(),
        reported_attempts(returned).first(),
    ) {
        (Some(sent), Some(reported))
            if scenario.operation.is_wait() || scenario.arguments.items > 1 =>
        {
            sent.sent.at_ms.saturating_sub(reported.started_ms.into())
        }
        _ => 0,
    }
}

/// Returns the time that an attempt needs in an operation with `own_ms` of time.
fn needed_ms(settings: &Settings, own_ms: u64) -> u64 {
    settings.attempt_timeout_ms.min(own_ms / 2)
}

/// Returns how operations exceed their time.
pub(super) fn overruns_of_deadline(run: &Run, traces: &[Trace]) -> Vec<String> {
    let Settings { deadline_ms, .. } = run.scenario.settings;
    let timeout_ms = u64::from(run.scenario.arguments.timeout_ms);
    let limit_ms = match run.scenario.operation {
        Operation::CreateDocketsV2 => timeout_ms + deadline_ms,
        operation if operation.is_wait() => timeout_ms,
        _ => deadline_ms,
    };
    let mut found = Vec::new();
    if run.ended_ms > limit_ms + TOLERANCE_MS {
        found.push(format!(
            "ended after {} ms, the limit is {limit_ms}",
            run.ended_ms
        ));
    }
    if run.scenario.operation.is_wait() {
        return found;
    }
    for trace in traces {
        let (Some(first), Some(last)) = (trace.attempts.first(), trace.attempts.last()) else {
            continue;
        };
        let took_ms = last.ended_ms().unwrap_or(run.ended_ms) - first.sent.at_ms;
        if took_ms > deadline_ms + TOLERANCE_MS {
            found.push(format!(
                "attempts over {took_ms} ms, the limit is {deadline_ms}"
            ));
        }
        if run.scenario.operation == Operation::CreateDocketsV2 && first.sent.at_ms > timeout_ms {
            found.push(format!(
                "begun at {} ms, requests may begin until {timeout_ms}",
                first.sent.at_ms
            ));
        }
    }
    found
}

/// Returns how attempts exceed their time.
pub(super) fn overruns_of_attempts(run: &Run) -> Vec<String> {
    let limit_ms = run.scenario.settings.attempt_timeout_ms;
    let late = run.sent.iter().filter_map(|sent| {
        let took_ms = sent.ended_ms.unwrap_or(run.ended_ms) - sent.at_ms;
        (took_ms > limit_ms + TOLERANCE_MS)
            .then(|| format!("an attempt took {took_ms} ms, the limit is {limit_ms}"))
    });
    late.collect()
}

pub(super) fn judge_result(judgement: &mut Judgement, trace: &Trace, returned: &Returned) {
    let run = trace.run;
    let (operation, arguments) = (run.scenario.operation, run.scenario.arguments);
    let settings = &run.scenario.settings;
    let Some(reported) = reported_part(trace, returned) else {
        return;
    };
    // For a wait, the limit applies to each poll.
    let (count, limit) = (reported.attempts.len(), settings.max_attempts as usize);
    judgement.expect(Check::MaxAttempts, count <= limit, || {
        format!("{count} attempts, the limit is {limit}")
    });
    // No attempt begins so late that its answer might not be received.
    let began_ms = began_ms(&reported, returned);
    let own_ms = match operation.is_wait() {
        true => settings
            .deadline_ms
            .min(u64::from(arguments.timeout_ms).saturating_sub(began_ms)),
        false => settings.deadline_ms,
    };
    let latest_ms = (began_ms + own_ms).saturating_sub(needed_ms(settings, own_ms));
    for attempt in &reported.attempts {
        let at_ms = attempt.sent.at_ms;
        judgement.expect(
            Check::TimeForAnswer,
            at_ms <= latest_ms + ROUNDING_MS,
            || {
                format!(
                    "an attempt began at {at_ms} ms, the latest that leaves time is {latest_ms}"
                )
            },
        );
    }
}

pub(super) fn judge(judgement: &mut Judgement, trace: &Trace) {
    let run = trace.run;
    // A wait obeys it after each poll, whatever the answer, if a 2xx is whole.
    let heeded = |attempt: &Attempt| {
        let is_heeded = match attempt.outcome() {
            _ if !run.scenario.operation.is_wait() => attempt.may_be_repeated(),
            Outcome::Status(200..=299, body) => body == ReceivedBody::Whole,
            _ => true,
        };
        is_heeded && !attempt.on_the_edge
    };
    for (index, attempt) in trace.attempts.iter().enumerate() {
        let Some(asked_ms) = attempt.asked_ms().filter(|ms| *ms > 0 && heeded(attempt)) else {
            continue;
        };
        let next = trace.attempts.get(index + 1);
        let pause_ms = next
            .zip(attempt.ended_ms())
            .map(|(next, ended_ms)| next.sent.at_ms.saturating_sub(ended_ms));
        let finding = |pause_ms| {
            let described = describe(attempt.sent);
            format!("sent again {pause_ms} ms after {described}, which asks for {asked_ms}")
        };
        let too_short = pause_ms.filter(|pause_ms| *pause_ms < asked_ms);
        judgement.extend(Check::RetryAfter, too_short.map(finding));
    }
    if let Some(findings) = wrong_retries(trace) {
        judgement.extend(Check::Retries, findings);
    }
}

/// Checks that what can be retried is, while attempts and time are left; that pauses are those of
/// backoff and service; and that an error that no retry follows is returned at once.
fn wrong_retries(trace: &Trace) -> Option<Vec<String>> {
    let run = trace.run;
    let (operation, arguments) = (run.scenario.operation, run.scenario.arguments);
    let settings = &run.scenario.settings;
    // A rate limit for one item holds back all others.
    let held_back = arguments.items > 1 && meets_rate_limit(run);
    if operation.is_wait()
        || held_back
        || run.returned.is_err()
        || trace.on_the_edge()
        || !trace.attempts.iter().any(Attempt::may_be_repeated)
    {
        return None;
    }
    let ceiling_ms = |index: usize| {
        let doubled = settings.backoff_ms.saturating_mul(1 << index.min(32));
        doubled.min(settings.max_backoff_ms)
    };
    let longest_pause_ms =
        |index: usize, attempt: &Attempt| ceiling_ms(index).max(attempt.asked_ms().unwrap_or(0));
    let mut found = Vec::new();
    for (index, pair) in trace.attempts.windows(2).enumerate() {
        let longest_ms = longest_pause_ms(index, &pair[0]);
        let shortest_ms = ceiling_ms(index) / 2;
        let ended_ms = pair[0].ended_ms();
        let Some(pause_ms) = ended_ms.and_then(|ended_ms| pair[1].sent.at_ms.checked_sub(ended_ms))
        else {
            found.push(format!(
                "sent again while {} was open",
                describe(pair[0].sent)
            ));
            continue;
        };
        if pause_ms > longest_ms.saturating_add(DATE_PRECISION_MS + TOLERANCE_MS)
            || pause_ms + ROUNDING_MS < shortest_ms
        {
            found.push(format!(
                "a pause of {pause_ms} ms after {}, expected {shortest_ms} to {longest_ms}",
                describe(pair[0].sent)
            ));
        }
    }
    let (first, last) = (trace.attempts.first()?, trace.attempts.last()?);
    let ended_ms = last.ended_ms()?;
    let longest_ms = longest_pause_ms(trace.attempts.len() - 1, last);
    let fits = ended_ms
        .saturating_add(longest_ms)
        .saturating_add(DATE_PRECISION_MS)
        + needed_ms(settings, settings.deadline_ms)
        < first.sent.at_ms + settings.deadline_ms;
    let attempts_left = trace.attempts.len() < settings.max_attempts as usize;
    // A body that is too large is given up, and the request is not retried.
    let too_large = matches!(last.outcome(), Outcome::Status(_, ReceivedBody::Begun));
    if last.may_be_repeated() && attempts_left && fits && !too_large {
        found.push(format!(
            "given up after {} attempts and {}, with {} attempts and time left",
            trace.attempts.len(),
            describe(last.sent),
            settings.max_attempts
        ));
    }
    if arguments.items == 1 && run.ended_ms > ended_ms + TOLERANCE_MS {
        found.push(format!(
            "ended at {} ms, though nothing follows {}",
            run.ended_ms,
            describe(last.sent)
        ));
    }
    Some(found)
}

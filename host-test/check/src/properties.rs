//! What must hold of every run, whatever the service did: pure judgements over what
//! was to be seen.

use super::Check;
use super::scenario::{BASE_URL, CANARY, CreateRetry, Run, Scenario, Settings};
use super::trace::{Attempt, Outcome, Trace};
use crate::operation::{Answered, DOCKET_ID, NUMBER, Operation, Returned, external_id, outcome};
use crate::script::{Heard, HeardBody, most_open};
use serde::de::IgnoredAny;
use voice_calling_host::types::{self, RequestError};

/// By how much a time limit may be overrun: what a guest needs to compute.
const TOLERANCE_MS: u64 = 50;

/// By how much two clocks differ that round to milliseconds.
const ROUNDING_MS: u64 = 2;

/// A date is a whole second, and so is what a guest knows of the time.
const DATE_PRECISION_MS: u64 = 1_000;

/// What the guest's memory stays below at the default settings, batches included.
pub const MEMORY_BYTES: usize = 128 << 20;

/// How much of a body an error keeps at least.
const KEPT_BODY_BYTES: usize = 1_024;

/// What was found against a check; none is fine.
pub type Findings = Vec<String>;

/// Judges a run by every check that has something to say about it.
pub fn judge(run: &Run) -> Vec<(Check, Findings)> {
    let traces = Trace::all(run);
    let mut judged = vec![
        (Check::Returns, returns(run)),
        (Check::TokenIsNotTold, token_is_not_told(run)),
        (Check::Memory, memory(run)),
        (Check::Deadline, deadline(run, &traces)),
    ];
    if let Some(case) = run.scenario.refused {
        let check = match run.scenario.remote_host() {
            Some(_) => Check::InsecureHttp,
            None => Check::Bounds,
        };
        judged.push((check, nothing_sent(run, case)));
        return judged;
    }
    judged.push((Check::OnlyTheService, only_the_service(run)));
    if !run.sent.is_empty() {
        judged.extend([
            (Check::TokenInItsHeader, token_in_its_header(run)),
            (Check::AttemptTimeout, attempt_timeout(run)),
        ]);
    }
    if run.scenario.operation == Operation::CreateDocketsV2 {
        judged.extend([
            (Check::MaxInFlight, max_in_flight(run)),
            (Check::BatchIsComplete, batch_is_complete(run, &traces)),
        ]);
        judged.extend(limits_only_delay(run, &traces).map(|found| (Check::LimitsOnlyDelay, found)));
    }
    for (check, judge) in OF_TRACES {
        add(
            &mut judged,
            check,
            traces.iter().map(|trace| judge(run, trace)),
        );
    }
    for (check, judge) in OF_RESULTS {
        let results = traces.iter().zip(run.returned.iter().flatten());
        let findings = results.map(|(trace, returned)| judge(run, trace, returned));
        add(&mut judged, check, findings);
    }
    if let (Ok(returned), true) = (&run.returned, run.scenario.arguments.items > 1) {
        let ids = returned.iter().map(|one| one.as_ref().ok()?.id.as_deref());
        let order = ids.enumerate().map(|(index, id)| batch_order(index, id?));
        if run.scenario.operation == Operation::CreateDocketsV2 {
            add(&mut judged, Check::BatchOrder, order);
        }
    }
    judged
}

/// Takes what was found into the judgement, where there was anything to judge.
fn add(
    judged: &mut Vec<(Check, Findings)>,
    check: Check,
    findings: impl Iterator<Item = Option<Findings>>,
) {
    let all = findings.flatten().reduce(|mut all, more| {
        all.extend(more);
        all
    });
    judged.extend(all.map(|all| (check, all)));
}

/// Judges an operation, or an item of a batch, by its requests; none where they have
/// nothing to do with the check.
type OfTrace = fn(&Run, &Trace) -> Option<Findings>;

const OF_TRACES: [(Check, OfTrace); 5] = [
    (Check::NoReplay, no_replay),
    (Check::CreateRetry, create_retry),
    (Check::FinalAnswers, final_answers),
    (Check::Retries, retries),
    (Check::RetryAfter, retry_after),
];

/// The same by its requests and its result.
type OfResult = fn(&Run, &Trace, &Returned) -> Option<Findings>;

const OF_RESULTS: [(Check, OfResult); 13] = [
    (Check::MaxAttempts, max_attempts),
    (Check::NothingCreated, nothing_created),
    (Check::CreationsAreTold, creations_are_told),
    (Check::DuplicatesAreTold, duplicates_are_told),
    (Check::TimeToHear, time_to_hear),
    (Check::WaitsEnd, waits_end),
    (Check::PollsAreCounted, polls_are_counted),
    (Check::ErrorCase, error_case),
    (Check::AttemptsAreTold, attempts_are_told),
    (Check::AnswerIsKept, answer_is_kept),
    (Check::AnswerIsWhole, answer_is_whole),
    (Check::RightDocket, right_docket),
    (Check::Confirmations, confirmations),
];

/// The attempts that a result tells of.
fn told_attempts(returned: &Returned) -> &[types::Attempt] {
    match returned {
        Ok(answered) => &answered.attempts,
        Err(error) => error.attempts(),
    }
}

/// The requests that a result tells of: all of them, or those of the last poll of a wait.
/// None where that is not known: a wait that ends without what it waits for tells of the last
/// poll that was answered.
fn told_of<'a>(run: &Run, trace: &Trace<'a>, returned: &Returned) -> Option<Trace<'a>> {
    let pending = |answered: &Answered| answered.waited.is_some_and(|wait| !wait.completed);
    if returned.as_ref().is_ok_and(pending) {
        return None;
    }
    Some(trace.last(match run.scenario.operation.is_wait() {
        true => told_attempts(returned).len(),
        false => trace.attempts.len(),
    }))
}

fn returns(run: &Run) -> Findings {
    run.returned.as_ref().err().cloned().into_iter().collect()
}

fn no_replay(run: &Run, trace: &Trace) -> Option<Findings> {
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

fn create_retry(run: &Run, trace: &Trace) -> Option<Findings> {
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

fn final_answers(_: &Run, trace: &Trace) -> Option<Findings> {
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
fn nothing_created(run: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
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

fn creations_are_told(_: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
    let failure = returned.as_ref().err()?.failure()?;
    let found = (failure.may_have_created, trace.may_have_created());
    (!trace.on_the_edge()).then(|| differing("may-have-created", found))
}

fn duplicates_are_told(run: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
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
        false => vec![format!("{name} is {found}, and the service saw otherwise")],
    }
}

/// How much time an attempt needs that may take so long, of an operation with so much time.
fn needed_ms(settings: &Settings, own_ms: u64) -> u64 {
    settings.attempt_timeout_ms.min(own_ms / 2)
}

/// No attempt begins so late that its answer might not be heard.
fn time_to_hear(run: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
    let Scenario {
        operation,
        arguments,
        settings,
        ..
    } = &run.scenario;
    let attempts = told_of(run, trace, returned)?.attempts;
    let started_ms = u64::from(told_attempts(returned).first()?.started_ms);
    let began_ms = attempts.first()?.sent.at_ms.saturating_sub(started_ms);
    let own_ms = match operation.is_wait() {
        true => settings
            .deadline_ms
            .min(u64::from(arguments.timeout_ms).saturating_sub(began_ms)),
        false => settings.deadline_ms,
    };
    let latest_ms = (began_ms + own_ms).saturating_sub(needed_ms(settings, own_ms));
    let late = attempts
        .iter()
        .filter(|attempt| attempt.sent.at_ms > latest_ms + ROUNDING_MS);
    let finding = |late: &Attempt| {
        let at_ms = late.sent.at_ms;
        format!("an attempt began at {at_ms} ms, the latest that leaves time is {latest_ms}")
    };
    Some(late.map(finding).collect())
}

fn deadline(run: &Run, traces: &[Trace]) -> Findings {
    let Settings { deadline_ms, .. } = run.scenario.settings;
    let timeout_ms = u64::from(run.scenario.arguments.timeout_ms);
    let limit_ms = match run.scenario.operation {
        Operation::CreateDocketsV2 => timeout_ms + deadline_ms,
        operation if operation.is_wait() => timeout_ms,
        _ => deadline_ms,
    };
    let mut found = Findings::new();
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

fn attempt_timeout(run: &Run) -> Findings {
    let limit_ms = run.scenario.settings.attempt_timeout_ms;
    let late = run.sent.iter().filter_map(|sent| {
        let took_ms = sent.ended_ms.unwrap_or(run.ended_ms) - sent.at_ms;
        (took_ms > limit_ms + TOLERANCE_MS)
            .then(|| format!("an attempt took {took_ms} ms, the limit is {limit_ms}"))
    });
    late.collect()
}

fn max_attempts(run: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
    // A wait has so many for each poll.
    let count = told_of(run, trace, returned)?.attempts.len();
    let limit = run.scenario.settings.max_attempts as usize;
    Some(match count > limit {
        true => vec![format!("{count} attempts, the limit is {limit}")],
        false => Vec::new(),
    })
}

fn retry_after(run: &Run, trace: &Trace) -> Option<Findings> {
    // A wait heeds it after each poll, whatever came.
    let heeded = |attempt: &Attempt| {
        (attempt.may_be_repeated() || run.scenario.operation.is_wait()) && !attempt.on_the_edge
    };
    let asks = |attempt: &Attempt| {
        let asked_ms = attempt.asked_ms().filter(|_| heeded(attempt));
        asked_ms.filter(|asked_ms| *asked_ms > 0)
    };
    trace.attempts.iter().find_map(asks)?;
    let mut found = Findings::new();
    for pair in trace.attempts.windows(2) {
        let (Some(asked_ms), Some(ended_ms)) = (asks(&pair[0]), pair[0].ended_ms()) else {
            continue;
        };
        let pause_ms = pair[1].sent.at_ms.saturating_sub(ended_ms);
        if pause_ms < asked_ms {
            found.push(format!(
                "sent again {pause_ms} ms after {}, which asks for {asked_ms}",
                told(&pair[0])
            ));
        }
    }
    Some(found)
}

/// What can be repeated is, while there are attempts and time; pauses are those that back-off
/// and service ask for, and where nothing follows, the error comes at once.
fn retries(run: &Run, trace: &Trace) -> Option<Findings> {
    let Scenario {
        operation,
        arguments,
        settings,
        ..
    } = &run.scenario;
    // One item's rate limit holds back all others.
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
    let mut found = Findings::new();
    for (index, pair) in trace.attempts.windows(2).enumerate() {
        let longest_ms = longest_pause_ms(index, &pair[0]);
        let shortest_ms = ceiling_ms(index) / 2;
        let ended_ms = pair[0].ended_ms();
        let Some(pause_ms) = ended_ms.and_then(|ended_ms| pair[1].sent.at_ms.checked_sub(ended_ms))
        else {
            found.push(format!("sent again while {} was open", told(&pair[0])));
            continue;
        };
        if pause_ms > longest_ms.saturating_add(DATE_PRECISION_MS + TOLERANCE_MS)
            || pause_ms + ROUNDING_MS < shortest_ms
        {
            found.push(format!(
                "a pause of {pause_ms} ms after {}, {shortest_ms} to {longest_ms} are due",
                told(&pair[0])
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
    // Too large a body is given up and not read again.
    let too_large = matches!(last.outcome(), Outcome::Status(_, HeardBody::Begun));
    if last.may_be_repeated() && attempts_left && fits && !too_large {
        found.push(format!(
            "given up after {} attempts and {}, with {} attempts and time left",
            trace.attempts.len(),
            told(last),
            settings.max_attempts
        ));
    }
    if arguments.items == 1 && run.ended_ms > ended_ms + TOLERANCE_MS {
        found.push(format!(
            "ended at {} ms, though nothing follows {}",
            run.ended_ms,
            told(last)
        ));
    }
    Some(found)
}

fn error_case(run: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
    let trace = match (run.scenario.operation.is_wait(), returned) {
        // A wait that ends well may have seen whatever.
        (true, Ok(_)) => return None,
        _ => told_of(run, trace, returned)?,
    };
    if trace.on_the_edge() {
        return None;
    }
    if trace.attempts.is_empty() && run.scenario.operation != Operation::CreateDocketsV2 {
        return Some(vec!["nothing was sent".to_owned()]);
    }
    let found = outcome(returned);
    let allowed = trace.allowed_cases();
    Some(match allowed.contains(&found) {
        true => Vec::new(),
        false => vec![format!("{found} where {} is due", allowed.join(" or "))],
    })
}

fn attempts_are_told(run: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
    let told = told_attempts(returned);
    let seen = told_of(run, trace, returned)?;
    if told.len() != seen.attempts.len() {
        return Some(vec![format!(
            "tells of {} attempts, there were {}",
            told.len(),
            seen.attempts.len()
        )]);
    }
    let began_ms = seen.attempts.first().map_or(0, |first| first.sent.at_ms);
    let offset_ms = told.first().map_or(0, |first| u64::from(first.started_ms));
    let mut found = Findings::new();
    for (told, seen) in told.iter().zip(&seen.attempts) {
        let started_ms = seen.sent.at_ms - began_ms + offset_ms;
        let took_ms = seen.ended_ms().unwrap_or(run.ended_ms) - seen.sent.at_ms;
        let near = |told: u32, seen: u64| u64::from(told).abs_diff(seen) <= ROUNDING_MS;
        if !near(told.started_ms, started_ms) || !near(told.duration_ms, took_ms) {
            found.push(format!(
                "tells of an attempt at {} ms for {} ms, there was one at {started_ms} for {took_ms}",
                told.started_ms, told.duration_ms
            ));
        }
        if seen.on_the_edge {
            continue;
        }
        let (status, broken) = match seen.outcome() {
            Outcome::Status(status, body) => (Some(status), body == HeardBody::Broken),
            _ => (None, true),
        };
        let says_why = told
            .transport_error
            .as_deref()
            .is_some_and(|text| !text.is_empty());
        if told.status != status || broken && !says_why {
            found.push(format!(
                "tells of {:?} and {:?}, there was {}",
                told.status,
                told.transport_error,
                self::told(seen)
            ));
        }
    }
    Some(found)
}

fn answer_is_kept(run: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
    let error = returned.as_ref().err()?;
    let failure = error.failure()?;
    let status = |attempt: &Attempt| match attempt.outcome() {
        Outcome::Status(status, body) => Some((status, body)),
        _ => None,
    };
    let failed = |attempt: &&Attempt| {
        status(attempt).is_some_and(|(status, _)| matches!(status, 408 | 500..=599))
    };
    // Of a create that may have been processed, it is the service's own failure that says so.
    let decisive = match error {
        RequestError::PermanentOutcomeUnknown(_) if !trace.on_the_edge() => {
            trace.attempts.iter().rev().find(failed)
        }
        _ => None,
    };
    let Some(response) = &failure.response else {
        let last = decisive.or(trace.attempts.last())?;
        // A read without a whole answer tells of its attempts.
        let due = status(last).is_some() && !last.on_the_edge && run.scenario.operation.is_create();
        return due.then(|| vec![format!("{} keeps no answer", error.case())]);
    };
    let decisive = decisive.or_else(|| {
        let mut latest = trace.attempts.iter().rev();
        latest.find(|attempt| status(attempt).is_some_and(|(status, _)| status == response.status))
    });
    let Some((attempt, (status, heard))) = decisive
        .and_then(|one| Some((one, status(one)?)))
        .filter(|(_, (status, _))| *status == response.status)
    else {
        return Some(vec![format!(
            "keeps an answer {}, which there was not or did not decide",
            response.status
        )]);
    };
    // Where the end of a body and that of its time come at once, either may be heard first.
    if heard != HeardBody::Whole && !response.body_cut && !attempt.on_the_edge {
        return Some(vec![
            "keeps half of a body as if it were the whole".to_owned(),
        ]);
    }
    let body = String::from_utf8_lossy(&attempt.sent.heard_beginning);
    // What echoes the token is masked, each component in its own way.
    let clean = body.find(&CANARY[..8]).unwrap_or(body.len());
    let due = &body[..body.floor_char_boundary(clean.min(KEPT_BODY_BYTES))];
    if !response.body.starts_with(due) {
        return Some(vec![format!(
            "keeps {:?}… of a body that begins {:?}…",
            cut(&response.body),
            cut(due)
        )]);
    }
    let location = attempt
        .header("location")
        .filter(|_| (300..=399).contains(&status));
    let hidden =
        location.filter(|location| !shows_token(location) && !failure.message.contains(location));
    Some(
        hidden
            .map(|location| format!("does not tell of the location {location}"))
            .into_iter()
            .collect(),
    )
}

fn answer_is_whole(run: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
    let answered = returned.as_ref().ok()?;
    let whole = |attempt: &&Attempt| {
        matches!(
            attempt.outcome(),
            Outcome::Status(200..=299, HeardBody::Whole)
        )
    };
    let seen = trace.attempts.iter().rev().find(whole);
    let (seen, raw) = match (seen, &answered.raw) {
        (Some(seen), Some(raw)) if seen.satisfies() => (seen.body()?, raw),
        // A wait may end without having seen anything, and say so.
        (None, None) if run.scenario.operation.is_wait() => return Some(Vec::new()),
        _ if trace.on_the_edge() => return None,
        (_, None) => {
            return Some(vec![
                "returns nothing of what the service answered".to_owned(),
            ]);
        }
        _ => return Some(vec!["returns what the service never answered".to_owned()]),
    };
    let seen = String::from_utf8_lossy(&seen);
    let seen = seen.trim_start_matches('\u{feff}').trim();
    let records = answered.records.map(|found| {
        let list = serde_json::from_str::<Vec<IgnoredAny>>(seen);
        (found, list.map_or(1, |list| list.len()))
    });
    Some(match records {
        _ if raw.trim() != seen => vec![format!(
            "returns {:?}…, the service answered {:?}…",
            cut(raw),
            cut(seen)
        )],
        Some((found, due)) if found != due => {
            vec![format!(
                "returns {found} records, the service answered {due}"
            )]
        }
        _ => Vec::new(),
    })
}

/// The id of what was asked for, or of what was created, by which it can be asked for.
fn right_docket(run: &Run, _: &Trace, returned: &Returned) -> Option<Findings> {
    let answered = returned.as_ref().ok()?;
    let (id, raw) = (answered.id.as_deref()?, answered.raw.as_deref()?);
    let operation = run.scenario.operation;
    let is_uuid = |id: &str| {
        let is_hyphen = |index| [8, 13, 18, 23].contains(&index);
        id.len() == 36
            && id
                .bytes()
                .enumerate()
                .all(|(index, byte)| match is_hyphen(index) {
                    true => byte == b'-',
                    false => byte.is_ascii_hexdigit(),
                })
    };
    let written = |name: &str| raw.contains(&format!("\"{name}\":\"{id}\""));
    let right = match operation {
        Operation::MakeCall => written("task_id") && ![".", ".."].contains(&id),
        _ if operation.is_create() => written("docket_id") && is_uuid(id),
        _ => id.eq_ignore_ascii_case(DOCKET_ID),
    };
    Some(match right {
        true => Vec::new(),
        false => vec![format!("the id is {id:?}")],
    })
}

fn confirmations(run: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
    let answered = returned.as_ref().ok()?;
    if run.scenario.operation != Operation::VerifyDocketCompleted {
        return None;
    }
    let completed = trace.attempts.last().is_some_and(Attempt::is_ready);
    Some(match answered.confirmed {
        None => vec!["a completion is said to be none".to_owned()],
        Some(true) if !completed => vec!["confirmed, and the docket is not completed".to_owned()],
        Some(_) => Vec::new(),
    })
}

/// A wait goes on until something is ready, and no longer.
fn waits_end(run: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
    let completed = returned.as_ref().ok()?.waited?.completed;
    if trace.on_the_edge() {
        return None;
    }
    let ready = trace.attempts.iter().position(Attempt::is_ready);
    let (last, settings) = (trace.attempts.last(), &run.scenario.settings);
    let Some(last) = last else {
        return Some(vec!["ended without asking".to_owned()]);
    };
    let mut found = Findings::new();
    if completed != ready.is_some() {
        found.push(format!(
            "completed is {completed}, and the service said otherwise"
        ));
    }
    if ready.is_some_and(|ready| ready + 1 < trace.attempts.len()) {
        found.push("asked on after it was ready".to_owned());
    }
    // A pause that does not fit is not begun.
    let pause_ms = settings.max_backoff_ms.max(last.asked_ms().unwrap_or(0));
    let due_ms = run.ended_ms.saturating_add(pause_ms + TOLERANCE_MS);
    if !completed && due_ms < u64::from(run.scenario.arguments.timeout_ms) {
        found.push(format!(
            "not completed, and given up after {} ms",
            run.ended_ms
        ));
    }
    Some(found)
}

/// What a wait says of its polls, where the service sees no more than requests.
fn polls_are_counted(run: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
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
            "tells of {polls} polls, {failed} of which failed, in {requests} requests with \
             {answered} answers"
        ));
    }
    if !near || waited.held_back_ms > 0 {
        found.push(format!("tells of {waited:?}, it took {} ms", run.ended_ms));
    }
    Some(found)
}

fn batch_order(index: usize, id: &str) -> Option<Findings> {
    Some(match id == external_id(index) {
        true => Vec::new(),
        false => vec![format!("result {index} is that of {id}")],
    })
}

fn batch_is_complete(run: &Run, traces: &[Trace]) -> Findings {
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
            found.push(format!("item {index} was never sent, and there was time"));
        }
    }
    found
}

/// A rate limit that one item meets ends no other.
fn limits_only_delay(run: &Run, traces: &[Trace]) -> Option<Findings> {
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

fn meets_rate_limit(run: &Run) -> bool {
    let mut heard = run.sent.iter().map(|sent| &sent.heard);
    heard.any(|heard| matches!(heard, Heard::Answer(429 | 425, _)))
}

/// Whether a batch ended before its time.
fn has_time(run: &Run) -> bool {
    run.ended_ms + TOLERANCE_MS < u64::from(run.scenario.arguments.timeout_ms)
}

fn max_in_flight(run: &Run) -> Findings {
    let limit = run.scenario.settings.max_in_flight;
    let most_open = most_open(&run.sent);
    match most_open > limit {
        true => vec![format!(
            "{most_open} requests at once, the limit is {limit}"
        )],
        false => Vec::new(),
    }
}

fn token_in_its_header(run: &Run) -> Findings {
    let mut found = Findings::new();
    for sent in &run.sent {
        let value = sent.header("auth_token");
        if value != format!("Bearer {CANARY}") {
            found.push(format!("the header auth_token is {value:?}"));
        }
        let elsewhere = sent
            .headers
            .iter()
            .filter(|(name, _)| name != "auth_token")
            .any(|(_, value)| shows_token(value));
        let body = String::from_utf8_lossy(&sent.body);
        if elsewhere || shows_token(&sent.uri.to_string()) || shows_token(&body) {
            found.push("the token is in a request outside of its header".to_owned());
        }
    }
    found
}

fn token_is_not_told(run: &Run) -> Findings {
    let mut found = Findings::new();
    match &run.returned {
        Err(error) if shows_token(error) => found.push("the token is in a panic".to_owned()),
        Ok(returned) => {
            let errors = returned.iter().filter_map(|one| one.as_ref().err());
            for error in errors.filter(|error| texts(error).into_iter().any(shows_token)) {
                found.push(format!("the token is in an error ({})", error.case()));
            }
        }
        Err(_) => {}
    }
    if shows_token(&run.stderr) {
        found.push("the token is on stderr".to_owned());
    }
    found
}

/// All that an error says.
fn texts(error: &RequestError) -> Vec<&str> {
    let Some(failure) = error.failure() else {
        return Vec::new();
    };
    let mut texts = vec![failure.message.as_str()];
    if let Some(problem) = &failure.problem {
        texts.extend([problem.subject.as_str(), &problem.found, &problem.allowed]);
    }
    if let Some(response) = &failure.response {
        texts.push(&response.body);
        texts.extend(response.request_id.as_deref());
    }
    texts.extend(
        failure
            .attempts
            .iter()
            .filter_map(|one| one.transport_error.as_deref()),
    );
    texts
}

/// Whether a text shows any eight bytes of the token, as they are or as JSON may write them,
/// once or twice.
fn shows_token(text: &str) -> bool {
    let shows = |text: &str| {
        let parts = CANARY.as_bytes().windows(8);
        let mut parts = parts.filter_map(|part| std::str::from_utf8(part).ok());
        parts.any(|part| text.contains(part))
    };
    let once = unescaped(text);
    shows(text) || once != text && (shows(&once) || shows(&unescaped(&once)))
}

/// What a text says if its backslashes are those of JSON.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once('\\') {
        plain.push_str(before);
        let code = escape.strip_prefix('u').and_then(|hex| hex.get(..4));
        let code = code.and_then(|hex| u32::from_str_radix(hex, 16).ok());
        rest = match (code.and_then(char::from_u32), escape.chars().next()) {
            (Some(character), _) => {
                plain.push(character);
                &escape[5..]
            }
            (None, Some(character)) => {
                plain.push(character);
                &escape[character.len_utf8()..]
            }
            (None, None) => escape,
        };
    }
    plain + rest
}

fn only_the_service(run: &Run) -> Findings {
    let expected = run.scenario.operation.request_line();
    let other = run.sent.iter().filter_map(|sent| {
        let line = format!("{} {}", sent.method, sent.path_and_query());
        (line != expected).then(|| format!("a request {line}"))
    });
    let foreign = run.origins.iter().filter(|origin| *origin != BASE_URL);
    let foreign = foreign.map(|origin| format!("a request to {origin}"));
    other.chain(foreign).chain(other_people(run)).collect()
}

/// Creates that ring another phone than they should, or change when they are repeated.
fn other_people(run: &Run) -> Findings {
    let read = run.sent.iter().filter(|sent| !sent.body.is_empty());
    let bodies: Vec<_> = read
        .map(|sent| (sent.external_id(), String::from_utf8_lossy(&sent.body)))
        .collect();
    let rings = Operation::RINGING.contains(&run.scenario.operation);
    let mut found = Findings::new();
    for (id, body) in &bodies {
        if rings && !body.contains(&format!("\"to_phone_number\":\"{NUMBER}\"")) {
            found.push("another number is called".to_owned());
        }
        let first = bodies.iter().find(|(first, _)| first == id);
        if first.is_some_and(|(_, first)| first != body) {
            found.push("a repeated request differs from the first".to_owned());
        }
    }
    found
}

/// What must not be sent is not, and the error says why.
fn nothing_sent(run: &Run, case: &str) -> Findings {
    let refused = matches!(&run.returned, Ok(returned)
        if returned.iter().all(|one| outcome(one) == case));
    match (run.sent.is_empty(), refused) {
        (true, true) => Vec::new(),
        (false, _) => vec!["a request was sent".to_owned()],
        (true, false) => vec![format!("nothing was sent, but it is no {case}")],
    }
}

fn memory(run: &Run) -> Findings {
    match run.memory_bytes > MEMORY_BYTES {
        true => vec![format!(
            "{} MiB of memory, the bound is {}",
            run.memory_bytes >> 20,
            MEMORY_BYTES >> 20
        )],
        false => Vec::new(),
    }
}

/// An attempt, for people.
fn told(attempt: &Attempt) -> String {
    let heard = match &attempt.sent.heard {
        Heard::Nothing => "silence".to_owned(),
        Heard::Failure(code) => crate::error_codes::name(code).to_owned(),
        Heard::Answer(status, HeardBody::Whole) => status.to_string(),
        Heard::Answer(status, HeardBody::Begun) => format!("{status} without the whole body"),
        Heard::Answer(status, HeardBody::Broken) => format!("{status} with a broken body"),
    };
    format!("{heard} at {} ms", attempt.sent.at_ms)
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(200)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_shows_however_json_writes_it() {
        let escaped: String = CANARY
            .chars()
            .map(|one| format!("\\u{:04X}", one as u32))
            .collect();
        let part = &CANARY[9..18];
        for text in [CANARY, part, &escaped, &escaped.replace('\\', "\\\\")] {
            assert!(shows_token(&format!("x {text} x")), "{text}");
        }
        for text in ["canary-", "\\", "\\u", "\\u00", "\\u12é", "\\ud83d"] {
            assert!(!shows_token(text), "{text}");
        }
    }
}

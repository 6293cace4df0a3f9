//! What must hold of every run, whatever the service did: pure judgements over what
//! was to be seen.

use super::Check;
use super::scenario::{BASE_URL, CANARY, Run, Scenario, Settings};
use super::trace::{Attempt, Outcome, Trace, has};
use crate::failure::{attempts, case, outcome, response};
use crate::operation::{NUMBER, Operation, Returned, external_id};
use crate::script::{Heard, HeardBody, most_open};

/// By how much a time limit may be overrun: what a guest needs to compute.
const TOLERANCE_MS: u64 = 50;

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
    let mut judged = vec![
        (Check::Returns, returns(run)),
        (Check::TokenIsNotTold, token_is_not_told(run)),
        (Check::Memory, memory(run)),
        (Check::Deadline, deadline(run)),
    ];
    if run.scenario.remote_host().is_some() {
        judged.push((Check::InsecureHttp, insecure_http(run)));
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
            (Check::BatchIsComplete, batch_is_complete(run)),
        ]);
    }
    let traces = Trace::all(run);
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

const OF_TRACES: [(Check, OfTrace); 6] = [
    (Check::NoReplay, no_replay),
    (Check::CreateRetryNotSent, create_retry_not_sent),
    (Check::FinalAnswers, final_answers),
    (Check::Retries, retries),
    (Check::RetryAfter, retry_after),
    (Check::MaxAttempts, max_attempts),
];

/// The same by its requests and its result.
type OfResult = fn(&Run, &Trace, &Returned) -> Option<Findings>;

const OF_RESULTS: [(Check, OfResult); 5] = [
    (Check::WaitsEnd, waits_end),
    (Check::ErrorCase, error_case),
    (Check::AttemptsAreTold, attempts_are_told),
    (Check::AnswerIsKept, answer_is_kept),
    (Check::AnswerIsWhole, answer_is_whole),
];

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

fn create_retry_not_sent(run: &Run, trace: &Trace) -> Option<Findings> {
    let failed =
        |attempt: &Attempt| matches!(attempt.outcome(), Outcome::Status(408 | 500..=599, _));
    let Scenario {
        operation,
        settings,
        ..
    } = &run.scenario;
    let applies = operation.is_create() && settings.create_retry_not_sent;
    (applies && trace.attempts.iter().any(failed)).then(|| repeated(trace, failed))
}

fn final_answers(run: &Run, trace: &Trace) -> Option<Findings> {
    // A wait goes on after what is not ready yet.
    let is_final = |attempt: &Attempt| {
        let pending = run.scenario.operation.is_wait()
            && matches!(attempt.outcome(), Outcome::Status(200..=299, _));
        !attempt.may_be_repeated(run) && !attempt.on_the_edge && !pending
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

fn deadline(run: &Run) -> Findings {
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
    if run.scenario.operation.is_wait() || run.scenario.remote_host().is_some() {
        return found;
    }
    for trace in Trace::all(run) {
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

fn max_attempts(run: &Run, trace: &Trace) -> Option<Findings> {
    let limit = run.scenario.settings.max_attempts as usize;
    let count = match (run.scenario.operation.is_wait(), run.returned.as_deref()) {
        // A wait has so many for each poll; the error tells of the last one.
        (true, Ok([Err(error)])) => attempts(error).len(),
        (true, _) => return None,
        (false, _) => trace.attempts.len(),
    };
    Some(match count > limit {
        true => vec![format!("{count} attempts, the limit is {limit}")],
        false => Vec::new(),
    })
}

fn retry_after(run: &Run, trace: &Trace) -> Option<Findings> {
    let asks = |attempt: &Attempt| {
        let heeded = attempt.may_be_repeated(run) && !attempt.on_the_edge;
        attempt
            .asked_ms(run)
            .filter(|asked_ms| heeded && *asked_ms > 0)
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

/// What can be repeated is, while there are attempts and time; pauses are no longer than
/// back-off and service ask for.
fn retries(run: &Run, trace: &Trace) -> Option<Findings> {
    let Scenario {
        operation,
        arguments,
        settings,
        ..
    } = &run.scenario;
    // One item's rate limit holds back all others.
    let held_back = arguments.items > 1
        && (run.sent.iter()).any(|sent| matches!(sent.heard, Heard::Answer(429 | 425, _)));
    let repeatable = |attempt: &Attempt| attempt.may_be_repeated(run);
    if operation.is_wait()
        || held_back
        || run.returned.is_err()
        || trace.on_the_edge()
        || !trace.attempts.iter().any(repeatable)
    {
        return None;
    }
    let longest_pause_ms = |index: usize, attempt: &Attempt| {
        let doubled = settings.backoff_ms.saturating_mul(1 << index.min(32));
        let ceiling_ms = doubled.min(settings.max_backoff_ms);
        ceiling_ms.max(attempt.asked_ms(run).unwrap_or(0))
    };
    let mut found = Findings::new();
    for (index, pair) in trace.attempts.windows(2).enumerate() {
        let longest_ms = longest_pause_ms(index, &pair[0]);
        let ended_ms = pair[0].ended_ms();
        let Some(pause_ms) = ended_ms.and_then(|ended_ms| pair[1].sent.at_ms.checked_sub(ended_ms))
        else {
            found.push(format!("sent again while {} was open", told(&pair[0])));
            continue;
        };
        if pause_ms > longest_ms.saturating_add(DATE_PRECISION_MS + TOLERANCE_MS) {
            found.push(format!(
                "a pause of {pause_ms} ms after {}, at most {longest_ms} are due",
                told(&pair[0])
            ));
        }
    }
    let (first, last) = (trace.attempts.first()?, trace.attempts.last()?);
    let longest_ms = longest_pause_ms(trace.attempts.len() - 1, last);
    let fits = (last.ended_ms()?.saturating_add(longest_ms)).saturating_add(DATE_PRECISION_MS)
        < first.sent.at_ms + settings.deadline_ms;
    let attempts_left = trace.attempts.len() < settings.max_attempts as usize;
    // Too large a body is given up and not read again.
    let too_large = matches!(last.outcome(), Outcome::Status(_, HeardBody::Begun));
    if repeatable(last) && attempts_left && fits && !too_large {
        found.push(format!(
            "given up after {} attempts and {}, with {} attempts and time left",
            trace.attempts.len(),
            told(last),
            settings.max_attempts
        ));
    }
    Some(found)
}

fn error_case(run: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
    let trace = match (run.scenario.operation.is_wait(), returned) {
        // A wait that ends well may have seen whatever; one that fails tells of its
        // last poll.
        (true, Ok(_)) => return None,
        (true, Err(error)) => trace.last(attempts(error).len()),
        (false, _) => trace.last(trace.attempts.len()),
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
    let told = attempts(returned.as_ref().err()?);
    let seen = match run.scenario.operation.is_wait() {
        true => trace.last(told.len()),
        false => trace.last(trace.attempts.len()),
    };
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
        let near = |told: u32, seen: u64| u64::from(told).abs_diff(seen) <= 2;
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
    let Some(response) = response(error) else {
        let last = trace.attempts.last()?;
        let answered = matches!(last.outcome(), Outcome::Status(..)) && !last.on_the_edge;
        // A read without a whole answer tells of its attempts.
        let due = answered && run.scenario.operation.is_create();
        return due.then(|| vec![format!("{} keeps no answer", case(error))]);
    };
    let decisive = trace
        .attempts
        .iter()
        .rev()
        .find_map(|attempt| match attempt.outcome() {
            Outcome::Status(status, body) if status == response.status => Some((attempt, body)),
            _ => None,
        });
    let Some((attempt, heard)) = decisive else {
        return Some(vec![format!(
            "keeps an answer {}, which there was not",
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
    Some(match response.body.starts_with(due) {
        true => Vec::new(),
        false => vec![format!(
            "keeps {:?}… of a body that begins {:?}…",
            cut(&response.body),
            cut(due)
        )],
    })
}

fn answer_is_whole(run: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
    let raw_json = &returned.as_ref().ok()?.raw_json;
    let seen = trace
        .attempts
        .iter()
        .rev()
        .find_map(|attempt| match attempt.outcome() {
            Outcome::Status(200..=299, HeardBody::Whole) => Some(attempt.records()),
            _ => None,
        });
    Some(match seen {
        Some(Some(records)) if records == *raw_json => {
            let id = returned.as_ref().ok().and_then(|ok| ok.id.as_deref());
            match (id, raw_json.first()) {
                (Some(id), Some(json))
                    if !has(json, "task_id", id) && !has(json, "docket_id", id) =>
                {
                    vec![format!("the id {id:?} is not that of the answer")]
                }
                _ => Vec::new(),
            }
        }
        // A wait may end without having seen anything, and say so.
        None if run.scenario.operation.is_wait() && raw_json.is_empty() => Vec::new(),
        _ if trace.on_the_edge() => return None,
        Some(Some(records)) => vec![format!(
            "returns {:?}…, the service answered {:?}…",
            raw_json.iter().map(|json| cut(json)).collect::<Vec<_>>(),
            records.iter().map(|json| cut(json)).collect::<Vec<_>>()
        )],
        Some(None) | None => vec!["returns what the service never answered".to_owned()],
    })
}

/// A wait goes on until something is ready, and no longer.
fn waits_end(run: &Run, trace: &Trace, returned: &Returned) -> Option<Findings> {
    let completed = returned.as_ref().ok()?.completed?;
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
    let pause_ms = settings.max_backoff_ms.max(last.asked_ms(run).unwrap_or(0));
    let timeout_ms = u64::from(run.scenario.arguments.timeout_ms);
    if !completed
        && run
            .ended_ms
            .saturating_add(pause_ms)
            .saturating_add(TOLERANCE_MS)
            < timeout_ms
    {
        found.push(format!(
            "not completed, and given up after {} ms",
            run.ended_ms
        ));
    }
    Some(found)
}

fn batch_order(index: usize, id: &str) -> Option<Findings> {
    Some(match id == external_id(index) {
        true => Vec::new(),
        false => vec![format!("result {index} is that of {id}")],
    })
}

fn batch_is_complete(run: &Run) -> Findings {
    let Ok(returned) = &run.returned else {
        return Vec::new();
    };
    let items = run.scenario.arguments.items;
    let mut found = Findings::new();
    // What a rate limit held back may have had no time any more.
    let limited = (run.sent.iter()).any(|sent| matches!(sent.heard, Heard::Answer(429 | 425, _)));
    let timeout_ms = u64::from(run.scenario.arguments.timeout_ms);
    let had_time = !limited && run.ended_ms + TOLERANCE_MS < timeout_ms;
    if returned.len() != items {
        found.push(format!("{} results for {items} requests", returned.len()));
    }
    if items != 1 {
        let known: usize = Trace::all(run)
            .iter()
            .map(|trace| trace.attempts.len())
            .sum();
        if known != run.sent.len() {
            found.push(format!(
                "{} requests belong to no item",
                run.sent.len() - known
            ));
        }
    }
    for (index, (trace, returned)) in Trace::all(run).iter().zip(returned).enumerate() {
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
            for error in errors.filter(|error| shows_token(&format!("{error:?}"))) {
                found.push(format!("the token is in an error ({})", case(error)));
            }
        }
        Err(_) => {}
    }
    if shows_token(&run.stderr) {
        found.push("the token is on stderr".to_owned());
    }
    found
}

/// Whether a text shows any eight bytes of the token.
fn shows_token(text: &str) -> bool {
    let parts = CANARY.as_bytes().windows(8);
    parts
        .filter_map(|part| std::str::from_utf8(part).ok())
        .any(|part| text.contains(part))
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

fn insecure_http(run: &Run) -> Findings {
    let refused = matches!(&run.returned, Ok(returned)
        if returned.iter().all(|one| outcome(one) == "permanent-configuration"));
    match (run.sent.is_empty(), refused) {
        (true, true) => Vec::new(),
        (false, _) => vec!["the token went to a remote host in the clear".to_owned()],
        (true, false) => vec!["nothing was sent, but it is no permanent-configuration".to_owned()],
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

//! What must hold of every run, whatever the service did: pure judgements over what
//! was to be seen.

mod answers;
mod batches;
mod creations;
mod findings;
mod time;
mod token;
mod waits;

use self::answers::{
    answer_is_kept, answer_is_whole, attempts_are_reported, confirmations, error_case, right_docket,
};
use self::batches::{batch_is_complete, batch_order, limits_only_delay, max_in_flight};
use self::creations::{
    create_retry, creations_are_reported, duplicates_are_reported, final_answers, no_replay,
    nothing_created,
};
pub use self::findings::Findings;
use self::time::{attempt_timeout, deadline, max_attempts, retries, retry_after, time_for_answer};
use self::token::{token_in_its_header, token_is_not_leaked};
use self::waits::{polls_are_counted, waits_end};
use super::checks::Check;
use super::scenario::{BASE_URL, Run};
use super::trace::Trace;
use crate::operation::{NUMBER, Operation, Returned, outcome};

/// What the guest's memory stays below at the default settings, batches included.
pub const MEMORY_BYTES: usize = 128 << 20;

/// Judges a run by every check that has something to say about it.
pub fn judge(run: &Run) -> Vec<(Check, Findings)> {
    let traces = Trace::all(run);
    let mut judged = vec![
        (Check::Returns, returns(run)),
        (Check::TokenIsNotLeaked, token_is_not_leaked(run)),
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
    (Check::CreationsAreReported, creations_are_reported),
    (Check::DuplicatesAreReported, duplicates_are_reported),
    (Check::TimeForAnswer, time_for_answer),
    (Check::WaitsEnd, waits_end),
    (Check::PollsAreCounted, polls_are_counted),
    (Check::ErrorCase, error_case),
    (Check::AttemptsAreReported, attempts_are_reported),
    (Check::AnswerIsKept, answer_is_kept),
    (Check::AnswerIsWhole, answer_is_whole),
    (Check::RightDocket, right_docket),
    (Check::Confirmations, confirmations),
];

fn returns(run: &Run) -> Findings {
    run.returned.as_ref().err().cloned().into_iter().collect()
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
        (true, false) => vec![format!("nothing was sent, but the error is not {case}")],
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

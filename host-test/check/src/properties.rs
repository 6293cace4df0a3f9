//! Properties that hold for every run, whatever the service did: pure judgements over what was
//! observed.

mod answers;
mod batches;
mod breaker;
mod creations;
mod next_step;
mod time;
mod token;
mod waits;

use super::checks::Check;
use super::error_codes;
use super::operation::{Answered, NUMBER, Operation, Returned, outcome};
use super::scenario::{BASE_URL, Run};
use super::script::{Received, ReceivedBody, Sent};
use super::trace::Trace;
use std::collections::BTreeMap;
use voice_calling_host::types::{self, RequestError};

/// The limit of the guest's memory at the default settings, batches included.
pub const MEMORY_BYTES: usize = 128 << 20;

/// The tolerance of a time limit: the time that a guest needs to compute.
const TOLERANCE_MS: u64 = 50;

/// The largest difference between two clocks that round to milliseconds.
const ROUNDING_MS: u64 = 2;

/// The precision of a date, and of the guest's knowledge of the time: whole seconds.
const DATE_PRECISION_MS: u64 = 1_000;

/// The number of results of a batch that are described.
const SHOWN_RESULTS: usize = 5;

/// The least number of bytes of a body that an error keeps.
const KEPT_BODY_BYTES: usize = 1_024;

/// The findings against each check that applied. A check without findings passes.
#[derive(Default)]
pub(crate) struct Judgement(pub BTreeMap<Check, Vec<String>>);

impl Judgement {
    /// Adds a finding if the condition does not hold.
    fn expect(&mut self, check: Check, holds: bool, otherwise: impl FnOnce() -> String) {
        let found = self.0.entry(check).or_default();
        if !holds {
            found.push(otherwise());
        }
    }

    fn extend(&mut self, check: Check, findings: impl IntoIterator<Item = String>) {
        self.0.entry(check).or_default().extend(findings);
    }
}

/// Judges a run by every check that applies to it.
pub(crate) fn judge(run: &Run) -> Judgement {
    let traces = Trace::all(run);
    let mut judgement = Judgement::default();
    judgement.extend(Check::Returns, run.returned.as_ref().err().cloned());
    judgement.expect(Check::Memory, run.memory_bytes <= MEMORY_BYTES, || {
        let [used, bound] = [run.memory_bytes, MEMORY_BYTES].map(|bytes| bytes >> 20);
        format!("{used} MiB of memory, the bound is {bound}")
    });
    judgement.extend(Check::TokenIsNotLeaked, token::leaks(run));
    judgement.extend(Check::Deadline, time::overruns_of_deadline(run, &traces));
    if let Some(kind) = run.scenario.refused {
        nothing_is_sent(&mut judgement, run, kind);
        return judgement;
    }
    only_the_service(&mut judgement, run);
    if !run.sent.is_empty() {
        judgement.extend(Check::TokenInItsHeader, token::misplaced(run));
        judgement.extend(Check::AttemptTimeout, time::overruns_of_attempts(run));
    }
    if run.scenario.operation == Operation::CreateDocketsV2 {
        batches::judge(&mut judgement, run, &traces);
        breaker::judge(&mut judgement, run, &traces);
    }
    for trace in &traces {
        creations::judge(&mut judgement, trace);
        time::judge(&mut judgement, trace);
    }
    for (trace, returned) in traces.iter().zip(run.returned.iter().flatten()) {
        creations::judge_result(&mut judgement, trace, returned);
        time::judge_result(&mut judgement, trace, returned);
        answers::judge_result(&mut judgement, trace, returned);
        next_step::judge_result(&mut judgement, run, returned);
        waits::judge_result(&mut judgement, trace, returned);
    }
    judgement
}

fn only_the_service(judgement: &mut Judgement, run: &Run) {
    let expected = run.scenario.operation.request_line();
    let lines = run.sent.iter();
    let lines = lines.map(|sent| format!("{} {}", sent.method, sent.path_and_query()));
    let others = lines.filter(|line| *line != expected);
    let origins = run.sent.iter().map(Sent::origin);
    let foreign = origins.filter(|origin| origin != BASE_URL);
    let requests = others.chain(foreign.map(|origin| format!("to {origin}")));
    judgement.extend(
        Check::OnlyTheService,
        requests.map(|it| format!("a request {it}")),
    );
    // Creates ring no other phone than requested, and retries do not change.
    let read = run.sent.iter().filter(|sent| !sent.body.is_empty());
    let bodies: Vec<_> = read
        .map(|sent| (sent.external_id(), String::from_utf8_lossy(&sent.body)))
        .collect();
    let rings = run.scenario.operation.rings();
    for (id, body) in &bodies {
        let rings_right = body.contains(&format!("\"to_phone_number\":\"{NUMBER}\""));
        judgement.expect(Check::OnlyTheService, !rings || rings_right, || {
            "another number is called".to_owned()
        });
        let first = bodies.iter().find(|(first, _)| first == id);
        let same = first.is_none_or(|(_, first)| first == body);
        judgement.expect(Check::OnlyTheService, same, || {
            "a repeated request differs from the first".to_owned()
        });
    }
}

/// Checks that a request that must be refused is not sent, and that the error says why.
fn nothing_is_sent(judgement: &mut Judgement, run: &Run, kind: &str) {
    let check = match run.scenario.remote_host() {
        Some(_) => Check::InsecureHttp,
        None => Check::Bounds,
    };
    let is_refused = matches!(&run.returned, Ok(returned)
        if returned.iter().all(|one| outcome(one) == kind));
    judgement.expect(check, run.sent.is_empty(), || {
        "a request was sent".to_owned()
    });
    judgement.expect(check, is_refused || !run.sent.is_empty(), || {
        format!("nothing was sent, but the error is not {kind}")
    });
}

fn reported_attempts(returned: &Returned) -> &[types::Attempt] {
    match returned {
        Ok(answered) => &answered.attempts,
        Err(error) => error.attempts(),
    }
}

/// Returns the requests that a result reports: all of them, or those of the last poll of a wait;
/// `None` if that is unknown, since a wait that is not completed reports the last poll that was
/// answered.
fn reported_part<'a>(trace: &Trace<'a>, returned: &Returned) -> Option<Trace<'a>> {
    let pending = |answered: &Answered| answered.waited.is_some_and(|wait| !wait.completed);
    if returned.as_ref().is_ok_and(pending) {
        return None;
    }
    Some(trace.last(match trace.run.scenario.operation.is_wait() {
        true => reported_attempts(returned).len(),
        false => trace.attempts.len(),
    }))
}

/// Describes the result of a call, for people to read.
pub(crate) fn returned(run: &Run) -> String {
    let one = |returned: &Returned| match returned {
        Ok(answered) => format!("ok, {}", cut(answered.raw.as_deref().unwrap_or_default())),
        Err(error) => {
            let case = match error {
                RequestError::Transient(_) => "transient",
                _ => "permanent",
            };
            let message = error.failure().map_or("", |failure| &failure.message);
            format!("{case}, {}: {}", error.kind(), cut(message))
        }
    };
    match &run.returned {
        Err(error) => format!("nothing, the host ended the call: {error}"),
        Ok(results) => {
            let shown = results.iter().take(SHOWN_RESULTS).map(one);
            shown.collect::<Vec<_>>().join("; ")
        }
    }
}

/// Describes a request and what came of it, for people to read.
pub(crate) fn describe(sent: &Sent) -> String {
    let received = match &sent.received {
        Received::Nothing => "silence".to_owned(),
        Received::Failure(code) => error_codes::name(code).to_owned(),
        Received::Answer(status, ReceivedBody::Whole) => status.to_string(),
        Received::Answer(status, ReceivedBody::Begun) => format!("{status} without the whole body"),
        Received::Answer(status, ReceivedBody::Broken) => format!("{status} with a broken body"),
    };
    format!("{received} at {} ms", sent.at_ms)
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(200)]
}

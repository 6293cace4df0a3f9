//! Properties that hold for every run, whatever the service did: pure judgements over what was
//! observed.

mod answers;
mod batches;
mod creations;
mod findings;
mod time;
mod token;
mod waits;

pub use self::findings::Judgement;
use super::checks::Check;
use super::scenario::{BASE_URL, Run};
use super::trace::Trace;
use crate::operation::{NUMBER, Operation, outcome};

/// The limit of the guest's memory at the default settings, batches included.
pub const MEMORY_BYTES: usize = 128 << 20;

/// Judges a run by every check that applies to it.
pub fn judge(run: &Run) -> Judgement {
    let traces = Trace::all(run);
    let mut judgement = Judgement::default();
    judgement.extend(Check::Returns, run.returned.as_ref().err().cloned());
    judgement.expect(Check::Memory, run.memory_bytes <= MEMORY_BYTES, || {
        let [used, bound] = [run.memory_bytes, MEMORY_BYTES].map(|bytes| bytes >> 20);
        format!("{used} MiB of memory, the bound is {bound}")
    });
    judgement.extend(Check::TokenIsNotLeaked, token::leaks(run));
    judgement.extend(Check::Deadline, time::overruns_of_deadline(run, &traces));
    if let Some(case) = run.scenario.refused {
        nothing_is_sent(&mut judgement, run, case);
        return judgement;
    }
    only_the_service(&mut judgement, run);
    if !run.sent.is_empty() {
        judgement.extend(Check::TokenInItsHeader, token::misplaced(run));
        judgement.extend(Check::AttemptTimeout, time::overruns_of_attempts(run));
    }
    if run.scenario.operation == Operation::CreateDocketsV2 {
        batches::judge(&mut judgement, run, &traces);
    }
    for trace in &traces {
        creations::judge(&mut judgement, run, trace);
        time::judge(&mut judgement, run, trace);
    }
    for (trace, returned) in traces.iter().zip(run.returned.iter().flatten()) {
        creations::judge_result(&mut judgement, run, trace, returned);
        time::judge_result(&mut judgement, run, trace, returned);
        answers::judge_result(&mut judgement, run, trace, returned);
        waits::judge_result(&mut judgement, run, trace, returned);
    }
    judgement
}

fn only_the_service(judgement: &mut Judgement, run: &Run) {
    let expected = run.scenario.operation.request_line();
    let lines = run.sent.iter();
    let lines = lines.map(|sent| format!("{} {}", sent.method, sent.path_and_query()));
    let others = lines.filter(|line| *line != expected);
    let foreign = run.origins.iter().filter(|origin| *origin != BASE_URL);
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
    let rings = Operation::RINGING.contains(&run.scenario.operation);
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
fn nothing_is_sent(judgement: &mut Judgement, run: &Run, case: &str) {
    let check = match run.scenario.remote_host() {
        Some(_) => Check::InsecureHttp,
        None => Check::Bounds,
    };
    let is_refused = matches!(&run.returned, Ok(returned)
        if returned.iter().all(|one| outcome(one) == case));
    judgement.expect(check, run.sent.is_empty(), || {
        "a request was sent".to_owned()
    });
    judgement.expect(check, is_refused || !run.sent.is_empty(), || {
        format!("nothing was sent, but the error is not {case}")
    });
}

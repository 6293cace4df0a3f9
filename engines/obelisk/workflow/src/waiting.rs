//! What a run waits for, in one join set: its completion, a person's decision, and the times
//! at which it goes on by itself.

use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::execution::{DelayId, ExecutionId, ResponseId};
use crate::bindings::obelisk::types::join_set::JoinSet;
use crate::bindings::obelisk::types::time::{Duration, ScheduleAt};
use crate::bindings::obelisk::workflow::workflow_support as engine;
use crate::bindings::voice_calling::{waits_obelisk_ext as waits, waits_obelisk_stub as stubs};
use crate::pace::Pauses;
use voice_calling_correlation::{OVER, RunId};

/// What has happened.
pub enum Event {
    /// The completion came: the text in the stub, or why there is none.
    Completion(Result<String, String>),
    /// A person has decided: the id of the docket, or why it is given up.
    Decision(Result<String, String>),
    /// The question to a person was cancelled, which decides nothing.
    NoDecision,
    /// A time has come.
    Time(Time),
}

/// A time that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    /// The run's time is over.
    Out,
    /// It is time to ask the service for the docket.
    Poll,
    /// The insights did not come in time.
    NoInsights,
}

/// The join set of a run. Dropped, it answers what is still open, and cancels its delays.
pub struct Waiting {
    set: JoinSet,
    completion: ExecutionId,
    decision: Option<ExecutionId>,
    times: Vec<(DelayId, Time)>,
}

impl Waiting {
    /// Begins to wait for the completion, before there is a docket: a webhook may be quicker
    /// than the answer to the creation.
    pub fn begin(run: &str) -> Self {
        // The name is a constant of the allowed form, used once in an execution.
        let set = engine::join_set_create_named(RunId::JOIN_SET).expect("a name for the join set");
        let completion = waits::docket::completion_submit(&set, run);
        Self {
            set,
            completion,
            decision: None,
            times: Vec::new(),
        }
    }

    /// Asks a person, and gives the execution to be answered. The answer to an earlier question
    /// has to be in.
    pub fn ask(&mut self, question: &str) -> String {
        let decision = waits::person::decision_submit(&self.set, question);
        self.decision.insert(decision).id.clone()
    }

    /// Has `time` come after so many milliseconds.
    pub fn wake_after(&mut self, ms: u64, time: Time) {
        self.times
            .push((engine::submit_delay(&self.set, after(ms)), time));
    }

    /// Waits for what happens next, for days if need be. A time has to be outstanding: it is
    /// what wakes the run where an engine's notice of an answer is lost.
    pub fn next(&mut self) -> Event {
        loop {
            match next_of(&self.set) {
                ResponseId::ExecutionId(id) if same(&id, &self.completion) => {
                    let completion = waits::docket::completion_get(&id);
                    return Event::Completion(completion.unwrap_or_else(|error| Err(lost(&error))));
                }
                ResponseId::ExecutionId(id)
                    if self.decision.as_ref().is_some_and(|it| same(&id, it)) =>
                {
                    return match waits::person::decision_get(&id) {
                        Ok(Err(reason)) if is_of_engine(&reason) => Event::NoDecision,
                        Ok(decision) => Event::Decision(decision),
                        Err(error) => {
                            log::error(&lost(&error));
                            Event::NoDecision
                        }
                    };
                }
                // Nothing else is ever submitted to the set.
                ResponseId::ExecutionId(_) => {}
                ResponseId::DelayId(id) => {
                    let is_it = |(delay, _): &(DelayId, Time)| delay.id == id.id;
                    // Also where an operator has cancelled the delay, which is a way to have it
                    // come now.
                    if let Some(position) = self.times.iter().position(is_it) {
                        return Event::Time(self.times.swap_remove(position).1);
                    }
                }
            }
        }
    }
}

/// A stub that is left to the engine is cancelled in the background, on PostgreSQL perhaps by
/// another node; if that happens just as the run begins to wait for it, the run is never woken.
impl Drop for Waiting {
    fn drop(&mut self) {
        // A conflict says that it was answered before.
        let _ = stubs::docket::completion_stub(&self.completion, Err(OVER));
        if let Some(decision) = &self.decision {
            let _ = stubs::person::decision_stub(decision, Err(OVER));
        }
    }
}

/// Waits for what comes next to a join set, and says what it is. A delay has to be outstanding.
pub fn next_of(set: &JoinSet) -> ResponseId {
    // What it came to is asked for by its id; of a delay that was cancelled it is not asked.
    let _ = engine::join_next(set).expect("a delay is outstanding");
    set.last_id().expect("a response was processed")
}

/// When to wake up all the same, where the engine's notice of an answer was lost.
pub fn heartbeats() -> Pauses {
    Pauses::new(60_000, 3_600_000)
}

/// So many milliseconds from now.
pub fn after(ms: u64) -> ScheduleAt {
    ScheduleAt::In(Duration::Milliseconds(ms))
}

fn same(a: &ExecutionId, b: &ExecutionId) -> bool {
    a.id == b.id
}

/// What the engine puts into a stub that is cancelled. A person who gives a docket up gives another
/// reason.
fn is_of_engine(reason: &str) -> bool {
    reason == "execution_failed"
}

/// An answer that the join set has returned, and which is not to be had.
fn lost(error: &impl std::fmt::Debug) -> String {
    format!("the engine lost a response: {error:?}")
}

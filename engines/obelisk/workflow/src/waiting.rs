//! The events that workflows wait for. Those of a run are in one join set: its completion, a person's
//! decision, and timers.

use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::execution::{DelayId, ExecutionId, ResponseId};
use crate::bindings::obelisk::types::join_set::JoinSet;
use crate::bindings::obelisk::workflow::workflow_support as engine;
use crate::bindings::voice_calling::{waits_obelisk_ext as waits, waits_obelisk_stub as stubs};
use crate::pace::Pauses;
use crate::sleep::after;
use voice_calling_obelisk_guest::{OVER, RunId};

/// An event of a run.
pub(crate) enum Event {
    /// The completion came: the text in the stub, or the reason why there is none.
    Completion(Result<String, String>),
    /// A person decided: the id of the docket, or the reason to give it up.
    Decision(Result<String, String>),
    /// The question to a person was cancelled, which decides nothing.
    NoDecision,
    /// The timer expired.
    Timer,
}

/// The join set of a run. Dropping it answers open stubs and cancels delays.
pub(crate) struct Waiting {
    set: JoinSet,
    completion: ExecutionId,
    is_completion_open: bool,
    decision: Option<ExecutionId>,
    timer: Option<DelayId>,
}

impl Waiting {
    /// Begins to wait for the completion. Called before the docket exists: a webhook may be quicker
    /// than the answer to the creation.
    pub(crate) fn begin(run: &str) -> Self {
        let set = join_set(RunId::JOIN_SET);
        let completion = waits::docket::completion_submit(&set, run);
        Self {
            set,
            completion,
            is_completion_open: true,
            decision: None,
            timer: None,
        }
    }

    /// Asks a person, and returns the id of the execution to be answered. An earlier question must
    /// have been answered.
    pub(crate) fn ask(&mut self, question: &str) -> String {
        let decision = waits::person::decision_submit(&self.set, question);
        self.decision.insert(decision).id.clone()
    }

    /// Sets the timer, in place of an earlier one. There is one at a time, since each makes the
    /// history longer.
    pub(crate) fn wake_after(&mut self, ms: u64) {
        self.timer = Some(engine::submit_delay(&self.set, after(ms)));
    }

    /// Waits for the next event, for days if necessary. The timer must be set: it wakes the run if
    /// the engine loses the notification of an answer.
    pub(crate) fn next(&mut self) -> Event {
        loop {
            match next_of(&self.set) {
                ResponseId::ExecutionId(id) if id == self.completion => {
                    self.is_completion_open = false;
                    let completion = waits::docket::completion_get(&id);
                    return Event::Completion(completion.unwrap_or_else(|error| Err(lost(&error))));
                }
                ResponseId::ExecutionId(id) if self.decision.as_ref() == Some(&id) => {
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
                // An operator may cancel the delay to make the timer expire now.
                ResponseId::DelayId(id) if self.timer.as_ref() == Some(&id) => {
                    return Event::Timer;
                }
                ResponseId::DelayId(_) => {}
            }
        }
    }
}

/// The engine would cancel an open stub in the background, on PostgreSQL perhaps on another node;
/// if that happens just as the run begins to wait for the stub, the run is never woken.
impl Drop for Waiting {
    fn drop(&mut self) {
        // A conflict means that the stub has an answer already.
        if self.is_completion_open {
            let _ = stubs::docket::completion_stub(&self.completion, Err(OVER));
        }
        if let Some(decision) = &self.decision {
            let _ = stubs::person::decision_stub(decision, Err(OVER));
        }
    }
}

/// A join set. A delay wakes it from time to time, in case the engine loses the notification of an
/// answer.
pub(crate) struct Inbox {
    pub set: JoinSet,
    heartbeats: Pauses,
    heartbeat: DelayId,
}

impl Inbox {
    pub(crate) fn named(name: &str) -> Self {
        let set = join_set(name);
        let mut heartbeats = Pauses::new(60_000, 3_600_000);
        let heartbeat = engine::submit_delay(&set, after(heartbeats.next_ms()));
        Self {
            set,
            heartbeats,
            heartbeat,
        }
    }

    /// Waits for the next response, and returns its id.
    pub(crate) fn next(&mut self) -> ResponseId {
        loop {
            match next_of(&self.set) {
                ResponseId::DelayId(delay) if delay == self.heartbeat => {
                    let ms = self.heartbeats.next_ms();
                    self.heartbeat = engine::submit_delay(&self.set, after(ms));
                }
                response => return response,
            }
        }
    }

    /// Waits for the next execution.
    pub(crate) fn next_execution(&mut self) -> ExecutionId {
        loop {
            if let ResponseId::ExecutionId(id) = self.next() {
                return id;
            }
        }
    }
}

/// Creates a join set. The name is a constant of the allowed form, used once in an execution.
pub(crate) fn join_set(name: &str) -> JoinSet {
    engine::join_set_create_named(name).expect("a name for the join set")
}

/// Waits for the next response in a join set and returns its id. A delay must be pending.
fn next_of(set: &JoinSet) -> ResponseId {
    // The result is fetched by the id; a cancelled delay needs none.
    let _ = engine::join_next(set).expect("a delay is outstanding");
    set.last_id().expect("a response was processed")
}

/// Returns `true` if the engine cancelled the stub. A person who gives up a docket writes another
/// reason.
fn is_of_engine(reason: &str) -> bool {
    reason == "execution_failed"
}

/// Describes a response that the join set has returned but that cannot be fetched.
fn lost(error: &impl std::fmt::Debug) -> String {
    format!("the engine lost a response: {error:?}")
}

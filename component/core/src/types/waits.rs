//! Waits for a docket or for the details of a call.

use super::{CallDetailsList, Docket};
use serde::{Deserialize, Serialize};

/// How long and for what to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitOptions {
    /// How long to wait at most. Unit: milliseconds; 1 or more.
    pub timeout_ms: u32,
    /// Whether an answer of 404 means "not yet". `false` ends the wait with `not-found`. What the
    /// service answers before a call is completed is not specified. `None`: `true` for a task id,
    /// so that one that `make_call` has just returned is waited for (a wrong one then waits until
    /// time runs out); `false` for a docket.
    pub not_found_is_pending: Option<bool>,
}

/// How a wait for a call's details ended. Each poll is an operation of its own: what was seen has
/// the attempts of its poll.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallDetailsWait {
    /// What was seen.
    pub outcome: CallDetailsOutcome,
    /// How many polls were made, not counting retries within a poll.
    pub polls: u32,
    /// How many of these polls failed with an error that may be temporary.
    pub failed_polls: u32,
    /// How long the wait took. Unit: milliseconds.
    pub waited_ms: u32,
    /// How much of that was spent on a rate limit that another call of the same account had met.
    /// Unit: milliseconds.
    pub held_back_ms: u32,
}

/// Whether a call's details are ready.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum CallDetailsOutcome {
    /// There is at least one record, and every record is ready: it has insights (an object in which
    /// something is neither null nor empty), or its call was not answered.
    Completed(CallDetailsList),
    /// Time ran out: the latest answer, or `None` if none came.
    Pending(Option<CallDetailsList>),
}

/// How a wait for a docket ended. Each poll is an operation of its own: what was seen has the
/// attempts of its poll.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DocketWait {
    /// What was seen.
    pub outcome: DocketOutcome,
    /// How many polls were made, not counting retries within a poll.
    pub polls: u32,
    /// How many of these polls failed with an error that may be temporary.
    pub failed_polls: u32,
    /// How long the wait took. Unit: milliseconds.
    pub waited_ms: u32,
    /// How much of that was spent on a rate limit that another call of the same account had met.
    /// Unit: milliseconds.
    pub held_back_ms: u32,
}

/// Whether a docket is completed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum DocketOutcome {
    /// Its status is `completed`, or it has `closed_at` and neither of the statuses `open` and
    /// `in-progress`.
    Completed(Docket),
    /// Time ran out: the latest answer, or `None` if none came.
    Pending(Option<Docket>),
}

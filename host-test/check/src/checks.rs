//! The checks that a component must pass.

use clap::ValueEnum;
use serde::Serialize;
use strum::{EnumMessage, IntoStaticStr, VariantArray};

/// A check of a component. Reports print the documentation of each variant.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    EnumMessage,
    IntoStaticStr,
    Serialize,
    ValueEnum,
    VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// The component exports the world, and imports HTTP, clocks, environment, stderr, randomness.
    Imports,
    /// Every call returns: no trap, no hang, no limit of the host reached.
    Returns,
    /// A create that may have been processed is never sent again.
    NoReplay,
    /// With CREATE_RETRY=not-sent no create follows a 5xx or 408; with never, none follows at all.
    CreateRetry,
    /// A transient error means that nothing was created.
    NothingCreated,
    /// The field may-have-created says whether a request may have created something.
    CreationsAreReported,
    /// The field may-be-duplicate says whether a request before the last may have created something.
    DuplicatesAreReported,
    /// No attempt begins without time for its answer.
    TimeForAnswer,
    /// The kind of a failure says what happened. Five kinds are transient, seven are permanent.
    ErrorKind,
    /// The next step is what follows from the failure.
    NextStep,
    /// A final answer is not retried.
    FinalAnswers,
    /// A failure that may be retried is, after pauses of the right length; else the call ends at once.
    Retries,
    /// No request is sent before the time that Retry-After asks for.
    RetryAfter,
    /// At most MAX_ATTEMPTS requests are sent.
    MaxAttempts,
    /// No attempt exceeds ATTEMPT_TIMEOUT_MS by more than 50 ms.
    AttemptTimeout,
    /// DEADLINE_MS and timeout-ms are exceeded by 50 ms at the most.
    Deadline,
    /// Results list all attempts in order, with status and times.
    AttemptsAreReported,
    /// Errors keep status and beginning of the answer, and where a redirect points.
    AnswerIsKept,
    /// Raw JSON is what the service answered, digit for digit.
    AnswerIsWhole,
    /// The id is the one that was requested, or that was created.
    RightDocket,
    /// A wait polls until the result is ready, and no longer.
    WaitsEnd,
    /// A wait counts the polls that were sent, and those that failed.
    PollsAreCounted,
    /// A delivery is confirmed only where the service has the docket completed.
    Confirmations,
    /// A batch has at most MAX_IN_FLIGHT requests open.
    MaxInFlight,
    /// The results of a batch are in the order of its requests.
    BatchOrder,
    /// A batch has a result for each request, and accounts for all.
    BatchIsComplete,
    /// A batch stops after five failures in a row, or 25 refusals; until one succeeds, five are open.
    BatchStops,
    /// One item's rate limit ends no other.
    LimitsOnlyDelay,
    /// The token is in its header and nowhere else in a request.
    TokenInItsHeader,
    /// The token is in no error, log or panic message, in any encoding.
    TokenIsNotLeaked,
    /// Requests are exactly the expected ones, and go to no other host, not even after a redirect.
    OnlyTheService,
    /// Plain http to a remote host is refused.
    InsecureHttp,
    /// A value that is too long to be sent is refused, and nothing is sent.
    Bounds,
    /// The guest needs at most 128 MiB of memory.
    Memory,
}

impl Check {
    /// Returns the check's name on the command line and in reports.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the behaviour that the check expects of a component.
    pub fn expectation(self) -> &'static str {
        self.get_documentation().unwrap_or_default()
    }
}

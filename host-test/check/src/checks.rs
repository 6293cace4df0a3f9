//! The checks that a component must pass.

use serde::Serialize;
use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

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
    EnumString,
    IntoStaticStr,
    Serialize,
    VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum Check {
    /// exports the world, imports HTTP, clocks, environment, stderr, randomness
    Imports,
    /// every call returns: no trap, no hang, no limit of the host reached
    Returns,
    /// a create that may have been processed is never sent again
    NoReplay,
    /// with CREATE_RETRY=not-sent no create follows a 5xx or 408, with never none follows
    CreateRetry,
    /// an error without permanent in its name means that nothing was created
    NothingCreated,
    /// may-have-created says whether a request may have created
    CreationsAreReported,
    /// may-be-duplicate says whether a request before the last may have created
    DuplicatesAreReported,
    /// no attempt begins without time for its answer
    TimeForAnswer,
    /// the case of request-error says what happened
    ErrorCase,
    /// what must not be retried is not
    FinalAnswers,
    /// what may be retried is, after pauses of the right length; otherwise the call ends at once
    Retries,
    /// no request before the time that Retry-After asks for
    RetryAfter,
    /// at most MAX_ATTEMPTS requests
    MaxAttempts,
    /// no attempt exceeds ATTEMPT_TIMEOUT_MS by more than 50 ms
    AttemptTimeout,
    /// DEADLINE_MS and timeout-ms are exceeded by 50 ms at the most
    Deadline,
    /// results list all attempts in order, with status and times
    AttemptsAreReported,
    /// errors keep status and beginning of the answer, and where a redirect points
    AnswerIsKept,
    /// raw JSON is what the service answered, digit for digit
    AnswerIsWhole,
    /// the id is the one that was requested, or that was created
    RightDocket,
    /// a wait polls until the result is ready, and no longer
    WaitsEnd,
    /// a wait counts the polls that were sent, and those that failed
    PollsAreCounted,
    /// a delivery is confirmed only where the service has the docket completed
    Confirmations,
    /// a batch has at most MAX_IN_FLIGHT requests open
    MaxInFlight,
    /// the results of a batch are in the order of its requests
    BatchOrder,
    /// a batch has a result for each request, and accounts for all
    BatchIsComplete,
    /// one item's rate limit ends no other
    LimitsOnlyDelay,
    /// the token is in its header and nowhere else in a request
    TokenInItsHeader,
    /// the token is in no error, log or panic message, in any encoding
    TokenIsNotLeaked,
    /// requests are exactly the expected ones, and go to no other host, not even after a redirect
    OnlyTheService,
    /// plain http to a remote host is refused
    InsecureHttp,
    /// what is too long to be sent is refused, and nothing is sent
    Bounds,
    /// the guest needs at most 128 MiB of memory
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

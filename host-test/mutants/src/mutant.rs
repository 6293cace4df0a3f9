//! The ways to misbehave, and their names.

use strum::{EnumMessage, EnumString, IntoStaticStr, VariantArray};

/// A way to misbehave. The documentation of each is printed in docs/mutants.md.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, EnumMessage, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Mutant {
    /// behaves as the real one
    None,
    /// sends a create again, at once, after the host said that it may have been sent
    ReplaysUnknownOutcome,
    /// believes that a create was not sent where the host says connection-timeout
    TrustsConnectionTimeout,
    /// takes CREATE_RETRY=not-sent for the default
    ReplaysServerErrors,
    /// takes CREATE_RETRY=never for the default
    RetriesDespiteNever,
    /// sends a request again, at once, after a 4xx that is final
    RepeatsRejections,
    /// calls a create without an answer timed-out, which engines replay
    CallsSilenceHarmless,
    /// calls a create after the service's own failure unavailable, which engines replay
    CallsServerErrorsHarmless,
    /// says of no error that something may have been created
    ForgetsCreations,
    /// says of no success that there may be two of it
    ForgetsDuplicates,
    /// returns another docket's id
    MistakesIds,
    /// confirms every delivery
    ConfirmsEverything,
    /// returns the results of a batch from the last to the first
    LosesOrder,
    /// leaves the failed items of a batch out of its results
    DropsFailedItems,
    /// sends nothing more of a batch once a request met a rate limit
    GivesUpForOthers,
    /// has twice as many requests of a batch open as MAX_IN_FLIGHT allows, and one
    ExceedsMaxInFlight,
    /// puts the header with the token into the message of every error
    LeaksToken,
    /// puts the token into messages, as JSON may write it
    LeaksEscapedToken,
    /// writes the header with the token to stderr
    LogsToken,
    /// sends the token in a second header as well
    CopiesToken,
    /// sends the request, with the token, to where a 3xx points
    FollowsRedirects,
    /// sends the token in the clear to any host
    CallsInsecureHosts,
    /// sends the beginning of a long organization id
    CutsLongIds,
    /// reads no retry-after
    IgnoresRetryAfter,
    /// reads retry-after only where something failed, not between polls
    PollsTooSoon,
    /// makes one attempt, whatever MAX_ATTEMPTS says
    NeverRetries,
    /// makes one attempt more than MAX_ATTEMPTS allows
    TriesTooOften,
    /// pauses for a quarter of BACKOFF_MS
    HurriesRetries,
    /// sleeps for most of an attempt's time before it sends
    BeginsLate,
    /// takes twice the time of DEADLINE_MS
    OverrunsDeadline,
    /// takes twice the time of ATTEMPT_TIMEOUT_MS, within the deadline
    OverrunsAttemptTimeout,
    /// says of a wait that it is completed where it is not, and the other way round
    MistakesReadiness,
    /// counts a poll that was never sent
    CountsUnsentPolls,
    /// shows only the last attempt
    HidesAttempts,
    /// keeps no body in errors
    DropsBodies,
    /// does not report where a redirect points
    HidesLocation,
    /// passes raw-json through a map with floats, which costs digits and the order of members
    RoundsNumbers,
    /// takes the body of a 2xx that ends early for a whole one
    SwallowsBrokenBodies,
    /// reads answers of up to 64 MiB, whatever MAX_RESPONSE_BYTES says
    ReadsWithoutEnd,
    /// computes for ever
    LoopsForever,
    /// takes memory until there is no more
    AllocatesWithoutEnd,
}

impl Mutant {
    /// Returns the mutant's name, a value of the variable `MUTANT`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Describes the misbehaviour.
    pub fn fault(self) -> &'static str {
        self.get_documentation().unwrap_or_default()
    }
}

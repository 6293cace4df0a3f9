//! The ways to misbehave, and their names.

use strum::{EnumString, IntoStaticStr, VariantArray};

/// A way to misbehave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Fault {
    /// Behaves as the real one.
    None,
    /// Sends a create again, at once, after the host said that it may have been sent.
    ReplaysUnknownOutcome,
    /// Believes that a create was not sent where the host says connection-timeout.
    TrustsConnectionTimeout,
    /// Takes CREATE_RETRY=not-sent for the default.
    ReplaysServerErrors,
    /// Takes CREATE_RETRY=never for the default.
    RetriesDespiteNever,
    /// Sends a request again, at once, after a 4xx that is final.
    RepeatsRejections,
    /// Calls a create without an answer timed-out, which engines replay.
    CallsSilenceHarmless,
    /// Calls a create after the service's own failure unavailable, which engines replay.
    CallsServerErrorsHarmless,
    /// Says of no error that something may have been created.
    ForgetsCreations,
    /// Says of no success that there may be two of it.
    ForgetsDuplicates,
    /// Says of every failure that it is about the request alone.
    MistakesNextSteps,
    /// Returns another docket's id.
    MistakesIds,
    /// Confirms every delivery.
    ConfirmsEverything,
    /// Returns the results of a batch from the last to the first.
    LosesOrder,
    /// Leaves the failed items of a batch out of its results.
    DropsFailedItems,
    /// Goes on with a batch however many of its requests have failed.
    NeverStops,
    /// Sends nothing more of a batch once a request met a rate limit.
    GivesUpForOthers,
    /// Has twice as many requests of a batch open as MAX_IN_FLIGHT allows, and one.
    ExceedsMaxInFlight,
    /// Puts the header with the token into the message of every error.
    LeaksToken,
    /// Puts the token into messages, as JSON may write it.
    LeaksEscapedToken,
    /// Writes the header with the token to stderr.
    LogsToken,
    /// Sends the token in a second header as well.
    CopiesToken,
    /// Sends the request, with the token, to where a 3xx points.
    FollowsRedirects,
    /// Sends the token in the clear to any host.
    CallsInsecureHosts,
    /// Sends the beginning of a long organization id.
    CutsLongIds,
    /// Reads no retry-after.
    IgnoresRetryAfter,
    /// Reads retry-after only where something failed, not between polls.
    PollsTooSoon,
    /// Makes one attempt, whatever MAX_ATTEMPTS says.
    NeverRetries,
    /// Makes one attempt more than MAX_ATTEMPTS allows.
    TriesTooOften,
    /// Pauses for a quarter of BACKOFF_MS.
    HurriesRetries,
    /// Sleeps for most of an attempt's time before it sends.
    BeginsLate,
    /// Takes twice the time of DEADLINE_MS.
    OverrunsDeadline,
    /// Takes twice the time of ATTEMPT_TIMEOUT_MS, within the deadline.
    OverrunsAttemptTimeout,
    /// Says of a wait that it is completed where it is not, and the other way round.
    MistakesReadiness,
    /// Counts a poll that was never sent.
    CountsUnsentPolls,
    /// Shows only the last attempt.
    HidesAttempts,
    /// Keeps no body in errors.
    DropsBodies,
    /// Does not report where a redirect points.
    HidesLocation,
    /// Passes raw-json through a map with floats, which costs digits and the order of members.
    RoundsNumbers,
    /// Takes the body of a 2xx that ends early for a whole one.
    SwallowsBrokenBodies,
    /// Reads answers of up to 64 MiB, whatever MAX_RESPONSE_BYTES says.
    ReadsWithoutEnd,
    /// Computes for ever.
    LoopsForever,
    /// Takes memory until there is no more.
    AllocatesWithoutEnd,
}

impl Fault {
    /// Returns the name, which is a value of the variable `FAULT`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

//! The ways to misbehave, and their names.

use voice_calling_core::types::{Failure, Problem, RequestError};

/// The variable that selects one.
const VARIABLE: &str = "MUTANT";

/// One way to misbehave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mutant {
    /// Behaves as the real one.
    None,
    /// Sends a create again, once and in the same attempt, after the host said that nobody
    /// knows whether it was sent.
    ReplaysUnknownOutcome,
    /// Ignores `CREATE_RETRY=not-sent`.
    ReplaysServerErrors,
    /// Puts the header with the token into the message of every error that has one.
    LeaksToken,
    /// Writes the header with the token to stderr, for each request.
    LogsToken,
    /// Sends the request, with the token, to where a 3xx points.
    FollowsRedirects,
    /// Reads no `retry-after`.
    IgnoresRetryAfter,
    /// Leaves out of `raw-json` the members that the specification does not name.
    DropsUnknownFields,
    /// Makes every number in `raw-json` a 64-bit float, which costs digits.
    RoundsNumbers,
    /// Returns the results of a batch from the last to the first.
    LosesOrder,
    /// Has twice as many requests of a batch open as `MAX_IN_FLIGHT` allows, and one.
    ExceedsMaxInFlight,
    /// Takes twice the time of `DEADLINE_MS`.
    OverrunsDeadline,
    /// Takes twice the time of `ATTEMPT_TIMEOUT_MS`, within the deadline.
    OverrunsAttemptTimeout,
    /// Makes one attempt more than `MAX_ATTEMPTS` allows.
    TriesTooOften,
    /// Shows only the last attempt in errors.
    HidesAttempts,
    /// Calls a create without an answer that may have been processed `timed-out`, which engines
    /// replay.
    CallsSilenceHarmless,
    /// Sends a request again, once and in the same attempt, after a 4xx that is final.
    RepeatsRejections,
    /// Keeps no body in errors.
    DropsBodies,
    /// Says of a wait that it is completed where it is not, and the other way round.
    MistakesReadiness,
    /// Leaves the failed items of a batch out of its results.
    DropsFailedItems,
    /// Sends the token in a second header as well.
    CopiesToken,
    /// Makes one attempt, whatever `MAX_ATTEMPTS` says.
    NeverRetries,
    /// Sends the token in the clear to any host.
    CallsInsecureHosts,
    /// Reads answers of up to 64 MiB, whatever `MAX_RESPONSE_BYTES` says.
    ReadsWithoutEnd,
    /// Computes for ever in every operation.
    LoopsForever,
    /// Takes memory, and writes to it, until there is no more, in every operation.
    AllocatesWithoutEnd,
    /// Takes the body of a 2xx that ends early for a whole one.
    SwallowsBrokenBodies,
    /// Takes `CREATE_RETRY=never` for the default.
    RetriesDespiteNever,
    /// Believes that a create was not sent where the host says `connection-timeout`.
    TrustsConnectionTimeout,
    /// Calls a create after the service's own failure `unavailable`, which engines replay.
    CallsServerErrorsHarmless,
    /// Says of no error that something may have been created.
    ForgetsCreations,
    /// Says of no success that there may be two of it.
    ForgetsDuplicates,
    /// Sleeps for most of an attempt's time before it sends.
    BeginsLate,
    /// Pauses for a quarter of `BACKOFF_MS`.
    HurriesRetries,
    /// Sends nothing more once anything met a rate limit.
    GivesUpForOthers,
    /// Reads the date in `retry-after` against its own clock.
    IgnoresDate,
    /// Reads `retry-after` only where it is a whole number.
    IgnoresFractions,
    /// Reads `retry-after` only where something failed.
    PollsTooSoon,
    /// Takes 410 for 404.
    MistakesGone,
    /// Calls a wait completed where there are insights, whatever is in them.
    TrustsEmptyInsights,
    /// Counts a poll that was never sent.
    CountsUnsentPolls,
    /// Returns any docket that the service answers with.
    TakesAnyDocket,
    /// Confirms every delivery.
    ConfirmsEverything,
    /// Sends a batch that is too large in pieces.
    SplitsLargeBatches,
    /// Sends the beginning of a long organization id.
    CutsLongIds,
    /// Tries again what the host rejected for what is in it, if that is a read.
    RetriesWhatHostsReject,
    /// Puts the token into messages, as JSON may write it.
    LeaksEscapedToken,
    /// Does not report where a redirect points.
    HidesLocation,
}

impl Mutant {
    /// Every mutant by its name.
    pub const ALL: [(&'static str, Mutant); 48] = [
        ("none", Mutant::None),
        ("replays-unknown-outcome", Mutant::ReplaysUnknownOutcome),
        ("replays-server-errors", Mutant::ReplaysServerErrors),
        ("leaks-token", Mutant::LeaksToken),
        ("logs-token", Mutant::LogsToken),
        ("follows-redirects", Mutant::FollowsRedirects),
        ("ignores-retry-after", Mutant::IgnoresRetryAfter),
        ("drops-unknown-fields", Mutant::DropsUnknownFields),
        ("rounds-numbers", Mutant::RoundsNumbers),
        ("loses-order", Mutant::LosesOrder),
        ("exceeds-max-in-flight", Mutant::ExceedsMaxInFlight),
        ("overruns-deadline", Mutant::OverrunsDeadline),
        ("overruns-attempt-timeout", Mutant::OverrunsAttemptTimeout),
        ("tries-too-often", Mutant::TriesTooOften),
        ("hides-attempts", Mutant::HidesAttempts),
        ("calls-silence-harmless", Mutant::CallsSilenceHarmless),
        ("repeats-rejections", Mutant::RepeatsRejections),
        ("drops-bodies", Mutant::DropsBodies),
        ("mistakes-readiness", Mutant::MistakesReadiness),
        ("drops-failed-items", Mutant::DropsFailedItems),
        ("copies-token", Mutant::CopiesToken),
        ("never-retries", Mutant::NeverRetries),
        ("calls-insecure-hosts", Mutant::CallsInsecureHosts),
        ("reads-without-end", Mutant::ReadsWithoutEnd),
        ("loops-forever", Mutant::LoopsForever),
        ("allocates-without-end", Mutant::AllocatesWithoutEnd),
        ("swallows-broken-bodies", Mutant::SwallowsBrokenBodies),
        ("retries-despite-never", Mutant::RetriesDespiteNever),
        ("trusts-connection-timeout", Mutant::TrustsConnectionTimeout),
        (
            "calls-server-errors-harmless",
            Mutant::CallsServerErrorsHarmless,
        ),
        ("forgets-creations", Mutant::ForgetsCreations),
        ("forgets-duplicates", Mutant::ForgetsDuplicates),
        ("begins-late", Mutant::BeginsLate),
        ("hurries-retries", Mutant::HurriesRetries),
        ("gives-up-for-others", Mutant::GivesUpForOthers),
        ("ignores-date", Mutant::IgnoresDate),
        ("ignores-fractions", Mutant::IgnoresFractions),
        ("polls-too-soon", Mutant::PollsTooSoon),
        ("mistakes-gone", Mutant::MistakesGone),
        ("trusts-empty-insights", Mutant::TrustsEmptyInsights),
        ("counts-unsent-polls", Mutant::CountsUnsentPolls),
        ("takes-any-docket", Mutant::TakesAnyDocket),
        ("confirms-everything", Mutant::ConfirmsEverything),
        ("splits-large-batches", Mutant::SplitsLargeBatches),
        ("cuts-long-ids", Mutant::CutsLongIds),
        ("retries-what-hosts-reject", Mutant::RetriesWhatHostsReject),
        ("leaks-escaped-token", Mutant::LeaksEscapedToken),
        ("hides-location", Mutant::HidesLocation),
    ];

    /// The mutant that the environment asks for.
    pub(crate) fn of_environment(environment: &[(String, String)]) -> Result<Self, RequestError> {
        let asked = environment.iter().find(|(name, _)| name == VARIABLE);
        let Some((_, asked)) = asked else {
            return Ok(Mutant::None);
        };
        let found = Self::ALL.into_iter().find(|(name, _)| name == asked);
        found.map(|(_, mutant)| mutant).ok_or_else(|| {
            RequestError::PermanentConfiguration(Failure {
                message: format!("{VARIABLE} names no mutant"),
                problem: Some(Problem {
                    subject: VARIABLE.to_owned(),
                    found: format!("{asked:?}"),
                    allowed: format!("one of {}", Self::ALL.map(|(name, _)| name).join(", ")),
                }),
                response: None,
                attempts: Vec::new(),
                may_have_created: false,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: &str) -> Result<Mutant, RequestError> {
        Mutant::of_environment(&[
            ("PATH".to_owned(), "/bin".to_owned()),
            (VARIABLE.to_owned(), name.to_owned()),
        ])
    }

    #[test]
    fn every_name_selects_another_mutant() {
        for (index, (name, mutant)) in Mutant::ALL.into_iter().enumerate() {
            assert_eq!(asked(name), Ok(mutant));
            // In the order of the mutants, so that none between them is left out.
            assert_eq!(mutant as usize, index, "{name}");
        }
        assert_eq!(Mutant::of_environment(&[]), Ok(Mutant::None));
    }

    #[test]
    fn an_unknown_name_is_a_problem_of_the_configuration() {
        for name in ["", "None", "replays"] {
            let Err(RequestError::PermanentConfiguration(failure)) = asked(name) else {
                panic!("{name} selects a mutant")
            };
            let problem = failure.problem.unwrap();
            assert_eq!(problem.subject, "MUTANT");
            assert_eq!(problem.found, format!("{name:?}"));
            assert!(problem.allowed.contains("logs-token"), "{problem:?}");
        }
    }
}

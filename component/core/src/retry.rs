//! Decides whether an attempt succeeded, may be retried, or is final: pure functions of its
//! outcome, which follow the table of docs/errors.md.

use crate::attempt::{BodyEnd, ReceivedResponse};
use crate::settings::{AccountSettings, CreateRetry};
use crate::transport::{Delivery, Method, SendError};

/// The verdict on an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A 2xx with its whole body.
    Success,
    /// 429 or 425: refused, not processed.
    RateLimited,
    /// 5xx or 408 to a request that may be retried.
    Unavailable,
    /// There was no connection to send it on.
    NotSent,
    /// A read without a response, or with an incomplete one.
    NoResponse,
    /// The host's policy denies the address.
    Denied,
    /// The host rejects the request because of its content.
    Refused,
    /// 401 or 403.
    Unauthorized,
    /// 404 or 410.
    NotFound,
    /// Any other 3xx or 4xx.
    Rejected,
    /// A 2xx to a create with an incomplete body, a 2xx that is too large, or a status outside 200
    /// to 599.
    Unexpected,
    /// A create that may have been processed, and must not be retried.
    OutcomeUnknown,
}

pub(crate) fn judge(
    method: Method,
    settings: &AccountSettings,
    create_retry: CreateRetry,
    outcome: &Result<ReceivedResponse, SendError>,
) -> Verdict {
    match outcome {
        Ok(response) => judge_response(method, create_retry, response),
        Err(error) => match (error.delivery, method) {
            (Delivery::NotSent, _) => Verdict::NotSent,
            (Delivery::ConnectionTimeout, Method::Get) => Verdict::NotSent,
            (Delivery::ConnectionTimeout, _) if settings.trust_connection_timeout => {
                Verdict::NotSent
            }
            (Delivery::Denied, _) => Verdict::Denied,
            (Delivery::Refused, _) | (Delivery::Rejected, Method::Get) => Verdict::Refused,
            (Delivery::Unknown, Method::Get) => Verdict::NoResponse,
            (_, Method::Post) => Verdict::OutcomeUnknown,
        },
    }
}

fn judge_response(
    method: Method,
    create_retry: CreateRetry,
    response: &ReceivedResponse,
) -> Verdict {
    match (response.status, method, create_retry) {
        (200..=299, _, _) => match (&response.body_end, method) {
            (BodyEnd::Complete, _) => Verdict::Success,
            (BodyEnd::Failed(_), Method::Get) => Verdict::NoResponse,
            (BodyEnd::Failed(_), Method::Post) | (BodyEnd::TooLarge(_), _) => Verdict::Unexpected,
        },
        (429 | 425, _, _) => Verdict::RateLimited,
        (408 | 500..=599, Method::Get, _) | (408 | 500..=599, _, CreateRetry::ServerErrors) => {
            Verdict::Unavailable
        }
        (408 | 500..=599, _, _) => Verdict::OutcomeUnknown,
        (401 | 403, _, _) => Verdict::Unauthorized,
        (404 | 410, _, _) => Verdict::NotFound,
        (300..=499, _, _) => Verdict::Rejected,
        _ => Verdict::Unexpected,
    }
}

/// Returns `true` if an attempt may have created something. Of all statuses only 4xx rule that out,
/// except for 408, which is a timeout of the service, and 409, which may mean that it already
/// exists.
pub(crate) fn may_have_created(
    method: Method,
    settings: &AccountSettings,
    outcome: &Result<ReceivedResponse, SendError>,
) -> bool {
    method == Method::Post
        && match outcome {
            Ok(response) => !matches!(response.status, 400..=407 | 410..=499),
            Err(error) => match error.delivery {
                Delivery::Unknown | Delivery::Rejected => true,
                Delivery::ConnectionTimeout => !settings.trust_connection_timeout,
                Delivery::NotSent | Delivery::Denied | Delivery::Refused => false,
            },
        }
}

/// Why an operation makes no further attempt, although one might have helped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It has used all its attempts.
    AttemptsUsedUp,
    /// The next attempt would begin too late.
    TimeUp,
    /// No permit for a request in flight was released in time.
    NoPermit,
    /// The caller has cancelled it.
    Cancelled,
}

/// The next step after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Decode the response.
    Succeed,
    /// Try again after a pause.
    Retry,
    /// Stop, although another attempt might have helped.
    GiveUp(Stop),
    /// Stop, because another attempt would not help or must not be made.
    Fail,
}

/// Decides what follows the latest of `attempts` attempts. `stop` is the reason why the next one
/// may not begin after the pause.
pub(crate) fn decide(
    method: Method,
    settings: &AccountSettings,
    create_retry: CreateRetry,
    verdict: Verdict,
    attempts: u32,
    stop: Option<Stop>,
) -> Next {
    let never = method == Method::Post && create_retry == CreateRetry::Never;
    match verdict {
        Verdict::Success => Next::Succeed,
        Verdict::RateLimited | Verdict::Unavailable | Verdict::NotSent | Verdict::NoResponse => {
            if never || attempts >= settings.max_attempts {
                Next::GiveUp(Stop::AttemptsUsedUp)
            } else {
                stop.map_or(Next::Retry, Next::GiveUp)
            }
        }
        _ => Next::Fail,
    }
}

/// Returns the pause before the next attempt: exponential backoff with equal jitter (between half
/// of the ceiling and all of it) and a cap, and never less than the service asked for. `failed`
/// counts the attempts so far, from 1.
pub(crate) fn pause_ms(
    settings: &AccountSettings,
    failed: u32,
    retry_after_ms: Option<u64>,
    random: u64,
) -> u64 {
    let doubled = settings
        .backoff_ms
        .saturating_mul(1 << (failed - 1).min(32));
    let ceiling = doubled.min(settings.max_backoff_ms);
    let jittered = ceiling / 2 + random % (ceiling - ceiling / 2 + 1);
    jittered.max(retry_after_ms.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::settings;
    use Delivery::{ConnectionTimeout, Rejected};
    use Method::{Get, Post};

    /// `operation` has the other outcomes, in a table.
    #[test]
    fn a_connection_timeout_says_that_nothing_was_sent_if_it_is_trusted_and_a_rejection_never() {
        let settings = settings(&[("TRUST_CONNECTION_TIMEOUT", "true")]);
        for (delivery, of_read, of_create) in [
            (ConnectionTimeout, Verdict::NotSent, Verdict::NotSent),
            (Rejected, Verdict::Refused, Verdict::OutcomeUnknown),
        ] {
            let outcome = Err(SendError {
                delivery,
                message: String::new(),
            });
            let verdict = |method| judge(method, &settings, settings.create_retry, &outcome);
            assert_eq!((verdict(Get), verdict(Post)), (of_read, of_create));
            let may_have = may_have_created(Post, &settings, &outcome);
            assert_eq!(may_have, delivery == Rejected);
        }
    }

    #[test]
    fn pauses_double_up_to_the_cap_and_are_drawn_from_their_upper_half() {
        let settings = settings(&[("BACKOFF_MS", "101"), ("MAX_BACKOFF_MS", "1000")]);
        for (failed, shortest, longest) in [
            (1, 50, 101),
            (2, 101, 202),
            (3, 202, 404),
            (4, 404, 808),
            (5, 500, 1_000),
            (100, 500, 1_000),
        ] {
            // Every pause is as likely as another.
            let drawn = longest - shortest + 1;
            let pause = |random| pause_ms(&settings, failed, None, random);
            let pauses = [pause(0), pause(drawn - 1), pause(drawn)];
            assert_eq!(pauses, [shortest, longest, shortest], "{failed}");
            assert!((shortest..=longest).contains(&pause(u64::MAX)));
        }
    }

    #[test]
    fn a_pause_is_never_shorter_than_the_service_asks_for() {
        let settings = settings(&[("BACKOFF_MS", "100")]);
        for (asked_ms, pause) in [(5_000, 5_000), (10, 50), (u64::MAX, u64::MAX)] {
            assert_eq!(pause_ms(&settings, 1, Some(asked_ms), 0), pause);
        }
    }
}

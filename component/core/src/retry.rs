//! Whether an attempt succeeded, may be retried, or is final: pure decisions over
//! what came of it. The table of the README, row by row.

use crate::attempt::{Answer, BodyEnd};
use crate::failure::Stop;
use crate::settings::{AccountSettings, CreateRetry};
use crate::transport::{Delivery, Method, SendError};

/// What an attempt came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A 2xx with its whole body.
    Success,
    /// 429 or 425: refused, not processed.
    RateLimited,
    /// 5xx or 408, where it may be retried.
    Unavailable,
    /// There was no connection to send it on.
    NotSent,
    /// A read without an answer, or with half of one.
    NoAnswer,
    /// The host's policy denies the address.
    Denied,
    /// The host does not take it because of what is in it.
    Refused,
    /// 401 or 403.
    Unauthorized,
    /// 404 or 410.
    NotFound,
    /// Any other 3xx or 4xx.
    Rejected,
    /// A 2xx of a create whose body did not come whole, one that is too large, or
    /// a status outside 200 to 599.
    Unexpected,
    /// A create that may have been processed, and must not be retried.
    OutcomeUnknown,
}

/// Judges an attempt.
pub(crate) fn judge(
    method: Method,
    settings: &AccountSettings,
    outcome: &Result<Answer, SendError>,
) -> Verdict {
    match outcome {
        Ok(answer) => judge_answer(method, settings.create_retry, answer),
        Err(error) => match (error.delivery, method) {
            (Delivery::NotSent, _) => Verdict::NotSent,
            (Delivery::ConnectionTimeout, Method::Get) => Verdict::NotSent,
            (Delivery::ConnectionTimeout, _) if settings.trust_connection_timeout => {
                Verdict::NotSent
            }
            (Delivery::Denied, _) => Verdict::Denied,
            (Delivery::Refused, _) | (Delivery::Rejected, Method::Get) => Verdict::Refused,
            (Delivery::Unknown, Method::Get) => Verdict::NoAnswer,
            (_, Method::Post) => Verdict::OutcomeUnknown,
        },
    }
}

fn judge_answer(method: Method, create_retry: CreateRetry, answer: &Answer) -> Verdict {
    match (answer.status, method, create_retry) {
        (200..=299, _, _) => match (&answer.body_end, method) {
            (BodyEnd::Whole, _) => Verdict::Success,
            (BodyEnd::Broken(_), Method::Get) => Verdict::NoAnswer,
            (BodyEnd::Broken(_), Method::Post) | (BodyEnd::TooLarge(_), _) => Verdict::Unexpected,
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

/// Whether an attempt may have created something. The service says that it did not by refusing:
/// only 4xx do so, and not a timeout of its own (408) or what is there already (409).
pub(crate) fn may_have_created(
    method: Method,
    settings: &AccountSettings,
    outcome: &Result<Answer, SendError>,
) -> bool {
    method == Method::Post
        && match outcome {
            Ok(answer) => !matches!(answer.status, 400..=407 | 410..=499),
            Err(error) => match error.delivery {
                Delivery::Unknown | Delivery::Rejected => true,
                Delivery::ConnectionTimeout => !settings.trust_connection_timeout,
                Delivery::NotSent | Delivery::Denied | Delivery::Refused => false,
            },
        }
}

/// What to do after an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// Decode the answer.
    Succeed,
    /// Try again after a pause.
    Retry,
    /// Try no more, although it might have helped.
    GiveUp(Stop),
    /// It would not help, or must not be tried.
    Fail,
}

/// Decides what follows the latest of so many attempts; `in_time` says whether the next one may
/// begin when the pause is over.
pub(crate) fn decide(
    method: Method,
    settings: &AccountSettings,
    verdict: Verdict,
    attempts: u32,
    in_time: bool,
) -> Next {
    let never = method == Method::Post && settings.create_retry == CreateRetry::Never;
    match verdict {
        Verdict::Success => Next::Succeed,
        Verdict::RateLimited | Verdict::Unavailable | Verdict::NotSent | Verdict::NoAnswer => {
            if never || attempts >= settings.max_attempts {
                Next::GiveUp(Stop::AttemptsUsedUp)
            } else if !in_time {
                Next::GiveUp(Stop::TimeUp)
            } else {
                Next::Retry
            }
        }
        _ => Next::Fail,
    }
}

/// How long to wait before the next attempt: exponential back-off with equal jitter (between half
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
    use crate::transport::SendError;
    use CreateRetry::{NotSent, ServerErrors};
    use Method::{Get, Post};

    fn answer(status: u16, body_end: BodyEnd) -> Outcome {
        Outcome::Answer(Answer {
            status,
            request_id: None,
            retry_after_ms: None,
            body: Vec::new(),
            body_end,
        })
    }

    fn no_answer(delivery: Delivery) -> Outcome {
        Outcome::NoAnswer(SendError {
            delivery,
            message: String::new(),
        })
    }

    #[test]
    fn every_status_has_its_verdict() {
        for status in 0..=999 {
            let expected = match status {
                200..=299 => Verdict::Success,
                401 | 403 => Verdict::Unauthorized,
                404 | 410 => Verdict::NotFound,
                425 | 429 => Verdict::RateLimited,
                408 | 500..=599 => Verdict::Unavailable,
                300..=499 => Verdict::Rejected,
                _ => Verdict::Unexpected,
            };
            for (method, create_retry) in [
                (Get, ServerErrors),
                (Get, NotSent),
                (Post, ServerErrors),
                (Post, NotSent),
            ] {
                let unsure =
                    expected == Verdict::Unavailable && (method, create_retry) == (Post, NotSent);
                let expected = if unsure {
                    Verdict::OutcomeUnknown
                } else {
                    expected
                };
                for body_end in [BodyEnd::Whole, BodyEnd::Broken(String::new())] {
                    if body_end != BodyEnd::Whole && expected == Verdict::Success {
                        continue;
                    }
                    let verdict = judge(method, create_retry, &answer(status, body_end));
                    assert_eq!(verdict, expected, "{status} {method:?} {create_retry:?}");
                }
            }
        }
    }

    #[test]
    fn a_body_that_breaks_off_under_a_2xx_is_repeated_only_on_reads() {
        let broken = answer(200, BodyEnd::Broken(String::new()));
        assert_eq!(judge(Get, ServerErrors, &broken), Verdict::NoAnswer);
        assert_eq!(judge(Post, ServerErrors, &broken), Verdict::Unexpected);
        assert_eq!(judge(Post, NotSent, &broken), Verdict::Unexpected);
        let large = answer(200, BodyEnd::TooLarge(9));
        assert_eq!(judge(Get, ServerErrors, &large), Verdict::Unexpected);
        assert_eq!(judge(Post, ServerErrors, &large), Verdict::Unexpected);
    }

    #[test]
    fn a_create_is_repeated_only_where_it_certainly_was_not_processed() {
        for (delivery, read, create) in [
            (Delivery::NotSent, Verdict::NotSent, Verdict::NotSent),
            (Delivery::Denied, Verdict::Denied, Verdict::Denied),
            (
                Delivery::Unknown,
                Verdict::NoAnswer,
                Verdict::OutcomeUnknown,
            ),
        ] {
            for create_retry in [ServerErrors, NotSent] {
                assert_eq!(judge(Get, create_retry, &no_answer(delivery)), read);
                assert_eq!(judge(Post, create_retry, &no_answer(delivery)), create);
            }
        }
        assert!(!Verdict::OutcomeUnknown.may_repeat());
    }

    #[test]
    fn pauses_double_up_to_the_cap_and_honour_the_service() {
        let settings = Settings::from_environment(
            [
                ("VOICE_CALLING_BASE_URL", "https://api.example"),
                ("VOICE_CALLING_API_TOKEN", "t"),
                ("VOICE_CALLING_BACKOFF_MS", "100"),
                ("VOICE_CALLING_MAX_BACKOFF_MS", "1000"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
        )
        .unwrap();
        for (failed, ceiling) in [
            (1, 100),
            (2, 200),
            (3, 400),
            (4, 800),
            (5, 1000),
            (100, 1000),
        ] {
            assert_eq!(pause_ms(&settings, failed, None, ceiling), ceiling);
            assert_eq!(pause_ms(&settings, failed, None, ceiling + 1), 0);
            assert!(pause_ms(&settings, failed, None, u64::MAX) <= ceiling);
        }
        assert_eq!(pause_ms(&settings, 1, Some(5_000), 50), 5_000);
        assert_eq!(pause_ms(&settings, 1, Some(10), 50), 50);
        assert_eq!(pause_ms(&settings, 1, Some(u64::MAX), 50), u64::MAX);
    }
}

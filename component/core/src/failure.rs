//! How an operation's attempts become the error that its caller gets.

use crate::attempt::{Answer, BodyEnd, Outcome};
use crate::bulk::MAX_ANSWER_BYTES;
use crate::retry::Verdict;
use crate::settings::Settings;
use crate::transport::{Delivery, Method};
use crate::types::{
    Attempt, ConfigurationProblem, HttpFailure, HttpResponse, InvalidInput, RequestError,
    TransportFailure, UnknownOutcome,
};

/// How much of a body an error keeps.
const KEPT_BODY_BYTES: usize = 8_192;

impl From<InvalidInput> for RequestError {
    fn from(problem: InvalidInput) -> Self {
        RequestError::PermanentInvalidInput(problem)
    }
}

/// Why an operation makes no further attempt, although it might have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It has made as many as it may.
    AttemptsUsedUp,
    /// It would begin too late.
    TimeUp,
    /// The gate is closed for longer than it has time.
    RateLimit,
    /// Others have requests open, as many as may be, for longer than it has time.
    NoPlace,
}

/// What has happened in an operation so far.
pub(crate) struct History<'a> {
    settings: &'a Settings,
    method: Method,
    began_ms: u64,
    attempts: Vec<Attempt>,
    /// The latest answer that says that the service would not or could not. After the
    /// server error of a create no rate limit counts: something may have been created.
    refusal: Option<(Verdict, HttpResponse)>,
    /// Whether any attempt may have reached the service.
    sent: bool,
}

impl<'a> History<'a> {
    pub(crate) fn begin(settings: &'a Settings, method: Method, now_ms: u64) -> Self {
        Self {
            settings,
            method,
            began_ms: now_ms,
            attempts: Vec::new(),
            refusal: None,
            sent: false,
        }
    }

    /// How many attempts there were.
    pub(crate) fn count(&self) -> u32 {
        self.attempts.len() as u32
    }

    /// The latest attempt.
    pub(crate) fn latest(&self) -> Option<&Attempt> {
        self.attempts.last()
    }

    pub(crate) fn into_attempts(self) -> Vec<Attempt> {
        self.attempts
    }

    /// Takes note of an attempt.
    pub(crate) fn record(
        &mut self,
        started_ms: u64,
        ended_ms: u64,
        outcome: &Outcome,
        verdict: Verdict,
    ) {
        let (status, transport_error) = match outcome {
            Outcome::NoAnswer(error) => (None, Some(error.message.as_str())),
            Outcome::Answer(answer) => match &answer.body_end {
                BodyEnd::Broken(message) => (Some(answer.status), Some(message.as_str())),
                BodyEnd::Whole | BodyEnd::TooLarge(_) => (Some(answer.status), None),
            },
        };
        self.attempts.push(Attempt {
            status,
            transport_error: transport_error.map(|message| self.settings.token.mask(message)),
            started_ms: to_u32(started_ms - self.began_ms),
            duration_ms: to_u32(ended_ms - started_ms),
        });
        match outcome {
            Outcome::Answer(answer) => {
                self.sent = true;
                let refused = match &self.refusal {
                    Some((Verdict::Unavailable, _)) if self.method == Method::Post => {
                        verdict == Verdict::Unavailable
                    }
                    _ => matches!(verdict, Verdict::RateLimited | Verdict::Unavailable),
                };
                if refused {
                    self.refusal = Some((verdict, http_response(self.settings, answer)));
                }
            }
            Outcome::NoAnswer(error) => self.sent |= error.delivery == Delivery::Unknown,
        }
    }

    /// The error of an operation whose attempts are used up, or that has no time
    /// for another. The latest answer decides, since it says the most; without one,
    /// whether anything was sent; and without an attempt, why there was none.
    pub(crate) fn give_up(self, stop: Stop) -> RequestError {
        let tries = match self.count() {
            1 => "1 attempt".to_owned(),
            count => format!("{count} attempts"),
        };
        if let Some((verdict, response)) = self.refusal {
            let message = format!("the service answered {} ({tries})", response.status);
            let failure = HttpFailure {
                message,
                response,
                attempts: self.attempts,
            };
            return match verdict {
                Verdict::RateLimited => RequestError::RateLimited(failure),
                _ => RequestError::Unavailable(failure),
            };
        }
        let latest = self
            .latest()
            .and_then(|attempt| attempt.transport_error.as_deref());
        match latest {
            None => RequestError::TimedOut(TransportFailure {
                message: match stop {
                    Stop::RateLimit => {
                        "nothing was sent: a rate limit that another request met lasts longer \
                         than there was time"
                    }
                    Stop::NoPlace => {
                        "nothing was sent: other requests took all VOICE_CALLING_MAX_IN_FLIGHT \
                         places for too long"
                    }
                    Stop::AttemptsUsedUp | Stop::TimeUp => "time ran out before anything was sent",
                }
                .to_owned(),
                attempts: self.attempts,
            }),
            Some(latest) if self.sent => RequestError::TimedOut(TransportFailure {
                message: format!("no answer of the service ({tries}): {latest}"),
                attempts: self.attempts,
            }),
            Some(latest) => RequestError::Unreachable(TransportFailure {
                message: format!("the service cannot be reached ({tries}): {latest}"),
                attempts: self.attempts,
            }),
        }
    }

    /// The error of an operation that must not go on.
    pub(crate) fn fail(self, verdict: Verdict, outcome: &Outcome) -> RequestError {
        match outcome {
            Outcome::Answer(answer) => self.fail_answered(verdict, answer),
            Outcome::NoAnswer(error) => {
                let message = self.settings.token.mask(&error.message);
                if error.delivery == Delivery::Denied {
                    return RequestError::PermanentConfiguration(ConfigurationProblem {
                        variable: "VOICE_CALLING_BASE_URL".to_owned(),
                        found: format!(
                            "the host {}, which the policy of this component's host denies \
                             ({message})",
                            self.settings.base_url.authority()
                        ),
                        allowed: "a host that the policy allows".to_owned(),
                        attempts: self.attempts,
                    });
                }
                RequestError::PermanentOutcomeUnknown(UnknownOutcome {
                    message: format!("the request may have been processed: {message}"),
                    response: None,
                    attempts: self.attempts,
                })
            }
        }
    }

    fn fail_answered(self, verdict: Verdict, answer: &Answer) -> RequestError {
        let response = http_response(self.settings, answer);
        let status = answer.status;
        if verdict == Verdict::OutcomeUnknown {
            return RequestError::PermanentOutcomeUnknown(UnknownOutcome {
                message: format!("the request may have been processed: the answer is {status}"),
                response: Some(response),
                attempts: self.attempts,
            });
        }
        let message = match (verdict, &answer.body_end) {
            (Verdict::Unauthorized, _) => {
                format!("the service does not accept the token ({status})")
            }
            (Verdict::NotFound, _) => format!("the service does not know it ({status})"),
            (Verdict::Rejected, _) => format!("the service refused the request ({status})"),
            (Verdict::Unexpected, _) if !(200..=299).contains(&status) => {
                format!("the status {status} means nothing here")
            }
            (_, BodyEnd::TooLarge(limit)) => format!(
                "the body of the answer is larger than {limit} bytes (VOICE_CALLING_MAX_RESPONSE_BYTES; \
                 in a batch at most {MAX_ANSWER_BYTES})"
            ),
            (_, BodyEnd::Broken(message)) => {
                format!(
                    "the body of the answer broke off: {}",
                    self.settings.token.mask(message)
                )
            }
            (_, BodyEnd::Whole) => format!("the answer {status} is not understood"),
        };
        let failure = HttpFailure {
            message,
            response,
            attempts: self.attempts,
        };
        match verdict {
            Verdict::Unauthorized => RequestError::PermanentUnauthorized(failure),
            Verdict::NotFound => RequestError::PermanentNotFound(failure),
            Verdict::Rejected => RequestError::PermanentRejected(failure),
            _ => RequestError::PermanentUnexpectedResponse(failure),
        }
    }
}

/// What an error keeps of an answer. The token is masked before the body is cut,
/// so that no half of it stays.
pub(crate) fn http_response(settings: &Settings, answer: &Answer) -> HttpResponse {
    let whole = settings.token.mask(&String::from_utf8_lossy(&answer.body));
    let kept = &whole[..whole.floor_char_boundary(KEPT_BODY_BYTES)];
    HttpResponse {
        status: answer.status,
        body: kept.to_owned(),
        body_cut: kept.len() < whole.len() || answer.body_end != BodyEnd::Whole,
        request_id: answer
            .request_id
            .as_deref()
            .map(|id| settings.token.mask(id)),
        retry_after_ms: answer.retry_after_ms,
    }
}

/// Milliseconds as the WIT has them: 49 days and more are all the same.
pub(crate) fn to_u32(duration_ms: u64) -> u32 {
    u32::try_from(duration_ms).unwrap_or(u32::MAX)
}

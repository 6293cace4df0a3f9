//! How an operation's attempts become the error that its caller gets.

use crate::attempt::{Answer, BodyEnd};
use crate::operation::Success;
use crate::retry::{Verdict, judge, may_have_created};
use crate::settings::AccountSettings;
use crate::transport::{Delivery, Method, SendError};
use crate::types::{Attempt, Failure, HttpResponse, Problem, RequestError};

/// How much of a body an error keeps.
const KEPT_BODY_BYTES: usize = 8_192;

/// How much of a body is looked at for that. Masking makes it shorter.
const MASKED_BODY_BYTES: usize = 2 * KEPT_BODY_BYTES;

/// How much of a host's message an attempt keeps.
const KEPT_MESSAGE_BYTES: usize = 512;

/// A setting or argument at fault.
pub(crate) fn problem(
    subject: impl Into<String>,
    found: impl Into<String>,
    allowed: impl Into<String>,
) -> Problem {
    Problem {
        subject: subject.into(),
        found: found.into(),
        allowed: allowed.into(),
    }
}

fn failure_of(problem: Problem) -> Failure {
    Failure {
        message: format!(
            "{}: found {}; allowed: {}",
            problem.subject, problem.found, problem.allowed
        ),
        problem: Some(problem),
        response: None,
        attempts: Vec::new(),
        may_have_created: false,
    }
}

/// The error of a setting, before anything was sent.
pub(crate) fn configuration_error(problem: Problem) -> RequestError {
    RequestError::PermanentConfiguration(failure_of(problem))
}

/// The error of an argument, before anything was sent.
impl From<Problem> for RequestError {
    fn from(problem: Problem) -> Self {
        RequestError::PermanentInvalidInput(failure_of(problem))
    }
}

/// Why an operation makes no further attempt, although it might have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It has made as many as it may.
    AttemptsUsedUp,
    /// It would begin too late.
    TimeUp,
    /// Others have requests open, as many as may be, for longer than it has time.
    NoPlace,
}

/// What has happened in an operation so far.
pub(crate) struct History<'a> {
    settings: &'a AccountSettings,
    method: Method,
    began_ms: u64,
    attempts: Vec<Attempt>,
    /// The latest answer that says that the service would not or could not. After the
    /// server error of a create no rate limit counts: something may have been created.
    refusal: Option<(Verdict, HttpResponse)>,
    /// Whether any attempt may have reached the service.
    sent: bool,
    /// Whether any attempt may have created something, and whether one before the latest may.
    may_have_created: bool,
    may_have_created_before: bool,
}

impl<'a> History<'a> {
    pub(crate) fn begin(settings: &'a AccountSettings, method: Method, now_ms: u64) -> Self {
        Self {
            settings,
            method,
            began_ms: now_ms,
            attempts: Vec::new(),
            refusal: None,
            sent: false,
            may_have_created: false,
            may_have_created_before: false,
        }
    }

    /// How many attempts there were.
    pub(crate) fn count(&self) -> u32 {
        self.attempts.len() as u32
    }

    pub(crate) fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    /// The latest attempt.
    pub(crate) fn latest(&self) -> Option<&Attempt> {
        self.attempts.last()
    }

    /// Whether an attempt before the latest may have created something.
    pub(crate) fn may_have_created_before(&self) -> bool {
        self.may_have_created_before
    }

    /// Takes note of an attempt.
    pub(crate) fn record(
        &mut self,
        started_ms: u64,
        ended_ms: u64,
        outcome: &Result<Answer, SendError>,
    ) {
        let (status, transport_error) = match outcome {
            Err(error) => (None, Some(error.message.as_str())),
            Ok(answer) => match &answer.body_end {
                BodyEnd::Broken(message) => (Some(answer.status), Some(message.as_str())),
                BodyEnd::Whole | BodyEnd::TooLarge(_) => (Some(answer.status), None),
            },
        };
        self.attempts.push(Attempt {
            status,
            transport_error: transport_error.map(|message| self.shown(message)),
            started_ms: to_u32(started_ms - self.began_ms),
            duration_ms: to_u32(ended_ms - started_ms),
        });
        self.may_have_created_before = self.may_have_created;
        self.may_have_created |= may_have_created(self.method, self.settings, outcome);
        match outcome {
            Ok(answer) => {
                self.sent = true;
                let verdict = judge(self.method, self.settings, outcome);
                let refused = match verdict {
                    Verdict::Unavailable => true,
                    Verdict::RateLimited => !self.may_have_created,
                    _ => false,
                };
                if refused {
                    self.refusal = Some((verdict, http_response(self.settings, answer)));
                }
            }
            Err(error) => {
                self.sent |= matches!(error.delivery, Delivery::Unknown | Delivery::Rejected);
            }
        }
    }

    pub(crate) fn succeed(self, answer: Answer) -> Success<'a> {
        Success {
            settings: self.settings,
            history: self,
            answer,
        }
    }

    /// The error of an operation whose attempts are used up, or that has no time
    /// for another. What may have been created decides; then the latest answer, since it says the
    /// most; without one, whether anything was sent; and without an attempt, why there was none.
    pub(crate) fn give_up(self, stop: Stop) -> RequestError {
        let tries = match self.count() {
            1 => "1 attempt".to_owned(),
            count => format!("{count} attempts"),
        };
        let refused = self.refusal.as_ref().map(|(verdict, response)| {
            let message = format!("the service answered {} ({tries})", response.status);
            (*verdict, message)
        });
        let latest = self
            .latest()
            .and_then(|attempt| attempt.transport_error.clone());
        let (case, message): (Case, _) = match (refused, latest) {
            (Some((Verdict::RateLimited, message)), _) => (RequestError::RateLimited, message),
            (Some((_, message)), _) => (RequestError::Unavailable, message),
            (None, None) => (
                RequestError::TimedOut,
                match stop {
                    Stop::NoPlace => {
                        "nothing was sent: other requests took all VOICE_CALLING_MAX_IN_FLIGHT \
                         places for too long"
                    }
                    Stop::AttemptsUsedUp | Stop::TimeUp => "time ran out before anything was sent",
                }
                .to_owned(),
            ),
            (None, Some(latest)) if self.sent => (
                RequestError::TimedOut,
                format!("no answer of the service ({tries}): {latest}"),
            ),
            (None, Some(latest)) => (
                RequestError::Unreachable,
                format!("the service cannot be reached ({tries}): {latest}"),
            ),
        };
        let case = match self.may_have_created {
            true => RequestError::PermanentOutcomeUnknown,
            false => case,
        };
        let response = self.refusal.as_ref().map(|(_, response)| response.clone());
        case(self.failure(message, None, response))
    }

    /// The error of an operation that must not go on.
    pub(crate) fn fail(
        self,
        verdict: Verdict,
        outcome: &Result<Answer, SendError>,
    ) -> RequestError {
        match outcome {
            Ok(answer) => self.fail_answered(verdict, answer),
            Err(error) => self.fail_unanswered(verdict, error),
        }
    }

    fn fail_unanswered(mut self, verdict: Verdict, error: &SendError) -> RequestError {
        let message = self.shown(&error.message);
        match verdict {
            Verdict::Denied => {
                let found = format!(
                    "the host {}, which the policy of this component's host denies ({message})",
                    self.settings.base_url.authority()
                );
                let allowed = "a host that the policy allows";
                let problem = problem("VOICE_CALLING_BASE_URL", found, allowed);
                RequestError::PermanentConfiguration(self.failed_by(problem))
            }
            Verdict::Refused => {
                let allowed = "a request that the host takes";
                let problem = problem("request", message, allowed);
                RequestError::PermanentInvalidInput(self.failed_by(problem))
            }
            _ => {
                let message = format!("the request was sent, and no answer came: {message}");
                // A rate limit before it decides nothing.
                let refusal = self.refusal.take();
                let failed = refusal.filter(|(verdict, _)| *verdict == Verdict::Unavailable);
                let response = failed.map(|(_, response)| response);
                RequestError::PermanentOutcomeUnknown(self.failure(message, None, response))
            }
        }
    }

    fn fail_answered(self, verdict: Verdict, answer: &Answer) -> RequestError {
        let response = http_response(self.settings, answer);
        let status = answer.status;
        let (case, message): (Case, _) = match (verdict, &answer.body_end) {
            (Verdict::OutcomeUnknown, _) => (
                RequestError::PermanentOutcomeUnknown,
                format!("the service answered {status}"),
            ),
            (Verdict::Unauthorized, _) => (
                RequestError::PermanentUnauthorized,
                format!("the service does not accept the token ({status})"),
            ),
            (Verdict::NotFound, _) => (
                RequestError::PermanentNotFound,
                format!("the service does not know it ({status})"),
            ),
            (Verdict::Rejected, _) => (
                RequestError::PermanentRejected,
                match answer.location.as_deref().filter(|_| status < 400) {
                    Some(location) => format!(
                        "the service redirects to {} ({status}), and redirects are not followed",
                        self.settings.token.mask(location)
                    ),
                    None => format!("the service refused the request ({status})"),
                },
            ),
            _ if !(200..=299).contains(&status) => (
                RequestError::PermanentUnexpectedResponse,
                format!("the status {status} means nothing here"),
            ),
            (_, BodyEnd::TooLarge(limit)) => (
                RequestError::PermanentUnexpectedResponse,
                format!(
                    "the body of the answer is larger than {limit} bytes \
                     (VOICE_CALLING_MAX_RESPONSE_BYTES; after a create, 16384 more than its request)"
                ),
            ),
            (_, BodyEnd::Broken(message)) => (
                RequestError::PermanentUnexpectedResponse,
                format!("the body of the answer broke off: {}", self.shown(message)),
            ),
            (_, BodyEnd::Whole) => (
                RequestError::PermanentUnexpectedResponse,
                format!("the answer {status} is not understood"),
            ),
        };
        case(self.failure(message, None, Some(response)))
    }

    /// The error of a 2xx that cannot be understood.
    pub(crate) fn not_understood(
        self,
        response: HttpResponse,
        found: &str,
        media: Option<&str>,
    ) -> RequestError {
        let media = media.map_or(String::new(), |media| {
            format!(" ({})", self.settings.token.mask(media))
        });
        let message = format!("the answer{media} cannot be understood: {found}");
        RequestError::PermanentUnexpectedResponse(self.failure(message, None, Some(response)))
    }

    fn failed_by(self, problem: Problem) -> Failure {
        let message = failure_of(problem.clone()).message;
        self.failure(message, Some(problem), None)
    }

    fn failure(
        self,
        message: String,
        problem: Option<Problem>,
        response: Option<HttpResponse>,
    ) -> Failure {
        let created = match self.may_have_created {
            true => "; it may have been created, and a phone may be ringing",
            false => "",
        };
        Failure {
            message: format!("{message}{created}"),
            problem,
            response,
            attempts: self.attempts,
            may_have_created: self.may_have_created,
        }
    }

    /// A host's message in an error.
    fn shown(&self, message: &str) -> String {
        let masked = self.settings.token.mask(message);
        masked[..masked.floor_char_boundary(KEPT_MESSAGE_BYTES)].to_owned()
    }
}

/// A case of the error, without its failure.
type Case = fn(Failure) -> RequestError;

/// What an error keeps of an answer. The token is masked before the body is cut,
/// so that no half of it stays.
pub(crate) fn http_response(settings: &AccountSettings, answer: &Answer) -> HttpResponse {
    let looked_at = &answer.body[..answer.body.len().min(MASKED_BODY_BYTES)];
    let masked = settings.token.mask(&String::from_utf8_lossy(looked_at));
    let kept = &masked[..masked.floor_char_boundary(KEPT_BODY_BYTES)];
    HttpResponse {
        status: answer.status,
        body: kept.to_owned(),
        body_cut: kept.len() < masked.len()
            || looked_at.len() < answer.body.len()
            || answer.body_end != BodyEnd::Whole,
        request_id: answer
            .request_id
            .as_deref()
            .map(|id| settings.token.mask(id)),
        retry_after_ms: answer.retry_after_ms.map(to_u32),
    }
}

/// Milliseconds as the WIT has them: 49 days and more are all the same.
pub(crate) fn to_u32(duration_ms: u64) -> u32 {
    u32::try_from(duration_ms).unwrap_or(u32::MAX)
}

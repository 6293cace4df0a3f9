//! Turns the attempts of an operation into the error that its caller receives.

use crate::attempt::{BodyEnd, ReceivedResponse};
use crate::next_step::next_step;
use crate::problem::problem;
use crate::retry::{Stop, Verdict, may_have_created};
use crate::settings::AccountSettings;
use crate::transport::{CANCELLED, Delivery, Method, SendError};
use crate::types::{Attempt, Failure, FailureKind, HttpResponse, Problem};

/// The maximum size of a body in an error.
const KEPT_BODY_BYTES: usize = 8_192;

/// The size of the part of a body in which the token is masked, so that a token that begins in the
/// kept part is masked whole.
const MASKED_BODY_BYTES: usize = 2 * KEPT_BODY_BYTES;

/// The maximum size of a host's message in an attempt.
const KEPT_MESSAGE_BYTES: usize = 512;

/// The attempts of an operation so far.
pub(crate) struct History<'a> {
    settings: &'a AccountSettings,
    account: Option<&'a str>,
    method: Method,
    began_ms: u64,
    attempts: Vec<Attempt>,
    /// The latest retryable response: 5xx, 408, 429 or 425. After a server error of a create, rate
    /// limits are ignored: something may have been created.
    retryable: Option<(Verdict, HttpResponse)>,
    /// Whether any attempt may have reached the service.
    sent: bool,
    /// Whether any attempt may have created something, and whether one before the latest may.
    may_have_created: bool,
    may_have_created_before: bool,
}

impl<'a> History<'a> {
    pub(crate) fn new(
        settings: &'a AccountSettings,
        account: Option<&'a str>,
        method: Method,
        now_ms: u64,
    ) -> Self {
        Self {
            settings,
            account,
            method,
            began_ms: now_ms,
            attempts: Vec::new(),
            retryable: None,
            sent: false,
            may_have_created: false,
            may_have_created_before: false,
        }
    }

    pub(crate) fn count(&self) -> u32 {
        self.attempts.len() as u32
    }

    pub(crate) fn attempts(&self) -> &[Attempt] {
        &self.attempts
    }

    pub(crate) fn latest(&self) -> Option<&Attempt> {
        self.attempts.last()
    }

    pub(crate) fn may_have_created(&self) -> bool {
        self.may_have_created
    }

    pub(crate) fn may_have_created_before(&self) -> bool {
        self.may_have_created_before
    }

    pub(crate) fn record(
        &mut self,
        started_ms: u64,
        ended_ms: u64,
        outcome: &Result<ReceivedResponse, SendError>,
        verdict: Verdict,
    ) {
        let (status, transport_error) = match outcome {
            Err(error) => (None, Some(error.message.as_str())),
            Ok(received) => match &received.body_end {
                BodyEnd::Failed(message) => (Some(received.status), Some(message.as_str())),
                BodyEnd::Complete | BodyEnd::TooLarge(_) => (Some(received.status), None),
            },
        };
        self.attempts.push(Attempt {
            status,
            transport_error: transport_error.map(|message| self.shown(message)),
            started_ms: to_u32(started_ms.saturating_sub(self.began_ms)),
            duration_ms: to_u32(ended_ms.saturating_sub(started_ms)),
        });
        self.may_have_created_before = self.may_have_created;
        self.may_have_created |= may_have_created(self.method, self.settings, outcome);
        match outcome {
            Ok(received) => {
                self.sent = true;
                let refused = match verdict {
                    Verdict::Unavailable => true,
                    Verdict::RateLimited => !self.may_have_created,
                    _ => false,
                };
                if refused {
                    self.retryable = Some((verdict, http_response(self.settings, received)));
                }
            }
            Err(error) => {
                self.sent |= matches!(error.delivery, Delivery::Unknown | Delivery::Rejected);
            }
        }
    }

    /// Returns the error of an operation that has no attempt or no time left. It depends on what
    /// may have been created; then on the latest response, since that says the most; without one,
    /// on whether anything was sent; and without an attempt, on why there was none.
    pub(crate) fn give_up(self, stop: Stop) -> Failure {
        let attempts = match self.count() {
            1 => "1 attempt".to_owned(),
            count => format!("{count} attempts"),
        };
        let refused = self.retryable.as_ref().map(|(verdict, response)| {
            let message = format!("the service answered {} ({attempts})", response.status);
            match stop {
                Stop::TimeUp => (*verdict, format!("{message}{}", self.no_time(response))),
                _ => (*verdict, message),
            }
        });
        let latest = self
            .latest()
            .and_then(|attempt| attempt.transport_error.clone());
        let (kind, message) = match (refused, latest) {
            (Some((Verdict::RateLimited, message)), _) => (FailureKind::RateLimited, message),
            (Some((_, message)), _) => (FailureKind::Unavailable, message),
            (None, None) => {
                let (kind, message) = match stop {
                    Stop::NoPermit => (
                        FailureKind::TimedOut,
                        "nothing was sent: all VOICE_CALLING_MAX_IN_FLIGHT slots stayed in use for too long",
                    ),
                    Stop::AttemptsUsedUp | Stop::TimeUp => (
                        FailureKind::TimedOut,
                        "time ran out before anything was sent",
                    ),
                    Stop::Cancelled => (FailureKind::NotBegun, CANCELLED),
                };
                (kind, message.to_owned())
            }
            (None, Some(latest)) if self.sent => (
                FailureKind::TimedOut,
                format!("no answer from the service ({attempts}): {latest}"),
            ),
            (None, Some(latest)) => (
                FailureKind::Unreachable,
                format!("the service cannot be reached ({attempts}): {latest}"),
            ),
        };
        let kind = match self.may_have_created {
            true => FailureKind::OutcomeUnknown,
            false => kind,
        };
        let message = match stop {
            Stop::Cancelled if !message.ends_with(CANCELLED) => format!("{message}; {CANCELLED}"),
            _ => message,
        };
        let response = self
            .retryable
            .as_ref()
            .map(|(_, response)| response.clone());
        self.failure(kind, message, None, response)
    }

    /// Returns why no attempt followed a response for which an attempt was left.
    fn no_time(&self, response: &HttpResponse) -> String {
        let is_latest = self.latest().and_then(|attempt| attempt.status) == Some(response.status);
        let asked_ms = response.retry_after_ms.filter(|ms| is_latest && *ms > 0);
        let asks = asked_ms.map_or(String::new(), |ms| {
            format!(" and asks to wait {} s", ms.div_ceil(1_000))
        });
        format!("{asks}: no time is left for another attempt (VOICE_CALLING_DEADLINE_MS)")
    }

    /// Returns the error of an operation that must not go on.
    pub(crate) fn fail(
        self,
        verdict: Verdict,
        outcome: &Result<ReceivedResponse, SendError>,
    ) -> Failure {
        match outcome {
            Ok(received) => self.fail_with_response(verdict, received),
            Err(error) => self.fail_without_response(verdict, error),
        }
    }

    fn fail_without_response(mut self, verdict: Verdict, error: &SendError) -> Failure {
        let message = self.shown(&error.message);
        match verdict {
            Verdict::Denied => {
                let found = format!(
                    "the host {}, which this component's host does not allow ({message})",
                    self.settings.base_url.authority()
                );
                let allowed =
                    "a host that the engine, or the program that runs the component, lets it reach";
                let problem = problem("VOICE_CALLING_BASE_URL", found, allowed);
                self.fail_with_problem(FailureKind::Configuration, problem)
            }
            Verdict::Refused => {
                let allowed = "a request that the host accepts";
                let problem = problem("request", message, allowed);
                self.fail_with_problem(FailureKind::InvalidInput, problem)
            }
            _ => {
                let message = format!("the request was sent, but no answer came: {message}");
                let response = self.take_server_error();
                self.failure(FailureKind::OutcomeUnknown, message, None, response)
            }
        }
    }

    fn fail_with_response(self, verdict: Verdict, received: &ReceivedResponse) -> Failure {
        let response = http_response(self.settings, received);
        let status = received.status;
        let (kind, message) = match (verdict, &received.body_end) {
            (Verdict::OutcomeUnknown, _) => (
                FailureKind::OutcomeUnknown,
                format!("the service answered {status}"),
            ),
            (Verdict::Unauthorized, _) => (
                FailureKind::Unauthorized,
                match self.account {
                    Some(name) => {
                        format!("the service rejected the token of the account {name} ({status})")
                    }
                    None => format!("the service rejected the token ({status})"),
                },
            ),
            (Verdict::NotFound, _) => (
                FailureKind::NotFound,
                format!("the service answered not found ({status})"),
            ),
            (Verdict::Rejected, _) => (
                FailureKind::Rejected,
                match received.location.as_deref().filter(|_| status < 400) {
                    Some(location) => format!(
                        "the service redirects to {} ({status}), and redirects are not followed",
                        self.settings.token.mask(location)
                    ),
                    None => format!("the service rejected the request ({status})"),
                },
            ),
            _ if !(200..=299).contains(&status) => (
                FailureKind::UnexpectedResponse,
                format!("unexpected status {status}"),
            ),
            (_, BodyEnd::TooLarge(limit)) => (
                FailureKind::UnexpectedResponse,
                format!(
                    "the response body is larger than {limit} bytes \
                     (VOICE_CALLING_MAX_RESPONSE_BYTES; after a create, 1 MiB more than six times its request)"
                ),
            ),
            (_, BodyEnd::Failed(message)) => (
                FailureKind::UnexpectedResponse,
                format!("the response body ended early: {}", self.shown(message)),
            ),
            (_, BodyEnd::Complete) => (
                FailureKind::UnexpectedResponse,
                format!("unexpected response ({status})"),
            ),
        };
        self.failure(kind, message, None, Some(response))
    }

    /// Returns the error of a 2xx that cannot be decoded.
    pub(crate) fn undecodable(
        self,
        response: HttpResponse,
        found: &str,
        media: Option<&str>,
    ) -> Failure {
        let media = media.map_or(String::new(), |media| {
            format!(" ({})", self.settings.token.mask(media))
        });
        // It may contain a part of the response.
        let found = self.settings.token.mask(found);
        let message = format!("unexpected response{media}: {found}");
        self.failure(
            FailureKind::UnexpectedResponse,
            message,
            None,
            Some(response),
        )
    }

    /// Returns the error of a request that was not sent. It says that nothing was created, unless
    /// an earlier attempt may have created something.
    fn fail_with_problem(mut self, kind: FailureKind, problem: Problem) -> Failure {
        let message = problem.to_string();
        match self.may_have_created {
            true => {
                let response = self.take_server_error();
                self.failure(
                    FailureKind::OutcomeUnknown,
                    message,
                    Some(problem),
                    response,
                )
            }
            false => self.failure(kind, message, Some(problem), None),
        }
    }

    /// Takes the server error that preceded the final attempt. Rate limits do not count.
    fn take_server_error(&mut self) -> Option<HttpResponse> {
        let retryable = self.retryable.take();
        let failed = retryable.filter(|(verdict, _)| *verdict == Verdict::Unavailable);
        failed.map(|(_, response)| response)
    }

    fn failure(
        self,
        kind: FailureKind,
        message: String,
        problem: Option<Problem>,
        response: Option<HttpResponse>,
    ) -> Failure {
        let created = match self.may_have_created {
            true => "; it may have been created: check before you retry",
            false => "",
        };
        let status = response.as_ref().map(|response| response.status);
        Failure {
            kind,
            next_step: next_step(self.method, kind, status, self.may_have_created),
            message: format!("{message}{created}"),
            problem,
            response,
            attempts: self.attempts,
            may_have_created: self.may_have_created,
        }
    }

    /// Masks and shortens a host's message for an error.
    fn shown(&self, message: &str) -> String {
        let masked = self.settings.token.mask(message);
        masked[..masked.floor_char_boundary(KEPT_MESSAGE_BYTES)].to_owned()
    }
}

/// Returns the part of a response that an error keeps. The token is masked before the body is cut,
/// so that no part of the token remains.
pub(crate) fn http_response(
    settings: &AccountSettings,
    received: &ReceivedResponse,
) -> HttpResponse {
    let examined = &received.body[..received.body.len().min(MASKED_BODY_BYTES)];
    let masked = settings.token.mask(&String::from_utf8_lossy(examined));
    let kept = &masked[..masked.floor_char_boundary(KEPT_BODY_BYTES)];
    HttpResponse {
        status: received.status,
        body: kept.to_owned(),
        body_cut: kept.len() < masked.len()
            || examined.len() < received.body.len()
            || received.body_end != BodyEnd::Complete,
        request_id: received
            .request_id
            .as_deref()
            .map(|id| settings.token.mask(id)),
        retry_after_ms: received.retry_after_ms.map(to_u32),
    }
}

/// Converts milliseconds to the WIT's type; 49 days and more become its maximum.
pub(crate) fn to_u32(duration_ms: u64) -> u32 {
    u32::try_from(duration_ms).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{received, settings};

    #[test]
    fn an_operation_without_an_attempt_says_why() {
        let settings = settings(&[]);
        for (stop, said) in [
            (Stop::TimeUp, "time ran out before anything was sent"),
            (
                Stop::NoPermit,
                "nothing was sent: all VOICE_CALLING_MAX_IN_FLIGHT slots stayed in use for too long",
            ),
        ] {
            let history = History::new(&settings, None, Method::Post, 0);
            let failure = history.give_up(stop);
            assert_eq!(
                (failure.kind, &*failure.message),
                (FailureKind::TimedOut, said)
            );
        }
    }

    #[test]
    fn the_message_of_a_host_is_cut_and_its_token_is_masked() {
        let settings = settings(&[]);
        let mut history = History::new(&settings, None, Method::Get, 0);
        let message = format!("simulated-token {}", "\u{e4}".repeat(400));
        let delivery = Delivery::NotSent;
        let outcome = Err(SendError { delivery, message });
        history.record(0, 0, &outcome, Verdict::NotSent);
        let shown = history.attempts()[0].transport_error.clone().unwrap();
        assert!(shown.starts_with("[api token] \u{e4}"), "{shown}");
        assert_eq!(shown.len(), 512);
    }

    #[test]
    fn an_error_keeps_the_beginning_of_a_long_body_and_no_half_of_a_token() {
        let settings = settings(&[]);
        for (body, kept, cut) in [
            ("\u{e4}".repeat(4_096), 8_192, false),
            ("\u{e4}".repeat(4_097), 8_192, true),
            (format!("x{}", "\u{e4}".repeat(4_096)), 8_191, true),
            // Masking shortens the body, but it counts as cut if not all of it was examined.
            ("simulated-token".repeat(2_000), 8_192, true),
        ] {
            let response = http_response(&settings, &received(422, &body));
            assert_eq!((response.body.len(), response.body_cut), (kept, cut));
        }
        let unfinished = ReceivedResponse {
            body_end: BodyEnd::Failed("cut".into()),
            ..received(200, "")
        };
        assert!(http_response(&settings, &unfinished).body_cut);
        for before in 8_170..8_200 {
            let body = format!("{} simulated-token", "x".repeat(before));
            let received = ReceivedResponse {
                request_id: Some("simulated-token/1".to_owned()),
                retry_after_ms: Some(u64::MAX),
                ..received(422, &body)
            };
            let response = http_response(&settings, &received);
            assert_eq!(response.request_id.as_deref(), Some("[api token]/1"));
            assert_eq!(response.retry_after_ms, Some(u32::MAX));
            assert!(!response.body.contains("sim"), "{before}");
        }
    }
}

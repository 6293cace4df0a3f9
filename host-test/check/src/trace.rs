//! The history of an operation, request by request, as the service saw it, and its meaning for a
//! correct component. This is the table of docs/errors.md written a second time, from the service's
//! side, so that components can be judged by it.

use super::scenario::{CreateRetry, Run, Satisfies, Turn};
use crate::error_codes::{Meaning, meaning};
use crate::operation::{Operation, external_id};
use crate::script::{Received, ReceivedBody, Sent};
use httpdate::parse_http_date;
use std::time::{Duration, UNIX_EPOCH};

/// The size that the answer to a create may have beyond its request, with each byte escaped in six.
const CREATED_BYTES: usize = 1 << 20;

/// The size that all results of a batch may have beyond their requests.
const RESULTS_BYTES: usize = 16 << 20;

/// The size up to which an answer is read at the default settings.
const RESPONSE_BYTES: usize = 8 << 20;

/// A pause beyond any that a service asks for.
const A_DAY_MS: u64 = 86_400_000;

/// The requests of one operation, or of one item of a batch.
pub(crate) struct Trace<'a> {
    /// The run that it is a part of.
    pub run: &'a Run,
    /// The attempts, in the order in which they were sent.
    pub attempts: Vec<Attempt<'a>>,
}

/// A request and its outcome.
#[derive(Clone, Copy)]
pub(crate) struct Attempt<'a> {
    /// The request.
    pub sent: &'a Sent,
    run: &'a Run,
    turn: &'a Turn,
    /// Whether a timer of the guest may have expired at the very moment at which the service acted:
    /// either may have come first.
    pub on_the_edge: bool,
}

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The request was never sent.
    NotSent,
    /// The request never will be sent.
    Denied,
    /// The request was refused for its content.
    Rejected,
    /// The fate of the request is unknown.
    Unknown,
    /// A status, with this part of the body.
    Status(u16, ReceivedBody),
}

impl<'a> Trace<'a> {
    /// Returns a trace for each item of a batch, or one for any other operation.
    pub(crate) fn all(run: &'a Run) -> Vec<Trace<'a>> {
        if run.scenario.operation != Operation::CreateDocketsV2 || run.scenario.arguments.items == 1
        {
            return vec![Self::of(run, run.sent.iter())];
        }
        let ids: Vec<_> = run.sent.iter().map(Sent::external_id).collect();
        let of_item = |index| {
            let id = external_id(index);
            let sent = run.sent.iter().zip(&ids);
            Self::of(run, sent.filter(|(_, of)| **of == id).map(|(sent, _)| sent))
        };
        (0..run.scenario.arguments.items).map(of_item).collect()
    }

    fn of(run: &'a Run, sent: impl Iterator<Item = &'a Sent>) -> Self {
        let mut attempts: Vec<Attempt> = Vec::new();
        for sent in sent {
            let ended_ms = sent.ended_ms.unwrap_or(run.ended_ms);
            let near = |edge_ms: u64| edge_ms.abs_diff(ended_ms) <= 1;
            // If the service did not act at that moment, the guest's timer expired.
            let acted = sent.acted_ms.is_some_and(near);
            let settings = &run.scenario.settings;
            // Each poll of a wait has its own deadline, which may begin with any of the attempts.
            let mut began_ms = attempts.iter().map(|before| before.sent.at_ms);
            let on_the_edge = acted
                && ended_ms > sent.at_ms
                && (near(sent.at_ms + settings.attempt_timeout_ms)
                    || near(sent.at_ms + settings.deadline_ms)
                    || near(run.scenario.arguments.timeout_ms.into())
                    || began_ms.any(|began_ms| near(began_ms + settings.deadline_ms)));
            attempts.push(Attempt {
                sent,
                run,
                turn: &run.scenario.turns[sent.step],
                on_the_edge,
            });
        }
        Self { run, attempts }
    }

    /// Returns the trace of the last `count` requests.
    pub(crate) fn last(&self, count: usize) -> Trace<'a> {
        let skipped = self.attempts.len().saturating_sub(count);
        Trace {
            run: self.run,
            attempts: self.attempts[skipped..].to_vec(),
        }
    }

    /// Returns `true` if it is uncertain what the guest has seen.
    pub(crate) fn on_the_edge(&self) -> bool {
        self.attempts.iter().any(|attempt| attempt.on_the_edge)
    }

    /// Returns the kinds of failures in which the operation may end; `ok` is success.
    pub(crate) fn allowed_kinds(&self) -> Vec<&'static str> {
        let Some(last) = self.attempts.last() else {
            return vec!["timed-out", "not-begun"];
        };
        let create = self.run.scenario.operation.is_create();
        match last.outcome() {
            Outcome::Denied if self.may_have_created() => vec![self.given_up()],
            Outcome::Denied => vec!["configuration"],
            Outcome::Rejected if !create => vec!["invalid-input"],
            Outcome::Status(200..=299, ReceivedBody::Whole) if !last.is_too_large() => {
                match last.turn.satisfies {
                    Satisfies::No => vec!["unexpected-response"],
                    Satisfies::Yes => vec!["ok"],
                    Satisfies::Perhaps => vec!["ok", "unexpected-response"],
                }
            }
            Outcome::Status(200..=299, ReceivedBody::Whole) => {
                vec!["unexpected-response"]
            }
            Outcome::Status(200..=299, _) if create => vec!["unexpected-response"],
            // A body that was given up was too large, or it was late and may be retried.
            Outcome::Status(200..=299, ReceivedBody::Begun) => {
                vec!["unexpected-response", self.given_up()]
            }
            Outcome::Status(401 | 403, _) => vec!["unauthorized"],
            Outcome::Status(404 | 410, _) => vec!["not-found"],
            Outcome::Status(408 | 425 | 429 | 500..=599, _) => vec![self.given_up()],
            Outcome::Status(200..=299, ReceivedBody::Broken) => vec![self.given_up()],
            Outcome::Status(300..=499, _) => vec!["rejected"],
            Outcome::Status(..) => vec!["unexpected-response"],
            Outcome::NotSent | Outcome::Rejected | Outcome::Unknown => vec![self.given_up()],
        }
    }

    /// Returns the kind if no attempt or no time is left.
    fn given_up(&self) -> &'static str {
        if self.may_have_created() {
            return "outcome-unknown";
        }
        let of_attempt = |attempt: &Attempt| match attempt.outcome() {
            Outcome::Status(408 | 500..=599, _) => Some("unavailable"),
            Outcome::Status(425 | 429, _) => Some("rate-limited"),
            _ => None,
        };
        let not_sent = |attempt: &Attempt| matches!(attempt.outcome(), Outcome::NotSent);
        match self.attempts.iter().rev().find_map(of_attempt) {
            Some(kind) => kind,
            None if self.attempts.iter().all(not_sent) => "unreachable",
            None => "timed-out",
        }
    }

    /// Returns `true` if any of the requests may have created something.
    pub(crate) fn may_have_created(&self) -> bool {
        self.attempts.iter().any(Attempt::may_have_created)
    }
}

impl Attempt<'_> {
    /// Returns the outcome of the attempt.
    pub(crate) fn outcome(&self) -> Outcome {
        let scenario = &self.run.scenario;
        match &self.sent.received {
            Received::Nothing => Outcome::Unknown,
            Received::Answer(status, body) => Outcome::Status(*status, *body),
            Received::Failure(code) => match meaning(code) {
                Meaning::NotSent => Outcome::NotSent,
                Meaning::ConnectionTimeout
                    if scenario.operation.is_create()
                        && !scenario.settings.trust_connection_timeout =>
                {
                    Outcome::Unknown
                }
                Meaning::ConnectionTimeout => Outcome::NotSent,
                Meaning::Denied => Outcome::Denied,
                Meaning::Rejected => Outcome::Rejected,
                Meaning::Unknown => Outcome::Unknown,
            },
        }
    }

    /// Returns `true` if another attempt may follow.
    pub(crate) fn may_be_repeated(&self) -> bool {
        let scenario = &self.run.scenario;
        let retry = scenario
            .operation
            .is_create()
            .then_some(scenario.settings.create_retry);
        match self.outcome() {
            Outcome::NotSent | Outcome::Status(429 | 425, _) => retry != Some(CreateRetry::Never),
            Outcome::Status(408 | 500..=599, _) => {
                matches!(retry, None | Some(CreateRetry::ServerErrors))
            }
            Outcome::Unknown => retry.is_none(),
            Outcome::Status(200..=299, body) => retry.is_none() && body != ReceivedBody::Whole,
            Outcome::Denied | Outcome::Rejected | Outcome::Status(..) => false,
        }
    }

    /// Returns `true` if a wait continues after this attempt, as after a result that is not ready.
    pub(crate) fn is_pending(&self) -> bool {
        let scenario = &self.run.scenario;
        let of_calls = scenario.operation == Operation::WaitForCallDetails;
        let not_found = scenario.arguments.not_found_is_pending.unwrap_or(of_calls);
        scenario.operation.is_wait()
            && match self.outcome() {
                Outcome::Status(404, _) => not_found,
                Outcome::Status(200..=299, _) => self.satisfies() && !self.is_ready(),
                _ => false,
            }
    }

    /// Returns `true` if the attempt may have created something.
    pub(crate) fn may_have_created(&self) -> bool {
        self.run.scenario.operation.is_create()
            && match self.outcome() {
                Outcome::NotSent | Outcome::Denied => false,
                Outcome::Rejected | Outcome::Unknown => true,
                Outcome::Status(status, _) => {
                    !(400..=499).contains(&status) || [408, 409].contains(&status)
                }
            }
    }

    /// Returns the size that the answer may have beyond its escaped request: those of a batch share
    /// what may be in memory.
    fn created_bytes(&self) -> usize {
        let items = self.run.scenario.arguments.items.max(1);
        (RESULTS_BYTES / items).min(CREATED_BYTES)
    }

    /// Returns `true` if the body exceeds the size that is read.
    fn is_too_large(&self) -> bool {
        let limit = match self.run.scenario.operation.is_create() {
            true => (self.created_bytes() + 6 * self.sent.body.len()).min(RESPONSE_BYTES),
            false => RESPONSE_BYTES,
        };
        self.body().is_none_or(|body| body.len() > limit)
    }

    /// Returns the complete body of the answer, if it has an end.
    pub(crate) fn body(&self) -> Option<Vec<u8>> {
        self.turn.step.whole_body(&self.sent.external_id())
    }

    /// Returns the time at which the attempt ended, in milliseconds since the service began.
    pub(crate) fn ended_ms(&self) -> Option<u64> {
        self.sent.ended_ms
    }

    /// Returns the pause that the service asks for after the attempt, in milliseconds, if any.
    pub(crate) fn asked_ms(&self) -> Option<u64> {
        let Outcome::Status(..) = self.outcome() else {
            return None;
        };
        let value = self.header("retry-after")?;
        let asked_ms = match seconds_as_ms(value) {
            Some(asked_ms) => asked_ms,
            None => {
                let date = unix_time(value)?;
                let guests_now = Duration::from_secs(self.run.scenario.unix_time_s)
                    + Duration::from_millis(self.sent.ended_ms?);
                let now = self
                    .header("date")
                    .and_then(unix_time)
                    .unwrap_or(guests_now);
                u64::try_from(date.saturating_sub(now).as_millis()).unwrap_or(u64::MAX)
            }
        };
        Some(asked_ms.min(A_DAY_MS))
    }

    /// Returns a header of the answer, if it is text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let value = self.turn.step.header_value(name)?;
        Some(std::str::from_utf8(value).ok()?.trim())
    }

    /// Returns `true` if the answer ends a wait.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(
            self.outcome(),
            Outcome::Status(200..=299, ReceivedBody::Whole)
        ) && self.turn.ready
    }

    /// Returns `true` if the answer satisfies the operation.
    pub(crate) fn satisfies(&self) -> bool {
        matches!(
            self.outcome(),
            Outcome::Status(200..=299, ReceivedBody::Whole)
        ) && self.turn.satisfies != Satisfies::No
    }
}

/// Parses seconds, which may have decimals.
fn seconds_as_ms(value: &str) -> Option<u64> {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, decimals) = value.split_once('.').unwrap_or((value, "0"));
    if whole.is_empty() || decimals.is_empty() || !digits(whole) || !digits(decimals) {
        return None;
    }
    let thousandths = format!("{decimals:0<3}");
    let seconds: u64 = whole.parse().unwrap_or(u64::MAX);
    Some(
        seconds
            .saturating_mul(1_000)
            .saturating_add(thousandths[..3].parse().ok()?),
    )
}

fn unix_time(date: &str) -> Option<Duration> {
    parse_http_date(date).ok()?.duration_since(UNIX_EPOCH).ok()
}

//! Why an operation did not succeed, and what follows from it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Why an operation did not succeed.
///
/// **An error of this component without `permanent` in its name means that nothing was created**:
/// retry the same call later, as workflow engines do by themselves. Do not retry a permanent one
/// unchanged: the same call would fail again, or might call a person twice; `may_have_created` says
/// which. [`ExecutionFailed`](Self::ExecutionFailed) is no error of this component but of its host, and says nothing about
/// what was created.
///
/// This is about errors. What the component itself retries before it returns is set by
/// `CREATE_RETRY`, whose default sends a create again after 5xx and 408.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum RequestError {
    /// The host could not run the component (a trap, a timeout of the host). Only hosts make this
    /// case; the component never returns it. After a creating request the call or docket may exist:
    /// give the host a longer timeout than the component's own (`DEADLINE_MS`; for a wait its
    /// `timeout_ms`; for a batch both together).
    ExecutionFailed,
    /// The same call would fail again, or might call a person twice. Engines do not retry it.
    Permanent(Failure),
    /// Nothing was created, and the same call may succeed later. Engines retry it. Its `kind` is
    /// one of the last five.
    Transient(Failure),
}

impl RequestError {
    /// Returns the failure; `None` if the host could not run the component, which says nothing
    /// about what was created.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Self::ExecutionFailed => None,
            Self::Permanent(failure) | Self::Transient(failure) => Some(failure),
        }
    }
}

impl From<Failure> for RequestError {
    fn from(failure: Failure) -> Self {
        match failure.kind.is_permanent() {
            true => Self::Permanent(failure),
            false => Self::Transient(failure),
        }
    }
}

/// What went wrong, and what follows from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// What went wrong.
    pub kind: FailureKind,
    /// What follows from it for the next request.
    pub next_step: NextStep,
    /// What went wrong, in a sentence for people.
    pub message: String,
    /// The setting or argument at fault, if there is one.
    pub problem: Option<Problem>,
    /// The answer that decided, if one came. It need not be that of the last attempt: attempts
    /// without an answer may follow it.
    pub response: Option<HttpResponse>,
    /// All attempts of this operation, in order; empty if nothing was sent.
    pub attempts: Vec<Attempt>,
    /// Whether something may have been created: a phone may be ringing. Always `false` for reading
    /// requests, and in a `transient` error.
    pub may_have_created: bool,
}

/// What went wrong. The first seven kinds are `permanent`, the last five `transient`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// A setting is missing or wrong, an account is unknown, or the host's policy denies the
    /// service's address. `problem` names the variable or option.
    Configuration,
    /// An argument is not allowed, or the host rejects the request for what is in it. `problem`
    /// names the argument. Nothing was created.
    InvalidInput,
    /// The service rejected the token: 401 or 403.
    Unauthorized,
    /// The service answered not found: 404 or 410.
    NotFound,
    /// The service rejected the request: any other 3xx or 4xx. Redirects are never followed, since
    /// the token would go along. After a 3xx or a 409 to a creating request the call or docket may
    /// exist.
    Rejected,
    /// An answer that is not as specified: a 2xx whose body does not match the specification or
    /// exceeds the size limit, a docket other than the requested one, or a status outside 200 to
    /// 599. After a creating request the call or docket may exist; `response` has what came.
    UnexpectedResponse,
    /// A creating request may have been processed: it was sent and no conclusive answer came, or
    /// the service failed (5xx, 408), also in an attempt before the last. A person's phone may be
    /// ringing: retry only after making sure that nothing was created.
    OutcomeUnknown,
    /// The service's rate limit: 429 or 425, until no attempt or no time was left.
    RateLimited,
    /// The service failed: 5xx or 408 to a reading request, until no attempt or no time was left.
    Unavailable,
    /// The service could not be reached: no attempt was sent.
    Unreachable,
    /// Time ran out before anything was sent, or a reading request got no complete answer in any of
    /// its attempts.
    TimedOut,
    /// A batch did not begin this request, because too many of the others had failed: `message`
    /// says how. Nothing was sent.
    NotBegun,
}

impl FailureKind {
    /// All kinds, in the order of the WIT.
    pub const ALL: [Self; 12] = [
        Self::Configuration,
        Self::InvalidInput,
        Self::Unauthorized,
        Self::NotFound,
        Self::Rejected,
        Self::UnexpectedResponse,
        Self::OutcomeUnknown,
        Self::RateLimited,
        Self::Unavailable,
        Self::Unreachable,
        Self::TimedOut,
        Self::NotBegun,
    ];

    /// Returns the name in the WIT.
    pub fn name(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::InvalidInput => "invalid-input",
            Self::Unauthorized => "unauthorized",
            Self::NotFound => "not-found",
            Self::Rejected => "rejected",
            Self::UnexpectedResponse => "unexpected-response",
            Self::OutcomeUnknown => "outcome-unknown",
            Self::RateLimited => "rate-limited",
            Self::Unavailable => "unavailable",
            Self::Unreachable => "unreachable",
            Self::TimedOut => "timed-out",
            Self::NotBegun => "not-begun",
        }
    }

    /// Returns `true` if the same request would fail again, or might call a person twice.
    pub fn is_permanent(self) -> bool {
        !matches!(
            self,
            Self::RateLimited
                | Self::Unavailable
                | Self::Unreachable
                | Self::TimedOut
                | Self::NotBegun
        )
    }

    /// Returns the kind with this number in the WIT. The code that wit-bindgen generates for
    /// imports calls this function of every enum, under this name.
    #[doc(hidden)]
    pub fn _lift(number: u8) -> Self {
        Self::ALL[usize::from(number)]
    }
}

/// What follows from a failure: for this request, and for those to other people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NextStep {
    /// Nothing was created. The same request may succeed later; until then, others would probably
    /// fail in the same way.
    RetryLater,
    /// Nothing was created, and no request can succeed until someone acts: a setting is wrong, the
    /// token was rejected, the address is not that of the service, or it asks for payment.
    FixSetting,
    /// Nothing was created, and the same request would be refused again. It is about this request
    /// alone, unless many are refused in a row.
    Refused,
    /// Something may have been created. Make sure of it before this request is sent again: its
    /// person might be called twice.
    Unknown,
}

impl NextStep {
    /// All steps, in the order of the WIT.
    pub const ALL: [Self; 4] = [
        Self::RetryLater,
        Self::FixSetting,
        Self::Refused,
        Self::Unknown,
    ];

    /// Returns the name in the WIT.
    pub fn name(self) -> &'static str {
        match self {
            Self::RetryLater => "retry-later",
            Self::FixSetting => "fix-setting",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the step with this number in the WIT, as [`FailureKind::_lift`] does.
    #[doc(hidden)]
    pub fn _lift(number: u8) -> Self {
        Self::ALL[usize::from(number)]
    }
}

/// A setting or argument at fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The environment variable, such as `VOICE_CALLING_BASE_URL`, or the argument or the field in
    /// it, such as `to_phone_number`, `call_context.name` or `options.account`; a long key is cut.
    /// `request` if all of it is at fault.
    pub subject: String,
    /// What was found, cut if it is long, and not shown if it is secret.
    pub found: String,
    /// What is allowed.
    pub allowed: String,
}

impl std::error::Error for Problem {}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            subject,
            found,
            allowed,
        } = self;
        write!(formatter, "{subject}: found {found}; allowed: {allowed}")
    }
}

/// The part of a response that an error keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpResponse {
    /// The HTTP status, 100 to 999.
    pub status: u16,
    /// The body as text: its first 8192 bytes, with bytes that are not UTF-8 replaced, and with the
    /// API token masked if the service echoes it, if the token has 8 bytes or more.
    pub body: String,
    /// Whether `body` is less than what the service sent, or meant to send.
    pub body_cut: bool,
    /// The header `x-request-id`, or else `request-id` or `x-correlation-id`.
    pub request_id: Option<String>,
    /// How long the service asks to wait (header `retry-after`, given there in seconds or as a
    /// date), from the moment of the answer. A date is read against the answer's own `date`. Unit:
    /// milliseconds; at most a day.
    pub retry_after_ms: Option<u32>,
}

/// One request that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// The HTTP status, if one came.
    pub status: Option<u16>,
    /// The transport error, if there was one. With a `status`, the body ended early or came too
    /// late.
    pub transport_error: Option<String>,
    /// When it began. Unit: milliseconds since the operation began.
    pub started_ms: u32,
    /// How long it took. Unit: milliseconds.
    pub duration_ms: u32,
}

//! Scheduled faults: wrong answers, late answers, correct ones with a wrong status; and webhooks that
//! are lost, late or doubled.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use strum::{EnumString, VariantNames};

use super::answer::{Answer, detail};
use super::request::Endpoint;

/// The faults of a request as they are written, and what the mock does.
#[rustfmt::skip]
pub const REQUEST_FAULTS: [(&str, &str); 6] = [
    ("STATUS", "refuses with this status; nothing is created"),
    ("created-then-STATUS", "creates (the phone rings), and answers with this status"),
    ("created-then-unanswered", "creates, and never answers"),
    ("hang", "creates nothing, and never answers"),
    ("completed-first", "completes the docket by its script, and sends the webhook before it answers the create"),
    ("slow", "gives the proper answer after `delay-ms`"),
];

/// The faults of a notification as they are written, and what the mock does.
#[rustfmt::skip]
pub const WEBHOOK_FAULTS: [(&str, &str); 3] = [
    ("lost", "does not send it"),
    ("twice", "sends it twice"),
    ("late", "sends it after `delay-ms`, 5000 by default: later ones overtake it"),
];

/// The delay of a late notification that names none.
const LATE: Duration = Duration::from_secs(5);

/// A change to the proper answer of one request, or a replacement for it; or a change to a
/// notification.
#[derive(Clone, Debug)]
pub struct Fault {
    /// The fault as it is written.
    text: String,
    kind: Kind,
    retry_after: Option<HeaderValue>,
    delay: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, EnumString)]
#[strum(serialize_all = "kebab-case")]
enum Kind {
    /// The request is not processed and answered with this status.
    #[strum(disabled)]
    Status(StatusCode),
    /// The request is processed and answered with this status.
    #[strum(disabled)]
    CreatedThen(StatusCode),
    CreatedThenUnanswered,
    Hang,
    /// The docket or call ends at once, and the webhook is delivered before its creation is answered.
    CompletedFirst,
    Slow,
    Lost,
    Twice,
    Late,
}

impl Fault {
    /// Answers `status` without processing the request.
    ///
    /// # Panics
    /// Panics if `status` is not between 200 and 999.
    pub fn status(status: u16) -> Self {
        status.to_string().parse().expect("a status")
    }

    /// Answers 429 with this `Retry-After` (seconds, or nonsense), without processing.
    ///
    /// # Panics
    /// Panics if `retry_after` is not a valid header value, or has a colon.
    pub fn rate_limited(retry_after: Option<&str>) -> Self {
        let option = retry_after.map_or(String::new(), |value| format!(":retry-after={value}"));
        format!("429{option}").parse().expect("a header value")
    }

    /// Processes the request (the phone rings), and answers `status`.
    ///
    /// # Panics
    /// Panics if `status` is not between 200 and 999.
    pub fn created_then(status: u16) -> Self {
        format!("created-then-{status}").parse().expect("a status")
    }

    /// Processes the request, and sends the proper answer after `delay`.
    pub fn slow(delay: Duration) -> Self {
        let text = format!("slow:delay-ms={}", delay.as_millis());
        text.parse().expect("a delay")
    }

    /// Neither processes nor answers the request: the connection stays open.
    pub fn hang() -> Self {
        "hang".parse().expect("a fault")
    }

    pub(super) fn is_processed(&self) -> bool {
        !matches!(self.kind, Kind::Status(_) | Kind::Hang)
    }

    /// Returns `true` if the answer waits until the created docket or call is over and notified.
    pub(super) fn completes_first(&self) -> bool {
        self.kind == Kind::CompletedFirst
    }

    /// Returns the time for which the answer is held back; `None` is for ever.
    pub(super) fn hold(&self) -> Option<Duration> {
        let is_answered = !matches!(self.kind, Kind::Hang | Kind::CreatedThenUnanswered);
        is_answered.then_some(self.delay)
    }

    /// Returns the time by which a notification is late.
    pub(super) fn delay(&self) -> Duration {
        self.delay
    }

    /// Returns how often a notification is sent.
    pub(super) fn copies(&self) -> usize {
        match self.kind {
            Kind::Lost => 0,
            Kind::Twice => 2,
            _ => 1,
        }
    }

    /// Returns the answer in place of `proper`, which is `None` if the request was not processed.
    pub(super) fn answer(&self, proper: Option<Answer>) -> Answer {
        let mut answer = match (self.kind, proper) {
            (Kind::Status(status) | Kind::CreatedThen(status), _) => {
                detail(status, status.canonical_reason().unwrap_or("Fault"))
            }
            (_, Some(proper)) => proper,
            (_, None) => Answer::empty(StatusCode::SERVICE_UNAVAILABLE),
        };
        let retry_after = self.retry_after.iter().cloned();
        answer
            .headers
            .extend(retry_after.map(|it| (RETRY_AFTER, it)));
        answer
    }

    /// Parses `fault[:option…]`. The options are `retry-after=VALUE` and `delay-ms=NUMBER`.
    fn read(text: &str, allowed: &[(&str, &str)]) -> Result<Self> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default();
        let kind = read_kind(name, allowed)?;
        let mut fault = Self {
            text: text.to_owned(),
            kind,
            retry_after: None,
            delay: if kind == Kind::Late {
                LATE
            } else {
                Duration::ZERO
            },
        };
        for option in parts {
            match option.split_once('=') {
                Some(("retry-after", value)) => {
                    let value = HeaderValue::from_str(value)
                        .with_context(|| format!("{value:?} is not a valid header value"))?;
                    fault.retry_after = Some(value);
                }
                Some(("delay-ms", value)) => {
                    let delay_ms = value.parse();
                    let wrong = || format!("delay-ms={value} is not a number");
                    fault.delay = Duration::from_millis(delay_ms.with_context(wrong)?);
                }
                _ => {
                    bail!("unknown option {option:?}; allowed: retry-after=VALUE, delay-ms=NUMBER")
                }
            }
        }
        Ok(fault)
    }
}

/// Parses a fault of a request, one of [`REQUEST_FAULTS`] with its options.
impl FromStr for Fault {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::read(text, &REQUEST_FAULTS)
    }
}

/// Displays the fault as it is written.
impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

fn read_kind(text: &str, allowed: &[(&str, &str)]) -> Result<Kind> {
    let after = text.strip_prefix("created-then-");
    let status = after.unwrap_or(text).parse::<u16>();
    let name = match (&status, after) {
        (Err(_), _) => text,
        (Ok(_), None) => "STATUS",
        (Ok(_), Some(_)) => "created-then-STATUS",
    };
    let names: Vec<_> = allowed.iter().map(|(name, _)| *name).collect();
    ensure!(
        names.contains(&name),
        "{text:?} is not a fault; allowed: {}",
        names.join(", ")
    );
    Ok(match (status, after) {
        (Ok(status), None) => Kind::Status(final_status(status)?),
        (Ok(status), Some(_)) => Kind::CreatedThen(final_status(status)?),
        (Err(_), _) => text.parse()?,
    })
}

fn final_status(status: u16) -> Result<StatusCode> {
    ensure!(
        status >= 200,
        "{status} is not a final HTTP status (200 to 999)"
    );
    StatusCode::from_u16(status).with_context(|| format!("{status} is not an HTTP status"))
}

/// A fault and what it applies to: the next request or notification that has no fault yet. As text:
/// `endpoint:fault`, where `endpoint` is `create-docket-v2` or the like, and `fault` is one of
/// [`REQUEST_FAULTS`] with its options, such as `create-docket-v2:429:retry-after=1`; or `webhook:`
/// and one of [`WEBHOOK_FAULTS`].
#[derive(Clone, Debug)]
pub struct FaultOrder {
    /// The endpoint, or `None` for the webhook.
    pub(super) endpoint: Option<Endpoint>,
    pub(super) fault: Fault,
}

/// The name of the receiver of notifications in the text of an order.
const WEBHOOK: &str = "webhook";

impl FromStr for FaultOrder {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let read = || {
            let (target, fault) = text
                .split_once(':')
                .context("no fault after the endpoint")?;
            if target == WEBHOOK {
                let fault = Fault::read(fault, &WEBHOOK_FAULTS)?;
                let endpoint = None;
                return Ok(Self { endpoint, fault });
            }
            let endpoint = target.parse().map_err(|_| {
                let names = Endpoint::VARIANTS.join(", ");
                anyhow!("{target:?} is not an endpoint; allowed: {names}, {WEBHOOK}")
            })?;
            Ok(Self {
                endpoint: Some(endpoint),
                fault: fault.parse()?,
            })
        };
        // In one text: clap shows no causes.
        let wrong = format!("the fault {text:?} is not endpoint:fault[:option=value]");
        read().map_err(|error: Error| anyhow!("{wrong}: {error:#}"))
    }
}

/// Displays the order as it is written.
impl fmt::Display for FaultOrder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.endpoint {
            Some(endpoint) => write!(formatter, "{endpoint}:{}", self.fault),
            None => write!(formatter, "{WEBHOOK}:{}", self.fault),
        }
    }
}

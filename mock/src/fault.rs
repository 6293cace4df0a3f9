//! Scheduled faults: wrong answers, late answers, and correct ones with a wrong status.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use strum::VariantNames;

use super::answer::{Answer, detail};
use super::request::Endpoint;

/// The faults of a request as they are written, and what the mock does.
pub const REQUEST_FAULTS: [(&str, &str); 6] = [
    ("STATUS", "refuses with this status; nothing is created"),
    (
        "created-then-STATUS",
        "creates (the phone rings), and answers with this status",
    ),
    ("created-then-unanswered", "creates, and never answers"),
    ("hang", "creates nothing, and never answers"),
    (
        "completed-first",
        "completes the docket by its script, and sends the webhook before it answers the create",
    ),
    ("slow", "gives the proper answer after `delay-ms`"),
];

/// The faults of a notification as they are written, and what the mock does.
pub const WEBHOOK_FAULTS: [(&str, &str); 3] = [
    ("lost", "does not send it"),
    ("twice", "sends it twice"),
    (
        "late",
        "sends it after `delay-ms`, 5000 by default: later ones overtake it",
    ),
];

/// The names of faults, for errors.
fn names(faults: &[(&str, &str)]) -> String {
    let names: Vec<_> = faults.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

/// A change to the proper answer of one request, or a replacement for it.
#[derive(Clone, Debug)]
pub struct Fault {
    kind: Kind,
    retry_after: Option<HeaderValue>,
    delay: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The request is not processed and answered with this status.
    Status(StatusCode),
    /// The request is processed and answered with this status.
    CreatedThen(StatusCode),
    CreatedThenUnanswered,
    Hang,
    /// The docket or call ends at once, and the webhook is delivered before its creation is answered.
    CompletedFirst,
    Slow,
}

impl Fault {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            retry_after: None,
            delay: Duration::ZERO,
        }
    }

    /// Answers `status` without processing the request.
    ///
    /// # Panics
    /// Panics if `status` is not between 200 and 999.
    pub fn status(status: u16) -> Self {
        Self::new(Kind::Status(final_status(status).expect("a status")))
    }

    /// Answers 429 with this `Retry-After` (seconds, a date, or nonsense), without processing.
    ///
    /// # Panics
    /// Panics if `retry_after` is not a valid header value.
    pub fn rate_limited(retry_after: Option<&str>) -> Self {
        let value = |value| HeaderValue::from_str(value).expect("a header value");
        Self {
            retry_after: retry_after.map(value),
            ..Self::status(429)
        }
    }

    /// Processes the request (the phone rings), and answers `status`.
    ///
    /// # Panics
    /// Panics if `status` is not between 200 and 999.
    pub fn created_then(status: u16) -> Self {
        Self::new(Kind::CreatedThen(final_status(status).expect("a status")))
    }

    /// Processes the request, and sends the proper answer after `delay`.
    pub fn slow(delay: Duration) -> Self {
        Self {
            delay,
            ..Self::new(Kind::Slow)
        }
    }

    /// Neither processes nor answers the request: the connection stays open.
    pub fn hang() -> Self {
        Self::new(Kind::Hang)
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
}

/// Displays the fault in the syntax of [`FaultOrder`], with its other properties.
impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            Kind::Status(status) => write!(formatter, "{}", status.as_u16())?,
            Kind::CreatedThen(status) => write!(formatter, "created-then-{}", status.as_u16())?,
            Kind::CreatedThenUnanswered => formatter.write_str("created-then-unanswered")?,
            Kind::Hang => formatter.write_str("hang")?,
            Kind::CompletedFirst => formatter.write_str("completed-first")?,
            Kind::Slow => formatter.write_str("slow")?,
        }
        if let Some(value) = &self.retry_after {
            let value = String::from_utf8_lossy(value.as_bytes());
            write!(formatter, " with Retry-After {value}")?;
        }
        if !self.delay.is_zero() {
            write!(formatter, " after {} ms", self.delay.as_millis())?;
        }
        Ok(())
    }
}

fn final_status(status: u16) -> Result<StatusCode> {
    ensure!(
        status >= 200,
        "{status} is not a final HTTP status (200 to 999)"
    );
    StatusCode::from_u16(status).with_context(|| format!("{status} is not an HTTP status"))
}

/// A fault and what it applies to: the next that has no fault yet. As text: `endpoint:fault`, where
/// `endpoint` is `create-docket-v2` or the like, and `fault` that of [`Fault`], such as
/// `create-docket-v2:429:retry-after=1`; or `webhook:` and a fault of [`DeliveryFault`].
#[derive(Clone, Debug)]
pub enum FaultOrder {
    /// A fault of the next request to this endpoint.
    Request(Endpoint, Fault),
    /// A fault of the next notification.
    Delivery(DeliveryFault),
}

/// A fault of a notification for the webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryFault {
    /// The notification is not sent.
    Lost,
    /// The notification is sent twice.
    Twice,
    /// The notification is sent after this time.
    Late(Duration),
}

/// The delay of a late notification that names none.
const LATE: Duration = Duration::from_secs(5);

/// Displays the fault in the syntax of [`FaultOrder`], with its delay.
impl fmt::Display for DeliveryFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost => formatter.write_str("lost"),
            Self::Twice => formatter.write_str("twice"),
            Self::Late(delay) => write!(formatter, "late by {} ms", delay.as_millis()),
        }
    }
}

impl FromStr for DeliveryFault {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.split_once(':') {
            None if text == "lost" => Ok(Self::Lost),
            None if text == "twice" => Ok(Self::Twice),
            None if text == "late" => Ok(Self::Late(LATE)),
            Some(("late", option)) => match option.split_once('=') {
                Some(("delay-ms", value)) => Ok(Self::Late(read_delay(value)?)),
                _ => bail!("unknown option {option:?}; allowed: delay-ms=NUMBER"),
            },
            _ => bail!(
                "{text:?} is not a fault; allowed: {}",
                names(&WEBHOOK_FAULTS)
            ),
        }
    }
}

/// The name of the receiver of notifications in the text of an order.
const WEBHOOK: &str = "webhook";

impl FromStr for FaultOrder {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        read_order(text)
            .with_context(|| format!("the fault {text:?} is not endpoint:fault[:option=value]"))
    }
}

fn read_order(text: &str) -> Result<FaultOrder> {
    let (target, fault) = text
        .split_once(':')
        .context("no fault after the endpoint")?;
    if target == WEBHOOK {
        return Ok(FaultOrder::Delivery(fault.parse()?));
    }
    Ok(FaultOrder::Request(read_endpoint(target)?, fault.parse()?))
}

/// Displays what the fault applies to, and the fault.
impl fmt::Display for FaultOrder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(endpoint, fault) => write!(formatter, "{endpoint}: {fault}"),
            Self::Delivery(fault) => write!(formatter, "{WEBHOOK}: {fault}"),
        }
    }
}

/// Parses `fault[:option…]`. `fault` is one of [`REQUEST_FAULTS`]; the options are
/// `retry-after=VALUE` and `delay-ms=NUMBER`.
impl FromStr for Fault {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = text.split(':');
        let fault = read_kind(parts.next().unwrap_or_default())?;
        parts.try_fold(fault, read_option)
    }
}

fn read_endpoint(name: &str) -> Result<Endpoint> {
    name.parse().map_err(|_| {
        let names = Endpoint::VARIANTS.join(", ");
        anyhow!("{name:?} is not an endpoint; allowed: {names}, {WEBHOOK}")
    })
}

fn read_kind(text: &str) -> Result<Fault> {
    let (is_created, status) = match text.strip_prefix("created-then-") {
        Some(status) => (true, status),
        None => (false, text),
    };
    let status = || -> Result<StatusCode> {
        let status = status.parse().with_context(|| {
            format!(
                "{text:?} is not a fault; allowed: {}",
                names(&REQUEST_FAULTS)
            )
        })?;
        final_status(status)
    };
    Ok(Fault::new(match text {
        "slow" => Kind::Slow,
        "hang" => Kind::Hang,
        "created-then-unanswered" => Kind::CreatedThenUnanswered,
        "completed-first" => Kind::CompletedFirst,
        _ if is_created => Kind::CreatedThen(status()?),
        _ => Kind::Status(status()?),
    }))
}

fn read_option(fault: Fault, option: &str) -> Result<Fault> {
    match option.split_once('=') {
        Some(("retry-after", value)) => Ok(Fault {
            retry_after: Some(
                HeaderValue::from_str(value)
                    .with_context(|| format!("{value:?} is not a valid header value"))?,
            ),
            ..fault
        }),
        Some(("delay-ms", value)) => {
            let delay = read_delay(value)?;
            Ok(Fault { delay, ..fault })
        }
        _ => bail!("unknown option {option:?}; allowed: retry-after=VALUE, delay-ms=NUMBER"),
    }
}

fn read_delay(milliseconds: &str) -> Result<Duration> {
    let parsed = milliseconds.parse();
    let parsed = parsed.with_context(|| format!("delay-ms={milliseconds} is not a number"))?;
    Ok(Duration::from_millis(parsed))
}

/// The orders that have not been executed yet, in the order in which they were given.
#[derive(Debug)]
pub(super) struct FaultQueue(pub(super) Vec<FaultOrder>);

impl FaultQueue {
    /// Removes and returns the fault of a request to `endpoint`.
    pub(super) fn of_request(&mut self, endpoint: Endpoint) -> Option<Fault> {
        self.take(|order| match order {
            FaultOrder::Request(meant, fault) => (*meant == endpoint).then(|| fault.clone()),
            FaultOrder::Delivery(_) => None,
        })
    }

    /// Removes and returns the fault of a notification.
    pub(super) fn of_delivery(&mut self) -> Option<DeliveryFault> {
        self.take(|order| match order {
            FaultOrder::Request(..) => None,
            FaultOrder::Delivery(fault) => Some(*fault),
        })
    }

    fn take<F>(&mut self, suits: impl Fn(&FaultOrder) -> Option<F>) -> Option<F> {
        let mut orders = self.0.iter().enumerate();
        let (index, fault) = orders.find_map(|(index, order)| Some((index, suits(order)?)))?;
        self.0.remove(index);
        Some(fault)
    }

    pub(super) fn pending(&self) -> Vec<String> {
        self.0.iter().map(FaultOrder::to_string).collect()
    }
}

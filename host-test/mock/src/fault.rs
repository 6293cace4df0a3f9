//! Scheduled faults: wrong answers, late answers, and correct ones with a wrong status.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use http::header::RETRY_AFTER;
use http::{HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use strum::VariantNames;

use super::answer::{Answer, detail};
use super::request::Endpoint;

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

    /// Returns `true` if the fault makes sense only at an endpoint that starts calls.
    fn needs_creation(&self) -> bool {
        self.is_processed() && self.kind != Kind::Slow
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

/// A fault and the request that it applies to. As text: `endpoint[@n]:fault`, where `endpoint` is
/// `create-docket-v2` or the like, `n` the index of the request from now (by default, the next one
/// without a fault), and `fault` that of [`Fault`]: `create-docket-v2:429:retry-after=1`,
/// `make-call@2:created-then-503`.
#[derive(Clone, Debug)]
pub struct FaultOrder {
    /// The endpoint of the request.
    pub endpoint: Endpoint,
    /// The index of the request among those to the endpoint from now on, from 1; `None` is the next
    /// one that has no fault yet.
    pub nth: Option<NonZeroUsize>,
    /// The fault.
    pub fault: Fault,
}

impl FromStr for FaultOrder {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        read_order(text)
            .with_context(|| format!("the fault {text:?} is not endpoint[@n]:fault[:option=value]"))
    }
}

fn read_order(text: &str) -> Result<FaultOrder> {
    let (target, fault) = text
        .split_once(':')
        .context("no fault after the endpoint")?;
    let (endpoint, nth) = match target.split_once('@') {
        Some((endpoint, nth)) => (endpoint, Some(nth)),
        None => (target, None),
    };
    Ok(FaultOrder {
        endpoint: read_endpoint(endpoint)?,
        nth: nth.map(read_nth).transpose()?,
        fault: fault.parse()?,
    })
}

/// Parses `fault[:option…]`. `fault` is a status, `created-then-` and a status,
/// `created-then-unanswered`, `hang`, `completed-first`, or `slow`; the options are
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
        anyhow!("{name:?} is not an endpoint; allowed: {names}")
    })
}

fn read_nth(text: &str) -> Result<NonZeroUsize> {
    let number = text.parse();
    number.with_context(|| format!("{text:?} after the @ is not a number from 1"))
}

fn read_kind(text: &str) -> Result<Fault> {
    let (is_created, status) = match text.strip_prefix("created-then-") {
        Some(status) => (true, status),
        None => (false, text),
    };
    let status = || -> Result<StatusCode> {
        let status = status.parse().with_context(|| {
            format!(
                "{text:?} is not a fault; allowed: a status, created-then-STATUS, \
                 created-then-unanswered, hang, completed-first, slow"
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
            let delay_ms = value.parse();
            let delay_ms = delay_ms.with_context(|| format!("delay-ms={value} is not a number"))?;
            let delay = Duration::from_millis(delay_ms);
            Ok(Fault { delay, ..fault })
        }
        _ => bail!("unknown option {option:?}; allowed: retry-after=VALUE, delay-ms=NUMBER"),
    }
}

/// A fault of the next notification for the webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryFault {
    /// The notification is not sent.
    Lost,
    /// The notification is sent twice as often.
    Twice,
}

/// An order that has not been executed yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PendingFault {
    /// The endpoint's name; `None` for any endpoint.
    pub endpoint: Option<String>,
    /// The fault, as text.
    pub fault: String,
}

/// The orders that have not been executed yet.
#[derive(Debug, Default)]
pub(super) struct FaultQueue {
    /// The number of requests to each endpoint so far.
    requests: HashMap<Endpoint, usize>,
    ordered: Vec<Ordered>,
    /// The faults of the next notifications, in order.
    pub(super) deliveries: VecDeque<DeliveryFault>,
}

#[derive(Debug)]
struct Ordered {
    /// The endpoint and the index of the request to it, from 1; `None` is the next one anywhere.
    request: Option<(Endpoint, usize)>,
    fault: Fault,
}

impl FaultQueue {
    /// Orders a fault. Fails if another is ordered for the same request.
    pub(super) fn order(&mut self, order: FaultOrder) -> Result<()> {
        let FaultOrder {
            endpoint,
            nth,
            fault,
        } = order;
        let before = self.requests.get(&endpoint).copied().unwrap_or_default();
        let at = |number| {
            let request = Some((endpoint, number));
            self.ordered
                .iter()
                .find(|ordered| ordered.request == request)
        };
        let number = match nth {
            Some(nth) => before + nth.get(),
            None => (before + 1..)
                .find(|number| at(*number).is_none())
                .unwrap_or(usize::MAX),
        };
        if let Some(Ordered { fault: first, .. }) = at(number) {
            bail!("request {number} to {endpoint} can have one fault: found {first} and {fault}");
        }
        self.ordered.push(Ordered {
            request: Some((endpoint, number)),
            fault,
        });
        Ok(())
    }

    /// Orders a fault for the next request to any endpoint, or to one that starts calls if the
    /// fault concerns a creation.
    pub(super) fn order_anywhere(&mut self, fault: Fault) {
        let request = None;
        self.ordered.push(Ordered { request, fault });
    }

    /// Counts a request, and removes and returns its fault.
    pub(super) fn take(&mut self, endpoint: Endpoint) -> Option<Fault> {
        let number = self.requests.entry(endpoint).or_default();
        *number += 1;
        let request = Some((endpoint, *number));
        let is_meant = |ordered: &Ordered| ordered.request == request;
        let suits = |ordered: &Ordered| {
            let has_creation = endpoint.starts_calls() || !ordered.fault.needs_creation();
            ordered.request.is_none() && has_creation
        };
        let index = self.ordered.iter().position(is_meant);
        let index = index.or_else(|| self.ordered.iter().position(suits))?;
        Some(self.ordered.remove(index).fault)
    }

    /// Returns all orders, in the order in which they were given.
    pub(super) fn pending(&self) -> Vec<PendingFault> {
        let ordered = self.ordered.iter();
        let pending = ordered.map(|Ordered { request, fault }| PendingFault {
            endpoint: request.map(|(endpoint, _)| endpoint.to_string()),
            fault: fault.to_string(),
        });
        pending.collect()
    }

    pub(super) fn clear(&mut self) {
        self.ordered.clear();
        self.deliveries.clear();
    }
}

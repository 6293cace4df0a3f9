//! The history of a docket or direct call.

use std::time::{SystemTime, UNIX_EPOCH};

use http::StatusCode;
use serde::Serialize;
use strum::IntoStaticStr;
use time::OffsetDateTime;
use time::format_description::parse_borrowed;
use uuid::Uuid;

/// ISO 8601 without zone offset, with fractional seconds, as the service writes it.
const FORMAT: &str = "[year]-[month]-[day]T[hour]:[minute]:[second].[subsecond digits:6]";

/// The kind of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr, Serialize)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum MomentKind {
    /// The docket or direct call was created.
    Created,
    /// A request was answered with a fault, or created the same again.
    Request,
    /// An attempt began to ring.
    Rings,
    /// An attempt ended.
    Ended,
    /// A notification was delivered, or could not be.
    Webhook,
    /// The docket was completed.
    Closed,
}

/// An event in the history of a docket or direct call.
#[derive(Clone, Debug, Serialize)]
pub struct Moment {
    /// The time, in milliseconds since 1970.
    pub at_ms: u64,
    /// The kind of event.
    pub kind: MomentKind,
    /// A sentence that describes the event.
    pub text: String,
    /// The HTTP status of a request or a delivery.
    pub status: Option<u16>,
    /// The number of the request.
    pub request: Option<usize>,
}

impl Moment {
    pub(super) fn new(at: SystemTime, kind: MomentKind, text: impl Into<String>) -> Self {
        Self {
            at_ms: milliseconds(at),
            kind,
            text: text.into(),
            status: None,
            request: None,
        }
    }

    pub(super) fn with_status(mut self, status: Option<StatusCode>) -> Self {
        self.status = status.map(|status| status.as_u16());
        self
    }

    pub(super) fn of_request(mut self, number: usize) -> Self {
        self.request = Some(number);
        self
    }

    /// Returns the moment at which request `number` repeated an earlier creation and started `id`.
    pub(super) fn repeated(at: SystemTime, number: usize, id: Uuid) -> Self {
        let text = format!("Request {number} asked for the same again, and started {id}.");
        Self::new(at, MomentKind::Request, text).of_request(number)
    }
}

/// Returns the milliseconds since 1970.
pub(super) fn milliseconds(time: SystemTime) -> u64 {
    let since_1970 = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX)
}

/// Formats `time` in UTC, such as `2026-01-31T09:08:07.000001`.
pub(super) fn iso_8601(time: SystemTime) -> String {
    let format = parse_borrowed::<2>(FORMAT).expect("a format");
    let formatted = OffsetDateTime::from(time).format(&format);
    formatted.expect("a year of four digits")
}

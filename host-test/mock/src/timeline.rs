//! What happened to a docket or direct call, as a page shows it.

use std::time::{SystemTime, UNIX_EPOCH};

use http::StatusCode;
use serde::Serialize;
use strum::IntoStaticStr;

use super::newest::Newest;

/// How many moments are kept of one docket, the newest.
const KEPT_MOMENTS: usize = 100;

/// What kind of moment it was.
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

/// One thing that happened.
#[derive(Clone, Debug, Serialize)]
pub struct Moment {
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// What kind.
    pub kind: MomentKind,
    /// What happened, in a sentence.
    pub text: String,
    /// The HTTP status of a request or a delivery.
    pub status: Option<u16>,
    /// The number of the request.
    pub request: Option<u64>,
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

    pub(super) fn of_request(mut self, number: u64) -> Self {
        self.request = Some(number);
        self
    }
}

/// Milliseconds since 1970.
pub(super) fn milliseconds(time: SystemTime) -> u64 {
    let since_1970 = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX)
}

/// An attempt that rings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ringing {
    pub(super) since: SystemTime,
    /// Whether it ends as the script has it, though calls are ended by hand.
    pub(super) is_left: bool,
}

/// What is known of a docket or direct call beyond what the service reports.
#[derive(Debug)]
pub(super) struct Log {
    /// When it last changed.
    pub(super) sequence: u64,
    pub(super) created_at: SystemTime,
    /// The earlier docket or call with the same number and context.
    pub(super) repeats: Option<String>,
    pub(super) ringing: Option<Ringing>,
    pub(super) timeline: Newest<Moment>,
}

impl Log {
    pub(super) fn new(now: SystemTime) -> Self {
        Self {
            sequence: 0,
            created_at: now,
            repeats: None,
            ringing: None,
            timeline: Newest::new(Some(KEPT_MOMENTS)),
        }
    }

    /// The attempt rings.
    pub(super) fn ring(&mut self, attempt: usize, now: SystemTime) {
        self.ringing = Some(Ringing {
            since: now,
            is_left: false,
        });
        let text = format!("Attempt {attempt} rings.");
        self.timeline
            .push(Moment::new(now, MomentKind::Rings, text));
    }

    /// The attempt rings no longer.
    pub(super) fn end(&mut self, attempt: usize, status: &str, now: SystemTime) {
        self.ringing = None;
        let text = format!("Attempt {attempt} ended: {status}.");
        self.timeline
            .push(Moment::new(now, MomentKind::Ended, text));
    }
}

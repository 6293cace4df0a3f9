//! What a program sees of each attempt.

use crate::telemetry;
use http::HeaderMap;
use tracing::Span;
use voice_calling_core::Request;

/// A request that is about to be sent, as a hook sees it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outgoing<'a> {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The path and the query, which contain ids.
    pub path_and_query: &'a str,
    /// The index of the request in its batch.
    pub item: Option<u32>,
    /// Its further headers, to which the hook may add, such as `traceparent`. Those that the client
    /// sets itself replace others with their names.
    pub headers: HeaderMap,
}

impl<'a> Outgoing<'a> {
    pub(crate) fn new(request: &'a Request, headers: HeaderMap) -> Self {
        Self {
            method: request.method.as_str(),
            path_and_query: &request.path_and_query,
            item: request.item,
            headers,
        }
    }
}

/// How an attempt ended. If it has neither status nor error, its time was up, or its operation was
/// dropped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// The status of the response, if its head has arrived.
    pub status: Option<u16>,
    /// Why there was no response, or why it was incomplete.
    pub error: Option<String>,
}

/// Is called before each attempt, and what it returns is called when the attempt has ended.
pub(crate) type Hook = Box<dyn Fn(&mut Outgoing<'_>) -> OnEnd + Send + Sync>;

pub(crate) type OnEnd = Box<dyn FnOnce(Ended) + Send>;

/// Reports to a hook, and to the attempt's span, how it ended. It ends when this is dropped.
pub(crate) struct Ending {
    on_end: Option<OnEnd>,
    span: Span,
    ended: Ended,
}

impl Ending {
    pub(crate) fn of(on_end: Option<OnEnd>, span: Span) -> Self {
        Self {
            on_end,
            span,
            ended: Ended::default(),
        }
    }

    pub(crate) fn set_status(&mut self, status: u16) {
        telemetry::record_status(&self.span, status);
        self.ended.status = Some(status);
    }

    pub(crate) fn set_error(&mut self, error: &str) {
        telemetry::record_transport_error(&self.span, error);
        self.ended.error = Some(error.to_owned());
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if self.ended == Ended::default() {
            telemetry::record_silence(&self.span);
        }
        if let Some(on_end) = self.on_end.take() {
            on_end(std::mem::take(&mut self.ended));
        }
    }
}

//! Spans of operations and attempts, with the names of OpenTelemetry's conventions for HTTP, and
//! counters, as a layer of `tracing-opentelemetry` makes them of events.

use crate::error::Error;
use http::uri::Authority;
use std::panic::{self, AssertUnwindSafe};
use tracing::field::Empty;
use tracing::{Span, info_span};
use voice_calling_core::ledger::Recorded;
use voice_calling_core::types::Failure;
use voice_calling_core::{Request, Scheme};

/// Returns the span of an operation. Its account, its key and its end are recorded later.
macro_rules! operation_span {
    ($function:literal $(, $field:ident = $value:expr)?) => {
        tracing::info_span!(
            $function,
            $(voice_calling.$field = $value,)?
            voice_calling.account = tracing::field::Empty,
            voice_calling.key = tracing::field::Empty,
            voice_calling.from_ledger = tracing::field::Empty,
            voice_calling.may_be_duplicate = tracing::field::Empty,
            voice_calling.may_have_created = tracing::field::Empty,
            error.type = tracing::field::Empty,
            otel.status_code = tracing::field::Empty,
            otel.status_description = tracing::field::Empty,
        )
    };
}
pub(crate) use operation_span;

/// Records how a create has ended.
pub(crate) fn record_created(span: &Span, from_ledger: bool, may_be_duplicate: bool) {
    unless_it_panics(|| {
        span.record("voice_calling.from_ledger", from_ledger);
        span.record("voice_calling.may_be_duplicate", may_be_duplicate);
    });
}

/// Records how an operation has failed.
pub(crate) fn record_error(span: &Span, error: &Error) {
    record_failure(span, error.kind().name(), &error.to_string());
    unless_it_panics(|| {
        span.record("voice_calling.may_have_created", error.may_have_created());
    });
}

fn record_failure(span: &Span, kind: &str, description: &str) {
    unless_it_panics(|| {
        span.record("error.type", kind);
        span.record("otel.status_code", "ERROR");
        span.record("otel.status_description", description);
    });
}

/// Returns the span of an attempt. Its numbers are signed, since exporters make texts of others.
pub(crate) fn attempt_span(request: &Request) -> Span {
    let method = request.method.as_str();
    let (scheme, authority) = (request.scheme.as_str(), &request.authority);
    let default_port = match request.scheme {
        Scheme::Http => 80,
        Scheme::Https => 443,
    };
    let parsed = || authority.parse::<Authority>().ok();
    info_span!(
        "attempt",
        otel.kind = "client",
        otel.name = method,
        http.request.method = method,
        server.address = parsed().as_ref().map(Authority::host),
        server.port = parsed().map(|it| it.port_u16().map_or(default_port, i64::from)),
        url.full = format_args!("{scheme}://{authority}{}", request.path_and_query),
        voice_calling.item = request.item.map(i64::from),
        http.response.status_code = Empty,
        error.type = Empty,
        otel.status_code = Empty,
        otel.status_description = Empty,
    )
}

/// Records the status of the response to an attempt.
pub(crate) fn record_status(span: &Span, status: u16) {
    unless_it_panics(|| {
        span.record("http.response.status_code", i64::from(status));
        if status >= 400 {
            span.record("error.type", status.to_string());
            span.record("otel.status_code", "ERROR");
        }
    });
}

/// Records why an attempt got no response, or why that was incomplete.
pub(crate) fn record_transport_error(span: &Span, message: &str) {
    record_failure(span, "_OTHER", message);
}

/// Records that an attempt got no response before its time was up, or its operation was dropped.
pub(crate) fn record_silence(span: &Span) {
    record_failure(span, "no_response", "no response in time");
}

/// Reports what is known of a create. A subscriber that panics must neither lose that, nor end the
/// process, which it would during a drop if it had panicked before.
pub(crate) fn unless_it_panics(report: impl FnOnce()) {
    let _ = panic::catch_unwind(AssertUnwindSafe(report));
}

/// Adds one to a counter.
macro_rules! add_one {
    ($counter:literal, $function:expr) => {
        tracing::debug!(target: "voice_calling::metrics", function = $function, $counter = 1_u64)
    };
}

/// Counts how a create has ended.
pub(crate) fn count<R>(
    function: &str,
    result: Result<&Recorded<R>, &Failure>,
    may_be_duplicate: fn(&R) -> bool,
) {
    unless_it_panics(|| match result {
        Ok(created) if created.from_ledger => {}
        Ok(created) => {
            add_one!("monotonic_counter.voice_calling.created", function);
            if may_be_duplicate(&created.answer) {
                add_one!("monotonic_counter.voice_calling.may_be_duplicate", function);
            }
        }
        // Nothing was sent if the ledger has an earlier one of unknown outcome.
        Err(failure) if failure.may_have_created && !failure.attempts.is_empty() => {
            add_one!("monotonic_counter.voice_calling.unknown", function);
        }
        Err(_) => {}
    });
}

/// Counts a create that was dropped, with the id of what it has created if that is known.
pub(crate) fn count_dropped(function: &str, created_id: Option<&str>) {
    unless_it_panics(|| match created_id {
        Some(_) => add_one!("monotonic_counter.voice_calling.created", function),
        None => add_one!("monotonic_counter.voice_calling.unknown", function),
    });
}

/// Counts a batch that begins nothing further, since too many creates have failed.
pub(crate) fn count_open_breaker(function: &str) {
    add_one!("monotonic_counter.voice_calling.breaker_open", function);
}

//! Requests and errors of wasi:http. They are the same in WASI 0.2 and 0.3: the guests for both
//! share this file.

use crate::wasi::{ErrorCode, Fields, HttpMethod, HttpRequest, HttpScheme, RequestOptions};
use futures_util::future::{Either, select};
use std::pin::{Pin, pin};
use voice_calling_core::{Delivery, Limits, Method, Request, Scheme, SendError, error_code};

pub(crate) const NANOSECONDS_PER_MS: u64 = 1_000_000;

pub(crate) fn fields(request: &Request) -> Result<Fields, SendError> {
    let headers: Vec<_> = request
        .headers
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()))
        .collect();
    Fields::from_list(&headers).map_err(|_| refused("the headers"))
}

/// Sets the method, unless it is that of every new request, and the address.
pub(crate) fn address(outgoing: &HttpRequest, request: &Request) -> Result<(), SendError> {
    let scheme = match request.scheme {
        Scheme::Http => HttpScheme::Http,
        Scheme::Https => HttpScheme::Https,
    };
    let set = || {
        if request.method == Method::Post {
            outgoing.set_method(&HttpMethod::Post)?;
        }
        outgoing.set_scheme(Some(&scheme))?;
        outgoing.set_authority(Some(&request.authority))?;
        outgoing.set_path_with_query(Some(&request.path_and_query))
    };
    set().map_err(|()| refused("the address"))
}

pub(crate) fn request_options(limits: Limits) -> RequestOptions {
    let options = RequestOptions::new();
    let attempt_ns = Some(limits.attempt_ms.saturating_mul(NANOSECONDS_PER_MS));
    let connect_ns = Some(limits.connect_ms.saturating_mul(NANOSECONDS_PER_MS));
    // A host may not support a timeout, and reports that; the core watches the whole attempt, the
    // time between bytes included.
    let _ = options.set_connect_timeout(connect_ns);
    let _ = options.set_first_byte_timeout(attempt_ns);
    options
}

/// Writes the rest of a request's body.
pub(crate) type Writing = Pin<Box<dyn Future<Output = ()>>>;

/// Waits for a future, and writes the rest of the request's body meanwhile: a service may respond
/// before it has read the whole body, and the response says more than a failure to write does.
pub(crate) async fn while_writing<T>(
    writing: &mut Option<Writing>,
    awaited: impl Future<Output = T>,
) -> T {
    let mut awaited = pin!(awaited);
    if let Some(rest) = writing {
        // The body comes first: unfinished, it would end the exchange.
        if let Either::Right((output, _)) = select(rest, awaited.as_mut()).await {
            return output;
        }
        *writing = None;
    }
    awaited.await
}

/// Returns the error of a request that the host rejects because of its content.
pub(crate) fn refused(what: &str) -> SendError {
    SendError {
        delivery: Delivery::Refused,
        message: format!("the host rejected {what} of the request"),
    }
}

/// Converts an error code, with its details for people.
pub(crate) fn send_error(code: &ErrorCode) -> SendError {
    let detail = match code {
        ErrorCode::DnsError(payload) => payload.rcode.as_deref(),
        ErrorCode::TlsAlertReceived(payload) => payload.alert_message.as_deref(),
        ErrorCode::InternalError(message) => message.as_deref(),
        _ => None,
    };
    SendError::of_code(error_code!(ErrorCode, code), detail)
}

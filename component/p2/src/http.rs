//! Requests and errors of wasi:http. They are the same in WASI 0.2 and 0.3: the guests for both
//! share this file.

use crate::wasi::{ErrorCode, Fields, HttpMethod, HttpRequest, HttpScheme, RequestOptions};
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

/// Sets the method and the address of a request.
pub(crate) fn address(outgoing: &HttpRequest, request: &Request) -> Result<(), SendError> {
    let method = match request.method {
        Method::Get => HttpMethod::Get,
        Method::Post => HttpMethod::Post,
    };
    let scheme = match request.scheme {
        Scheme::Http => HttpScheme::Http,
        Scheme::Https => HttpScheme::Https,
    };
    outgoing
        .set_method(&method)
        .map_err(|()| refused("the method"))?;
    outgoing
        .set_scheme(Some(&scheme))
        .map_err(|()| refused("the scheme"))?;
    outgoing
        .set_authority(Some(&request.authority))
        .map_err(|()| refused("the host"))?;
    outgoing
        .set_path_with_query(Some(&request.path_and_query))
        .map_err(|()| refused("the path"))
}

pub(crate) fn request_options(limits: Limits) -> RequestOptions {
    let options = RequestOptions::new();
    let attempt_ns = Some(limits.attempt_ms.saturating_mul(NANOSECONDS_PER_MS));
    let connect_ns = Some(limits.connect_ms.saturating_mul(NANOSECONDS_PER_MS));
    // A host may not support a timeout, and reports that; the core watches the whole attempt
    // anyway.
    let _ = options.set_connect_timeout(connect_ns);
    let _ = options.set_first_byte_timeout(attempt_ns);
    let _ = options.set_between_bytes_timeout(attempt_ns);
    options
}

/// Returns the error of a request that the host rejects because of its content.
fn refused(what: &str) -> SendError {
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

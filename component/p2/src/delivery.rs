//! What wasi:http's error codes say about a request that got no answer. They are the same
//! in WASI 0.2 and 0.3: the guests for both share this file.

use crate::wasi_transport::ErrorCode;
use voice_calling_core::{Delivery, SendError};

/// Whether a request that failed so may have reached the service, and the code's
/// name in wasi:http with what it tells besides.
pub(crate) fn send_error(code: &ErrorCode) -> SendError {
    let (delivery, name) = meaning(code);
    let detail = match code {
        ErrorCode::DnsError(payload) => payload.rcode.as_deref(),
        ErrorCode::TlsAlertReceived(payload) => payload.alert_message.as_deref(),
        ErrorCode::InternalError(message) => message.as_deref(),
        _ => None,
    };
    let message = match detail {
        Some(detail) => format!("{name}: {detail}"),
        None => name.to_owned(),
    };
    SendError { delivery, message }
}

/// Only codes that come before the first byte of a request is sent count as not sent;
/// with all others nobody knows. (Hosts give TLS-protocol-error for the handshake; what
/// breaks a connection later, they call by other names.)
fn meaning(code: &ErrorCode) -> (Delivery, &'static str) {
    use Delivery::{Denied, NotSent, Unknown};
    match code {
        ErrorCode::HttpRequestDenied => (Denied, "HTTP-request-denied"),
        ErrorCode::DestinationIpProhibited => (Denied, "destination-IP-prohibited"),
        ErrorCode::DnsTimeout => (NotSent, "DNS-timeout"),
        ErrorCode::DnsError(_) => (NotSent, "DNS-error"),
        ErrorCode::DestinationNotFound => (NotSent, "destination-not-found"),
        ErrorCode::DestinationUnavailable => (NotSent, "destination-unavailable"),
        ErrorCode::DestinationIpUnroutable => (NotSent, "destination-IP-unroutable"),
        ErrorCode::ConnectionRefused => (NotSent, "connection-refused"),
        ErrorCode::ConnectionTimeout => (NotSent, "connection-timeout"),
        ErrorCode::ConnectionLimitReached => (NotSent, "connection-limit-reached"),
        ErrorCode::TlsProtocolError => (NotSent, "TLS-protocol-error"),
        ErrorCode::TlsCertificateError => (NotSent, "TLS-certificate-error"),
        // With TLS 1.3 an alert may come after the first request was sent.
        ErrorCode::TlsAlertReceived(_) => (Unknown, "TLS-alert-received"),
        ErrorCode::ConnectionTerminated => (Unknown, "connection-terminated"),
        ErrorCode::ConnectionReadTimeout => (Unknown, "connection-read-timeout"),
        ErrorCode::ConnectionWriteTimeout => (Unknown, "connection-write-timeout"),
        ErrorCode::HttpRequestLengthRequired => (Unknown, "HTTP-request-length-required"),
        ErrorCode::HttpRequestBodySize(_) => (Unknown, "HTTP-request-body-size"),
        ErrorCode::HttpRequestMethodInvalid => (Unknown, "HTTP-request-method-invalid"),
        ErrorCode::HttpRequestUriInvalid => (Unknown, "HTTP-request-URI-invalid"),
        ErrorCode::HttpRequestUriTooLong => (Unknown, "HTTP-request-URI-too-long"),
        ErrorCode::HttpRequestHeaderSectionSize(_) => (Unknown, "HTTP-request-header-section-size"),
        ErrorCode::HttpRequestHeaderSize(_) => (Unknown, "HTTP-request-header-size"),
        ErrorCode::HttpRequestTrailerSectionSize(_) => {
            (Unknown, "HTTP-request-trailer-section-size")
        }
        ErrorCode::HttpRequestTrailerSize(_) => (Unknown, "HTTP-request-trailer-size"),
        ErrorCode::HttpResponseIncomplete => (Unknown, "HTTP-response-incomplete"),
        ErrorCode::HttpResponseHeaderSectionSize(_) => {
            (Unknown, "HTTP-response-header-section-size")
        }
        ErrorCode::HttpResponseHeaderSize(_) => (Unknown, "HTTP-response-header-size"),
        ErrorCode::HttpResponseBodySize(_) => (Unknown, "HTTP-response-body-size"),
        ErrorCode::HttpResponseTrailerSectionSize(_) => {
            (Unknown, "HTTP-response-trailer-section-size")
        }
        ErrorCode::HttpResponseTrailerSize(_) => (Unknown, "HTTP-response-trailer-size"),
        ErrorCode::HttpResponseTransferCoding(_) => (Unknown, "HTTP-response-transfer-coding"),
        ErrorCode::HttpResponseContentCoding(_) => (Unknown, "HTTP-response-content-coding"),
        ErrorCode::HttpResponseTimeout => (Unknown, "HTTP-response-timeout"),
        ErrorCode::HttpUpgradeFailed => (Unknown, "HTTP-upgrade-failed"),
        ErrorCode::HttpProtocolError => (Unknown, "HTTP-protocol-error"),
        ErrorCode::LoopDetected => (Unknown, "loop-detected"),
        ErrorCode::ConfigurationError => (Unknown, "configuration-error"),
        ErrorCode::InternalError(_) => (Unknown, "internal-error"),
    }
}

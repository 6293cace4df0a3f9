//! The error codes of wasi:http, each with its meaning for a request.

use wasmtime_wasi_http::p2::bindings::http::types::{
    DnsErrorPayload, ErrorCode, FieldSizePayload, TlsAlertReceivedPayload,
};

/// The fate of a request that failed with an error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The request was never sent: a create may be retried like a read.
    NotSent,
    /// The request was never sent, if the host is trusted; otherwise its fate is unknown.
    ConnectionTimeout,
    /// The host's policy denies the address and always will.
    Denied,
    /// The request was refused for its content, and would be again. It is unknown by which party: a
    /// create may have been processed.
    Rejected,
    /// It is unknown whether the request was processed: a create must not be retried.
    Unknown,
}

/// Generates everything from one list: the codes with a payload each, their meanings and their
/// names in the WIT. A missing code does not compile.
macro_rules! error_codes {
    ($($variant:ident $(($payload:expr))? : $meaning:ident, $name:literal;)*) => {
        /// Returns every code, with a payload if it takes one.
        pub fn all() -> Vec<ErrorCode> {
            vec![$(ErrorCode::$variant $(($payload))?),*]
        }

        /// Returns the meaning of a code for the request.
        pub fn meaning(code: &ErrorCode) -> Meaning {
            match code {
                $(ErrorCode::$variant { .. } => Meaning::$meaning,)*
            }
        }

        /// Returns the code's name in the WIT of wasi:http.
        pub fn name(code: &ErrorCode) -> &'static str {
            match code {
                $(ErrorCode::$variant { .. } => $name,)*
            }
        }
    };
}

error_codes! {
    DnsTimeout: NotSent, "DNS-timeout";
    DnsError(DnsErrorPayload {
        rcode: Some("NXDOMAIN".into()),
        info_code: Some(3),
    }): NotSent, "DNS-error";
    DestinationNotFound: NotSent, "destination-not-found";
    DestinationUnavailable: NotSent, "destination-unavailable";
    DestinationIpProhibited: Denied, "destination-IP-prohibited";
    DestinationIpUnroutable: NotSent, "destination-IP-unroutable";
    ConnectionRefused: NotSent, "connection-refused";
    ConnectionTerminated: Unknown, "connection-terminated";
    ConnectionTimeout: ConnectionTimeout, "connection-timeout";
    ConnectionReadTimeout: Unknown, "connection-read-timeout";
    ConnectionWriteTimeout: Unknown, "connection-write-timeout";
    ConnectionLimitReached: NotSent, "connection-limit-reached";
    TlsProtocolError: NotSent, "TLS-protocol-error";
    TlsCertificateError: NotSent, "TLS-certificate-error";
    TlsAlertReceived(TlsAlertReceivedPayload {
        alert_id: Some(48),
        alert_message: Some("unknown_ca".into()),
    }): Unknown, "TLS-alert-received";
    HttpRequestDenied: Denied, "HTTP-request-denied";
    HttpRequestLengthRequired: Rejected, "HTTP-request-length-required";
    HttpRequestBodySize(Some(7)): Rejected, "HTTP-request-body-size";
    HttpRequestMethodInvalid: Rejected, "HTTP-request-method-invalid";
    HttpRequestUriInvalid: Rejected, "HTTP-request-URI-invalid";
    HttpRequestUriTooLong: Rejected, "HTTP-request-URI-too-long";
    HttpRequestHeaderSectionSize(Some(7)): Rejected, "HTTP-request-header-section-size";
    HttpRequestHeaderSize(Some(field())): Rejected, "HTTP-request-header-size";
    HttpRequestTrailerSectionSize(Some(7)): Rejected, "HTTP-request-trailer-section-size";
    HttpRequestTrailerSize(field()): Rejected, "HTTP-request-trailer-size";
    HttpResponseIncomplete: Unknown, "HTTP-response-incomplete";
    HttpResponseHeaderSectionSize(Some(7)): Unknown, "HTTP-response-header-section-size";
    HttpResponseHeaderSize(field()): Unknown, "HTTP-response-header-size";
    HttpResponseBodySize(Some(7)): Unknown, "HTTP-response-body-size";
    HttpResponseTrailerSectionSize(Some(7)): Unknown, "HTTP-response-trailer-section-size";
    HttpResponseTrailerSize(field()): Unknown, "HTTP-response-trailer-size";
    HttpResponseTransferCoding(Some("x".into())): Unknown, "HTTP-response-transfer-coding";
    HttpResponseContentCoding(Some("x".into())): Unknown, "HTTP-response-content-coding";
    HttpResponseTimeout: Unknown, "HTTP-response-timeout";
    HttpUpgradeFailed: Unknown, "HTTP-upgrade-failed";
    HttpProtocolError: Unknown, "HTTP-protocol-error";
    LoopDetected: Unknown, "loop-detected";
    ConfigurationError: Unknown, "configuration-error";
    InternalError(Some("of the host".into())): Unknown, "internal-error";
}

fn field() -> FieldSizePayload {
    FieldSizePayload {
        field_name: Some("cookie".into()),
        field_size: Some(7),
    }
}

//! The meaning of wasi:http's error codes for a request without a response. The codes are equal in
//! WASI 0.2 and 0.3, whose bindings have a type each: [`error_code`](crate::error_code!) maps
//! either to the one here.

use crate::transport::{Delivery, SendError};

/// Generates everything from one table. `$dollar` is a dollar sign, for the generated macro.
macro_rules! error_codes {
    ($dollar:tt $($code:ident $name:literal $delivery:ident,)*) => {
        /// An error code of wasi:http, without its details.
        #[allow(missing_docs)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum ErrorCode {
            $($code,)*
        }

        impl ErrorCode {
            /// All error codes.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$code,)*];

            /// Returns the name in the WIT of wasi:http.
            pub fn name(self) -> &'static str {
                match self {
                    $(ErrorCode::$code => $name,)*
                }
            }

            /// Returns whether a request that failed with this code may have reached the service.
            pub fn delivery(self) -> Delivery {
                match self {
                    $(ErrorCode::$code => Delivery::$delivery,)*
                }
            }
        }

        /// Converts a value of the type that bindings of wasi:http call `$Code` to an
        /// [`ErrorCode`](crate::ErrorCode). Arms for further cases of the type follow the value.
        #[macro_export]
        macro_rules! error_code {
            ($dollar Code:ident, $dollar code:expr $dollar(, $dollar other:pat => $dollar its:expr)* $dollar(,)?) => {
                match $dollar code {
                    $($dollar Code::$code { .. } => $dollar crate::ErrorCode::$code,)*
                    $dollar($dollar other => $dollar its,)*
                }
            };
        }
    };
}

// Only codes that occur before the first byte of a request is sent are `NotSent`. With the others
// it is not known whether they occur at once, when the host is given the request, or later. (Hosts
// use TLS-protocol-error for the handshake; failures of an established connection have other names.
// With TLS 1.3 an alert may come after the first request was sent.)
error_codes! { $
    DnsTimeout "DNS-timeout" NotSent,
    DnsError "DNS-error" NotSent,
    DestinationNotFound "destination-not-found" NotSent,
    DestinationUnavailable "destination-unavailable" NotSent,
    DestinationIpProhibited "destination-IP-prohibited" Denied,
    DestinationIpUnroutable "destination-IP-unroutable" NotSent,
    ConnectionRefused "connection-refused" NotSent,
    ConnectionTerminated "connection-terminated" Unknown,
    ConnectionTimeout "connection-timeout" ConnectionTimeout,
    ConnectionReadTimeout "connection-read-timeout" Unknown,
    ConnectionWriteTimeout "connection-write-timeout" Unknown,
    ConnectionLimitReached "connection-limit-reached" NotSent,
    TlsProtocolError "TLS-protocol-error" NotSent,
    TlsCertificateError "TLS-certificate-error" NotSent,
    TlsAlertReceived "TLS-alert-received" Unknown,
    HttpRequestDenied "HTTP-request-denied" Denied,
    HttpRequestLengthRequired "HTTP-request-length-required" Rejected,
    HttpRequestBodySize "HTTP-request-body-size" Rejected,
    HttpRequestMethodInvalid "HTTP-request-method-invalid" Rejected,
    HttpRequestUriInvalid "HTTP-request-URI-invalid" Rejected,
    HttpRequestUriTooLong "HTTP-request-URI-too-long" Rejected,
    HttpRequestHeaderSectionSize "HTTP-request-header-section-size" Rejected,
    HttpRequestHeaderSize "HTTP-request-header-size" Rejected,
    HttpRequestTrailerSectionSize "HTTP-request-trailer-section-size" Rejected,
    HttpRequestTrailerSize "HTTP-request-trailer-size" Rejected,
    HttpResponseIncomplete "HTTP-response-incomplete" Unknown,
    HttpResponseHeaderSectionSize "HTTP-response-header-section-size" Unknown,
    HttpResponseHeaderSize "HTTP-response-header-size" Unknown,
    HttpResponseBodySize "HTTP-response-body-size" Unknown,
    HttpResponseTrailerSectionSize "HTTP-response-trailer-section-size" Unknown,
    HttpResponseTrailerSize "HTTP-response-trailer-size" Unknown,
    HttpResponseTransferCoding "HTTP-response-transfer-coding" Unknown,
    HttpResponseContentCoding "HTTP-response-content-coding" Unknown,
    HttpResponseTimeout "HTTP-response-timeout" Unknown,
    HttpUpgradeFailed "HTTP-upgrade-failed" Unknown,
    HttpProtocolError "HTTP-protocol-error" Unknown,
    LoopDetected "loop-detected" Unknown,
    ConfigurationError "configuration-error" Unknown,
    InternalError "internal-error" Unknown,
}

impl SendError {
    /// Returns the error of a request that failed with this code and these details.
    pub fn of_code(code: ErrorCode, detail: Option<&str>) -> Self {
        let name = code.name();
        Self {
            delivery: code.delivery(),
            message: detail.map_or(name.to_owned(), |detail| format!("{name}: {detail}")),
        }
    }
}

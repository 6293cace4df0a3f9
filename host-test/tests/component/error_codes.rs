//! The 39 error codes of wasi:http: what each means to a read and to a create.

use crate::failure::{attempts, case};
use crate::operation::Operation::{CreateDocketV2, ListAgents};
use crate::script::{Script, Step};
use wasmtime_wasi_http::p2::bindings::http::types::{
    DnsErrorPayload, ErrorCode, FieldSizePayload, TlsAlertReceivedPayload,
};

/// What a code says about the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// It never left: creates are repeated like reads.
    NotSent,
    /// It never will.
    Denied,
    /// Nobody knows: a create is not repeated.
    Unknown,
}

/// The meaning that is expected, and the name that WIT gives the code. A new code
/// does not compile here before somebody has thought of it.
fn expected(code: &ErrorCode) -> (Meaning, &'static str) {
    use Meaning::*;
    match code {
        ErrorCode::DnsTimeout => (NotSent, "DNS-timeout"),
        ErrorCode::DnsError(_) => (NotSent, "DNS-error: NXDOMAIN"),
        ErrorCode::DestinationNotFound => (NotSent, "destination-not-found"),
        ErrorCode::DestinationUnavailable => (NotSent, "destination-unavailable"),
        ErrorCode::DestinationIpProhibited => (Denied, "destination-IP-prohibited"),
        ErrorCode::DestinationIpUnroutable => (NotSent, "destination-IP-unroutable"),
        ErrorCode::ConnectionRefused => (NotSent, "connection-refused"),
        ErrorCode::ConnectionTerminated => (Unknown, "connection-terminated"),
        ErrorCode::ConnectionTimeout => (NotSent, "connection-timeout"),
        ErrorCode::ConnectionReadTimeout => (Unknown, "connection-read-timeout"),
        ErrorCode::ConnectionWriteTimeout => (Unknown, "connection-write-timeout"),
        ErrorCode::ConnectionLimitReached => (NotSent, "connection-limit-reached"),
        ErrorCode::TlsProtocolError => (NotSent, "TLS-protocol-error"),
        ErrorCode::TlsCertificateError => (NotSent, "TLS-certificate-error"),
        ErrorCode::TlsAlertReceived(_) => (Unknown, "TLS-alert-received: unknown_ca"),
        ErrorCode::HttpRequestDenied => (Denied, "HTTP-request-denied"),
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
        ErrorCode::InternalError(_) => (Unknown, "internal-error: of the host"),
    }
}

fn all_codes() -> [ErrorCode; 39] {
    let field = || FieldSizePayload {
        field_name: Some("cookie".into()),
        field_size: Some(7),
    };
    [
        ErrorCode::DnsTimeout,
        ErrorCode::DnsError(DnsErrorPayload {
            rcode: Some("NXDOMAIN".into()),
            info_code: Some(3),
        }),
        ErrorCode::DestinationNotFound,
        ErrorCode::DestinationUnavailable,
        ErrorCode::DestinationIpProhibited,
        ErrorCode::DestinationIpUnroutable,
        ErrorCode::ConnectionRefused,
        ErrorCode::ConnectionTerminated,
        ErrorCode::ConnectionTimeout,
        ErrorCode::ConnectionReadTimeout,
        ErrorCode::ConnectionWriteTimeout,
        ErrorCode::ConnectionLimitReached,
        ErrorCode::TlsProtocolError,
        ErrorCode::TlsCertificateError,
        ErrorCode::TlsAlertReceived(TlsAlertReceivedPayload {
            alert_id: Some(48),
            alert_message: Some("unknown_ca".into()),
        }),
        ErrorCode::HttpRequestDenied,
        ErrorCode::HttpRequestLengthRequired,
        ErrorCode::HttpRequestBodySize(Some(7)),
        ErrorCode::HttpRequestMethodInvalid,
        ErrorCode::HttpRequestUriInvalid,
        ErrorCode::HttpRequestUriTooLong,
        ErrorCode::HttpRequestHeaderSectionSize(Some(7)),
        ErrorCode::HttpRequestHeaderSize(Some(field())),
        ErrorCode::HttpRequestTrailerSectionSize(Some(7)),
        ErrorCode::HttpRequestTrailerSize(field()),
        ErrorCode::HttpResponseIncomplete,
        ErrorCode::HttpResponseHeaderSectionSize(Some(7)),
        ErrorCode::HttpResponseHeaderSize(field()),
        ErrorCode::HttpResponseBodySize(Some(7)),
        ErrorCode::HttpResponseTrailerSectionSize(Some(7)),
        ErrorCode::HttpResponseTrailerSize(field()),
        ErrorCode::HttpResponseTransferCoding(Some("x".into())),
        ErrorCode::HttpResponseContentCoding(Some("x".into())),
        ErrorCode::HttpResponseTimeout,
        ErrorCode::HttpUpgradeFailed,
        ErrorCode::HttpProtocolError,
        ErrorCode::LoopDetected,
        ErrorCode::ConfigurationError,
        ErrorCode::InternalError(Some("of the host".into())),
    ]
}

#[test]
fn no_code_is_listed_twice() {
    let mut names: Vec<_> = all_codes().iter().map(|code| expected(code).1).collect();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), all_codes().len());
}

#[tokio::test(start_paused = true)]
async fn each_error_code_ends_a_read_and_a_create_as_its_meaning_demands() {
    for code in all_codes() {
        let (meaning, name) = expected(&code);
        for operation in [ListAgents, CreateDocketV2] {
            let (case_expected, requests) = match meaning {
                Meaning::NotSent => ("unreachable", 4),
                Meaning::Denied => ("permanent-configuration", 1),
                Meaning::Unknown if operation.is_create() => ("permanent-outcome-unknown", 1),
                Meaning::Unknown => ("timed-out", 4),
            };
            let script = Script::new([Step::fail(code.clone())]);
            let error = script.run(operation, &[]).await.unwrap_err();
            assert_eq!(case(&error), case_expected, "{name} {operation:?}");
            assert_eq!(script.sent().len(), requests, "{name} {operation:?}");
            assert_eq!(attempts(&error).len(), requests, "{name} {operation:?}");
            for attempt in attempts(&error) {
                assert_eq!(attempt.status, None);
                assert_eq!(attempt.transport_error.as_deref(), Some(name));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_error_code_in_the_middle_of_a_body_is_a_body_that_broke_off() {
    use crate::script::Piece;
    for code in all_codes() {
        let cut = [Piece::Bytes(b"{\"docket_id\"".to_vec()), Piece::Break(code)];
        let script = Script::new([Step::status(200).pieces(cut)]);
        let error = script.run(CreateDocketV2, &[]).await.unwrap_err();
        assert_eq!(case(&error), "permanent-unexpected-response");
        assert_eq!(script.sent().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_never_left_is_sent_once_the_service_can_be_reached() {
    for code in all_codes() {
        let (meaning, name) = expected(&code);
        if meaning != Meaning::NotSent {
            continue;
        }
        for operation in [ListAgents, CreateDocketV2] {
            let script = Script::new([Step::fail(code.clone()), Step::ok(operation.satisfying())]);
            script.run(operation, &[]).await.unwrap();
            assert_eq!(script.sent().len(), 2, "{name} {operation:?}");
        }
    }
}

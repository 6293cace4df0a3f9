//! The 39 error codes of wasi:http: what each means to a read and to a create.

use crate::failure::may_have_created;
use crate::operation::Operation::{CreateDocketV2, ListAgents};
use crate::operation::{Operation, returned};
use crate::other_host::OtherHost;
use crate::script::{Script, Step};
use std::sync::atomic::Ordering;
use voice_calling_check::error_codes::{Meaning, all, meaning, name};
use voice_calling_host::types::RequestError;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

/// What an attempt says of a code: its name and its details.
fn told(code: &ErrorCode) -> String {
    let name = name(code);
    match code {
        ErrorCode::DnsError(_) => format!("{name}: NXDOMAIN"),
        ErrorCode::TlsAlertReceived(_) => format!("{name}: unknown_ca"),
        ErrorCode::InternalError(_) => format!("{name}: of the host"),
        _ => name.to_owned(),
    }
}

/// An operation whose requests all met this code ended as the code's meaning demands.
fn assert_end(operation: Operation, error: &RequestError, requests: usize, code: &ErrorCode) {
    let (meaning, name) = (meaning(code), told(code));
    let (case_expected, requests_expected) = match (meaning, operation.is_create()) {
        (Meaning::NotSent, _) | (Meaning::ConnectionTimeout, false) => ("unreachable", 4),
        (Meaning::Denied, _) => ("permanent-configuration", 1),
        (Meaning::Rejected, false) => ("permanent-invalid-input", 1),
        (Meaning::Unknown, false) => ("timed-out", 4),
        (_, true) => ("permanent-outcome-unknown", 1),
    };
    assert_eq!(error.case(), case_expected, "{name} {operation:?}");
    assert_eq!(requests, requests_expected, "{name} {operation:?}");
    assert_eq!(error.attempts().len(), requests, "{name} {operation:?}");
    let unsure = case_expected == "permanent-outcome-unknown";
    assert_eq!(may_have_created(error), unsure, "{name} {operation:?}");
    for attempt in error.attempts() {
        assert_eq!(attempt.status, None);
        assert_eq!(attempt.transport_error.as_deref(), Some(name.as_str()));
    }
}

#[tokio::test(start_paused = true)]
async fn each_error_code_ends_a_read_and_a_create_as_its_meaning_demands() {
    for code in all() {
        for operation in [ListAgents, CreateDocketV2] {
            let script = Script::new([Step::fail(code.clone())]);
            let error = script.run(operation, &[]).await.unwrap_err();
            assert_end(operation, &error, script.sent().len(), &code);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_error_code_in_the_middle_of_a_body_is_a_body_that_broke_off() {
    use crate::script::{Piece, bytes};
    for code in all() {
        let cut = [bytes("{\"docket_id\""), Piece::Break(code)];
        let script = Script::new([Step::status(200).pieces(cut)]);
        let error = script.run(CreateDocketV2, &[]).await.unwrap_err();
        assert_eq!(error.case(), "permanent-unexpected-response");
        assert_eq!(script.sent().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_never_left_is_sent_once_the_service_can_be_reached() {
    for code in all() {
        let (meaning, name) = (meaning(&code), told(&code));
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

/// A host may fail as soon as it is given the request: on WASI 0.2, `handle` itself returns the code.
#[tokio::test(start_paused = true)]
async fn an_error_code_that_comes_at_once_means_what_it_means_later() {
    for code in all() {
        for operation in [ListAgents, CreateDocketV2] {
            let settings = Script::new([]).settings(&[]);
            let (mut host, requests) = OtherHost::failing_at_once(settings, &code).await;
            let error = match operation {
                ListAgents => returned(host.list_agents()).await.unwrap_err(),
                _ => returned(host.create_docket_v2()).await.unwrap_err(),
            };
            assert_end(operation, &error, requests.load(Ordering::Relaxed), &code);
        }
    }
}

//! Errors as they leave the guest: whole, of each case, from every function, and the error codes
//! of wasi:http with what they carry.

use crate::stage::{
    DOCKET_ID, NO_OPTIONS, Operation, Script, Step, instance, returned, run, run_in,
};
use voice_calling_check::error_codes::{all, name};
use voice_calling_host::types::{CallOptions, HttpResponse, Problem, RequestError};
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

/// An answer with everything that an error keeps of it.
fn answered(status: u16) -> Step {
    let step = Step::status(status).body("no");
    step.header("x-request-id", "req-7")
        .header("retry-after", "7")
}

/// The status of the only attempt and the error in its place, after which nothing was left to try.
type Attempted<'a> = (Option<u16>, Option<&'a str>);

fn assert_whole(error: &RequestError, case: &str, (status, transport_error): Attempted<'_>) {
    assert_eq!(error.case(), case);
    let failure = error.failure().expect("an error of the component");
    let response = status.map(|status| HttpResponse {
        status,
        body: "no".to_owned(),
        body_cut: false,
        request_id: Some("req-7".to_owned()),
        retry_after_ms: Some(7_000),
    });
    assert_eq!(failure.response, response, "{case}");
    let [attempt] = &failure.attempts[..] else {
        panic!("{failure:?}")
    };
    assert_eq!(attempt.status, status, "{case}");
    assert_eq!(
        attempt.transport_error.as_deref(),
        transport_error,
        "{case}"
    );
    assert!(!failure.message.is_empty(), "{case}");
}

/// The problem of an error without an attempt.
fn problem(error: &RequestError, case: &str) -> Problem {
    assert_eq!(error.case(), case);
    let failure = error.failure().expect("an error of the component");
    assert_eq!((&failure.response, failure.attempts.len()), (&None, 0));
    assert!(!failure.may_have_created);
    failure.problem.clone().expect("a problem")
}

/// What every function of one instance comes to, twice: the second time what the first one was
/// put into is in use again.
#[tokio::test(start_paused = true)]
async fn an_error_of_each_case_leaves_every_function_whole() {
    for &operation in Operation::ALL {
        let of = |read, create| if operation.is_create() { create } else { read };
        let unknown = "permanent-outcome-unknown";
        let late = match operation.is_wait() {
            true => "no answer within 1500 ms",
            false => "no answer within 10000 ms",
        };
        let fail = |code| (None, Some(name(code)));
        let (refused, denied) = (ErrorCode::ConnectionRefused, ErrorCode::HttpRequestDenied);
        let rejected = ErrorCode::HttpRequestUriInvalid;
        let ends = [
            (answered(401), "permanent-unauthorized", (Some(401), None)),
            (answered(404), "permanent-not-found", (Some(404), None)),
            (answered(422), "permanent-rejected", (Some(422), None)),
            (
                answered(600),
                "permanent-unexpected-response",
                (Some(600), None),
            ),
            (answered(429), "rate-limited", (Some(429), None)),
            (answered(503), of("unavailable", unknown), (Some(503), None)),
            (Step::fail(refused.clone()), "unreachable", fail(&refused)),
            (
                Step::fail(denied.clone()),
                "permanent-configuration",
                fail(&denied),
            ),
            (
                Step::fail(rejected.clone()),
                of("permanent-invalid-input", unknown),
                fail(&rejected),
            ),
            (
                Step::silence(),
                of("timed-out", unknown),
                (None, Some(late)),
            ),
        ];
        let success = Step::ok(operation.satisfying());
        let steps = || {
            ends.iter()
                .map(|(step, ..)| step.clone())
                .chain([success.clone()])
        };
        let script = Script::new(steps().chain(steps()).collect::<Vec<_>>());
        let mut instance = instance(&[("MAX_ATTEMPTS", "1")], script.outgoing()).await;
        for _ in 0..2 {
            for (_, case, attempted) in &ends {
                let error = run_in(&mut instance, operation, None).await.unwrap_err();
                assert_whole(&error, case, *attempted);
            }
            let unnamed = CallOptions {
                account: Some("alpha".to_owned()),
                ..NO_OPTIONS
            };
            let none = CallOptions {
                max_attempts: Some(0),
                ..NO_OPTIONS
            };
            for (options, case, subject, found) in [
                (
                    unnamed,
                    "permanent-configuration",
                    "options.account",
                    "\"alpha\"",
                ),
                (none, "permanent-invalid-input", "options.max-attempts", "0"),
            ] {
                let error = run_in(&mut instance, operation, Some(options)).await;
                let problem = problem(&error.unwrap_err(), case);
                assert_eq!((&*problem.subject, &*problem.found), (subject, found));
            }
            run_in(&mut instance, operation, None).await.unwrap();
        }
        assert_eq!(script.sent().len(), 2 * (ends.len() + 1), "{operation}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_broken_delivery_leaves_the_parser_whole_and_needs_no_stack() {
    let mut instance = instance(&[], Script::new([]).outgoing()).await;
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let whole = format!(r#"{{"docket_id":"{DOCKET_ID}","status":"COMPLETED","attempts":{deep}}}"#);
    for cut in [whole.len() - 1, whole.len() / 2, 1] {
        let error = returned(instance.parse_docket_completed(&whole[..cut])).await;
        assert_eq!(
            problem(&error.unwrap_err(), "permanent-invalid-input").subject,
            "body"
        );
        let completed = returned(instance.parse_docket_completed(&whole)).await;
        assert!(completed.unwrap().unwrap().attempts.as_ref() == Some(&deep));
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_code_is_told_by_its_name_with_what_it_carries() {
    for code in all() {
        let name = name(&code);
        let expected = match code {
            ErrorCode::DnsError(_) => format!("{name}: NXDOMAIN"),
            ErrorCode::TlsAlertReceived(_) => format!("{name}: unknown_ca"),
            ErrorCode::InternalError(_) => format!("{name}: of the host"),
            _ => name.to_owned(),
        };
        let script = Script::new([Step::fail(code)]);
        let settings = [("MAX_ATTEMPTS", "1")];
        let error = run(&script, Operation::ListAgents, &settings)
            .await
            .unwrap_err();
        assert_eq!(error.attempts()[0].transport_error, Some(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn every_function_but_the_pure_one_needs_good_settings() {
    let script = Script::new([Step::ok("[]")]);
    let mut instance = instance(&[("MAX_ATTEMPTS", "none")], script.outgoing()).await;
    for &operation in Operation::ALL {
        let error = run_in(&mut instance, operation, None).await.unwrap_err();
        let problem = problem(&error, "permanent-configuration");
        assert_eq!(problem.subject, "VOICE_CALLING_MAX_ATTEMPTS");
    }
    assert!(script.sent().is_empty());
    let body = format!(r#"{{"docket_id":"{DOCKET_ID}","status":"COMPLETED"}}"#);
    let completed = returned(instance.parse_docket_completed(&body))
        .await
        .unwrap();
    assert_eq!(completed.unwrap().docket_id, DOCKET_ID);
}

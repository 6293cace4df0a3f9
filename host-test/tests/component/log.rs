//! The log on stderr: a line of JSON for every attempt, where it is asked for.

use crate::full_pipe::FullPipe;
use crate::operation::Operation::CreateDocketV2;
use crate::operation::Run;
use crate::operation::{DOCKET_ID, NO_OPTIONS, Operation, SATISFYING, docket_v2, returned};
use crate::other_host::OtherHost;
use crate::script::{Script, Step};
use crate::stage::{FREE_FORM, NUMBER, Stage};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::time::Instant;
use voice_calling_host::types::*;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

/// The lines of the log, parsed.
fn log_lines(stderr: &str) -> Vec<Value> {
    let line = |line| serde_json::from_str(line).expect("a line of JSON");
    stderr.lines().map(line).collect()
}

#[tokio::test(start_paused = true)]
async fn the_log_has_a_line_of_json_for_every_attempt() {
    let script = Script::new([
        Step::status(503).header("retry-after", "1").after_ms(20),
        Step::fail(ErrorCode::ConnectionRefused),
        Step::ok(CreateDocketV2.satisfying()).after_ms(5),
    ]);
    let mut instance = script.instance(&[("LOG", "attempts")]).await;
    CreateDocketV2.run(&mut instance).await.unwrap();
    let line = |rest: Value| {
        let mut line = json!({
            "function": "dockets.create-docket-v2", "method": "POST", "path": "/api/v2/dockets",
        });
        let members = rest.as_object().unwrap().clone();
        line.as_object_mut().unwrap().extend(members);
        line
    };
    assert_eq!(
        log_lines(&instance.stderr()),
        [
            line(
                json!({"attempt": 1, "status": 503, "started_ms": 0, "duration_ms": 20, "pause_ms": 1000})
            ),
            line(
                json!({"attempt": 2, "transport_error": "connection-refused", "started_ms": 1020, "duration_ms": 0, "pause_ms": 2000})
            ),
            line(json!({"attempt": 3, "status": 200, "started_ms": 3020, "duration_ms": 5})),
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn the_log_names_the_account_of_an_attempt() {
    let settings = [
        ("LOG", "attempts"),
        ("ACCOUNTS", "alpha"),
        ("ALPHA_API_TOKEN", "token-of-alpha"),
    ];
    let script = Script::new([Step::ok(CreateDocketV2.satisfying())]);
    let mut instance = script.instance(&settings).await;
    let alpha = CallOptions {
        account: Some("alpha".into()),
        ..NO_OPTIONS
    };
    for options in [alpha, NO_OPTIONS] {
        CreateDocketV2
            .run_with(&mut instance, options)
            .await
            .unwrap();
    }
    let stderr = instance.stderr();
    let lines = log_lines(&stderr);
    assert_eq!(lines[0]["account"], "alpha");
    assert_eq!(lines[1].get("account"), None);
    assert!(!stderr.contains("token-of-alpha"), "{stderr}");
}

#[tokio::test]
async fn the_log_tells_nothing_of_whom_or_what_a_call_is_about() {
    let stage = Stage::start().await;
    let mut instance = stage.instance_with(&[("LOG", "attempts")]).await;
    let request = DocketRequestV2 {
        call_context: FREE_FORM.into(),
        external_id: Some("crm-7".into()),
        ..docket_v2()
    };
    let created = returned(instance.create_docket_v2(&request, None))
        .await
        .unwrap();
    returned(instance.get_docket(&created.docket_id, None))
        .await
        .unwrap();
    returned(instance.list_agents("org-1", None)).await.unwrap();
    returned(instance.get_call_details("task-1", None))
        .await
        .unwrap_err();
    let stderr = instance.stderr();
    assert_eq!(log_lines(&stderr).len(), 4);
    for secret in [
        &stage.mock.token(),
        NUMBER,
        "Asha",
        "crm-7",
        &created.docket_id,
        "org-1",
        "task-1",
    ] {
        assert!(!stderr.contains(secret), "{secret} in {stderr}");
    }
    for path in ["/api/v1/dockets/{docket_id}", "/call_details/{task_id}"] {
        assert!(stderr.contains(path), "{stderr}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_log_stderr_is_silent() {
    for settings in [&[][..], &[("LOG", "off")]] {
        for operation in Operation::ALL {
            let script = Script::new([Step::status(503), Step::status(400)]);
            let mut instance = script.instance(settings).await;
            operation.run(&mut instance).await.unwrap_err();
            assert_eq!(instance.stderr(), "", "{operation:?}");
        }
    }
}

/// A pipe that is full, from the beginning or in the middle of a line.
#[tokio::test(start_paused = true)]
async fn a_stderr_that_takes_no_more_holds_up_no_call() {
    for capacity in [0, 100] {
        let script = Script::new([Step::status(503), Step::ok(SATISFYING)]);
        let settings = [
            ("LOG", "attempts"),
            ("BACKOFF_MS", "1"),
            ("MAX_BACKOFF_MS", "1"),
        ];
        let stderr = FullPipe::of_capacity(capacity);
        let mut host = OtherHost::with_stderr(script.settings(&settings), stderr.clone()).await;
        let began = Instant::now();
        let created = returned(host.create_docket_v2()).await.unwrap();
        let took = began.elapsed();
        assert!(took < Duration::from_secs(1), "{took:?}");
        assert_eq!(created.docket_id, DOCKET_ID);
        assert_eq!(created.raw_json, SATISFYING);
        let statuses: Vec<_> = created.attempts.iter().map(|one| one.status).collect();
        assert_eq!(statuses, [Some(503), Some(200)]);
        assert!(stderr.met_no_room(), "nothing was logged");
        let begun = stderr.contents();
        assert_eq!(begun.len(), capacity);
        assert!(begun.is_empty() || begun.starts_with('{'), "{begun}");
    }
}

//! The glue of the guests to wasi:http, clocks and stderr.

use crate::other_host;
use Operation::{CreateDocketsV2, ListAgents};
use std::time::Duration;
use tokio::time::Instant;
use voice_calling_check::error_codes::{all, name};
use voice_calling_check::operation::Arguments;
use voice_calling_host::types::DocketRequestV2;
use voice_calling_peer::{Behaviour, Peer};
use voice_calling_test_guests::{
    Operation, SATISFYING, Script, Step, docket_v2, instance, instance_at, outcome, pooled,
    returned, run, run_in, sent_at_ms, settings,
};
use wasmtime_wasi_http::RequestOptions;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

/// Returns an answer, whose status line lacks the protocol.
fn http(answer: &str) -> Behaviour {
    Behaviour::Send(format!("HTTP/1.1 {answer}").into_bytes())
}

/// Returns an operation's outcome with a peer of this behaviour, and the number of connections.
async fn played(operation: Operation, behaviour: Behaviour) -> (&'static str, usize) {
    let peer = Peer::start([behaviour]).await.expect("a peer");
    let mut instance = instance_at(&peer.base_url(), &[], pooled()).await;
    let result = run_in(&mut instance, operation).await;
    (outcome(&result), peer.connections())
}

#[tokio::test]
async fn a_create_that_got_no_status_is_never_sent_again_and_a_read_is() {
    let many: String = (0..100_000)
        .map(|index| format!("x-{index}: x\r\n"))
        .collect();
    let large = format!("x-large: {}\r\n", "x".repeat(1 << 20));
    for behaviour in [
        Behaviour::CloseAfterReading,
        Behaviour::Send(b"220 mail.example ESMTP\r\n".to_vec()),
        http(&format!("200 OK\r\n{many}Content-Length: 2\r\n\r\n[]")),
        http(&format!("200 OK\r\n{large}Content-Length: 2\r\n\r\n[]")),
    ] {
        for &operation in Operation::ALL.iter().filter(|it| it.rings()) {
            let came_to = played(operation, behaviour.clone()).await;
            assert_eq!(came_to, ("outcome-unknown", 1), "{operation}");
        }
        assert_eq!(played(ListAgents, behaviour).await, ("timed-out", 4));
    }
}

#[tokio::test]
async fn a_create_on_a_connection_that_closes_at_once_is_sent_again_only_if_it_has_not_left() {
    for &operation in Operation::ALL.iter().filter(|it| it.rings()) {
        // The host may see the end before it writes.
        let came_to = played(operation, Behaviour::CloseBeforeReading).await;
        let is_honest = came_to == ("unreachable", 4) || came_to.0 == "outcome-unknown";
        assert!(is_honest, "{operation}: {came_to:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_wait_for_the_whole_request_is_taken() {
    // More than the host buffers for a peer that does not read.
    let large = DocketRequestV2 {
        call_context: format!(r#"{{"note":"{}"}}"#, "x".repeat(5_000_000)),
        ..docket_v2()
    };
    let terminated = Step::fail(ErrorCode::ConnectionTerminated);
    for (step, expected) in [
        (Step::status(413).body("too large"), "rejected"),
        (Step::status(503), "outcome-unknown"),
        (Step::ok(SATISFYING), "ok"),
        (terminated, "outcome-unknown"),
    ] {
        for after_ms in [0, 100] {
            let script = Script::new([step.clone().after_ms(after_ms).without_reading()]);
            let settings = [("MAX_ATTEMPTS", "1"), ("MAX_REQUEST_BYTES", "6000000")];
            let mut instance = instance(&settings, script.outgoing()).await;
            let result = returned(instance.create_docket_v2(&large, None)).await;
            assert_eq!(outcome(&result), expected, "after {after_ms} ms");
            assert_eq!(script.now_ms(), after_ms);
        }
    }
}

/// Returns the results of a batch of this many requests.
async fn batch(script: &Script, items: usize, max_in_flight: &str) -> Vec<&'static str> {
    let settings = [("MAX_IN_FLIGHT", max_in_flight)];
    let mut instance = instance(&settings, script.outgoing()).await;
    let arguments = Arguments {
        items,
        ..Arguments::default()
    };
    let results = returned(CreateDocketsV2.call(&mut instance, arguments, None)).await;
    results.iter().map(outcome).collect()
}

#[tokio::test(start_paused = true)]
async fn a_batch_opens_twice_as_many_requests_after_each_round_and_a_slow_one_holds_up_no_other() {
    let created = || Step::ok(SATISFYING).after_ms(50);
    let script = Script::new([created()]);
    assert_eq!(batch(&script, 635, "1000").await, ["ok"; 635]);
    // 5 and 10 and 20, up to 320.
    assert_eq!((script.most_open(), script.now_ms()), (320, 7 * 50));

    let script = Script::new([Step::ok(SATISFYING).after_ms(5_000), created()]);
    assert_eq!(batch(&script, 41, "2").await, ["ok"; 41]);
    assert_eq!((script.most_open(), script.now_ms()), (2, 5_000));
    assert_eq!(sent_at_ms(&script).last(), Some(&1_950));
}

/// Like a full pipe that is not read.
#[tokio::test(start_paused = true)]
async fn a_stderr_that_takes_nothing_holds_up_no_call() {
    let script = Script::new([Step::status(503), Step::ok(SATISFYING)]);
    let quick = [
        ("LOG", "attempts"),
        ("BACKOFF_MS", "1"),
        ("MAX_BACKOFF_MS", "1"),
    ];
    let settings = settings(&quick, script.outgoing());
    let began = Instant::now();
    let (created, was_written_to) = returned(other_host::create_docket_v2(settings)).await;
    let created = created.unwrap();
    assert!(began.elapsed() < Duration::from_secs(1));
    assert_eq!(created.raw_json, SATISFYING);
    let statuses: Vec<_> = created.attempts.iter().map(|one| one.status).collect();
    assert_eq!(statuses, [Some(503), Some(200)]);
    assert!(was_written_to, "nothing was logged");
}

#[tokio::test(start_paused = true)]
async fn an_error_code_is_reported_by_its_name_with_its_payload() {
    for code in all() {
        let name = name(&code);
        let expected = match code {
            ErrorCode::DnsError(_) => format!("{name}: NXDOMAIN"),
            ErrorCode::TlsAlertReceived(_) => format!("{name}: unknown_ca"),
            ErrorCode::InternalError(_) => format!("{name}: of the host"),
            _ => name.to_owned(),
        };
        let script = Script::new([Step::fail(code)]);
        let result = run(&script, ListAgents, &[("MAX_ATTEMPTS", "1")]).await;
        let attempts = result.unwrap_err().attempts().to_vec();
        assert_eq!(attempts[0].transport_error, Some(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn the_host_receives_the_timeouts() {
    let timeouts = |connect_ms, attempt_ms| RequestOptions {
        connect_timeout: Some(Duration::from_millis(connect_ms)),
        first_byte_timeout: Some(Duration::from_millis(attempt_ms)),
        between_bytes_timeout: None,
    };
    let set = [("CONNECT_TIMEOUT_MS", "70"), ("ATTEMPT_TIMEOUT_MS", "900")];
    for (settings, expected) in [
        (&[][..], timeouts(3_000, 10_000)),
        (&set, timeouts(70, 900)),
    ] {
        let script = Script::new([Step::ok("[]")]);
        run(&script, ListAgents, settings).await.unwrap();
        assert_eq!(script.sent()[0].options, expected);
    }
}

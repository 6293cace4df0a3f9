//! Answers that are late, or never end, in virtual time.

use crate::failure::{failure, may_have_created, outcome, statuses, times_ms};
use crate::operation::Operation::{CreateDocketV2, ListAgents, MakeCall};
use crate::operation::Run;
use crate::operation::{NO_OPTIONS, Operation, SATISFYING, docket_v2, returned};
use crate::script::{Piece, Script, Step, bytes, endless};
use std::time::Duration;
use voice_calling_host::record::exchange::Ending;
use voice_calling_host::types::{CallOptions, DocketRequestV2};
use wasmtime_wasi_http::RequestOptions;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A body whose beginning came and whose rest never does.
fn unfinished() -> [Piece; 2] {
    let beginning = bytes("{\"task_id\":\"task-1\"");
    [beginning, Piece::Pause(seconds(86_400))]
}

#[tokio::test(start_paused = true)]
async fn a_silent_service_times_out_a_read_while_there_is_time_for_a_whole_attempt() {
    let script = Script::new([Step::silence()]);
    let error = script.run(ListAgents, &[]).await.unwrap_err();
    assert_eq!(error.case(), "timed-out");
    // The third could not begin before 23 s, and would have 7 s.
    assert_eq!(times_ms(&error), [(0, 10_000), (11_000, 10_000)]);
    assert_eq!(script.now_ms(), 21_000);
    for attempt in error.attempts() {
        assert_eq!(
            attempt.transport_error.as_deref(),
            Some("no answer within 10000 ms")
        );
    }
    let exchanges = script.recorder().exchanges();
    assert!(exchanges.iter().all(|e| e.ending == Ending::Abandoned));
}

#[tokio::test(start_paused = true)]
async fn a_silent_service_leaves_the_outcome_of_a_create_unknown_after_one_attempt() {
    for operation in Operation::RINGING {
        let script = Script::new([Step::silence()]);
        let error = script.run(operation, &[]).await.unwrap_err();
        assert_eq!(error.case(), "permanent-outcome-unknown", "{operation:?}");
        assert_eq!(times_ms(&error), [(0, 10_000)]);
        assert_eq!((script.sent().len(), script.now_ms()), (1, 10_000));
        assert!(may_have_created(&error), "{operation:?}");
        let message = &failure(&error).message;
        assert!(message.contains("may have been created"), "{message}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_just_within_the_attempts_time_is_taken() {
    for operation in Operation::READ_AND_CREATE {
        let script = Script::new([Step::ok(operation.satisfying()).after_ms(9_999)]);
        script.run(operation, &[]).await.unwrap();
        assert_eq!(script.sent().len(), 1, "{operation:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_attempt_has_only_the_time_that_is_left() {
    let refused = Step::status(503).header("retry-after", "7");
    for (operation, expected) in [
        (ListAgents, "unavailable"),
        (CreateDocketV2, "permanent-outcome-unknown"),
    ] {
        let script = Script::new([refused.clone(), Step::silence()]);
        let settings = [("DEADLINE_MS", "15000")];
        let error = script.run(operation, &settings).await.unwrap_err();
        assert_eq!(error.case(), expected);
        assert_eq!(times_ms(&error), [(0, 0), (7_000, 8_000)]);
        assert_eq!(script.now_ms(), 15_000);
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_bounds_all_attempts_together() {
    let settings = [
        ("DEADLINE_MS", "1000"),
        ("MAX_ATTEMPTS", "100"),
        ("BACKOFF_MS", "1"),
    ];
    for operation in Operation::READ_AND_CREATE {
        let script = Script::new([Step::status(503).after_ms(300)]);
        let error = script.run(operation, &settings).await.unwrap_err();
        // The third would have had less than half of the time.
        let expected = match operation.is_create() {
            true => "permanent-outcome-unknown",
            false => "unavailable",
        };
        assert_eq!(error.case(), expected);
        assert_eq!(times_ms(&error), [(0, 300), (300, 300)]);
        assert_eq!(statuses(&error), [Some(503); 2], "{operation:?}");
        assert_eq!(script.now_ms(), 600);
    }
}

#[tokio::test(start_paused = true)]
async fn the_options_of_a_call_stand_in_place_of_the_settings() {
    for operation in Operation::ALL {
        // Their own arguments bound the time of waits.
        if operation.is_wait() {
            continue;
        }
        let script = Script::new([Step::status(429)]);
        let mut instance = script.instance(&[("MAX_ATTEMPTS", "3")]).await;
        for (max_attempts, expected) in [(None, 3), (Some(1), 1), (Some(2), 2), (None, 3)] {
            let before = script.sent().len();
            let options = CallOptions {
                max_attempts,
                ..NO_OPTIONS
            };
            let error = operation.run_with(&mut instance, options).await;
            assert_eq!(error.unwrap_err().attempts().len(), expected);
            assert_eq!(script.sent().len() - before, expected, "{operation:?}");
        }

        let script = Script::new([Step::silence()]);
        let mut instance = script.instance(&[]).await;
        for deadline_ms in [700, 5_000, 86_400_000] {
            let (before, began_ms) = (script.sent().len(), script.now_ms());
            let options = CallOptions {
                deadline_ms: Some(deadline_ms),
                max_attempts: Some(1),
                ..NO_OPTIONS
            };
            operation
                .run_with(&mut instance, options)
                .await
                .unwrap_err();
            // The timeouts of an attempt give way to a smaller deadline, and stay with a larger.
            let attempt = Duration::from_millis(u64::from(deadline_ms).min(10_000));
            let sent = script.sent();
            assert_eq!(sent[before].options.first_byte_timeout, Some(attempt));
            let took_ms = script.now_ms() - began_ms;
            assert_eq!(took_ms, attempt.as_millis() as u64, "{operation:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_host_is_told_the_timeouts() {
    let options = |connect_ms, attempt_ms| RequestOptions {
        connect_timeout: Some(Duration::from_millis(connect_ms)),
        first_byte_timeout: Some(Duration::from_millis(attempt_ms)),
        between_bytes_timeout: Some(Duration::from_millis(attempt_ms)),
    };
    let set = [
        ("CONNECT_TIMEOUT_MS", "70"),
        ("ATTEMPT_TIMEOUT_MS", "900"),
        ("DEADLINE_MS", "5000"),
    ];
    let refused = |seconds| Step::status(503).header("retry-after", seconds);
    for operation in Operation::ALL {
        // Of the waits the arguments bound the time as well.
        if matches!(
            operation,
            Operation::WaitForDocket | Operation::WaitForCallDetails
        ) {
            continue;
        }
        for (settings, retry_after, expected) in [
            (
                &[("DEADLINE_MS", "6000")][..],
                "3",
                [options(3_000, 6_000), options(2_250, 3_000)],
            ),
            (&set, "2", [options(70, 900), options(70, 900)]),
        ] {
            let script = Script::new([refused(retry_after), Step::ok(operation.satisfying())]);
            script.run(operation, settings).await.unwrap();
            let seen: Vec<_> = script.sent().iter().map(|sent| sent.options).collect();
            assert_eq!(seen, expected, "{operation:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_time_of_a_wait_bounds_what_the_host_is_told() {
    for operation in [Operation::WaitForDocket, Operation::WaitForCallDetails] {
        let script = Script::new([Step::ok(operation.satisfying())]);
        let mut instance = script.instance(&[("DEADLINE_MS", "86400000")]).await;
        operation.run_within(&mut instance, 700).await.unwrap();
        let options = script.sent()[0].options;
        let bound = |ms| Some(Duration::from_millis(ms));
        assert_eq!(options.connect_timeout, bound(525), "{operation:?}");
        assert_eq!(options.first_byte_timeout, bound(700), "{operation:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_takes_too_long_is_tried_again_on_creates_only_if_the_host_is_trusted() {
    let slow = Step::fail(ErrorCode::ConnectionTimeout).after_ms(3_000);
    let trusted = [("TRUST_CONNECTION_TIMEOUT", "true")];
    let script = Script::new([slow.clone(), Step::ok(SATISFYING)]);
    let started = script.run(MakeCall, &trusted).await.unwrap();
    assert_eq!(script.sent_at_ms(), [0, 4_000]);
    assert!(!started.may_be_duplicate);

    let script = Script::new([slow.clone()]);
    let error = script.run(MakeCall, &[]).await.unwrap_err();
    assert_eq!(error.case(), "permanent-outcome-unknown");
    assert!(may_have_created(&error));
    assert_eq!(script.sent_at_ms(), [0]);

    for settings in [&trusted[..], &[]] {
        let script = Script::new([slow.clone(), Step::ok("[]")]);
        script.run(ListAgents, settings).await.unwrap();
        assert_eq!(script.sent_at_ms(), [0, 4_000]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_2xx_whose_body_never_ends_in_time_is_repeated_on_a_read_only() {
    let late = Step::status(200).pieces(unfinished());
    let script = Script::new([late.clone(), Step::ok("[]")]);
    script.run(ListAgents, &[]).await.unwrap();
    assert_eq!(script.sent_at_ms(), [0, 11_000]);

    let script = Script::new([late.clone()]);
    let error = script.run(ListAgents, &[]).await.unwrap_err();
    assert_eq!(error.case(), "timed-out");
    assert_eq!(statuses(&error), [Some(200); 2]);

    for operation in Operation::RINGING {
        let script = Script::new([late.clone()]);
        let error = script.run(operation, &[]).await.unwrap_err();
        assert_eq!(error.case(), "permanent-unexpected-response");
        let kept = error.response().unwrap();
        assert_eq!(
            (kept.body.as_str(), kept.body_cut),
            (r#"{"task_id":"task-1""#, true)
        );
        assert_eq!(times_ms(&error), [(0, 10_000)], "{operation:?}");
        assert_eq!(
            error.attempts()[0].transport_error.as_deref(),
            Some("the body was not complete within 10000 ms")
        );
        assert_eq!(script.sent().len(), 1, "{operation:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn head_and_body_share_the_attempts_time() {
    let slow = [Piece::Pause(seconds(6)), bytes(SATISFYING)];
    let step = |head_after_ms| {
        Step::status(200)
            .pieces(slow.clone())
            .after_ms(head_after_ms)
    };
    let script = Script::new([step(3_000)]);
    script.run(MakeCall, &[]).await.unwrap();
    let script = Script::new([step(5_000)]);
    let error = script.run(MakeCall, &[]).await.unwrap_err();
    assert_eq!(error.case(), "permanent-unexpected-response");
    assert_eq!(script.now_ms(), 10_000);
}

#[tokio::test(start_paused = true)]
async fn a_late_body_under_another_status_counts_by_the_status() {
    for (status, of_a_read, of_a_create, requests) in [
        (429, "rate-limited", "rate-limited", 2),
        (503, "unavailable", "permanent-outcome-unknown", 2),
        (401, "permanent-unauthorized", "permanent-unauthorized", 1),
        (409, "permanent-rejected", "permanent-rejected", 1),
    ] {
        for (operation, expected) in [(ListAgents, of_a_read), (CreateDocketV2, of_a_create)] {
            let script = Script::new([Step::status(status).pieces(unfinished())]);
            let error = script.run(operation, &[]).await.unwrap_err();
            assert_eq!(error.case(), expected, "{operation:?}");
            assert_eq!(script.sent().len(), requests, "{status} {operation:?}");
            let kept = error.response().unwrap();
            assert_eq!(
                (kept.body.as_str(), kept.body_cut),
                (r#"{"task_id":"task-1""#, true)
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_endless_body_is_read_as_far_as_is_allowed() {
    let endless = endless([b' '; 1_000], Duration::ZERO);
    let settings = [("MAX_RESPONSE_BYTES", "100000")];
    for operation in Operation::READ_AND_CREATE {
        let script = Script::new([Step::status(200).pieces([endless.clone()])]);
        let error = script.run(operation, &settings).await.unwrap_err();
        assert_eq!(error.case(), "permanent-unexpected-response");
        let message = &failure(&error).message;
        let largest = match operation.is_create() {
            true => "larger than 16",
            false => "larger than 100000 bytes",
        };
        assert!(message.contains(largest), "{message}");
        let kept = error.response().unwrap();
        assert_eq!((kept.body.len(), kept.body_cut), (8_192, true));
        assert_eq!(script.sent().len(), 1, "{operation:?}");

        let script = Script::new([Step::status(422).pieces([endless.clone()])]);
        let error = script.run(operation, &settings).await.unwrap_err();
        assert_eq!(error.case(), "permanent-rejected");
        assert!(error.response().unwrap().body_cut);
    }
}

#[tokio::test(start_paused = true)]
async fn of_an_errors_body_no_more_than_64_kib_are_read_and_after_a_create_16_kib_and_the_requests()
{
    let steady = endless([b'x'; 1_000], Duration::from_millis(100));
    // 66 pieces are more than 65536 bytes, and 17 more than 16384 and six times the request.
    for (operation, took_ms) in [(ListAgents, 6_600), (MakeCall, 1_700)] {
        for status in [302, 404, 422, 503] {
            let script = Script::new([Step::status(status).pieces([steady.clone()])]);
            let settings = [("MAX_ATTEMPTS", "1")];
            let error = script.run(operation, &settings).await.unwrap_err();
            assert_eq!(script.now_ms(), took_ms, "{operation:?} {status}");
            assert_eq!(error.attempts()[0].transport_error, None);
            assert!(error.response().unwrap().body_cut);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_drips_for_ever_ends_with_the_attempt() {
    let drip = endless(" ", seconds(1));
    let script = Script::new([Step::status(200).pieces([drip])]);
    let error = script.run(MakeCall, &[]).await.unwrap_err();
    assert_eq!(error.case(), "permanent-unexpected-response");
    assert_eq!(script.now_ms(), 10_000);
}

#[tokio::test(start_paused = true)]
async fn attempts_are_reported_in_order_with_what_each_came_to() {
    let script = Script::new([
        Step::fail(ErrorCode::DnsTimeout).after_ms(40),
        Step::status(503).header("retry-after", "2").after_ms(30),
        Step::fail(ErrorCode::ConnectionTerminated).after_ms(20),
        Step::status(429).after_ms(10),
    ]);
    let error = script.run(ListAgents, &[]).await.unwrap_err();
    assert_eq!(error.case(), "rate-limited", "the latest answer decides");
    assert_eq!(statuses(&error), [None, Some(503), None, Some(429)]);
    assert_eq!(
        times_ms(&error),
        [(0, 40), (1_040, 30), (3_070, 20), (7_090, 10)]
    );
    let errors: Vec<_> = error
        .attempts()
        .iter()
        .map(|attempt| attempt.transport_error.as_deref())
        .collect();
    assert_eq!(
        errors,
        [
            Some("DNS-timeout"),
            None,
            Some("connection-terminated"),
            None
        ]
    );
}

/// A server error before it changes what the end means: something may have been created.
#[tokio::test(start_paused = true)]
async fn a_create_that_had_a_server_error_and_then_no_connection_has_an_unknown_outcome() {
    for (operation, expected) in [
        (ListAgents, "unavailable"),
        (CreateDocketV2, "permanent-outcome-unknown"),
    ] {
        let refused = Step::fail(ErrorCode::ConnectionRefused);
        let script = Script::new([Step::status(503).body("busy"), refused]);
        let error = script.run(operation, &[]).await.unwrap_err();
        assert_eq!(error.case(), expected);
        assert_eq!(statuses(&error), [Some(503), None, None, None]);
        assert_eq!(error.response().unwrap().body, "busy");
        assert_eq!(may_have_created(&error), operation.is_create());
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_wait_for_the_whole_request_is_taken() {
    // More than the host holds for a peer that does not read.
    let large = DocketRequestV2 {
        call_context: format!(r#"{{"note":"{}"}}"#, "x".repeat(5_000_000)),
        ..docket_v2()
    };
    for (step, expected) in [
        (Step::status(413).body("too large"), "permanent-rejected"),
        (Step::status(503), "permanent-outcome-unknown"),
        (Step::ok(SATISFYING), "ok"),
        (
            Step::fail(ErrorCode::ConnectionTerminated),
            "permanent-outcome-unknown",
        ),
    ] {
        for after_ms in [0, 100] {
            let script = Script::new([step.clone().after_ms(after_ms).without_reading()]);
            let settings = [("MAX_ATTEMPTS", "1"), ("MAX_REQUEST_BYTES", "6000000")];
            let mut instance = script.instance(&settings).await;
            let result = returned(instance.create_docket_v2(&large, None)).await;
            assert_eq!(outcome(&result), expected, "after {after_ms} ms");
            assert_eq!(script.now_ms(), after_ms);
        }
    }
}

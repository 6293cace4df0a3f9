//! Answers that are late, or never end, in virtual time.

use crate::failure::{attempts, case, outcome, response, statuses, times_ms};
use crate::operation::Operation::{CreateDocketV2, ListAgents, MakeCall};
use crate::operation::Run;
use crate::operation::{Operation, SATISFYING, docket_v2, returned};
use crate::script::{Piece, Script, Step, bytes, endless};
use std::time::Duration;
use voice_calling_host::record::recorder::Ending;
use voice_calling_host::types::DocketRequestV2;
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
async fn a_silent_service_times_out_a_read_at_the_deadline() {
    let script = Script::new([Step::silence()]);
    let error = script.run(ListAgents, &[]).await.unwrap_err();
    assert_eq!(case(&error), "timed-out");
    let expected = [(0, 10_000), (10_000, 10_000), (20_000, 10_000)];
    assert_eq!(times_ms(&error), expected);
    assert_eq!(script.now_ms(), 30_000);
    for attempt in attempts(&error) {
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
        assert_eq!(case(&error), "permanent-outcome-unknown", "{operation:?}");
        assert_eq!(times_ms(&error), [(0, 10_000)]);
        assert_eq!((script.sent().len(), script.now_ms()), (1, 10_000));
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
    let refused = Step::status(503).header("retry-after", "25");
    for (operation, expected) in [
        (ListAgents, "unavailable"),
        (CreateDocketV2, "permanent-outcome-unknown"),
    ] {
        let script = Script::new([refused.clone(), Step::silence()]);
        let error = script.run(operation, &[]).await.unwrap_err();
        assert_eq!(case(&error), expected);
        assert_eq!(times_ms(&error), [(0, 0), (25_000, 5_000)]);
        assert_eq!(script.now_ms(), 30_000);
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
        // The fourth would have had 100 ms. A read tells what it was told before.
        let expected = match operation.is_create() {
            true => "permanent-outcome-unknown",
            false => "unavailable",
        };
        assert_eq!(case(&error), expected);
        let expected = [(0, 300), (300, 300), (600, 300), (900, 100)];
        assert_eq!(times_ms(&error), expected);
        assert_eq!(
            statuses(&error),
            [Some(503), Some(503), Some(503), None],
            "{operation:?}"
        );
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
                &[][..],
                "28",
                [options(3_000, 10_000), options(1_500, 2_000)],
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
async fn a_connection_that_takes_too_long_is_tried_again_on_creates_too() {
    let slow = Step::fail(ErrorCode::ConnectionTimeout).after_ms(3_000);
    let script = Script::new([slow, Step::ok(SATISFYING)]);
    script.run(MakeCall, &[]).await.unwrap();
    assert_eq!(script.sent_at_ms(), [0, 3_000]);
}

#[tokio::test(start_paused = true)]
async fn a_2xx_whose_body_never_ends_in_time_is_repeated_on_a_read_only() {
    let late = Step::status(200).pieces(unfinished());
    let script = Script::new([late.clone(), Step::ok("[]")]);
    script.run(ListAgents, &[]).await.unwrap();
    assert_eq!(script.sent_at_ms(), [0, 10_000]);

    let script = Script::new([late.clone()]);
    let error = script.run(ListAgents, &[]).await.unwrap_err();
    assert_eq!(case(&error), "timed-out");
    assert_eq!(statuses(&error), [Some(200); 3]);

    for operation in Operation::RINGING {
        let script = Script::new([late.clone()]);
        let error = script.run(operation, &[]).await.unwrap_err();
        assert_eq!(case(&error), "permanent-unexpected-response");
        let kept = response(&error).unwrap();
        assert_eq!(
            (kept.body.as_str(), kept.body_cut),
            (r#"{"task_id":"task-1""#, true)
        );
        assert_eq!(times_ms(&error), [(0, 10_000)], "{operation:?}");
        assert_eq!(
            attempts(&error)[0].transport_error.as_deref(),
            Some("no end of the body within 10000 ms")
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
    assert_eq!(case(&error), "permanent-unexpected-response");
    assert_eq!(script.now_ms(), 10_000);
}

#[tokio::test(start_paused = true)]
async fn a_late_body_under_another_status_counts_by_the_status() {
    for (status, expected, requests) in [
        (429, "rate-limited", 3),
        (503, "unavailable", 3),
        (401, "permanent-unauthorized", 1),
        (409, "permanent-rejected", 1),
    ] {
        for operation in Operation::READ_AND_CREATE {
            let script = Script::new([Step::status(status).pieces(unfinished())]);
            let error = script.run(operation, &[]).await.unwrap_err();
            assert_eq!(case(&error), expected, "{operation:?}");
            assert_eq!(script.sent().len(), requests, "{status} {operation:?}");
            let kept = response(&error).unwrap();
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
        assert_eq!(case(&error), "permanent-unexpected-response");
        assert!(
            format!("{error:?}")
                .contains("larger than 100000 bytes (VOICE_CALLING_MAX_RESPONSE_BYTES"),
            "{error:?}"
        );
        let kept = response(&error).unwrap();
        assert_eq!((kept.body.len(), kept.body_cut), (8_192, true));
        assert_eq!(script.sent().len(), 1, "{operation:?}");

        let script = Script::new([Step::status(422).pieces([endless.clone()])]);
        let error = script.run(operation, &settings).await.unwrap_err();
        assert_eq!(case(&error), "permanent-rejected");
        assert!(response(&error).unwrap().body_cut);
    }
}

#[tokio::test(start_paused = true)]
async fn of_an_errors_body_no_more_than_64_kib_are_read() {
    let steady = endless([b'x'; 1_000], Duration::from_millis(100));
    for status in [302, 404, 422, 503] {
        let script = Script::new([Step::status(status).pieces([steady.clone()])]);
        let settings = [("MAX_ATTEMPTS", "1")];
        let error = script.run(MakeCall, &settings).await.unwrap_err();
        assert_eq!(
            script.now_ms(),
            6_600,
            "66 pieces are more than 65536 bytes"
        );
        assert_eq!(attempts(&error)[0].transport_error, None);
        assert!(response(&error).unwrap().body_cut);
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_drips_for_ever_ends_with_the_attempt() {
    let drip = endless(" ", seconds(1));
    let script = Script::new([Step::status(200).pieces([drip])]);
    let error = script.run(MakeCall, &[]).await.unwrap_err();
    assert_eq!(case(&error), "permanent-unexpected-response");
    assert_eq!(script.now_ms(), 10_000);
}

#[tokio::test(start_paused = true)]
async fn attempts_are_told_in_order_with_what_each_came_to() {
    let script = Script::new([
        Step::fail(ErrorCode::DnsTimeout).after_ms(40),
        Step::status(503).header("retry-after", "2").after_ms(30),
        Step::fail(ErrorCode::ConnectionTerminated).after_ms(20),
        Step::status(429).after_ms(10),
    ]);
    let error = script.run(ListAgents, &[]).await.unwrap_err();
    assert_eq!(case(&error), "rate-limited", "the latest answer decides");
    assert_eq!(statuses(&error), [None, Some(503), None, Some(429)]);
    assert_eq!(
        times_ms(&error),
        [(0, 40), (40, 30), (2_070, 20), (2_090, 10)]
    );
    let errors: Vec<_> = attempts(&error)
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

#[tokio::test(start_paused = true)]
async fn an_answer_that_does_not_wait_for_the_whole_request_is_taken() {
    // More than the host holds for a peer that does not read.
    let large = DocketRequestV2 {
        call_context: format!(r#"{{"note":"{}"}}"#, "x".repeat(5_000_000)),
        ..docket_v2()
    };
    for (step, expected) in [
        (Step::status(413).body("too large"), "permanent-rejected"),
        (Step::status(503), "unavailable"),
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
            let result = returned(instance.create_docket_v2(&large)).await;
            assert_eq!(outcome(&result), expected, "after {after_ms} ms");
            assert_eq!(script.now_ms(), after_ms);
        }
    }
}

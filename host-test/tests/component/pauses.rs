//! The pauses between attempts, in virtual time, to the millisecond.

use crate::failure::{case, response, times_ms};
use crate::operation::Operation;
use crate::operation::Operation::{CreateDocketV2, ListAgents};
use crate::operation::Run;
use crate::script::{Script, Step};
use crate::stage::plugin;
use std::time::Duration;
use voice_calling_host::types::RequestError;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

/// Sun, 06 Nov 1994 08:49:37 GMT
const DATE: Duration = Duration::from_secs(784_111_777);

/// Runs an operation at a known date, with jitter that comes from this number.
async fn run_with(
    script: &Script,
    operation: Operation,
    settings: &[(&str, &str)],
    random: u64,
) -> Result<(), RequestError> {
    let mut settings = script.settings(settings);
    settings.date = Some(DATE);
    settings.randomness = Some(random.to_be_bytes().to_vec());
    let mut instance = plugin().instantiate(settings).await.expect("an instance");
    operation.run(&mut instance).await
}

#[tokio::test(start_paused = true)]
async fn the_service_is_given_the_time_that_it_asks_for() {
    for (retry_after, waited_ms) in [
        ("7", 7_000),
        ("0", 0),
        ("Sun, 06 Nov 1994 08:49:47 GMT", 10_000),
        ("Sun, 06 Nov 1994 08:49:00 GMT", 0),
        ("soon", 0),
        ("-1", 0),
        ("1.5", 0),
    ] {
        for status in [429, 425, 503, 408] {
            for operation in Operation::READ_AND_CREATE {
                let refused = Step::status(status).header("retry-after", retry_after);
                let script = Script::new([refused, Step::ok(operation.satisfying())]);
                run_with(&script, operation, &[], 0).await.unwrap();
                assert_eq!(
                    script.sent_at_ms(),
                    [0, waited_ms],
                    "{retry_after:?} {status} {operation:?}"
                );
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_does_not_fit_before_the_deadline_is_not_begun() {
    for (status, retry_after, asked_ms, expected) in [
        (429, "31", 31_000, "rate-limited"),
        (503, "31", 31_000, "unavailable"),
        // A millisecond must be left for the attempt itself.
        (429, "30", 30_000, "rate-limited"),
        (
            429,
            "Sun, 06 Nov 1994 09:49:37 GMT",
            3_600_000,
            "rate-limited",
        ),
        (429, "99999999999999999999999", u64::MAX, "rate-limited"),
    ] {
        for operation in Operation::READ_AND_CREATE {
            let refused = Step::status(status).header("retry-after", retry_after);
            let script = Script::new([refused]);
            let error = run_with(&script, operation, &[], 0).await.unwrap_err();
            assert_eq!(case(&error), expected);
            assert_eq!(response(&error).unwrap().retry_after_ms, Some(asked_ms));
            assert_eq!((script.sent().len(), script.now_ms()), (1, 0));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pauses_double_up_to_the_cap_with_full_jitter() {
    let settings = [("MAX_ATTEMPTS", "6"), ("MAX_BACKOFF_MS", "1000")];
    for step in [
        Step::status(503),
        Step::status(429),
        Step::fail(ErrorCode::ConnectionRefused),
    ] {
        for operation in Operation::READ_AND_CREATE {
            let script = Script::new([step.clone()]);
            let error = run_with(&script, operation, &settings, 1_000)
                .await
                .unwrap_err();
            // The random number modulo the ceiling and one: 1000 % 251, 1000 % 501,
            // and from then on 1000 % 1001.
            let expected = [0, 247, 746, 1_746, 2_746, 3_746];
            assert_eq!(script.sent_at_ms(), expected, "{operation:?}");
            assert_eq!(times_ms(&error), expected.map(|at_ms| (at_ms as u32, 0)));
            assert_eq!(script.now_ms(), 3_746, "no pause after the last attempt");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_longer_back_off_outlasts_a_shorter_retry_after() {
    let refused = Step::status(429).header("retry-after", "1");
    let script = Script::new([refused, Step::ok("[]")]);
    let settings = [("BACKOFF_MS", "5000")];
    run_with(&script, ListAgents, &settings, 5_000)
        .await
        .unwrap();
    assert_eq!(script.sent_at_ms(), [0, 5_000]);
}

#[tokio::test(start_paused = true)]
async fn an_answer_takes_its_time_before_the_pause_begins() {
    let slow = Step::status(503).header("retry-after", "2").after_ms(1_500);
    let script = Script::new([slow, Step::status(503).after_ms(40)]);
    let settings = [("MAX_ATTEMPTS", "2")];
    let error = run_with(&script, CreateDocketV2, &settings, 0)
        .await
        .unwrap_err();
    assert_eq!(times_ms(&error), [(0, 1_500), (3_500, 40)]);
}

//! The pauses between attempts, in virtual time, to the millisecond.

use crate::failure::times_ms;
use crate::operation::Operation::{CreateDocketV2, ListAgents};
use crate::operation::Run;
use crate::operation::{Answered, Operation};
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
) -> Result<Answered, RequestError> {
    let mut settings = script.settings(settings);
    settings.date = Some(DATE);
    settings.randomness = Some(random.to_be_bytes().to_vec());
    let mut instance = plugin().instantiate(settings).await.expect("an instance");
    operation.run(&mut instance).await
}

#[tokio::test(start_paused = true)]
async fn the_service_is_given_the_time_that_it_asks_for() {
    // The shortest first pause is half of BACKOFF_MS.
    for (retry_after, waited_ms) in [
        ("7", 7_000),
        ("1.5", 1_500),
        ("0", 1_000),
        ("Sun, 06 Nov 1994 08:49:47 GMT", 10_000),
        ("Sun, 06 Nov 1994 08:49:00 GMT", 1_000),
        ("soon", 1_000),
        ("-1", 1_000),
        ("1.5.5", 1_000),
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

/// Whoever of the two has the wrong time, they agree on how long it is.
#[tokio::test(start_paused = true)]
async fn a_date_is_read_against_the_answers_own_date() {
    for (date, retry_after, waited_ms) in [
        // An hour ahead of the guest, and an hour behind.
        (
            "Sun, 06 Nov 1994 09:49:37 GMT",
            "Sun, 06 Nov 1994 09:49:47 GMT",
            10_000,
        ),
        (
            "Sun, 06 Nov 1994 07:49:37 GMT",
            "Sun, 06 Nov 1994 07:49:47 GMT",
            10_000,
        ),
        ("yesterday", "Sun, 06 Nov 1994 08:49:47 GMT", 10_000),
    ] {
        for operation in Operation::READ_AND_CREATE {
            let refused = Step::status(429)
                .header("date", date)
                .header("retry-after", retry_after);
            let script = Script::new([refused, Step::ok(operation.satisfying())]);
            run_with(&script, operation, &[], 0).await.unwrap();
            assert_eq!(script.sent_at_ms(), [0, waited_ms], "{date}");
        }
    }
}

/// The last attempt must have its time, which is 10 of the 30 seconds.
#[tokio::test(start_paused = true)]
async fn a_pause_that_leaves_too_little_time_for_an_attempt_is_not_begun() {
    for operation in Operation::READ_AND_CREATE {
        let refused = Step::status(429).header("retry-after", "20");
        let script = Script::new([refused, Step::ok(operation.satisfying())]);
        run_with(&script, operation, &[], 0).await.unwrap();
        assert_eq!(script.sent_at_ms(), [0, 20_000], "{operation:?}");
    }
    for (status, retry_after, asked_ms) in [
        (429, "20.001", 20_001),
        (503, "21", 21_000),
        (429, "Sun, 06 Nov 1994 09:49:37 GMT", 3_600_000),
        (429, "99999999999999999999999", 86_400_000),
    ] {
        for operation in Operation::READ_AND_CREATE {
            let expected = match (status, operation.is_create()) {
                (429, _) => "rate-limited",
                (_, false) => "unavailable",
                (_, true) => "permanent-outcome-unknown",
            };
            let refused = Step::status(status).header("retry-after", retry_after);
            let script = Script::new([refused]);
            let error = run_with(&script, operation, &[], 0).await.unwrap_err();
            assert_eq!(error.case(), expected);
            assert_eq!(error.response().unwrap().retry_after_ms, Some(asked_ms));
            assert_eq!((script.sent().len(), script.now_ms()), (1, 0));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pauses_double_up_to_the_cap_with_equal_jitter() {
    let settings = [
        ("MAX_ATTEMPTS", "6"),
        ("BACKOFF_MS", "250"),
        ("MAX_BACKOFF_MS", "1000"),
    ];
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
            // Half of the ceiling and the random number modulo the other half and one:
            // 125 + 1000 % 126, 250 + 1000 % 251, and from then on 500 + 1000 % 501.
            let expected = [0, 243, 740, 1_739, 2_738, 3_737];
            assert_eq!(script.sent_at_ms(), expected, "{operation:?}");
            assert_eq!(times_ms(&error), expected.map(|at_ms| (at_ms as u32, 0)));
            assert_eq!(script.now_ms(), 3_737, "no pause after the last attempt");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn without_settings_a_pause_is_half_of_two_four_and_eight_seconds_or_more() {
    for (random, expected) in [
        (0, [0, 1_000, 3_000, 7_000]),
        (4_000, [0, 1_997, 5_996, 13_996]),
    ] {
        for operation in Operation::READ_AND_CREATE {
            let script = Script::new([Step::status(503)]);
            run_with(&script, operation, &[], random).await.unwrap_err();
            assert_eq!(script.sent_at_ms(), expected, "{operation:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_longer_back_off_outlasts_a_shorter_retry_after() {
    let refused = Step::status(429).header("retry-after", "1");
    let script = Script::new([refused, Step::ok("[]")]);
    let settings = [("BACKOFF_MS", "5000")];
    run_with(&script, ListAgents, &settings, 2_500)
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

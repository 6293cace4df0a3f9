//! Waiting for a docket and for a call's details.

use crate::failure::statuses;
use crate::operation::{DOCKET_ID, NO_OPTIONS, call, docket_v2, returned};
use crate::script::{Script, Step};
use crate::stage::Stage;
use crate::wire;
use futures_util::future::join;
use std::time::Duration;
use voice_calling_host::types::*;
use voice_calling_mock::{DetailsNotReady, Endpoint, Fault, Pace};

fn docket(status: &str) -> Step {
    Step::ok(format!(
        r#"{{"docket_id":"{DOCKET_ID}","status":"{status}"}}"#
    ))
}

fn waiting(timeout_ms: u32, not_found_is_pending: Option<bool>) -> WaitOptions {
    WaitOptions {
        timeout_ms,
        not_found_is_pending,
    }
}

/// A 404 means what it means by itself.
fn wait(timeout_ms: u32) -> WaitOptions {
    waiting(timeout_ms, None)
}

fn patient(timeout_ms: u32) -> WaitOptions {
    waiting(timeout_ms, Some(true))
}

/// Pauses of 250, 500, 1000 and so on, instead of 2000, 4000 and 8000 ms.
const SHORT: (&str, &str) = ("BACKOFF_MS", "250");

fn completed(waited: DocketWait) -> Docket {
    match waited.outcome {
        DocketOutcome::Completed(docket) => docket,
        DocketOutcome::Pending(seen) => panic!("pending: {seen:?}"),
    }
}

fn pending(waited: DocketWait) -> Option<Docket> {
    match waited.outcome {
        DocketOutcome::Pending(seen) => seen,
        DocketOutcome::Completed(docket) => panic!("completed: {docket:?}"),
    }
}

#[tokio::test]
async fn a_docket_is_waited_for_until_it_is_completed() {
    let at_a_pace = Pace::Every(Duration::from_millis(5));
    let stage = Stage::changed(|options| options.pace = at_a_pace).await;
    let mut instance = stage.instance().await;
    let created = returned(instance.create_docket_v2(&docket_v2(), None))
        .await
        .unwrap();
    let waited = returned(instance.wait_for_docket(&created.docket_id, wait(60_000), None))
        .await
        .unwrap();
    let polls = &wire::received(&stage)[1..];
    assert_eq!(polls.len(), waited.polls as usize);
    assert_eq!((waited.failed_polls, waited.held_back_ms), (0, 0));
    let docket = completed(waited);
    assert_eq!(docket.status, Some(DocketStatus::Completed));
    assert_eq!(docket.closure_reason.as_deref(), Some("DISPOSITION"));
    assert_eq!(docket.attempts.len(), 1, "those of the last poll");
    let path = format!("/api/v1/dockets/{}", created.docket_id);
    for poll in polls {
        assert_eq!(*poll, wire::get_accepting_json(&stage, &path));
    }
}

#[tokio::test]
async fn a_calls_details_are_waited_for_whatever_comes_before_them() {
    for details_not_ready in [
        DetailsNotReady::NotFound,
        DetailsNotReady::EmptyArray,
        DetailsNotReady::NoInsights,
    ] {
        let stage = Stage::changed(|options| {
            options.meanings.details_not_ready = details_not_ready;
        })
        .await;
        let mut instance = stage.instance().await;
        let task_id = returned(instance.make_call(&call(), None))
            .await
            .unwrap()
            .task_id;
        let over_after_two_polls = async {
            while stage.mock.requests_to(Endpoint::GetCallDetails).len() < 2 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            stage.mock.complete_task(&task_id).unwrap();
        };
        let wait = instance.wait_for_call_details(&task_id, wait(60_000), None);
        let (waited, ()) = join(returned(wait), over_after_two_polls).await;
        let waited = waited.unwrap();
        assert!(waited.polls > 2, "{details_not_ready:?}");
        assert_eq!(waited.failed_polls, 0);
        let CallDetailsOutcome::Completed(details) = waited.outcome else {
            panic!("{details_not_ready:?}");
        };
        assert!(details.calls[0].call_insights.is_some());
        let path = format!("/call_details/{task_id}");
        assert_eq!(wire::received(&stage)[1], wire::get(&stage, &path));
    }
}

#[tokio::test(start_paused = true)]
async fn a_404_is_pending_for_a_task_and_an_error_for_a_docket_unless_the_caller_says_otherwise() {
    for (not_found_is_pending, task_polls, docket_polls) in
        [(None, 3, 1), (Some(true), 3, 3), (Some(false), 1, 1)]
    {
        let options = waiting(1_000, not_found_is_pending);
        let script = Script::new([Step::status(404)]);
        let mut instance = script.instance(&[SHORT]).await;
        match returned(instance.wait_for_call_details("task-1", options, None)).await {
            Ok(waited) => {
                assert_eq!(waited.outcome, CallDetailsOutcome::Pending(None));
                assert_eq!((waited.polls, waited.failed_polls), (3, 0));
                assert_eq!(script.sent_at_ms(), [0, 250, 750]);
            }
            Err(error) => assert_eq!(error.case(), "permanent-not-found"),
        }
        assert_eq!(script.sent().len(), task_polls, "{not_found_is_pending:?}");

        let script = Script::new([Step::status(404)]);
        let mut instance = script.instance(&[SHORT]).await;
        match returned(instance.wait_for_docket(DOCKET_ID, options, None)).await {
            Ok(waited) => {
                assert_eq!((waited.polls, waited.failed_polls), (3, 0));
                assert_eq!(pending(waited), None);
            }
            Err(error) => assert_eq!(error.case(), "permanent-not-found"),
        }
        assert_eq!(
            script.sent().len(),
            docket_polls,
            "{not_found_is_pending:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_410_ends_a_wait_whatever_the_caller_says() {
    for not_found_is_pending in [None, Some(true), Some(false)] {
        let options = waiting(60_000, not_found_is_pending);
        let script = Script::new([Step::status(410)]);
        let mut instance = script.instance(&[]).await;
        let details = returned(instance.wait_for_call_details("task-1", options, None)).await;
        assert_eq!(details.unwrap_err().case(), "permanent-not-found");
        let docket = returned(instance.wait_for_docket(DOCKET_ID, options, None)).await;
        assert_eq!(docket.unwrap_err().case(), "permanent-not-found");
        assert_eq!(script.sent().len(), 2, "{not_found_is_pending:?}");
    }
}

#[tokio::test]
async fn a_poll_outlives_a_server_error() {
    let stage = Stage::start().await;
    let mut instance = stage.instance().await;
    let created = returned(instance.create_docket_v2(&docket_v2(), None))
        .await
        .unwrap();
    stage.mock.complete_docket(&created.docket_id).unwrap();
    stage.mock.on_next(Endpoint::GetDocket, Fault::status(503));
    let waited = returned(instance.wait_for_docket(&created.docket_id, wait(60_000), None))
        .await
        .unwrap();
    assert_eq!((waited.polls, waited.failed_polls), (1, 0));
    assert_eq!(completed(waited).attempts.len(), 2);
    assert_eq!(stage.mock.requests_to(Endpoint::GetDocket).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn pauses_between_polls_double_up_to_the_cap_and_time_runs_out_without_an_error() {
    let script = Script::new([docket("IN_PROGRESS")]);
    let mut instance = script.instance(&[SHORT, ("MAX_BACKOFF_MS", "1000")]).await;
    let waited = returned(instance.wait_for_docket(DOCKET_ID, wait(4_000), None))
        .await
        .unwrap();
    // The next would be at 4750.
    assert_eq!(script.sent_at_ms(), [0, 250, 750, 1_750, 2_750, 3_750]);
    assert_eq!((waited.polls, waited.failed_polls), (6, 0));
    assert_eq!((waited.waited_ms, script.now_ms()), (3_750, 3_750));
    let seen = pending(waited).unwrap();
    assert_eq!(seen.status, Some(DocketStatus::InProgress));
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_hours_takes_no_longer_than_the_docket() {
    let mut steps = vec![docket("OPEN"); 100];
    steps.push(docket("COMPLETED"));
    let script = Script::new(steps);
    let mut instance = script.instance(&[]).await;
    let waited = returned(instance.wait_for_docket(DOCKET_ID, wait(3_600_000), None))
        .await
        .unwrap();
    assert_eq!(waited.polls, 101);
    // 2000 and 4000 are two pauses, and 98 are of 8 s.
    assert_eq!(waited.waited_ms, 6_000 + 98 * 8_000);
    completed(waited);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_never_had_an_answer_ends_with_the_last_error() {
    let settings = [("MAX_ATTEMPTS", "1")];
    for (step, expected) in [
        (Step::status(503), "unavailable"),
        (Step::status(429), "rate-limited"),
        (Step::silence(), "timed-out"),
    ] {
        let script = Script::new([step]);
        let mut instance = script.instance(&settings).await;
        let error = returned(instance.wait_for_docket(DOCKET_ID, patient(60_000), None))
            .await
            .unwrap_err();
        assert_eq!(error.case(), expected);
        assert!(script.sent().len() > 1);
        assert!(script.now_ms() <= 60_000);
    }
}

#[tokio::test(start_paused = true)]
async fn failed_polls_are_counted_and_what_was_seen_is_returned() {
    let script = Script::new([Step::status(503), docket("OPEN"), Step::status(503)]);
    let mut instance = script.instance(&[SHORT, ("MAX_ATTEMPTS", "1")]).await;
    let waited = returned(instance.wait_for_docket(DOCKET_ID, wait(1_000), None))
        .await
        .unwrap();
    assert_eq!((waited.polls, waited.failed_polls), (3, 2));
    assert_eq!(pending(waited).unwrap().status, Some(DocketStatus::Open));
    assert_eq!(script.sent_at_ms(), [0, 250, 750]);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_the_wait_bounds_its_last_poll() {
    let script = Script::new([docket("OPEN"), Step::silence()]);
    let mut instance = script.instance(&[SHORT]).await;
    let waited = returned(instance.wait_for_docket(DOCKET_ID, wait(2_000), None))
        .await
        .unwrap();
    assert_eq!(script.now_ms(), 2_000);
    assert_eq!((waited.polls, waited.failed_polls), (2, 1));
    assert_eq!(pending(waited).unwrap().status, Some(DocketStatus::Open));
}

#[tokio::test(start_paused = true)]
async fn a_permanent_error_ends_a_wait_at_once() {
    let script = Script::new([docket("OPEN"), Step::status(401)]);
    let mut instance = script.instance(&[]).await;
    let error = returned(instance.wait_for_docket(DOCKET_ID, patient(60_000), None))
        .await
        .unwrap_err();
    assert_eq!(error.case(), "permanent-unauthorized");
    assert_eq!(statuses(&error), [Some(401)]);
    assert_eq!(script.now_ms(), 2_000);
}

#[tokio::test(start_paused = true)]
async fn details_are_ready_when_every_record_has_insights_or_was_not_answered() {
    for (details, is_completed) in [
        ("[]", false),
        (r#"[{"call_status":"ANSWERED"}]"#, false),
        (
            r#"[{"call_status":"ANSWERED","call_insights":null}]"#,
            false,
        ),
        (r#"[{"call_status":"ANSWERED","call_insights":{}}]"#, false),
        (r#"[{"call_status":"ANSWERED","call_insights":[1]}]"#, false),
        (r#"[{"call_insights":{"metadata":{}}}]"#, false),
        (
            r#"[{"call_insights":{"metadata":{"a":null,"b":[{},""]},"user_interest":{"status":""}}}]"#,
            false,
        ),
        (r#"[{"call_insights":{"metadata":{"a":[[false]]}}}]"#, true),
        (r#"[{"call_insights":{"metadata":{"a":0}}}]"#, true),
        (r#"{"call_insights":{"unheard_of":1}}"#, true),
        (r#"[{"call_status":"NO_ANSWER"}]"#, true),
        (r#"[{"call_status":"BUSY","call_insights":null}]"#, true),
        (r#"[{"call_status":"RINGING"}]"#, false),
        (
            r#"[{"call_status":"BUSY"},{"call_status":"ANSWERED"}]"#,
            false,
        ),
    ] {
        let script = Script::new([Step::ok(details)]);
        let mut instance = script.instance(&[]).await;
        let waited = returned(instance.wait_for_call_details("task-1", wait(100), None))
            .await
            .unwrap();
        let seen = match waited.outcome {
            CallDetailsOutcome::Completed(seen) if is_completed => seen,
            CallDetailsOutcome::Pending(Some(seen)) if !is_completed => seen,
            other => panic!("{details}: {other:?}"),
        };
        assert_eq!(seen.raw_json, details);
    }
}

#[tokio::test(start_paused = true)]
async fn a_docket_is_completed_by_its_status_or_by_its_end_unless_its_status_is_another() {
    let closed = r#""closed_at":"2026-01-02T03:04:06.000002""#;
    for (members, is_completed) in [
        (r#""status":"COMPLETED""#.to_owned(), true),
        (r#""status":"COMPLETED","closed_at":null"#.to_owned(), true),
        (closed.to_owned(), true),
        (format!(r#""status":"CLOSED",{closed}"#), true),
        (format!(r#""status":null,{closed}"#), true),
        (format!(r#""status":"OPEN",{closed}"#), false),
        (format!(r#""status":"IN_PROGRESS",{closed}"#), false),
        (r#""status":"CLOSED""#.to_owned(), false),
        (r#""closed_at":null"#.to_owned(), false),
        (
            r#""closed_call_id":"c","closure_reason":"DISPOSITION""#.to_owned(),
            false,
        ),
    ] {
        let answer = format!(r#"{{"docket_id":"{DOCKET_ID}",{members}}}"#);
        let script = Script::new([Step::ok(answer.clone())]);
        let mut instance = script.instance(&[]).await;
        let waited = returned(instance.wait_for_docket(DOCKET_ID, wait(100), None))
            .await
            .unwrap();
        let seen = match is_completed {
            true => completed(waited),
            false => pending(waited).expect("an answer"),
        };
        assert_eq!(seen.raw_json, answer);
    }
}

#[tokio::test(start_paused = true)]
async fn the_next_poll_waits_as_long_as_the_service_asks_after_any_answer() {
    for asking in [
        docket("OPEN"),
        Step::status(404),
        Step::status(429),
        Step::status(503),
    ] {
        let script = Script::new([asking.header("retry-after", "25"), docket("COMPLETED")]);
        let mut instance = script.instance(&[("MAX_ATTEMPTS", "1")]).await;
        let waited = returned(instance.wait_for_docket(DOCKET_ID, patient(60_000), None))
            .await
            .unwrap();
        assert_eq!(script.sent_at_ms(), [0, 25_000]);
        assert_eq!(waited.waited_ms, 25_000);
        assert_eq!(
            waited.held_back_ms, 0,
            "its own limit is none of another call"
        );
        completed(waited);
    }
}

#[tokio::test(start_paused = true)]
async fn the_options_of_a_wait_are_those_of_each_of_its_polls() {
    let script = Script::new([Step::status(503)]);
    let mut instance = script.instance(&[]).await;
    let options = CallOptions {
        max_attempts: Some(1),
        ..NO_OPTIONS
    };
    let wait = instance.wait_for_docket(DOCKET_ID, wait(7_000), Some(options));
    let error = returned(wait).await.unwrap_err();
    assert_eq!(error.case(), "unavailable");
    assert_eq!(error.attempts().len(), 1, "those of the last poll");
    assert_eq!(script.sent_at_ms(), [0, 2_000, 6_000]);

    let script = Script::new([Step::silence()]);
    let mut instance = script.instance(&[]).await;
    let options = CallOptions {
        deadline_ms: Some(700),
        max_attempts: Some(1),
        ..NO_OPTIONS
    };
    let wait = waiting(3_000, None);
    let wait = instance.wait_for_docket(DOCKET_ID, wait, Some(options));
    let error = returned(wait).await.unwrap_err();
    assert_eq!(error.case(), "timed-out");
    assert_eq!(script.sent_at_ms(), [0, 2_700]);
}

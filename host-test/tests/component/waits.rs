//! Waiting for a docket and for a call's details.

use crate::failure::{case, statuses};
use crate::operation::{DOCKET_ID, call, docket_v2, returned, wait};
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

fn patient(timeout_ms: u32) -> WaitOptions {
    WaitOptions {
        timeout_ms,
        not_found_is_pending: true,
    }
}

#[tokio::test]
async fn a_docket_is_waited_for_until_it_is_completed() {
    let at_a_pace = Pace::Every(Duration::from_millis(5));
    let stage = Stage::changed(|options| options.pace = at_a_pace).await;
    let mut instance = stage.instance().await;
    let created = returned(instance.create_docket_v2(&docket_v2()))
        .await
        .unwrap();
    let waited = returned(instance.wait_for_docket(&created.docket_id, wait(60_000)))
        .await
        .unwrap();
    assert!(waited.completed);
    let docket = waited.docket.unwrap();
    assert_eq!(docket.status, Some(DocketStatus::Completed));
    assert_eq!(docket.closure_reason.as_deref(), Some("DISPOSITION"));
    assert_eq!(waited.failed_polls, 0);

    let polls = &wire::received(&stage)[1..];
    assert_eq!(polls.len(), waited.polls as usize);
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
        let task_id = returned(instance.make_call(&call())).await.unwrap().task_id;
        let over_after_two_polls = async {
            while stage.mock.requests_to(Endpoint::GetCallDetails).len() < 2 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            stage.mock.complete_task(&task_id).unwrap();
        };
        let wait = instance.wait_for_call_details(&task_id, patient(60_000));
        let (waited, ()) = join(returned(wait), over_after_two_polls).await;
        let waited = waited.unwrap();
        assert!(waited.completed, "{details_not_ready:?}");
        assert!(waited.polls > 2, "{details_not_ready:?}");
        assert_eq!(waited.failed_polls, 0);
        assert!(waited.details[0].call_insights.is_some());
        let path = format!("/call_details/{task_id}");
        assert_eq!(wire::received(&stage)[1], wire::get(&stage, &path));
    }
}

#[tokio::test]
async fn a_404_ends_a_wait_unless_the_caller_says_that_it_is_pending() {
    let stage = Stage::start().await;
    let mut instance = stage.instance().await;
    let task_id = returned(instance.make_call(&call())).await.unwrap().task_id;
    let error = returned(instance.wait_for_call_details(&task_id, wait(60_000)))
        .await
        .unwrap_err();
    assert_eq!(case(&error), "permanent-not-found");
    assert_eq!(stage.mock.requests_to(Endpoint::GetCallDetails).len(), 1);
    let error = returned(instance.wait_for_docket(DOCKET_ID, wait(60_000)))
        .await
        .unwrap_err();
    assert_eq!(case(&error), "permanent-not-found");
    assert_eq!(stage.mock.requests_to(Endpoint::GetDocket).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_404_that_is_pending_is_waited_out_without_an_error() {
    let script = Script::new([Step::status(404)]);
    let mut instance = script.instance(&[]).await;
    let waited = returned(instance.wait_for_docket(DOCKET_ID, patient(1_000)))
        .await
        .unwrap();
    assert_eq!((waited.completed, waited.docket), (false, None));
    assert_eq!((waited.polls, waited.failed_polls), (3, 0));
    assert_eq!(script.sent_at_ms(), [0, 250, 750]);
}

#[tokio::test]
async fn a_poll_outlives_a_server_error() {
    let stage = Stage::start().await;
    let mut instance = stage.instance().await;
    let created = returned(instance.create_docket_v2(&docket_v2()))
        .await
        .unwrap();
    stage.mock.complete_docket(&created.docket_id).unwrap();
    stage.mock.on_next(Endpoint::GetDocket, Fault::status(503));
    let waited = returned(instance.wait_for_docket(&created.docket_id, wait(60_000)))
        .await
        .unwrap();
    assert!(waited.completed);
    assert_eq!((waited.polls, waited.failed_polls), (1, 0));
    assert_eq!(stage.mock.requests_to(Endpoint::GetDocket).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn pauses_between_polls_double_up_to_the_cap_and_time_runs_out_without_an_error() {
    let script = Script::new([docket("IN_PROGRESS")]);
    let mut instance = script.instance(&[("MAX_BACKOFF_MS", "1000")]).await;
    let waited = returned(instance.wait_for_docket(DOCKET_ID, wait(4_000)))
        .await
        .unwrap();
    // The next would be at 4750.
    assert_eq!(script.sent_at_ms(), [0, 250, 750, 1_750, 2_750, 3_750]);
    assert!(!waited.completed);
    let seen = waited.docket.unwrap();
    assert_eq!(seen.status, Some(DocketStatus::InProgress));
    assert_eq!((waited.polls, waited.failed_polls), (6, 0));
    assert_eq!((waited.waited_ms, script.now_ms()), (3_750, 3_750));
}

#[tokio::test(start_paused = true)]
async fn a_wait_of_hours_takes_no_longer_than_the_docket() {
    let mut steps = vec![docket("OPEN"); 100];
    steps.push(docket("COMPLETED"));
    let script = Script::new(steps);
    let mut instance = script.instance(&[]).await;
    let waited = returned(instance.wait_for_docket(DOCKET_ID, wait(3_600_000)))
        .await
        .unwrap();
    assert!(waited.completed);
    assert_eq!(waited.polls, 101);
    // 250, 500, … 4000 are five pauses and 95 are of 8 s.
    assert_eq!(waited.waited_ms, 7_750 + 95 * 8_000);
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
        let error = returned(instance.wait_for_docket(DOCKET_ID, patient(60_000)))
            .await
            .unwrap_err();
        assert_eq!(case(&error), expected);
        assert!(script.sent().len() > 1);
        assert!(script.now_ms() <= 60_000);
    }
}

#[tokio::test(start_paused = true)]
async fn failed_polls_are_counted_and_what_was_seen_is_returned() {
    let script = Script::new([Step::status(503), docket("OPEN"), Step::status(503)]);
    let mut instance = script.instance(&[("MAX_ATTEMPTS", "1")]).await;
    let waited = returned(instance.wait_for_docket(DOCKET_ID, wait(1_000)))
        .await
        .unwrap();
    assert!(!waited.completed);
    assert_eq!(waited.docket.unwrap().status, Some(DocketStatus::Open));
    assert_eq!((waited.polls, waited.failed_polls), (3, 2));
    assert_eq!(script.sent_at_ms(), [0, 250, 750]);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_the_wait_bounds_its_last_poll() {
    let script = Script::new([docket("OPEN"), Step::silence()]);
    let mut instance = script.instance(&[]).await;
    let waited = returned(instance.wait_for_docket(DOCKET_ID, wait(2_000)))
        .await
        .unwrap();
    assert!(!waited.completed);
    assert_eq!(script.now_ms(), 2_000);
    assert_eq!((waited.polls, waited.failed_polls), (2, 1));
    assert_eq!(waited.docket.unwrap().status, Some(DocketStatus::Open));
}

#[tokio::test(start_paused = true)]
async fn a_permanent_error_ends_a_wait_at_once() {
    let script = Script::new([docket("OPEN"), Step::status(401)]);
    let mut instance = script.instance(&[]).await;
    let error = returned(instance.wait_for_docket(DOCKET_ID, patient(60_000)))
        .await
        .unwrap_err();
    assert_eq!(case(&error), "permanent-unauthorized");
    assert_eq!(statuses(&error), [Some(401)]);
    assert_eq!(script.now_ms(), 250);
}

#[tokio::test(start_paused = true)]
async fn details_are_ready_when_every_record_has_insights_or_was_not_answered() {
    for (details, completed) in [
        ("[]", false),
        (r#"[{"call_status":"ANSWERED"}]"#, false),
        (
            r#"[{"call_status":"ANSWERED","call_insights":null}]"#,
            false,
        ),
        (r#"[{"call_status":"ANSWERED","call_insights":{}}]"#, false),
        (r#"[{"call_status":"ANSWERED","call_insights":[1]}]"#, false),
        (r#"[{"call_insights":{"metadata":{}}}]"#, true),
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
        let waited = returned(instance.wait_for_call_details("task-1", wait(100)))
            .await
            .unwrap();
        assert_eq!(waited.completed, completed, "{details}");
        let seen: Vec<_> = waited.details.into_iter().map(|d| d.raw_json).collect();
        let expected = details.trim_start_matches('[').trim_end_matches(']');
        assert_eq!(seen.join(","), expected);
    }
}

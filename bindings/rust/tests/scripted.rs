//! The scripted service and its time.

use crate::{CREATED, listen, request};
use std::collections::HashSet;
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use voice_calling::testing::{Answer, ScriptedService};
use voice_calling::{CallRequest, Client, CreateRetry, DocketOutcome, FailureKind, Ledger, Wait};

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn starts(service: &ScriptedService) -> Vec<Duration> {
    service
        .requests()
        .iter()
        .map(|request| request.at)
        .collect()
}

/// Runs a test on one thread and on several.
fn on_each_runtime<F: Future<Output = ()>>(test: impl Fn() -> F) {
    listen();
    for mut runtime in [Builder::new_current_thread(), Builder::new_multi_thread()] {
        runtime.enable_all().build().unwrap().block_on(test());
    }
}

#[test]
fn a_wait_of_a_day_takes_no_time() {
    on_each_runtime(async || {
        let began = Instant::now();
        let service = ScriptedService::new();
        service.complete_after(secs(24 * 3600));
        let client = service.client();
        let docket = client.create_docket_v2(&request(1)).await.unwrap();
        let wait = Wait::within(secs(24 * 3600 + 60));
        let ended = client.wait_for_docket(&docket.docket_id, wait).await;
        assert!(matches!(
            ended.unwrap().outcome,
            DocketOutcome::Completed(_)
        ));
        assert!(service.elapsed() >= secs(24 * 3600));
        let (requests, took) = (service.requests().len(), began.elapsed());
        assert!(took < secs(3600), "{requests} requests: {took:?}");
    });
}

#[test]
fn each_answer_has_its_error_or_its_result_at_its_moment() {
    on_each_runtime(async || {
        use FailureKind::{OutcomeUnknown, Rejected, UnexpectedResponse, Unreachable};
        let docket = || Answer::status(200).text(CREATED);
        let late_body = docket().after(secs(3)).body_after(secs(4));
        let late_refusal = Answer::unreachable().after(secs(9));
        for (answer, kind, took_s, requests) in [
            (docket(), None, 0, 1),
            (late_body, None, 7, 1),
            (docket().after(secs(11)), Some(OutcomeUnknown), 10, 1),
            (docket().cut_after(9), Some(UnexpectedResponse), 0, 1),
            (Answer::lost(), Some(OutcomeUnknown), 0, 1),
            (Answer::silence(), Some(OutcomeUnknown), 10, 1),
            (Answer::unreachable(), Some(Unreachable), 0, 0),
            (late_refusal, Some(Unreachable), 3, 0),
            (Answer::status(422), Some(Rejected), 0, 1),
        ] {
            let service = ScriptedService::new();
            service.answer(answer.clone());
            let client = service.builder().create_retry(CreateRetry::Never);
            let client = client.build().unwrap();
            let created = client.create_docket_v2(&request(1)).await;
            assert_eq!(created.err().map(|it| it.kind()), kind, "{answer:?}");
            assert_eq!(service.elapsed(), secs(took_s), "{answer:?}");
            assert_eq!(service.requests().len(), requests, "{answer:?}");
        }
    });
}

#[test]
fn answers_are_chosen_by_their_lines_in_their_order_and_then_by_the_function() {
    on_each_runtime(async || {
        let service = ScriptedService::new();
        service.answer_to("GET ", Answer::status(404));
        service.answer_to("POST /make_call", Answer::status(401).repeated());
        service.answer_with(|request| async move {
            request.path.ends_with("/late").then(|| Answer::status(403))
        });
        let client = service.client();
        let created = client.create_docket_v2(&request(1)).await.unwrap();
        let mut kinds = Vec::new();
        for task_id in ["soon", "late", "never"] {
            kinds.push(client.get_call_details(task_id).await.unwrap_err().kind());
        }
        let call = CallRequest::new("renewals", "919876543210");
        for _ in 0..2 {
            kinds.push(client.make_call(&call).await.unwrap_err().kind());
        }
        use FailureKind::{NotFound, Unauthorized};
        let expected = [NotFound, Unauthorized, NotFound, Unauthorized, Unauthorized];
        assert_eq!(kinds, expected);
        let docket = client.get_docket(&created.docket_id).await.unwrap();
        assert_eq!(docket.external_id.as_deref(), Some("crm-1"));

        let requests = service.requests();
        assert_eq!(requests.len(), 7);
        assert_eq!(requests[0].headers["auth_token"], "Bearer test-token");
        assert_eq!(requests[0].json()["to_phone_number"], "910000000001");
        assert!(!format!("{service:?}").contains("test-token"));
    });
}

#[tokio::test]
async fn what_it_created_is_found_by_its_own_endpoint_below_the_path_of_any_base_url() {
    listen();
    for base_url in ["https://service.test", "https://service.test/agents/api"] {
        let service = ScriptedService::new();
        let client = service.builder().base_url(base_url).build().unwrap();
        let docket = client.create_docket_v2(&request(1)).await.unwrap();
        let call = CallRequest::new("renewals", "919876543210");
        let call = client.make_call(&call).await.unwrap();
        assert!(client.get_docket(&docket.docket_id).await.is_ok());
        assert!(client.get_call_details(&call.task_id).await.is_ok());
        let mixed_up = client.get_call_details(&docket.docket_id).await;
        assert_eq!(mixed_up.unwrap_err().kind(), FailureKind::NotFound);
        assert_eq!(client.list_agents("org-1").await.unwrap().agents.len(), 1);
    }
}

#[test]
#[should_panic(expected = "status: found 100; allowed: 200 to 999")]
fn an_interim_status_is_no_answer() {
    let _ = Answer::status(100);
}

#[tokio::test]
#[should_panic(expected = "the wrong person")]
async fn a_function_that_panics_fails_the_test() {
    listen();
    let service = ScriptedService::new();
    service.answer_with(|_| async { panic!("the wrong person") });
    let _ = service.client().create_docket_v2(&request(1)).await;
}

#[tokio::test]
async fn operations_that_begin_together_share_each_moment() {
    listen();
    let service = ScriptedService::new();
    service.answer(
        Answer::status(429)
            .header("retry-after", "7")
            .after(secs(1)),
    );
    let client = service.client();
    let (one, two) = (request(1), request(2));
    let (one, two) = tokio::join!(client.create_docket_v2(&one), client.create_docket_v2(&two));
    assert!(one.is_ok() && two.is_ok());
    assert_eq!(starts(&service), [secs(0), secs(0), secs(8)]);

    let mut tasks = JoinSet::new();
    for number in 3..9 {
        let client = client.clone();
        tasks.spawn(async move { client.create_docket_v2(&request(number)).await.is_ok() });
    }
    assert!(tasks.join_all().await.into_iter().all(|is_ok| is_ok));
    assert!(starts(&service)[3..].iter().all(|at| *at == secs(8)));
}

#[test]
fn time_that_is_held_passes_only_by_advancing() {
    on_each_runtime(async || {
        let service = ScriptedService::new();
        service.answer(Answer::status(503));
        let hold = service.hold_time();
        let client = service.client();
        let create = tokio::spawn(async move { client.create_docket_v2(&request(1)).await });
        while service.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        for (advance_ms, requests) in [(500, 1), (499, 1), (1, 2), (9_000, 2)] {
            service.advance(Duration::from_millis(advance_ms)).await;
            assert_eq!(
                service.requests().len(),
                requests,
                "{:?}",
                service.elapsed()
            );
        }
        assert_eq!(service.elapsed(), secs(10));
        let created = create.await.unwrap().unwrap();
        assert_eq!(created.attempts[1].started_ms, 1_000);

        // Outside of a runtime, time passes at once.
        service.answer(Answer::silence().repeated());
        let client = service.client();
        let create = tokio::spawn(async move { client.create_docket_v2(&request(2)).await });
        while service.requests().len() < 3 {
            tokio::task::yield_now().await;
        }
        thread::spawn(|| drop(hold)).join().unwrap();
        assert!(create.await.unwrap().unwrap_err().may_have_created());
    });
}

#[test]
fn an_operation_that_is_dropped_does_not_hold_up_the_others() {
    on_each_runtime(async || {
        let service = ScriptedService::new();
        let hold = service.hold_time();
        service.answer(Answer::silence());
        let client = service.client();
        let its = client.clone();
        let dropped = tokio::spawn(async move { its.create_docket_v2(&request(1)).await });
        while service.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        dropped.abort();
        assert!(dropped.await.unwrap_err().is_cancelled());
        drop(hold);
        service.answer(Answer::status(429));
        assert!(client.create_docket_v2(&request(2)).await.is_ok());
        assert!(service.elapsed() < secs(10));
    });
}

/// Creates 50 dockets with keys, of which every fifth is lost, and returns the number of unknown
/// outcomes.
async fn create_all(client: &Client) -> usize {
    let requests = (0..50).map(|number| (format!("key-{number}"), request(number)));
    let batch = client.create_dockets_v2(requests, secs(3600));
    let mut batch = batch.unwrap();
    let mut unknown = HashSet::new();
    while let Some((index, result)) = batch.next().await {
        match result {
            Ok(_) => assert!(index % 5 > 0),
            Err(error) => assert!(error.may_have_created() && unknown.insert(index), "{error}"),
        }
    }
    unknown.len()
}

#[test]
fn time_stands_still_while_the_ledger_is_written() {
    on_each_runtime(async || {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(folder.path().join("calls.db")).unwrap();
        let service = ScriptedService::new();
        service.answer_with(|request| async move {
            let external_id = request.json()["external_id"].as_str()?.to_owned();
            let is_lost = external_id.ends_with(['0', '5']);
            // With 10 ms for an operation, none may pass for the ledger.
            Some(match is_lost {
                true => Answer::silence(),
                false => return None,
            })
        });
        let client = service.builder().ledger(ledger.clone());
        let client = client.deadline(Duration::from_millis(10));
        let client = client.attempt_timeout(Duration::from_millis(10)).build();
        let client = client.unwrap();
        assert_eq!(create_all(&client).await, 10);
        assert_eq!(ledger.unknown().await.unwrap().len(), 10);
        assert_eq!(service.requests().len(), 50);
        assert_eq!(create_all(&client).await, 10);
        assert_eq!(service.requests().len(), 50, "nothing is sent twice");
    });
}

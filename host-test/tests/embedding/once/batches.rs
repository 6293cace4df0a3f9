//! The results of a batch on WASI 0.3, handed over as they come.

use crate::log::Log;
use crate::stage::{
    CREATED, creating_after_ms, large, naming_each_docket_after_ms, plugin, plugin_v0_3, settings,
    shared_with_places, thousands, with_places,
};
use serde_json::value::RawValue;
use std::num::NonZeroUsize;
use std::time::Duration;
use tokio::time::{Instant, sleep};
use voice_calling_check::operation::{external_id, item};
use voice_calling_check::script::{Script, Step};
use voice_calling_host::types::{DocketRequestV2, RequestError};
use voice_calling_host::{
    BatchResult, BatchResults, DocketResult, InstanceSettings, SharedInstance, UnfinishedBatch,
};

const AN_HOUR: Duration = Duration::from_secs(3_600);

fn items(count: usize) -> Vec<DocketRequestV2> {
    (0..count).map(item).collect()
}

/// Begins a batch of so many. Neither the host nor the component must fail.
async fn begin(instance: &SharedInstance, count: usize) -> BatchResults {
    let requests = items(count);
    let begun = instance.begin_dockets_v2(&requests, 3_600_000, None);
    begun.await.expect("no failure of the host").expect("begun")
}

async fn next(results: &mut BatchResults) -> BatchResult {
    let next = results.next().await.expect("there are more");
    next.expect("no failure of the host")
}

fn docket_id(result: &DocketResult) -> &str {
    &result.as_ref().expect("a docket").docket_id
}

#[tokio::test(start_paused = true)]
async fn each_result_comes_when_its_request_is_done() {
    let script = Script::new([30, 20, 10, 50].map(|ms| Step::ok(CREATED).after_ms(ms)));
    let instance = shared_with_places(&script, 3).await;
    let mut results = begin(&instance, 4).await;
    for (expected_ms, expected) in [(10, 2), (20, 1), (30, 0), (60, 3)] {
        let result = next(&mut results).await;
        assert_eq!((script.now_ms(), result.index), (expected_ms, expected));
        assert!(result.outcome.is_ok());
    }
    assert!(results.next().await.is_none());
    assert!(results.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_1000_has_exactly_one_result_for_each_request() {
    let script = naming_each_docket_after_ms(50);
    let instance = shared_with_places(&script, 16).await;
    let mut results = begin(&instance, 1_000).await;
    let mut seen = vec![false; 1_000];
    while let Some(result) = results.next().await {
        let BatchResult { index, outcome } = result.unwrap();
        let index = index as usize;
        assert_eq!(docket_id(&outcome), external_id(index));
        assert!(!std::mem::replace(&mut seen[index], true), "{index}");
    }
    assert!(seen.iter().all(|seen| *seen));
    assert_eq!((script.sent().len(), script.most_open()), (1_000, 16));
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_all_of_it_is_said_before_anything_is_sent() {
    let script = creating_after_ms(10);
    let instance = shared_with_places(&script, 3).await;
    for (requests, timeout_ms, subject) in
        [(items(1), 0, "timeout-ms"), (items(1_001), 1, "requests")]
    {
        let begun = instance.begin_dockets_v2(&requests, timeout_ms, None).await;
        match begun.unwrap().err() {
            Some(RequestError::PermanentInvalidInput(failure)) => {
                assert_eq!(failure.problem.unwrap().subject, subject);
            }
            other => panic!("{other:?}"),
        }
    }
    let mut nothing = begin(&instance, 0).await;
    assert!(nothing.next().await.is_none());
    assert!(script.sent().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_is_slow_holds_up_no_request_and_loses_no_result() {
    let script = creating_after_ms(50);
    let instance = shared_with_places(&script, 4).await;
    let began = Instant::now();
    let mut results = begin(&instance, 40).await;
    sleep(AN_HOUR).await;
    let last_ms = script.sent().iter().map(|sent| sent.at_ms).max();
    assert_eq!(last_ms, Some(450));
    for _ in 0..40 {
        next(&mut results).await.outcome.unwrap();
    }
    assert!(results.next().await.is_none());
    assert_eq!(began.elapsed(), AN_HOUR);
}

/// Another call is what traps, 100 ms after the batch began.
async fn trap_after_100_ms(instance: &SharedInstance) {
    sleep(Duration::from_millis(100)).await;
    instance.create_docket_v2(&large(), None).await.unwrap_err();
}

fn small_memory(script: &Script, places: usize) -> InstanceSettings {
    let mut settings = with_places(script.outgoing(), places);
    settings.limits.memory_bytes = 2 << 20;
    settings
}

#[tokio::test(start_paused = true)]
async fn the_results_before_a_trap_are_kept_one_by_one() {
    let script = Script::new([40, 60, 200].map(|ms| Step::ok(CREATED).after_ms(ms)));
    let instance = plugin_v0_3().share(small_memory(&script, 3)).await.unwrap();
    let mut results = begin(&instance, 3).await;
    // Nobody reads before.
    trap_after_100_ms(&instance).await;
    assert_eq!(next(&mut results).await.index, 0);
    assert_eq!(next(&mut results).await.index, 1);
    let error = results.next().await.expect("an error").unwrap_err();
    let error = format!("{error:#}");
    assert!(error.contains("the limit is 2097152"), "{error}");
    assert!(error.contains("may have been processed"), "{error}");
    assert!(results.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn the_results_before_a_trap_are_in_the_error_of_the_whole_batch() {
    let script = Script::new([60, 200, 40].map(|ms| Step::ok(CREATED).after_ms(ms)));
    let instance = plugin_v0_3().share(small_memory(&script, 3)).await.unwrap();
    let requests = items(3);
    let batch = instance.create_dockets_v2(&requests, 60_000, None);
    let (batch, ()) = tokio::join!(batch, trap_after_100_ms(&instance));
    let error = batch.unwrap_err();
    let unfinished: &UnfinishedBatch = error.downcast_ref().expect("what had come");
    let [Some(first), None, Some(last)] = unfinished.results.as_slice() else {
        panic!("{unfinished:?}");
    };
    let created = docket_id(first);
    assert_eq!(created, docket_id(last));
    let shown = format!("{error:#}");
    let expected = format!("2 of 3 results; created: 0: {created}, 2: {created}: ");
    assert!(shown.contains(&expected), "{shown}");
    assert!(shown.contains("the limit is 2097152"), "{shown}");
}

/// The fourth request makes it trap, when it is about to be sent.
#[tokio::test(start_paused = true)]
async fn the_results_before_a_trap_are_kept_by_an_instance_with_one_call_at_a_time() {
    let requests: Vec<_> = items(3).into_iter().chain([large(), item(4)]).collect();
    let script = creating_after_ms(10);
    let mut settings = with_places(script.outgoing(), 1);
    settings.limits.memory_bytes = 3 << 20;
    let mut instance = plugin_v0_3().instantiate(settings).await.unwrap();
    let batch = instance.create_dockets_v2(&requests, 60_000, None).await;
    let error = batch.unwrap_err();
    assert!(format!("{error:#}").contains("the limit is"), "{error:#}");
    let unfinished: &UnfinishedBatch = error.downcast_ref().expect("what had come");
    let known: Vec<_> = unfinished.results.iter().map(Option::is_some).collect();
    assert_eq!(known, [true, true, true, false, false]);
    assert_eq!(script.sent().len(), 3);
    assert!(!instance.is_sound());
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_goes_ends_the_requests_under_way_and_has_nothing_more_begun() {
    let log = Log::keep();
    let script = Script::new([Step::ok(CREATED).after_ms(100), Step::silence()]);
    let mut settings = with_places(script.outgoing(), 2);
    settings.limits.calls = NonZeroUsize::MIN;
    let instance = plugin_v0_3().share(settings).await.unwrap();
    let mut results = begin(&instance, 5).await;
    assert_eq!(next(&mut results).await.index, 0);
    sleep(Duration::from_millis(50)).await;
    drop(results);
    sleep(Duration::from_secs(2)).await;
    let sent = script.sent();
    let times: Vec<_> = sent
        .iter()
        .map(|sent| (sent.at_ms, sent.ended_ms))
        .collect();
    assert_eq!(times, [(0, Some(100)), (0, Some(150)), (100, Some(150))]);
    log.reports("bulk.create-dockets-v2", 3);
    // The batch has left the instance to others.
    let other = instance.list_agents("org-1", None);
    assert!(tokio::time::timeout(AN_HOUR, other).await.is_ok());
    assert!(instance.is_sound());
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_goes_between_two_requests_has_nothing_more_begun() {
    let script = creating_after_ms(100);
    let instance = shared_with_places(&script, 1).await;
    let mut results = begin(&instance, 5).await;
    next(&mut results).await;
    drop(results);
    sleep(AN_HOUR).await;
    assert!(script.sent().len() <= 2, "{:?}", script.sent());
}

/// Many at once on one instance, whose results must not be mixed up.
#[tokio::test(start_paused = true)]
async fn batches_at_the_same_time_each_have_their_own_results() {
    let script = naming_each_docket_after_ms(50);
    let instance = plugin_v0_3().share(thousands(&script)).await.unwrap();
    let batch = async |first: usize| {
        let requests: Vec<_> = (first..first + 20).map(item).collect();
        let results = instance.create_dockets_v2(&requests, 60_000, None).await;
        for (result, number) in results.unwrap().unwrap().iter().zip(first..) {
            assert_eq!(docket_id(result), external_id(number));
        }
    };
    tokio::join!(batch(0), batch(20), batch(40), batch(60));
    assert_eq!((script.sent().len(), script.now_ms()), (80, 50));
}

#[tokio::test(start_paused = true)]
async fn json_in_and_out_is_the_same_for_both_wasis() {
    let requests = r#"{"requests":[
        {"agent_id":7,"to_phone_number":"919876543210","call_context":{},"external_id":"a"},
        {"agent_id":7,"to_phone_number":"1","call_context":{}},
        {"agent_id":7,"to_phone_number":"919876543210","call_context":{}}
    ],"timeout_ms":1000}"#;
    let requests = RawValue::from_string(requests.to_owned()).unwrap();
    let mut answers = Vec::new();
    for plugin in [plugin(), plugin_v0_3()] {
        let script = Script::new([
            Step::ok(CREATED).header("x-request-id", "r-1").after_ms(7),
            Step::status(422).header("retry-after", "9").body("no"),
        ]);
        let mut instance = plugin
            .instantiate(settings(script.outgoing()))
            .await
            .unwrap();
        let answer = instance.invoke("bulk.create-dockets-v2", &requests).await;
        answers.push(answer.unwrap().expect("a list"));
    }
    assert_eq!(answers[0].to_string(), answers[1].to_string());
    assert_eq!(answers[0].as_array().map(Vec::len), Some(3));
}

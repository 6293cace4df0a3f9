//! Many dockets in one call.

use crate::failure::{invalid_input, may_have_created, outcome, statuses};
use crate::operation::{DOCKET_ID, NO_OPTIONS, docket_v2, returned};
use crate::script::{Script, Step};
use crate::stage::Stage;
use crate::wire;
use voice_calling_host::Instance;
use voice_calling_host::types::*;
use voice_calling_mock::{Endpoint, Fault};

const AN_HOUR_MS: u32 = 3_600_000;

fn number(index: usize) -> String {
    format!("91{index:010}")
}

/// So many requests, each with a number and an external id of its own.
fn requests(count: usize) -> Vec<DocketRequestV2> {
    let request = |index| DocketRequestV2 {
        to_phone_number: number(index),
        external_id: Some(format!("crm-{index}")),
        ..docket_v2()
    };
    (0..count).map(request).collect()
}

async fn batch(
    instance: &mut Instance,
    requests: &[DocketRequestV2],
) -> Vec<Result<CreatedDocketV2, RequestError>> {
    let created = instance.create_dockets_v2(requests, AN_HOUR_MS, None);
    returned(created).await.unwrap()
}

fn created() -> Step {
    Step::ok(format!(
        r#"{{"docket_id":"{DOCKET_ID}","status":"OPEN","created":true}}"#
    ))
}

#[tokio::test]
async fn a_docket_of_a_batch_is_requested_like_one_alone() {
    let stage = Stage::start().await;
    let results = batch(&mut stage.instance().await, &requests(1)).await;
    let body = r#"{"agent_id":7,"to_phone_number":"910000000000","extra_config":{"call_context":{}},"external_id":"crm-0"}"#;
    assert_eq!(
        wire::received(&stage),
        [wire::post(&stage, "/api/v2/dockets", body)]
    );
    let created = results[0].as_ref().unwrap();
    let raw_json = format!(
        r#"{{"docket_id":"{}","status":"OPEN","created":true}}"#,
        created.docket_id
    );
    assert_eq!(created.status, Some(DocketStatus::Open));
    assert_eq!(created.created, Some(true));
    assert_eq!(created.raw_json, raw_json);
}

#[tokio::test]
async fn the_results_are_in_the_order_of_the_requests_and_each_phone_rings_once() {
    for (count, every) in [(1, 1), (40, 1), (1_000, 37)] {
        let stage = Stage::start().await;
        let mut instance = stage.instance().await;
        let results = batch(&mut instance, &requests(count)).await;
        assert_eq!(results.len(), count);
        let mut rung = stage.mock.phones_rung();
        rung.sort();
        assert_eq!(rung, (0..count).map(number).collect::<Vec<_>>());
        for index in (0..count).step_by(every) {
            let docket_id = &results[index].as_ref().unwrap().docket_id;
            let docket = returned(instance.get_docket(docket_id, None))
                .await
                .unwrap();
            assert_eq!(docket.external_id, Some(format!("crm-{index}")));
        }
    }
}

#[tokio::test]
async fn one_failure_never_hides_another_nor_a_success() {
    let stage = Stage::start().await;
    let mut requests = requests(40);
    requests[3].to_phone_number = "12".into();
    requests[17].agent_id = 99;
    requests[39].call_context = "[]".into();
    let results = batch(&mut stage.instance().await, &requests).await;
    for (index, result) in results.iter().enumerate() {
        let expected = match index {
            3 | 39 => "permanent-invalid-input",
            17 => "permanent-not-found",
            _ => "ok",
        };
        assert_eq!(outcome(result), expected, "{index}");
    }
    assert_eq!(stage.mock.requests().len(), 38, "bad input is not sent");
    assert_eq!(stage.mock.phones_rung().len(), 37);
}

#[tokio::test]
async fn a_batch_outlives_a_server_error_and_a_rate_limit() {
    let stage = Stage::start().await;
    let endpoint = Endpoint::CreateDocketV2;
    stage.mock.on_nth(endpoint, 2, Fault::status(503));
    stage
        .mock
        .on_nth(endpoint, 5, Fault::rate_limited(Some("0")));
    let results = batch(&mut stage.instance().await, &requests(40)).await;
    let duplicates = results
        .iter()
        .filter(|result| result.as_ref().unwrap().may_be_duplicate);
    assert_eq!(duplicates.count(), 1, "that of the server error");
    assert_eq!(stage.mock.requests().len(), 42);
    assert_eq!(stage.mock.phones_rung().len(), 40);
}

#[tokio::test]
async fn with_one_attempt_the_error_stands_where_its_request_stood() {
    let stage = Stage::start().await;
    let endpoint = Endpoint::CreateDocketV2;
    stage.mock.on_nth(endpoint, 3, Fault::status(503));
    let settings = [("MAX_ATTEMPTS", "1"), ("MAX_IN_FLIGHT", "1")];
    let mut instance = stage.instance_with(&settings).await;
    let results = batch(&mut instance, &requests(5)).await;
    let outcomes: Vec<_> = results.iter().map(outcome).collect();
    assert_eq!(
        outcomes,
        ["ok", "ok", "permanent-outcome-unknown", "ok", "ok"]
    );
}

#[tokio::test(start_paused = true)]
async fn at_most_max_in_flight_requests_are_open() {
    for (count, settings, most_open, rounds) in [
        (100, &[][..], 16, 7),
        (100, &[("MAX_IN_FLIGHT", "1")], 1, 100),
        (100, &[("MAX_IN_FLIGHT", "40")], 40, 3),
        (1_000, &[("MAX_IN_FLIGHT", "1000")], 1_000, 1),
        (3, &[("MAX_IN_FLIGHT", "1000")], 3, 1),
    ] {
        let script = Script::new([created().after_ms(50)]);
        let mut instance = script.instance(settings).await;
        let results = batch(&mut instance, &requests(count)).await;
        assert!(results.iter().all(|result| result.is_ok()));
        assert_eq!(script.sent().len(), count, "{settings:?}");
        assert_eq!(script.most_open(), most_open, "{settings:?}");
        assert_eq!(script.now_ms(), rounds * 50, "{settings:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_request_holds_up_nobody_else() {
    let script = Script::new([created().after_ms(5_000), created().after_ms(50)]);
    let mut instance = script.instance(&[("MAX_IN_FLIGHT", "2")]).await;
    let results = batch(&mut instance, &requests(41)).await;
    assert!(results.iter().all(|result| result.is_ok()));
    assert_eq!(script.now_ms(), 5_000);
    assert_eq!(script.sent_at_ms().last(), Some(&1_950));
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_that_one_request_meets_slows_all_of_them() {
    let limited = Step::status(429).header("retry-after", "5");
    let script = Script::new([limited, created().after_ms(50)]);
    let mut instance = script.instance(&[("MAX_IN_FLIGHT", "4")]).await;
    let results = batch(&mut instance, &requests(8)).await;
    assert!(results.iter().all(|result| result.is_ok()));
    assert_eq!(
        script.sent_at_ms(),
        [0, 0, 0, 0, 5_000, 5_000, 5_000, 5_000, 5_050]
    );
}

#[tokio::test(start_paused = true)]
async fn requests_that_were_not_begun_in_time_are_timed_out_with_no_attempts() {
    let script = Script::new([created().after_ms(400)]);
    let mut instance = script.instance(&[("MAX_IN_FLIGHT", "2")]).await;
    let results = returned(instance.create_dockets_v2(&requests(7), 1_000, None)).await;
    let results = results.unwrap();
    let outcomes: Vec<_> = results.iter().map(outcome).collect();
    // The third pair has begun when time runs out, and is finished.
    assert_eq!(outcomes, ["ok", "ok", "ok", "ok", "ok", "ok", "timed-out"]);
    assert!(results[6].as_ref().unwrap_err().attempts().is_empty());
    assert_eq!(script.sent_at_ms(), [0, 0, 400, 400, 800, 800]);
    assert_eq!(script.now_ms(), 1_200);
}

#[tokio::test(start_paused = true)]
async fn each_request_of_a_batch_has_a_deadline_of_its_own() {
    let settings = [("MAX_IN_FLIGHT", "1"), ("CREATE_RETRY", "not-sent")];
    let script = Script::new([created().after_ms(9_000)]);
    let mut instance = script.instance(&settings).await;
    let results = batch(&mut instance, &requests(10)).await;
    assert!(results.iter().all(|result| result.is_ok()));
    assert_eq!(script.now_ms(), 90_000, "longer than DEADLINE_MS");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_outcome_in_a_batch_is_never_repeated() {
    let script = Script::new([created(), Step::silence(), created()]);
    let mut instance = script.instance(&[("MAX_IN_FLIGHT", "1")]).await;
    let results = batch(&mut instance, &requests(3)).await;
    let error = results[1].as_ref().unwrap_err();
    assert_eq!(error.case(), "permanent-outcome-unknown");
    assert_eq!(statuses(error), [None]);
    assert!(may_have_created(error));
    assert!(results[2].is_ok());
    let numbers: Vec<_> = script
        .sent()
        .into_iter()
        .map(|sent| String::from_utf8(sent.body).unwrap())
        .collect();
    assert_eq!(numbers.len(), 3);
    for (index, body) in numbers.iter().enumerate() {
        assert!(body.contains(&number(index)), "{body}");
    }
}

#[tokio::test]
async fn a_batch_of_none_is_an_empty_list_and_sends_nothing() {
    let stage = Stage::start().await;
    let results = batch(&mut stage.instance().await, &[]).await;
    assert!(results.is_empty());
    assert!(stage.recorder().exchanges().is_empty());
}

#[tokio::test]
async fn a_batch_of_1001_is_refused_and_no_phone_rings() {
    let stage = Stage::start().await;
    let mut instance = stage.instance().await;
    let refused = returned(instance.create_dockets_v2(&requests(1_001), AN_HOUR_MS, None)).await;
    let problem = invalid_input(refused);
    assert_eq!(
        (problem.subject.as_str(), problem.found.as_str()),
        ("requests", "1001 requests")
    );
    assert_eq!(problem.allowed, "0 to 1000");
    assert!(stage.recorder().exchanges().is_empty());
}

/// Each of them alone is within `MAX_REQUEST_BYTES`.
#[tokio::test(start_paused = true)]
async fn a_batch_whose_texts_are_too_large_together_is_refused_and_no_phone_rings() {
    let large = |count: usize| {
        let mut requests = requests(count);
        for request in &mut requests {
            request.call_context = format!(r#"{{"note":"{}"}}"#, "x".repeat(1_000_000));
        }
        requests
    };
    let script = Script::new([created()]);
    let mut instance = script.instance(&[]).await;
    let refused = returned(instance.create_dockets_v2(&large(17), AN_HOUR_MS, None)).await;
    let problem = invalid_input(refused);
    assert_eq!(problem.subject, "requests");
    assert!(problem.allowed.contains("16777216"), "{problem:?}");
    assert!(script.sent().is_empty());

    let results = batch(&mut instance, &large(16)).await;
    assert!(results.iter().all(|result| result.is_ok()));
    assert_eq!(script.sent().len(), 16);
}

#[tokio::test(start_paused = true)]
async fn the_options_of_a_batch_are_those_of_each_of_its_requests() {
    let limited = Step::status(429).header("retry-after", "0");
    let script = Script::new([limited]);
    let mut instance = script.instance(&[("MAX_IN_FLIGHT", "1")]).await;
    let requests = requests(3);
    let options = CallOptions {
        max_attempts: Some(2),
        ..NO_OPTIONS
    };
    let batch = instance.create_dockets_v2(&requests, AN_HOUR_MS, Some(options));
    let results = returned(batch).await.unwrap();
    for result in &results {
        assert_eq!(outcome(result), "rate-limited");
        assert_eq!(statuses(result.as_ref().unwrap_err()), [Some(429); 2]);
    }
    assert_eq!(script.sent().len(), 6);
}

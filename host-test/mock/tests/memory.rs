//! A mock that is used without end does not grow without limit. The test is alone in its process,
//! since it measures the process's memory.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use voice_calling_mock::{MockService, Options};

/// More than the mock keeps of requests, which is 32 MiB, and of dockets, which is 128 MiB.
const REQUESTS: usize = 160;
const CONTEXT_BYTES: usize = 1024 * 1024;
const MOST_GROWTH_BYTES: usize = 200 * 1024 * 1024;

/// Returns the memory that this process uses, in bytes.
fn resident_bytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    kilobytes
        .expect("a size")
        .parse::<usize>()
        .expect("a number")
        * 1024
}

#[tokio::test]
async fn a_mock_keeps_the_newest_requests_and_no_more_dockets_than_it_has_room_for() {
    let mock = MockService::start(Options::default())
        .await
        .expect("a mock");
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let context = "x".repeat(CONTEXT_BYTES);
    let body: Bytes = format!(
        r#"{{"agent_id":7,"to_phone_number":"919876543210","extra_config":{{"call_context":{{"name":"{context}"}}}}}}"#
    )
    .into();
    let before = resident_bytes();
    let mut statuses = Vec::new();
    for _ in 0..REQUESTS {
        let request = Request::post(format!("{}/api/v2/dockets", mock.base_url()))
            .header("auth_token", format!("Bearer {}", mock.token()))
            .header("content-type", "application/json")
            .body(Full::from(body.clone()));
        let answer = client.request(request.expect("a request")).await;
        let answer = answer.expect("an answer");
        statuses.push(answer.status().as_u16());
        answer.into_body().collect().await.expect("a whole answer");
    }
    let grown = resident_bytes().saturating_sub(before);
    let created = statuses.iter().take_while(|status| **status == 200).count();
    assert!((120..128).contains(&created), "{created}");
    assert!(statuses[created..].iter().all(|status| *status == 503));
    assert_eq!(mock.phones_rung().len(), created);
    let kept = mock.changes(0).requests;
    assert!((28..32).contains(&kept.len()), "{}", kept.len());
    assert_eq!(kept.last().expect("the newest").n, REQUESTS);
    assert!(grown < MOST_GROWTH_BYTES, "grown by {grown} bytes");
}

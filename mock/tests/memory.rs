//! A mock that is used without end does not grow without limit. The test is alone in its process,
//! since it measures the process's memory.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use voice_calling_mock::{MockService, Options};

/// Requests that create nothing, and the memory of the process after them.
const READS: usize = 40_000;
const MOST_BYTES_OF_READS: usize = 100_000_000;

/// More than the mock keeps of requests, which is 32 MiB, and of dockets, which is 128 MiB.
const CREATES: usize = 160;
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

type HttpClient = Client<HttpConnector, Full<Bytes>>;

/// Sends a request with the mock's token, and returns the status of the answer.
async fn send(client: &HttpClient, mock: &MockService, head: &str, body: &Bytes) -> u16 {
    let (method, path) = head.split_once(' ').expect("METHOD /path");
    let request = Request::builder()
        .method(method)
        .uri(format!("{}{path}", mock.base_url()))
        .header("auth_token", format!("Bearer {}", mock.token()))
        .header("content-type", "application/json")
        .body(Full::from(body.clone()));
    let answer = client.request(request.expect("a request")).await;
    let answer = answer.expect("an answer");
    let status = answer.status().as_u16();
    answer.into_body().collect().await.expect("a whole answer");
    status
}

#[tokio::test]
async fn a_mock_keeps_the_newest_requests_and_dockets() {
    let mock = MockService::start(Options::default())
        .await
        .expect("a mock");
    let client = Client::builder(TokioExecutor::new()).build_http();

    let list = "GET /api/v1/agents?organizationId=org-1";
    for _ in 0..READS {
        assert_eq!(send(&client, &mock, list, &Bytes::new()).await, 200);
    }
    let resident = resident_bytes();
    assert!(resident < MOST_BYTES_OF_READS, "{resident} bytes");

    let context = "x".repeat(CONTEXT_BYTES);
    let body: Bytes = format!(
        r#"{{"agent_id":7,"to_phone_number":"919876543210","extra_config":{{"call_context":{{"name":"{context}"}}}}}}"#
    )
    .into();
    for _ in 0..CREATES {
        assert_eq!(
            send(&client, &mock, "POST /api/v2/dockets", &body).await,
            200
        );
    }
    let grown = resident_bytes().saturating_sub(resident);
    let changes = mock.changes(0);
    let dockets = changes.entries;
    assert!((110..128).contains(&dockets.len()), "{}", dockets.len());
    let kept = changes.requests;
    let newest = kept.last().expect("the newest").entry;
    assert_eq!(Some(dockets.last().expect("the newest").id), newest);
    assert!((28..32).contains(&kept.len()), "{}", kept.len());
    assert_eq!(kept.last().expect("the newest").n, READS + CREATES);
    assert!(grown < MOST_GROWTH_BYTES, "grown by {grown} bytes");
}

//! A mock that runs for a long time does not grow without limit. The test is alone in its process,
//! since it measures the process's memory.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use voice_calling_mock::{MockService, Options, Pace};

/// 100,000 requests, of which 5,000 are kept, may take 100 MB. They take too long in a debug build,
/// which uses a fifth of each.
const REQUESTS: usize = 20_000;
const KEPT: usize = 1_000;
const MOST_BYTES: usize = 20_000_000;

const SENDERS: usize = 8;

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

/// Sends one sender's share of the requests on kept connections. Every tenth creates a docket,
/// whose calls end by themselves.
async fn send(sender: usize, base_url: String, token: String) {
    let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
    let body = format!(
        r#"{{"agent_id":7,"to_phone_number":"91987654321{sender}","extra_config":{{"call_context":{{}}}}}}"#
    );
    for index in 0..REQUESTS / SENDERS {
        let request = match index % 10 {
            0 => Request::post(format!("{base_url}/api/v2/dockets")),
            _ => Request::get(format!("{base_url}/api/v1/agents?organizationId=org-1")),
        };
        let request = request
            .header("auth_token", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .body(Full::from(body.clone()));
        let answer = client.request(request.expect("a request")).await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.status(), 200);
        answer.into_body().collect().await.expect("a whole answer");
    }
}

#[tokio::test]
async fn of_each_request_a_mock_keeps_nothing_once_it_has_forgotten_it() {
    let options = Options {
        kept: Some(KEPT),
        pace: Pace::Every(Duration::from_millis(1)),
        ..Options::default()
    };
    let mock = MockService::start(options).await.expect("a mock");
    let before = resident_bytes();
    let senders: Vec<_> = (0..SENDERS)
        .map(|sender| tokio::spawn(send(sender, mock.base_url(), mock.token())))
        .collect();
    for sender in senders {
        sender.await.expect("every request is answered");
    }
    let grown = resident_bytes().saturating_sub(before);
    let counts = mock.changes(0).counts;
    assert_eq!(counts.requests, KEPT);
    assert_eq!(counts.requests + counts.forgotten_requests, REQUESTS);
    assert!(grown < MOST_BYTES, "grown by {grown} bytes");
}

//! Requests and answers over real connections, with a mocked service.

use voice_calling_check::operation::{Operation, outcome};
use voice_calling_test_guests::{TOKEN, instance_at, pooled, run_in};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

/// Starts a service that answers 503 as often, and then what satisfies the operation.
async fn service(operation: Operation, failures: u64) -> MockServer {
    let server = MockServer::start().await;
    let unavailable = ResponseTemplate::new(503).insert_header("retry-after", "0");
    let unavailable = Mock::given(any()).respond_with(unavailable);
    if failures > 0 {
        let unavailable = unavailable.up_to_n_times(failures);
        unavailable.mount(&server).await;
    }
    let answer = ResponseTemplate::new(200).set_body_string(operation.satisfying());
    Mock::given(any()).respond_with(answer).mount(&server).await;
    server
}

/// Returns the headers but those of the length and the host, line by line.
fn headers(request: &Request) -> String {
    let headers = request.headers.iter();
    let lines = headers.map(|(name, value)| format!("{name}: {}\n", value.to_str().unwrap()));
    let mut lines: Vec<_> = lines.collect();
    lines
        .retain(|line| !line.starts_with("content-length") && !line.starts_with("host: 127.0.0.1"));
    lines.sort();
    lines.concat()
}

#[tokio::test]
async fn each_function_sends_one_request_with_these_headers_and_again_after_a_503() {
    for (failures, requests) in [(0, 1), (1, 2)] {
        for &operation in Operation::ALL {
            let server = service(operation, failures).await;
            let mut instance = instance_at(&server.uri(), &[], pooled()).await;
            let result = run_in(&mut instance, operation).await;
            assert_eq!(outcome(&result), "ok", "{operation}: {result:?}");
            let answered = result.unwrap();
            assert_eq!(answered.raw.as_deref(), Some(operation.satisfying()));
            let is_duplicate = operation.is_create() && failures > 0;
            assert_eq!(answered.may_be_duplicate, is_duplicate, "{operation}");

            let received = server.received_requests().await.unwrap();
            assert_eq!(received.len(), requests, "{operation}");
            let fetches_docket = operation.request_line().starts_with("GET /api/v1/dockets/");
            let (accept, content_type) = match (operation.is_create(), fetches_docket) {
                (true, _) => ("", "content-type: application/json\n"),
                (false, true) => ("accept: application/json\n", ""),
                (false, false) => ("", ""),
            };
            let expected = format!(
                "accept-encoding: identity\n{accept}auth_token: Bearer {TOKEN}\n{content_type}"
            );
            for request in received {
                let (path, query) = (request.url.path(), request.url.query());
                let query = query.map_or(String::new(), |query| format!("?{query}"));
                let line = format!("{} {path}{query}", request.method);
                assert_eq!(line, operation.request_line());
                assert_eq!(headers(&request), expected, "{operation}");
                assert_eq!(
                    request.body.is_empty(),
                    !operation.is_create(),
                    "{operation}"
                );
            }
        }
    }
}

//! Requests and answers over real connections.

use voice_calling_check::operation::{Operation, outcome};
use voice_calling_peer::{Behaviour, Peer, Request};
use voice_calling_test_guests::{TOKEN, instance_at, pooled, run_in};

const UNAVAILABLE: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 0\r\ncontent-length: 0\r\n\r\n";

/// Returns the headers but that of the length, line by line.
fn headers(request: &Request) -> String {
    let headers = request.headers.iter();
    let headers = headers.filter(|(name, _)| name != "content-length");
    let mut lines: Vec<_> = headers
        .map(|(name, value)| format!("{name}: {value}\n"))
        .collect();
    lines.sort();
    lines.concat()
}

#[tokio::test]
async fn each_function_sends_one_request_with_these_headers_and_again_after_a_503() {
    let unavailable = Behaviour::Send(UNAVAILABLE.to_vec());
    for failures in [&[][..], &[unavailable]] {
        for &operation in Operation::ALL {
            let script = [failures, &[Behaviour::Keep(operation.satisfying())]].concat();
            let service = Peer::start(script).await.unwrap();
            let mut instance = instance_at(&service.base_url(), &[], pooled()).await;
            let result = run_in(&mut instance, operation).await;
            assert_eq!(outcome(&result), "ok", "{operation}: {result:?}");
            let answered = result.unwrap();
            assert_eq!(answered.raw.as_deref(), Some(operation.satisfying()));
            let is_duplicate = operation.is_create() && !failures.is_empty();
            assert_eq!(answered.may_be_duplicate, is_duplicate, "{operation}");

            let received = service.requests();
            assert_eq!(received.len(), failures.len() + 1, "{operation}");
            let fetches_docket = operation.request_line().starts_with("GET /api/v1/dockets/");
            let (accept, content_type) = match (operation.is_create(), fetches_docket) {
                (true, _) => ("", "content-type: application/json\n"),
                (false, true) => ("accept: application/json\n", ""),
                (false, false) => ("", ""),
            };
            let expected = format!(
                "accept-encoding: identity\n{accept}auth_token: Bearer {TOKEN}\n{content_type}\
                 host: {}\n",
                service.address()
            );
            for request in received {
                let line = format!("{} {}", request.method, request.path);
                assert_eq!(line, operation.request_line());
                assert_eq!(headers(&request), expected, "{operation}");
                let has_body = !request.body.is_empty();
                assert_eq!(has_body, operation.is_create(), "{operation}");
            }
        }
    }
}

//! Requests as they stand on the wire, written out whole: method and path, every
//! header in the order of the names, and the body.

use crate::operation::Operation;
use crate::script::{Script, Step};
use crate::stage::Stage;
use voice_calling_mock::ReceivedRequest;

/// A request as text.
fn as_text(request: &ReceivedRequest) -> String {
    let mut headers: Vec<_> = request
        .headers
        .iter()
        .map(|(name, value)| format!("{name}: {}\n", String::from_utf8_lossy(value)))
        .collect();
    headers.sort();
    format!(
        "{} {}\n{}\n{}",
        request.method,
        request.path_and_query,
        headers.concat(),
        request.body_text()
    )
}

/// All requests that the mock has received, as text.
pub fn received(stage: &Stage) -> Vec<String> {
    stage.mock.requests().iter().map(as_text).collect()
}

/// A GET without any other header than these.
pub fn get(stage: &Stage, path_and_query: &str) -> String {
    format!(
        "GET {path_and_query}\nauth_token: Bearer {}\nhost: {}\n\n",
        stage.mock.token(),
        stage.mock.address()
    )
}

/// The same with `Accept: application/json`.
pub fn get_accepting_json(stage: &Stage, path_and_query: &str) -> String {
    let (line, headers) = ("\n", "\naccept: application/json\n");
    get(stage, path_and_query).replacen(line, headers, 1)
}

/// A POST with this body.
pub fn post(stage: &Stage, path: &str, body: &str) -> String {
    format!(
        "POST {path}\nauth_token: Bearer {}\ncontent-length: {}\ncontent-type: application/json\nhost: {}\n\n{body}",
        stage.mock.token(),
        body.len(),
        stage.mock.address()
    )
}

fn path_and_query(operation: Operation) -> String {
    let line = operation.request_line();
    let (_, path_and_query) = line.split_once(' ').expect("a method and a path");
    path_and_query.to_owned()
}

#[tokio::test(start_paused = true)]
async fn the_path_of_the_base_url_goes_before_that_of_every_endpoint() {
    for operation in Operation::ALL {
        for (base_url, host, prefix) in [
            ("http://127.0.0.1", "127.0.0.1", ""),
            ("http://127.0.0.1:8080/", "127.0.0.1:8080", ""),
            (
                "http://LocalHost:8080/tenant/%7Ea/v3",
                "localhost:8080",
                "/tenant/%7Ea/v3",
            ),
            ("https://[::1]/tenant/", "[::1]", "/tenant"),
        ] {
            let script = Script::new([Step::ok(operation.satisfying())]);
            let settings = [("BASE_URL", base_url)];
            script.run(operation, &settings).await.unwrap();
            let sent = &script.sent()[0];
            let expected = format!("{prefix}{}", path_and_query(operation));
            assert_eq!(sent.path_and_query(), expected, "{operation:?}");
            assert_eq!(sent.header("host"), host, "{operation:?}");
            let authority = sent.uri.authority().map(|authority| authority.as_str());
            assert_eq!(authority, Some(host));
            let scheme = base_url.split(':').next();
            assert_eq!(sent.uri.scheme_str(), scheme, "{operation:?}");
        }
    }
}

#[tokio::test]
async fn the_path_of_the_base_url_is_on_the_wire_too() {
    let stage = Stage::start().await;
    let base_url = format!("{}/tenant/a", stage.mock.base_url());
    let settings = [("BASE_URL", base_url.as_str())];
    for operation in Operation::ALL {
        // The mock has nothing there.
        stage.run(operation, &settings).await.unwrap_err();
    }
    let paths: Vec<_> = stage
        .mock
        .requests()
        .into_iter()
        .map(|request| request.path_and_query)
        .collect();
    let expected =
        Operation::ALL.map(|operation| format!("/tenant/a{}", path_and_query(operation)));
    assert_eq!(paths, expected);
}

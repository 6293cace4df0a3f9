//! The example against the mock: its output and its requests.

use std::process::{Command, Output};
use tokio::task::spawn_blocking;
use voice_calling_mock::{Behaviour, Endpoint, Fault, MockService, Options, RawPeer};

const MODULE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../target/voice-calling-sans-io.wasm"
);

async fn run(base_url: &str, token: &str) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_voice-calling-example-core-module"));
    program
        .args([MODULE, "919876543210"])
        .env("VOICE_CALLING_BASE_URL", base_url)
        .env("VOICE_CALLING_API_TOKEN", token)
        .env("VOICE_CALLING_BACKOFF_MS", "1");
    let output = spawn_blocking(move || program.output()).await.unwrap();
    output.expect("the example, and target/voice-calling-sans-io.wasm (`cargo xtask build`)")
}

async fn run_on(mock: &MockService) -> (bool, String) {
    let output = run(&mock.base_url(), &mock.token()).await;
    let printed = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&printed).into_owned(),
    )
}

#[tokio::test]
async fn a_docket_is_created_after_a_503() {
    let mock = MockService::start(Options::default()).await.unwrap();
    mock.on_next(Endpoint::CreateDocketV2, Fault::status(503));
    let (succeeded, printed) = run_on(&mock).await;
    assert!(succeeded, "{printed}");
    assert!(printed.contains("docket \""), "{printed}");
    let requests = mock.requests_to(Endpoint::CreateDocketV2);
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].body, requests[1].body);
    assert_eq!(mock.times_rung("919876543210"), 1);
    assert!(!printed.contains(&mock.token()), "{printed}");
}

#[tokio::test]
async fn a_create_without_a_whole_answer_is_sent_once() {
    for behaviour in [
        Behaviour::CloseAfterReading,
        Behaviour::ResetAfterReading,
        Behaviour::HalfHead,
        Behaviour::Send(
            b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n{\"docket_id\": \"cut".to_vec(),
        ),
    ] {
        let peer = RawPeer::start([behaviour.clone()]).await.unwrap();
        let output = run(&peer.base_url(), "token-of-a-test").await;
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{behaviour:?}");
        assert!(printed.contains("\"may_have_created\":true"), "{printed}");
        assert!(printed.contains("\"next_step\":\"unknown\""), "{printed}");
        assert_eq!(peer.requests().len(), 1, "{behaviour:?}");
    }
}

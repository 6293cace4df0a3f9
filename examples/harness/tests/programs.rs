//! The programs of `examples/bindings-python` and `examples/bindings-javascript`, which call the
//! component by the bindings that wasmtime and jco make from it.

use std::env;
use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;
use tokio::process::Command;
use voice_calling_mock::{Endpoint, Fault, MockService, Options, Pace};

const NUMBER: &str = "910000000000";

/// Returns the commands of the programs, without the number.
fn programs() -> [Command; 2] {
    let variable = |name| {
        let value = env::var_os(name);
        PathBuf::from(
            value.unwrap_or_else(|| panic!("{name}: `cargo xtask examples test` sets it")),
        )
    };
    let examples = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut python = Command::new(variable("BINDINGS_PYTHON"));
    python.arg(examples.join("bindings-python/main.py"));
    python.arg(variable("HOST_TEST_COMPONENT"));
    let mut node = Command::new("node");
    node.arg(examples.join("bindings-javascript/main.js"));
    [python, node]
}

async fn run(command: &mut Command, mock: &MockService) -> Output {
    let command = command.arg(NUMBER);
    let command = command.env("VOICE_CALLING_BASE_URL", mock.base_url());
    let command = command.env("VOICE_CALLING_API_TOKEN", mock.token());
    command.kill_on_drop(true).output().await.unwrap()
}

fn shown(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8(text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_docket_is_created_waited_for_and_its_delivery_verified() {
    for mut command in programs() {
        let options = Options {
            pace: Pace::Every(Duration::from_millis(1)),
            ..Options::default()
        };
        let mock = MockService::start(options).await.unwrap();
        let output = run(&mut command, &mock).await;
        let text = shown(&output);
        assert!(output.status.success(), "{text}");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "agent 7 renewals", "{text}");
        assert_eq!(
            lines[2..],
            ["completed DISPOSITION", "delivery confirmed"],
            "{text}"
        );
        assert_eq!(mock.requests_to(Endpoint::CreateDocketV2).len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_whose_outcome_is_unknown_is_said_to_be_and_not_sent_again() {
    for mut command in programs() {
        let mock = MockService::start(Options::default()).await.unwrap();
        mock.on_next(Endpoint::CreateDocketV2, Fault::created_then(503));
        let output = run(&mut command, &mock).await;
        let text = shown(&output);
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains("unknown: the phone may ring"), "{text}");
        assert_eq!(mock.requests_to(Endpoint::CreateDocketV2).len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_has_its_kind_and_its_next_step() {
    for mut command in programs() {
        let mock = MockService::start(Options::default()).await.unwrap();
        command.env("VOICE_CALLING_CREATE_RETRY", "perhaps");
        let output = run(&mut command, &mock).await;
        let text = shown(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.starts_with("configuration fix-setting "), "{text}");
        assert_eq!(mock.requests().len(), 0);
    }
}

//! The command as users see it: its output, its exit codes, and what it refuses.

mod authorities;
mod once;
mod token;

use serde_json::Value;
use std::ffi::OsStr;
use std::process::{Command, Output};
use voice_calling_mock::{MockService, Options};
use voice_calling_test_guests::{CACHES, component};

/// Returns the command without the caller's settings, with the caches of these tests.
fn host_test() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_host-test"));
    command.env("XDG_CACHE_HOME", CACHES);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("VOICE_CALLING_")) {
        command.env_remove(name);
    }
    command
}

fn run<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Output {
    let output = host_test().args(arguments).output();
    output.expect("the command runs")
}

fn invoking(function: &str, json: &str, environment: &[(&str, &str)]) -> Command {
    let mut command = host_test();
    command
        .args(["invoke", function, "--json", json])
        .args(["--component", component()])
        .envs(environment.iter().copied());
    command
}

fn invoke(function: &str, json: &str, environment: &[(&str, &str)]) -> Output {
    let output = invoking(function, json, environment).output();
    output.expect("the command runs")
}

/// Asserts that the command rejects its arguments with an error that contains this text.
fn assert_refused(output: &Output, says: &str) {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(stderr(output).contains(says), "{says}: {}", stderr(output));
    assert!(output.stdout.is_empty(), "{output:?}");
}

fn stdout_json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("no JSON: {output:?}"))
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Starts a mock whose calls ring until it is dropped.
fn started(faults: &[&str]) -> MockService {
    let faults = faults.iter().map(|fault| fault.parse().expect("a fault"));
    let options = Options {
        faults: faults.collect(),
        ..Options::default()
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let started = runtime.block_on(MockService::start(options));
    started.expect("a mock")
}

/// Returns the settings of a client of the mock.
fn environment<'a>(base_url: &'a str, token: &'a str) -> [(&'a str, &'a str); 4] {
    [
        ("VOICE_CALLING_BASE_URL", base_url),
        ("VOICE_CALLING_API_TOKEN", token),
        ("VOICE_CALLING_BACKOFF_MS", "1"),
        ("VOICE_CALLING_MAX_BACKOFF_MS", "1"),
    ]
}

#[test]
fn a_docket_is_created_on_the_mock_and_free_form_json_needs_no_quotes() {
    let mock = started(&["create-docket-v2:503"]);
    let (base_url, token) = (mock.base_url(), mock.token());
    let environment = environment(&base_url, &token);
    let created = invoke(
        "dockets.create-docket-v2",
        r#"{"agent_id": 7, "to_phone_number": "919876543210",
            "call_context": {"big": 12345678901234567890, "amount": 0.10}}"#,
        &environment,
    );
    assert_eq!(created.status.code(), Some(0), "{}", stderr(&created));
    let created = stdout_json(&created);
    assert_eq!(
        (&created["status"], &created["created"]),
        (&"open".into(), &true.into())
    );
    assert_eq!(created["may_be_duplicate"], true, "after the 503");

    let id = created["docket_id"].as_str().expect("a docket id");
    let fetch = format!(r#"{{"docket_id": "{id}"}}"#);
    let fetched = stdout_json(&invoke("dockets.get-docket", &fetch, &environment));
    let context = &fetched["call_context"];
    assert_eq!(context, r#"{"big": 12345678901234567890, "amount": 0.10}"#);
}

#[test]
fn bad_arguments_name_what_is_wrong_with_exit_code_2() {
    for (function, json, named) in [
        ("calls.ring", "{}", "calls.make-call"),
        ("calls.make-call", "{", "--json is not JSON"),
        ("dockets.get-docket", r#"{"id": "x"}"#, "docket_id: missing"),
        (
            "agents.list-agents",
            r#"{"organization_id":"o","options":{"deadline":1}}"#,
            "options: unknown member \"deadline\"; allowed: account, deadline_ms, max_attempts",
        ),
        (
            "calls.make-call",
            r#"{"from_agent_name":"a","to_phone_number":"1","call_context":{"n":1}}"#,
            "call_context.n: found 1; expected a string",
        ),
        (
            "dockets.wait-for-docket",
            r#"{"docket_id":"d","wait":{"timeout_ms":-1,"not_found_is_pending":true}}"#,
            "wait.timeout_ms: found -1; expected a number from 0 to 4294967295",
        ),
        (
            "bulk.create-dockets-v2",
            r#"{"requests":[{"agent_id":7}],"timeout_ms":1}"#,
            "requests[0].to_phone_number: missing",
        ),
    ] {
        assert_refused(&invoke(function, json, &[]), named);
    }
}

/// The base URL without an account is not set at all.
#[test]
fn an_account_with_a_service_of_its_own_is_reached() {
    let mock = started(&[]);
    let (base_url, token) = (mock.base_url(), mock.token());
    let environment = [
        ("VOICE_CALLING_ACCOUNTS", "alpha"),
        ("VOICE_CALLING_ALPHA_BASE_URL", base_url.as_str()),
        ("VOICE_CALLING_ALPHA_API_TOKEN", token.as_str()),
    ];
    let of_alpha = r#"{"organization_id": "org-1", "options": {"account": "alpha"}}"#;
    let output = invoke("agents.list-agents", of_alpha, &environment);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let agents = stdout_json(&output)["agents"].clone();
    assert_eq!(agents.as_array().map(Vec::len), Some(2), "{agents}");

    let of_no_account = r#"{"organization_id": "org-1"}"#;
    let output = invoke("agents.list-agents", of_no_account, &environment);
    assert_eq!(output.status.code(), Some(1));
    assert!(!format!("{output:?}").contains(&token));
}

fn check(component: &str, arguments: &[&str]) -> Output {
    run([&["check", component][..], arguments].concat())
}

#[test]
fn the_report_of_a_component_that_passes_is_for_people_and_for_machines() {
    let some = ["--scenarios", "histories", "--histories", "20"];
    let output = check(component(), &some);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(table.contains("✓ no-replay"), "{table}");
    assert!(
        table.ends_with(" checks passed, 0 failed, 0 not tried\n"),
        "{table}"
    );

    let only = ["--json", "--only", "returns,memory"];
    let output = check(component(), &[&some[..], &only].concat());
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report = stdout_json(&output);
    let rows = report["rows"].as_array().unwrap();
    let names: Vec<_> = rows.iter().map(|row| &row["check"]).collect();
    assert_eq!(names, ["returns", "memory"]);
    for row in rows {
        assert_eq!((&row["runs"], &row["failed"]), (&20.into(), &0.into()));
    }
}

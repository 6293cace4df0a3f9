//! Tests that load no component, or choose it themselves: they run once, and not again for the
//! component for WASI 0.3.

use crate::{assert_refused, check, invoke, run, stderr, stdout_json};
use std::process::Output;
use voice_calling_test_guests::FAULTY;

#[test]
fn no_real_phone_rings_without_a_deliberate_word() {
    // A host that cannot exist, in case the command does not ask for consent.
    let real = [
        ("VOICE_CALLING_BASE_URL", "https://voice.invalid"),
        ("VOICE_CALLING_API_TOKEN", "canary-token-17"),
        ("VOICE_CALLING_MAX_ATTEMPTS", "1"),
    ];
    for function in [
        "calls.make-call",
        "dockets.create-docket",
        "dockets.create-docket-v2",
        "bulk.create-dockets-v2",
    ] {
        let output = invoke(function, "{}", &real);
        assert_refused(&output, "--place-real-call");
        assert!(!format!("{output:?}").contains("canary-token-17"));
    }
    // Nor at the service of an account, wherever the others are.
    let of_an_account = [
        ("VOICE_CALLING_BASE_URL", "http://127.0.0.1:9"),
        ("VOICE_CALLING_API_TOKEN", "t"),
        ("VOICE_CALLING_ACCOUNTS", "alpha"),
        ("VOICE_CALLING_ALPHA_BASE_URL", "https://voice.invalid"),
        ("VOICE_CALLING_ALPHA_API_TOKEN", "canary-token-17"),
    ];
    let output = invoke("calls.make-call", "{}", &of_an_account);
    assert_refused(&output, "--place-real-call");
}

#[test]
fn what_a_command_cannot_do_it_says_with_exit_code_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let case =
        r#"[{"name": "n", "operation": "agents.list-agents", "arguments": {}, "request": []}]"#;
    std::fs::write(folder.path().join("agents.json"), case).expect("a file");
    let folder = folder.path().to_str().expect("a path that is text");
    let insecure = "VOICE_CALLING_BASE_URL=https://api.example";
    for (arguments, says) in [
        (
            &["demo", "--component", "/nowhere.wasm"][..],
            "cargo xtask build",
        ),
        (
            &[
                "invoke",
                "agents.list-agents",
                "--json",
                "{}",
                "--ca",
                "/nowhere.pem",
            ],
            "--ca /nowhere.pem: No such file",
        ),
        (&["check", "no-such-file.wasm"], "cannot read the component"),
        (&["check", FAULTY, "--env", "FAULT"], "NAME=VALUE"),
        (&["check", FAULTY, "--env", insecure], "the check sets it"),
        (&["check", FAULTY, "--only", "no-such-check"], "no-replay"),
        (
            &["cases", "--folder", folder],
            "agents.json: \"n\": unknown field `request`",
        ),
    ] {
        assert_refused(&run(arguments), says);
    }
}

#[test]
fn a_component_that_fails_a_check_ends_with_1_and_the_scenario_in_which_it_did() {
    let fault = ["--env", "FAULT=hides-attempts", "--json"];
    let some = ["--scenarios", "histories", "--histories", "50"];
    let output = check(FAULTY, &[&fault[..], &some].concat());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let row = |output: &Output| {
        let report = stdout_json(output);
        let mut rows = report["rows"].as_array().unwrap().iter();
        rows.find(|row| row["check"] == "attempts-are-reported")
            .unwrap()
            .clone()
    };
    let caught = row(&output);
    assert_eq!(caught["result"], "failed");
    let example = &caught["examples"][0];
    let found = example["found"].as_str().unwrap();
    assert!(found.starts_with("reports 1 attempts"), "{example}");
    assert!(example["returned"].is_string() && example["requests"][1].is_string());
    let scenario = example["scenario"].as_str().unwrap();
    let (_, seed) = scenario.split_once("--seed ").expect("a history");

    // The reported history fails again on its own, and is shown.
    let again = check(FAULTY, &[&fault[..], &["--seed", seed]].concat());
    assert_eq!(row(&again)["failed"], 1);
    assert!(stderr(&again).starts_with("Scenario {"), "{again:?}");
}

//! The token is in no output of the command, at any level of the log, and no person is in the log.

use crate::{stderr, stdout_json};
use std::process::Output;
use voice_calling_peer::{Behaviour, Peer};

const CANARY: &str = r#"canary/5f1e0c"77a1b2"#;
const NUMBER: &str = "919876543210";
const NAME: &str = "Asha";

const CREATE: &str = r#"{"agent_id": 7, "to_phone_number": "919876543210",
    "call_context": {"Asha": "Asha Rao", "age": 41}, "external_id": "crm-Asha"}"#;

const LIST: (&str, &str) = ("agents.list-agents", r#"{"organization_id": "org-1"}"#);

/// Calls a function with the most verbose log.
fn invoke(call: (&str, &str), base_url: &str) -> Output {
    let environment = [
        ("RUST_LOG", "trace"),
        ("VOICE_CALLING_BASE_URL", base_url),
        ("VOICE_CALLING_API_TOKEN", CANARY),
        ("VOICE_CALLING_MAX_ATTEMPTS", "1"),
        ("VOICE_CALLING_LOG", "attempts"),
    ];
    crate::invoke(call.0, call.1, &environment)
}

/// Asserts that neither the token nor half of it occurs, in any encoding, and that the modules that
/// trace arguments are silent.
fn assert_no_token(output: &Output) {
    let all = format!(
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        stderr(output)
    );
    assert!(all.contains(" TRACE "), "nothing was traced: {all}");
    for half in [
        "canary",
        "77a1b2",
        "Y2FuYXJ5",
        "99, 97, 110, 97",
        "::bindings::",
    ] {
        assert!(!all.contains(half), "{half} in {all}");
    }
}

/// Returns an answer that echoes what it was sent, in its headers and in its body.
fn echo(status: &str, content_type: &str, body: impl Into<Vec<u8>>) -> Behaviour {
    let body = body.into();
    let head = format!(
        "HTTP/1.1 {status} {NAME}\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\
         auth_token: Bearer {CANARY}\r\nX-Echo: {CANARY} {NUMBER} {NAME}\r\n\
         X-Request-Id: {NUMBER}\r\nLocation: /{NAME}/{NUMBER}?token={}\r\n\
         Connection: close\r\n\r\n",
        body.len(),
        CANARY.replace('/', "%2F").replace('"', "%22"),
    );
    Behaviour::Send([head.into_bytes(), body].concat())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_service_echoes_is_in_no_output() {
    let quoted = serde_json::to_string(CANARY).expect("JSON");
    let problems = format!(
        r#"{{"detail":[{{"loc":["body","{NAME}"],"msg":"not {NUMBER}","input":{{"{NAME}":{quoted}}},
            "{NUMBER}":{quoted}}}],"task_id":{quoted},"status":"{NAME}"}}"#
    );
    let slashes = format!(r#"{{"detail":{}}}"#, quoted.replace('/', "\\/"));
    let escaped = problems.replace("canary", r"\u0063\u0061nary");
    let binary = [b"\xff\xfe", CANARY.as_bytes(), NUMBER.as_bytes()].concat();
    let text = format!("{NAME} {NUMBER} {CANARY}").into_bytes();
    for (status, content_type, body) in [
        ("422", "application/json", problems.into_bytes()),
        ("503", "application/json", slashes.into_bytes()),
        ("302", "application/json", escaped.into_bytes()),
        ("200", "text/plain", text),
        ("404", "application/octet-stream", binary),
    ] {
        let peer = Peer::start([echo(status, content_type, body)]);
        let peer = peer.await.expect("a peer");
        let call = ("dockets.create-docket-v2", CREATE);
        let output = invoke(call, &peer.base_url());
        let log = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{log}");
        assert_no_token(&output);
        assert!(log.contains("exchange"), "{log}");
        for person in [NUMBER, NAME] {
            assert!(!log.contains(person), "{person} in {log}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_in_a_successful_answer_is_masked_before_it_is_printed() {
    let quoted = serde_json::to_string(CANARY).expect("JSON");
    let agents = format!(r#"[{{"agent_id":7,"agent_name":{quoted},"{NUMBER}":{quoted}}}]"#);
    let peer = Peer::start([echo("200", "application/json", agents)]).await;
    let peer = peer.expect("a peer");
    let output = invoke(LIST, &peer.base_url());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_no_token(&output);
    let printed = stdout_json(&output);
    assert_eq!(printed["agents"][0]["agent_name"], "[api token]");
}

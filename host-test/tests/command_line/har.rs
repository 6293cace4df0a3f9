//! The archives that the command writes are complete, and nothing secret is in them or in other
//! output.

use crate::{component, host_test};
use serde_json::Value;
use std::path::Path;
use tempfile::tempdir;
use voice_calling_mock::{Behaviour, RawPeer};

const CANARY: &str = r#"canary/5f1e0c"77a1b2"#;
const NUMBER: &str = "919876543210";
const NAME: &str = "Asha";

const CREATE: &str = r#"{"agent_id": 7, "to_phone_number": "919876543210",
    "call_context": {"Asha": "Asha Rao", "age": 41}, "external_id": "crm-Asha"}"#;

const LIST: (&str, &str) = ("agents.list-agents", r#"{"organization_id": "org-1"}"#);

/// The results of a run of the command.
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    har: Option<String>,
}

impl Run {
    /// Returns all output.
    fn all(&self) -> String {
        let har = self.har.as_deref().unwrap_or_default();
        format!("{}\n{}\n{har}", self.stdout, self.stderr)
    }

    fn entries(&self) -> Vec<Value> {
        let har = self.har.as_deref();
        let har = har.unwrap_or_else(|| panic!("no archive: {}", self.all()));
        let archive: Value = serde_json::from_str(har).expect("JSON");
        let entries = archive["log"]["entries"].as_array();
        entries.expect("entries").clone()
    }

    /// Asserts that neither the token nor half of it occurs, in any encoding, and that the modules
    /// that trace arguments are silent.
    fn assert_no_token(&self) {
        let all = self.all();
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
}

/// Runs the command with these arguments and settings, with an archive in this file.
async fn run(har: &Path, arguments: &[&str], settings: &[(&str, &str)]) -> Run {
    let mut command = host_test();
    command
        .args(arguments)
        .arg("--component")
        .arg(component())
        .arg("--har")
        .arg(har)
        .env("RUST_LOG", "trace");
    for (name, value) in settings {
        command.env(format!("VOICE_CALLING_{name}"), value);
    }
    let output = tokio::task::spawn_blocking(move || command.output().expect("the command runs"));
    let output = output.await.expect("an output");
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
        har: har
            .is_file()
            .then(|| std::fs::read_to_string(har).ok())
            .flatten(),
    }
}

/// Calls a function with the most verbose log.
async fn invoke(har: &Path, call: (&str, &str), base_url: &str, more: &[&str]) -> Run {
    let (function, json) = call;
    let arguments = [&["invoke", function, "--json", json], more].concat();
    let settings = [
        ("BASE_URL", base_url),
        ("API_TOKEN", CANARY),
        ("MAX_ATTEMPTS", "2"),
        ("MAX_BACKOFF_MS", "1"),
        ("BACKOFF_MS", "1"),
        ("LOG", "attempts"),
    ];
    run(har, &arguments, &settings).await
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

#[tokio::test]
async fn what_a_service_echoes_is_in_no_output_and_the_people_are_in_no_archive() {
    let quoted = serde_json::to_string(CANARY).expect("JSON");
    let problems = format!(
        r#"{{"detail":[{{"loc":["body","{NAME}"],"msg":"not {NUMBER}","input":{{"{NAME}":{quoted}}},
            "{NUMBER}":{quoted}}}],"task_id":{quoted},"status":"{NAME}"}}"#
    );
    let slashes = format!(r#"{{"detail":{}}}"#, quoted.replace('/', "\\/"));
    let escaped = problems.replace("canary", r"\u0063\u0061nary");
    let binary = [
        &b"\xff\xfe"[..],
        CANARY.as_bytes(),
        NUMBER.as_bytes(),
        NAME.as_bytes(),
    ];
    let text = format!("{NAME} {NUMBER} {CANARY}").into_bytes();
    for (status, content_type, body) in [
        ("422", "application/json", problems.into_bytes()),
        ("503", "application/json", slashes.into_bytes()),
        ("302", "application/json", escaped.into_bytes()),
        ("200", "text/plain", text),
        ("404", "application/octet-stream", binary.concat()),
    ] {
        let peer = RawPeer::start([echo(status, content_type, body)]).await;
        let peer = peer.expect("a peer");
        for flag in [&[][..], &["--har-unmasked"]] {
            let folder = tempdir().expect("a folder");
            let file = folder.path().join("echo.har");
            let call = ("dockets.create-docket-v2", CREATE);
            let run = invoke(&file, call, &peer.base_url(), flag).await;
            assert_eq!(run.code, Some(1), "{}", run.stderr);
            run.assert_no_token();
            let har = run.har.as_deref().expect("an archive");
            for person in [NUMBER, NAME] {
                assert_eq!(har.contains(person), !flag.is_empty(), "{person} in {har}");
                assert!(!run.stderr.contains(person), "{person} in {}", run.stderr);
            }
            let entry = &run.entries()[0];
            assert_eq!(entry["response"]["status"].to_string(), status);
        }
    }
}

#[tokio::test]
async fn a_token_in_a_successful_answer_is_masked_before_it_is_printed() {
    let quoted = serde_json::to_string(CANARY).expect("JSON");
    let agents = format!(r#"[{{"agent_id":7,"agent_name":{quoted},"{NUMBER}":{quoted}}}]"#);
    let peer = RawPeer::start([echo("200", "application/json", agents)]).await;
    let peer = peer.expect("a peer");
    let folder = tempdir().expect("a folder");
    let run = invoke(
        &folder.path().join("answer.har"),
        LIST,
        &peer.base_url(),
        &[],
    )
    .await;
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.assert_no_token();
    let printed: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(printed["agents"][0]["agent_name"], "[api token]");
    assert_eq!(
        run.entries()[0]["response"]["content"]["text"],
        r#"[{"agent_id":"[masked]","agent_name":"[masked]","[masked]":"[masked]"}]"#
    );
}

/// A component could write anything to stderr. This one writes the paths of its endpoints, so one
/// of them serves as the token here.
#[tokio::test]
async fn a_token_that_the_guest_writes_to_stderr_is_masked() {
    let peer = RawPeer::start([Behaviour::HalfHead]).await.expect("a peer");
    let base_url = peer.base_url();
    let settings = [
        ("BASE_URL", base_url.as_str()),
        ("API_TOKEN", "api/v1/agents"),
        ("MAX_ATTEMPTS", "1"),
        ("LOG", "attempts"),
    ];
    let folder = tempdir().expect("a folder");
    let file = folder.path().join("stderr.har");
    let arguments = ["invoke", LIST.0, "--json", LIST.1];
    let run = run(&file, &arguments, &settings).await;
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(!run.all().contains("api/v1/agents"), "{}", run.all());
    assert!(
        run.stderr.contains(r#""path":"/[api token]?"#),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("exchange"), "{}", run.stderr);
}

#[tokio::test]
async fn an_archive_that_cannot_be_written_prevents_the_call() {
    let peer = RawPeer::start([Behaviour::CloseAfterReading]).await;
    let peer = peer.expect("a peer");
    let call = ("dockets.create-docket-v2", CREATE);
    let run = invoke("/nowhere/out.har".as_ref(), call, &peer.base_url(), &[]).await;
    assert_eq!(run.code, Some(2));
    assert!(
        run.stderr.contains("cannot write /nowhere/out.har"),
        "{}",
        run.stderr
    );
    assert_eq!(peer.connections(), 0);
}

#[tokio::test]
async fn an_archive_is_for_its_owner_alone_even_in_a_file_that_existed_or_behind_a_link() {
    use std::fs::{Permissions, metadata, read_link, set_permissions, write};
    use std::os::unix::fs::{PermissionsExt, symlink};
    let mode_of = |path: &Path| metadata(path).expect("a file").permissions().mode() & 0o7777;
    let peer = RawPeer::start([echo("200", "application/json", "[]")]).await;
    let peer = peer.expect("a peer");
    let folder = tempdir().expect("a folder");
    let [file, link] = ["target.har", "link.har"].map(|name| folder.path().join(name));
    // More than an archive keeps.
    write(&file, "x".repeat(100_000)).expect("a file");
    symlink(&file, &link).expect("a link");
    for path in [&file, &link] {
        set_permissions(&file, Permissions::from_mode(0o644)).expect("its mode");
        let run = invoke(path, LIST, &peer.base_url(), &["--har-unmasked"]).await;
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(mode_of(&file), 0o600);
        assert_eq!(run.entries().len(), 1);
    }
    assert_eq!(read_link(&link).expect("a link"), file);
    let null = Path::new("/dev/null");
    let before = mode_of(null);
    let run = invoke(null, LIST, &peer.base_url(), &[]).await;
    assert_eq!((run.code, mode_of(null)), (Some(0), before));
}

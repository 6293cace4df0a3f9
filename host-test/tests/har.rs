//! The archives that the command writes: whole, valid, and without what must not be
//! seen, neither in them nor beside them.

#[path = "har-schema/validator.rs"]
mod validator;

use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use validator::assert_archive;
use voice_calling_host::GuestKind;
use voice_calling_mock::{Behaviour, Endpoint, Fault, MockService, Options, RawPeer, closed_port};
use wasmparser::{Encoding, ExternalKind, Operator, Parser, Payload, TypeRef};

const CANARY: &str = r#"canary/5f1e0c"77a1b2"#;
const NUMBER: &str = "919876543210";
const NAME: &str = "Asha";

const CREATE: &str = r#"{"agent_id": 7, "to_phone_number": "919876543210",
    "call_context": {"Asha": "Asha Rao", "age": 41}, "external_id": "crm-Asha"}"#;

fn component() -> PathBuf {
    let built = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/voice-calling.wasm");
    std::env::var_os("HOST_TEST_COMPONENT").map_or_else(|| built.into(), PathBuf::from)
}

/// A file of this test's own, which goes with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let name = format!("{}-{name}", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It may never have been written.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// What a run of the command left behind.
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
    har: Option<String>,
}

impl Run {
    /// Everything that anybody could read.
    fn all(&self) -> String {
        let har = self.har.as_deref().unwrap_or_default();
        format!("{}\n{}\n{har}", self.stdout, self.stderr)
    }

    /// The archive, which is valid.
    fn archive(&self) -> Value {
        let har = self
            .har
            .as_deref()
            .unwrap_or_else(|| panic!("no archive: {}", self.all()));
        let archive: Value = serde_json::from_str(har).expect("JSON");
        assert_archive(&archive);
        archive
    }

    fn entries(&self) -> Vec<Value> {
        self.archive()["log"]["entries"]
            .as_array()
            .expect("entries")
            .clone()
    }

    /// Neither the token nor half of it is anywhere, however it is written.
    fn assert_no_token(&self) {
        let all = self.all();
        for half in ["canary", "77a1b2", "Y2FuYXJ5"] {
            assert!(!all.contains(half), "{half} in {all}");
        }
    }
}

async fn run(test: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Run {
    let file = Scratch::new(&format!("{test}.har"));
    run_into(&file.0, arguments, environment).await
}

async fn run_into(har: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_host-test"));
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("VOICE_CALLING_")) {
        command.env_remove(name);
    }
    command
        .args(arguments)
        .arg("--har")
        .arg(har)
        .envs(environment.iter().copied());
    let output = tokio::task::spawn_blocking(move || command.output().expect("the command runs"));
    let output = output.await.expect("an output");
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
        // What is not a file, such as `/dev/stdout`, would be read for ever.
        har: har
            .is_file()
            .then(|| std::fs::read_to_string(har).ok())
            .flatten(),
    }
}

/// Calls a function of a component, as talkative as it can be.
async fn invoke(
    test: &str,
    call: (&str, &str),
    base_url: &str,
    component: &Path,
    more: &[&str],
) -> Run {
    let (function, json) = call;
    let component = component.to_str().expect("a path");
    let mut arguments = vec!["invoke", function, "--json", json, "--component", component];
    arguments.extend(more);
    let environment = [
        ("VOICE_CALLING_BASE_URL", base_url),
        ("VOICE_CALLING_API_TOKEN", CANARY),
        ("VOICE_CALLING_MAX_ATTEMPTS", "2"),
        ("VOICE_CALLING_MAX_BACKOFF_MS", "1"),
        ("VOICE_CALLING_BACKOFF_MS", "1"),
        ("VOICE_CALLING_LOG", "attempts"),
        ("RUST_LOG", "trace"),
    ];
    run(test, &arguments, &environment).await
}

/// An answer that echoes what it was sent, in its headers and in its body.
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

#[test]
#[should_panic(expected = "missing properties 'version'")]
fn an_archive_without_its_version_is_not_valid() {
    let log = json!({ "creator": { "name": "a", "version": "1" }, "entries": [] });
    assert_archive(&json!({ "log": log }));
}

#[tokio::test]
async fn the_archive_of_the_demo_is_valid_and_has_every_exchange_without_its_people() {
    let component = component();
    let component = component.to_str().expect("a path");
    let arguments = ["demo", "--component", component];
    let run = run("demo", &arguments, &[("RUST_LOG", "trace")]).await;
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(!run.all().contains("mock-token"));
    let har = run.har.as_deref().expect("an archive");
    for person in [
        "91000000000",
        "9100000100",
        "00000 0000",
        "Asha",
        "crm-1001",
        "Namaste",
    ] {
        assert!(!har.contains(person), "{person} in {har}");
        assert!(!run.stderr.contains(person), "{person} in {}", run.stderr);
    }
    let entries = run.entries();
    let count = |method: &str, path: &str, status: u16| {
        let is_meant = |entry: &&Value| {
            let (request, response) = (&entry["request"], &entry["response"]);
            let url = request["url"].as_str().expect("a URL");
            request["method"] == method && url.ends_with(path) && response["status"] == status
        };
        entries.iter().filter(is_meant).count()
    };
    assert_eq!(count("POST", "/agents/", 200), 1);
    assert_eq!(count("GET", "/api/v1/agents?organizationId=org-1", 200), 1);
    assert_eq!(count("POST", "/api/v2/dockets", 503), 1);
    assert_eq!(count("POST", "/api/v2/dockets", 200), 21);
    assert_eq!(count("POST", "/api/v1/dockets", 200), 1);
    assert_eq!(count("POST", "/make_call", 429), 1);
    assert_eq!(count("POST", "/make_call", 200), 1);
    for entry in &entries {
        let request = &entry["request"];
        let token = json!({"name": "auth_token", "value": "Bearer [masked]"});
        assert!(
            request["headers"]
                .as_array()
                .expect("headers")
                .contains(&token)
        );
        assert_eq!(request["httpVersion"], "HTTP/1.1");
        assert!(
            entry["response"]["content"]["text"].is_string(),
            "{entry:#}"
        );
        assert_eq!(entry["comment"], Value::Null, "{entry:#}");
        let year = entry["startedDateTime"].as_str().expect("a date")[..4].parse::<u16>();
        assert!(year.expect("a year") >= 2025);
    }
}

#[tokio::test]
async fn an_archive_shows_the_structure_of_what_was_sent_and_answered() {
    let options = Options {
        token: CANARY.into(),
        ..Options::default()
    };
    let mock = MockService::start(options).await.expect("the mock");
    let call = ("dockets.create-docket-v2", CREATE);
    let run = invoke("shape", call, &mock.base_url(), &component(), &[]).await;
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.assert_no_token();
    let created: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let [entry] = run.entries().try_into().expect("one exchange");
    let request = &entry["request"];
    assert_eq!(
        request["url"],
        format!("{}/api/v2/dockets", mock.base_url())
    );
    assert_eq!(
        request["postData"],
        json!({
            "mimeType": "application/json",
            "text": concat!(
                r#"{"agent_id":7,"to_phone_number":"[masked]","extra_config":"#,
                r#"{"call_context":"[masked]"},"external_id":"[masked]"}"#,
            ),
        })
    );
    let sent = &mock.requests()[0].body;
    assert_eq!(request["bodySize"], sent.len());
    let response = &entry["response"];
    assert_eq!(
        (&response["status"], &response["statusText"]),
        (&json!(200), &json!("OK"))
    );
    let content = &response["content"];
    assert_eq!(content["mimeType"], "application/json");
    assert_eq!(content["size"], response["bodySize"]);
    let text = content["text"].as_str().expect("a text");
    let body: Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(
        body,
        json!({"docket_id": created["docket_id"], "status": "OPEN", "created": true})
    );
    let timings = &entry["timings"];
    let part = |name: &str| timings[name].as_f64().expect("a time");
    let sum = part("send") + part("wait") + part("receive");
    assert!((entry["time"].as_f64().expect("a time") - sum).abs() < 0.001);
}

/// Without an archive the command keeps no more than the last 1000.
#[tokio::test]
async fn the_archive_of_a_call_has_all_its_exchanges_however_many_there_are() {
    let options = Options {
        token: CANARY.into(),
        ..Options::default()
    };
    let mock = MockService::start(options).await.expect("the mock");
    mock.on_next(Endpoint::CreateDocketV2, Fault::status(503));
    let docket = r#"{"agent_id":7,"to_phone_number":"919876543210","call_context":{}}"#;
    let requests = vec![docket; 1_000].join(",");
    let batch = format!(r#"{{"requests": [{requests}], "timeout_ms": 600000}}"#);
    let call = ("bulk.create-dockets-v2", batch.as_str());
    let run = invoke("all", call, &mock.base_url(), &component(), &[]).await;
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(mock.requests().len(), 1_001);
    assert_eq!(run.entries().len(), 1_001);
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
    for (index, (status, content_type, body)) in [
        ("422", "application/json", problems.into_bytes()),
        ("503", "application/json", slashes.into_bytes()),
        ("302", "application/json", escaped.into_bytes()),
        ("200", "text/plain", text),
        ("404", "application/octet-stream", binary.concat()),
    ]
    .into_iter()
    .enumerate()
    {
        let peer = RawPeer::start([echo(status, content_type, body)]).await;
        let peer = peer.expect("a peer");
        for flag in [&[][..], &["--har-unmasked"]] {
            let test = format!("echo-{index}-{}", flag.len());
            let call = ("dockets.create-docket-v2", CREATE);
            let run = invoke(&test, call, &peer.base_url(), &component(), flag).await;
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
async fn a_url_shows_identifiers_and_nothing_that_only_looks_like_one() {
    let peer = RawPeer::start([echo("404", "text/plain", "")]).await;
    let peer = peer.expect("a peer");
    for (index, (function, json, path, query)) in [
        (
            "calls.get-call-details",
            r#"{"task_id": "task-1"}"#,
            "/call_details/task-1",
            json!([]),
        ),
        (
            "calls.get-call-details",
            r#"{"task_id": "Asha 919876543210"}"#,
            "/call_details/%5Bmasked%5D",
            json!([]),
        ),
        (
            "agents.list-agents",
            r#"{"organization_id": "Asha & 919876543210"}"#,
            "/api/v1/agents?organizationId=%5Bmasked%5D",
            json!([{"name": "organizationId", "value": "[masked]"}]),
        ),
        (
            "agents.list-agents",
            r#"{"organization_id": "canary/5f1e0c\"77a1b2"}"#,
            "/api/v1/agents?organizationId=%5Bmasked%5D",
            json!([{"name": "organizationId", "value": "[masked]"}]),
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let test = format!("url-{index}");
        let run = invoke(&test, (function, json), &peer.base_url(), &component(), &[]).await;
        run.assert_no_token();
        let seen = format!("{}{}", run.stderr, run.har.as_deref().unwrap_or_default());
        assert!(!seen.contains(NUMBER), "{seen}");
        let [entry] = run.entries().try_into().expect("one exchange");
        assert_eq!(entry["request"]["url"], peer.base_url() + path);
        assert_eq!(entry["request"]["queryString"], query);
    }
}

#[tokio::test]
async fn a_token_in_a_successful_answer_is_masked_before_it_is_printed() {
    let quoted = serde_json::to_string(CANARY).expect("JSON");
    let agents = format!(r#"[{{"agent_id":7,"agent_name":{quoted},"{NUMBER}":{quoted}}}]"#);
    let peer = RawPeer::start([echo("200", "application/json", agents)]).await;
    let peer = peer.expect("a peer");
    let call = ("agents.list-agents", r#"{"organization_id": "org-1"}"#);
    let run = invoke("answer", call, &peer.base_url(), &component(), &[]).await;
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.assert_no_token();
    let printed: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(printed["agents"][0]["agent_name"], "[api token]");
    assert_eq!(
        run.entries()[0]["response"]["content"]["text"],
        r#"[{"agent_id":7,"agent_name":"[masked]","[masked]":"[masked]"}]"#
    );
}

/// A component could write anything to stderr. Ours writes the paths of its endpoints,
/// so that one of them is the token here.
#[tokio::test]
async fn a_token_that_the_guest_writes_to_stderr_is_masked() {
    let peer = RawPeer::start([Behaviour::HalfHead]).await.expect("a peer");
    let component = component();
    let arguments = [
        "invoke",
        "agents.list-agents",
        "--json",
        r#"{"organization_id": "org-1"}"#,
        "--component",
        component.to_str().expect("a path"),
    ];
    let base_url = peer.base_url();
    let environment = [
        ("VOICE_CALLING_BASE_URL", base_url.as_str()),
        ("VOICE_CALLING_API_TOKEN", "api/v1/agents"),
        ("VOICE_CALLING_MAX_ATTEMPTS", "1"),
        ("VOICE_CALLING_LOG", "attempts"),
        ("RUST_LOG", "voice_calling_host=debug"),
    ];
    let run = run("stderr", &arguments, &environment).await;
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
async fn an_exchange_without_an_answer_has_status_0_and_the_error() {
    let nobody = closed_port().expect("a port");
    let halves = RawPeer::start([Behaviour::HalfHead]).await.expect("a peer");
    for (test, base_url, error) in [
        ("refused", nobody.base_url(), "connection refused"),
        ("half-head", halves.base_url(), "incomplete HTTP response"),
    ] {
        let call = ("agents.list-agents", r#"{"organization_id": "org-1"}"#);
        let run = invoke(test, call, &base_url, &component(), &[]).await;
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        run.assert_no_token();
        let entries = run.entries();
        assert_eq!(entries.len(), 2, "{test}");
        for entry in entries {
            let response = &entry["response"];
            assert_eq!(
                (&response["status"], &response["_error"]),
                (&json!(0), &json!(error))
            );
            assert_eq!(entry["comment"], format!("No answer: {error}."));
            assert_eq!(
                response["content"],
                json!({"size": 0, "mimeType": "x-unknown"})
            );
        }
    }
}

#[tokio::test]
async fn a_body_that_broke_off_says_so_in_the_archive() {
    let peer = RawPeer::start([Behaviour::CutBody(200)])
        .await
        .expect("a peer");
    let call = ("dockets.create-docket-v2", CREATE);
    for (test, flag, text) in [
        ("cut", &[][..], "[masked: 18 bytes]"),
        ("cut-unmasked", &["--har-unmasked"], "{\"docket_id\": \"cut"),
    ] {
        let run = invoke(test, call, &peer.base_url(), &component(), flag).await;
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        let [entry] = run.entries().try_into().expect("one exchange");
        let content = &entry["response"]["content"];
        assert_eq!(
            (&content["text"], &content["size"]),
            (&json!(text), &json!(18))
        );
        let remark = content["comment"].as_str().expect("a remark");
        assert!(remark.starts_with("it ended early after"), "{remark}");
        assert!(
            entry["comment"]
                .as_str()
                .expect("a remark")
                .contains(remark)
        );
        assert_eq!(entry["response"]["bodySize"], -1);
    }
}

/// Our component, in which what is run after this function has returned traps.
fn trapping_after(mut wasm: Vec<u8>, function: &str) -> Vec<u8> {
    let mut imported = 0;
    let mut after = None;
    let mut bodies = Vec::new();
    for payload in Parser::new(0).parse_all(&wasm.clone()) {
        match payload.expect("a component") {
            Payload::Version {
                encoding: Encoding::Module,
                ..
            } => (imported, after, bodies) = (0, None, Vec::new()),
            Payload::ImportSection(imports) => {
                imported = imports
                    .into_imports()
                    .filter(|import| matches!(import, Ok(import) if matches!(import.ty, TypeRef::Func(_))))
                    .count();
            }
            Payload::ExportSection(exports) => {
                let post_return = format!("cabi_post_voice-calling:client/{function}");
                let mut exports = exports.into_iter().map(|export| export.expect("an export"));
                let found = exports.find(|export| export.name == post_return);
                after = found
                    .filter(|export| export.kind == ExternalKind::Func)
                    .map(|export| export.index as usize);
            }
            Payload::CodeSectionEntry(body) => {
                let operators = body.get_operators_reader().expect("operators");
                bodies.push(operators.original_position()..body.range().end - 1);
            }
            Payload::End(_) => {
                if let Some(index) = after.take() {
                    // `unreachable`, as often as it takes.
                    wasm[bodies[index - imported].clone()].fill(0);
                    return wasm;
                }
            }
            _ => {}
        }
    }
    panic!("{function} has nothing to run after it")
}

/// Our component for WASI 0.3, in which this function traps when it has its result: an async
/// function has nothing to run after it, but calls its host to return.
fn trapping_instead_of_returning(mut wasm: Vec<u8>, function: &str) -> Vec<u8> {
    let task_return = format!("[task-return]{function}");
    let mut returning = None;
    let mut calls = Vec::new();
    for payload in Parser::new(0).parse_all(&wasm) {
        match payload.expect("a component") {
            Payload::Version {
                encoding: Encoding::Module,
                ..
            } => returning = None,
            Payload::ImportSection(imports) => {
                let is_function = |ty: TypeRef| matches!(ty, TypeRef::Func(_));
                returning = imports
                    .into_imports()
                    .map(|import| import.expect("an import"))
                    .filter(|import| is_function(import.ty))
                    .position(|import| import.name == task_return);
            }
            Payload::CodeSectionEntry(body) => {
                let mut operators = body.get_operators_reader().expect("operators");
                while !operators.eof() {
                    let (operator, from) = operators.read_with_offset().expect("an operator");
                    if let Operator::Call { function_index } = operator
                        && Some(function_index as usize) == returning
                    {
                        calls.push(from..operators.original_position());
                    }
                }
            }
            _ => {}
        }
    }
    assert!(!calls.is_empty(), "{function} does not return");
    for call in calls {
        // `unreachable`, as often as it takes.
        wasm[call].fill(0);
    }
    wasm
}

#[tokio::test]
async fn an_archive_that_cannot_be_written_prevents_the_call() {
    let peer = RawPeer::start([Behaviour::CloseAfterReading])
        .await
        .expect("a peer");
    let mut command = Command::new(env!("CARGO_BIN_EXE_host-test"));
    command.env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"));
    let output = command
        .args([
            "invoke",
            "dockets.create-docket-v2",
            "--json",
            CREATE,
            "--component",
        ])
        .arg(component())
        .args(["--har", "/nowhere/out.har"])
        .env("VOICE_CALLING_BASE_URL", peer.base_url())
        .env("VOICE_CALLING_API_TOKEN", CANARY)
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(2));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("cannot write /nowhere/out.har"), "{stderr}");
    assert_eq!(peer.connections(), 0);
}

/// What becomes of the place that an archive is to be written to.
#[cfg(unix)]
mod place {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

    /// A user that these tests do not run as.
    const SOMEBODY: u32 = 12_345;

    fn mode_of(path: &Path) -> u32 {
        fs::metadata(path).expect("a file").mode() & 0o7777
    }

    /// A file that everyone may read, with more in it than an archive has.
    fn readable(name: &str) -> Scratch {
        let file = Scratch::new(name);
        fs::write(&file.0, "x".repeat(100_000)).expect("a file");
        fs::set_permissions(&file.0, Permissions::from_mode(0o644)).expect("its mode");
        file
    }

    /// Lists agents with an archive written there.
    async fn list(har: &Path, more: &[&str]) -> (Run, usize) {
        let peer = RawPeer::start([echo("200", "application/json", "[]")]).await;
        let peer = peer.expect("a peer");
        let component = component();
        let component = component.to_str().expect("a path");
        let json = r#"{"organization_id": "org-1"}"#;
        let mut arguments = vec!["invoke", "agents.list-agents", "--json", json];
        arguments.extend(["--component", component]);
        arguments.extend(more);
        let base_url = peer.base_url();
        let environment = [
            ("VOICE_CALLING_BASE_URL", base_url.as_str()),
            ("VOICE_CALLING_API_TOKEN", CANARY),
        ];
        let run = run_into(har, &arguments, &environment).await;
        (run, peer.connections())
    }

    #[tokio::test]
    async fn an_archive_in_a_file_that_existed_is_for_its_owner_alone() {
        for (name, more) in [
            ("masked.har", &[][..]),
            ("unmasked.har", &["--har-unmasked"]),
        ] {
            let file = readable(name);
            let (run, _) = list(&file.0, more).await;
            assert_eq!(run.code, Some(0), "{}", run.stderr);
            assert_eq!(mode_of(&file.0), 0o600, "{name}");
            assert_eq!(run.entries().len(), 1);
        }
    }

    #[tokio::test]
    async fn a_link_stays_one_and_the_file_that_it_leads_to_is_for_its_owner_alone() {
        let (file, link) = (readable("target.har"), Scratch::new("link.har"));
        symlink(&file.0, &link.0).expect("a link");
        let (run, _) = list(&link.0, &[]).await;
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(fs::read_link(&link.0).expect("a link"), file.0);
        assert_eq!(mode_of(&file.0), 0o600);
        assert_eq!(run.entries().len(), 1);
    }

    #[tokio::test]
    async fn what_is_no_regular_file_keeps_its_mode() {
        let before = mode_of("/dev/null".as_ref());
        let (run, _) = list("/dev/null".as_ref(), &[]).await;
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(mode_of("/dev/null".as_ref()), before);

        let (run, _) = list("/dev/stdout".as_ref(), &[]).await;
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let mut printed = serde_json::Deserializer::from_str(&run.stdout).into_iter::<Value>();
        assert_archive(&printed.next().expect("an archive").expect("JSON"));
        let listed = printed.next().expect("an answer").expect("JSON");
        assert_eq!(listed["raw_json"], "[]");
    }

    #[tokio::test]
    async fn a_file_of_somebody_else_prevents_the_call_and_is_left_alone() {
        let file = readable("theirs.har");
        // Which root alone can do.
        if chown(&file.0, Some(SOMEBODY), None).is_err() {
            return;
        }
        let (run, connections) = list(&file.0, &[]).await;
        assert_eq!(run.code, Some(2), "{}", run.stdout);
        let told = "it belongs to the user 12345, who could read the archive";
        assert!(run.stderr.contains(told), "{}", run.stderr);
        assert_eq!(connections, 0);
        assert_eq!(mode_of(&file.0), 0o644);
        assert_eq!(fs::metadata(&file.0).expect("a file").len(), 100_000);
    }
}

#[tokio::test]
async fn the_archive_is_written_when_the_component_traps_after_its_exchange() {
    let file = Scratch::new("trapping.wasm");
    let wasm = std::fs::read(component()).expect("the component");
    let trapping = match GuestKind::of(&wasm) {
        GuestKind::V0_2 => trapping_after(wasm, "agents@0.2.0#list-agents"),
        GuestKind::V0_3 => trapping_instead_of_returning(wasm, "list-agents"),
    };
    std::fs::write(&file.0, trapping).expect("a component");
    let agents = r#"[{"agent_id":7,"agent_name":"renewals"}]"#;
    let peer = RawPeer::start([echo("200", "application/json", agents)]).await;
    let call = ("agents.list-agents", r#"{"organization_id": "org-1"}"#);
    let peer = peer.expect("a peer");
    let run = invoke("trap", call, &peer.base_url(), &file.0, &[]).await;
    assert_eq!(run.code, Some(2), "{}", run.stdout);
    assert!(run.stderr.contains("error: "), "{}", run.stderr);
    assert!(run.stderr.contains("unreachable"), "{}", run.stderr);
    run.assert_no_token();
    assert_eq!(run.entries()[0]["response"]["status"], 200);
}

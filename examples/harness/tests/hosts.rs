//! The component and the HTTP server of `examples/http` in hosts: wasmtime's command line, in each
//! version that `cargo xtask setup wasmtime` installs, and wasmCloud's `wash dev`.

use futures_util::{StreamExt, stream};
use serde_json::json;
use std::env;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use voice_calling_mock::{Endpoint, Fault, MockService, Options};
use voice_calling_peer::{Behaviour, Peer};

const NUMBER: &str = "910000000000";

/// Returns the programs in the variable that `cargo xtask examples test` sets.
fn programs() -> Vec<PathBuf> {
    let programs = env::var_os("WASMTIME").expect("WASMTIME: `cargo xtask examples test` sets it");
    let programs: Vec<_> = env::split_paths(&programs).collect();
    assert!(!programs.is_empty(), "WASMTIME names no program");
    programs
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn server_component() -> PathBuf {
    match env::var_os("EXAMPLES_FOLDER") {
        Some(folder) => PathBuf::from(folder).join("http.wasm"),
        None => root().join("target/examples/http.wasm"),
    }
}

async fn mock() -> MockService {
    MockService::start(Options::default()).await.unwrap()
}

fn creations(mock: &MockService) -> usize {
    mock.requests_to(Endpoint::CreateDocketV2).len()
}

/// Returns the body of a creation.
fn docket(to_phone_number: &str, name: &str) -> String {
    json!({
        "agent_id": 7,
        "to_phone_number": to_phone_number,
        "call_context": { "name": name },
    })
    .to_string()
}

/// A serving host, which ends when it is dropped.
struct Server {
    process: Child,
    address: SocketAddr,
    /// The server's own folder, which is removed after its end.
    _folder: Option<TempDir>,
}

impl Server {
    fn command(program: &Path, mock: &MockService, limits: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(["serve", "-S", "cli", "--addr", "127.0.0.1:0"])
            .args(["--env", "VOICE_CALLING_BASE_URL"])
            .args(["--env", "VOICE_CALLING_API_TOKEN"])
            .args(limits)
            .arg(server_component())
            .env("VOICE_CALLING_BASE_URL", mock.base_url())
            .env("VOICE_CALLING_API_TOKEN", mock.token());
        command
    }

    fn start(program: &Path, mock: &MockService, limits: &[&str]) -> Self {
        let mut command = Self::command(program, mock, limits);
        let mut process = command.stderr(Stdio::piped()).spawn().unwrap();
        let address = said_after(&mut process, "Serving HTTP on http://");
        let address = address.trim_end_matches('/').parse().unwrap();
        Self {
            process,
            address,
            _folder: None,
        }
    }

    /// Starts `wash dev` with the configuration of the example, except for addresses and files.
    fn wash_dev(mock: &MockService, allowed_host: &str) -> Self {
        let address = free_address();
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join(".wash")).unwrap();
        let config = root().join("examples/http/.wash/config.yaml");
        let mut config = std::fs::read_to_string(config).unwrap();
        assert!(!config.contains(&mock.token()));
        let target = root().join("target").canonicalize().unwrap();
        for (from, to) in [
            ("address: 127.0.0.1:8000", format!("address: {address}")),
            ("- 127.0.0.1:8080", format!("- {allowed_host}")),
            ("http://127.0.0.1:8080", mock.base_url()),
            ("../../target", target.to_str().unwrap().to_owned()),
        ] {
            assert!(
                config.contains(from),
                "the example's configuration has no {from}"
            );
            config = config.replace(from, &to);
        }
        std::fs::write(folder.path().join(".wash/config.yaml"), config).unwrap();
        let mut process = Command::new(wash())
            .arg("dev")
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .env("VOICE_CALLING_API_TOKEN", mock.token())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        said_after(&mut process, "listening for HTTP requests");
        Self {
            process,
            address,
            _folder: Some(folder),
        }
    }

    async fn send(&self, request: &str, body: &str) -> TcpStream {
        let head = format!(
            "{request} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        // A server that rejects the request early may have closed the connection.
        let _ = stream.write_all(body.as_bytes()).await;
        stream
    }

    /// Returns the status of the answer, and the whole answer.
    async fn ask(&self, request: &str, body: &str) -> (u16, String) {
        let mut stream = self.send(request, body).await;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let status = answer.split(' ').nth(1).map(str::parse);
        (status.expect("a status").unwrap(), answer)
    }

    async fn create(&self, to_phone_number: &str, name: &str) -> (u16, String) {
        self.ask("POST /dockets", &docket(to_phone_number, name))
            .await
    }

    /// Stops the server: when this returns, nothing more is sent.
    fn stop(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Waits until the process writes `mark` to stderr, and returns the rest of that line.
fn said_after(process: &mut Child, mark: &str) -> String {
    let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
    let mut said = Vec::new();
    loop {
        let line = lines
            .next()
            .unwrap_or_else(|| panic!("it ended: {said:#?}"));
        let line = line.unwrap();
        if let Some((_, rest)) = line.split_once(mark) {
            // Otherwise the process would block on a full pipe.
            std::thread::spawn(move || lines.for_each(drop));
            return rest.to_owned();
        }
        said.push(line);
    }
}

/// Returns an address for programs that cannot pick a port themselves. Its host is this machine, and
/// this process's alone: no other takes the port meanwhile.
fn free_address() -> SocketAddr {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    let listener = TcpListener::bind((Ipv4Addr::new(127, 128 | high, middle, low), 0)).unwrap();
    listener.local_addr().unwrap()
}

fn wash() -> PathBuf {
    PathBuf::from(env::var_os("WASH").expect("WASH: `cargo xtask examples test` sets it"))
}

/// Runs the commands of docs/hosts.md that contain `wasmtime run`, as readers do.
fn run_documented(program: &Path, mock: &MockService) -> Output {
    let page = std::fs::read_to_string(root().join("docs/hosts.md")).unwrap();
    let commands = page.split("```bash\n").skip(1);
    let commands = commands.map(|rest| rest.split("```").next().unwrap());
    let commands: String = commands.filter(|it| it.contains("wasmtime run")).collect();
    assert!(
        !commands.is_empty(),
        "docs/hosts.md shows no `wasmtime run`"
    );
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = [program.parent().unwrap().to_owned()];
    let path = env::join_paths(folders.into_iter().chain(env::split_paths(&path))).unwrap();
    Command::new("bash")
        .args(["-euo", "pipefail", "-c", &commands])
        .current_dir(root())
        .env("PATH", path)
        .env("VOICE_CALLING_BASE_URL", mock.base_url())
        .env("VOICE_CALLING_API_TOKEN", mock.token())
        .output()
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documented_command_lists_the_agents_and_makes_one_phone_ring_once() {
    for program in programs() {
        let mock = mock().await;
        let output = run_documented(&program, &mock);
        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program:?}: {errors}");
        let lines: Vec<_> = printed.lines().collect();
        assert_eq!(lines.len(), 2, "{printed}");
        assert!(
            lines[0].starts_with("ok({agents: [{agent-id: some(7)"),
            "{printed}"
        );
        assert!(lines[1].starts_with("ok({docket-id: "), "{printed}");
        assert_eq!(mock.phones_rung(), [NUMBER]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_1000_requests_by_20_callers_each_makes_its_phone_ring_once() {
    for program in programs() {
        let mock = mock().await;
        let server = Server::start(&program, &mock, &[]);
        let numbers: Vec<_> = (0..1000).map(|index| format!("919876{index:06}")).collect();
        let answers: Vec<_> = stream::iter(&numbers)
            .map(|number| server.create(number, "Asha"))
            .buffer_unordered(20)
            .collect()
            .await;
        let failed = answers.iter().find(|(status, _)| *status != 201);
        assert_eq!(failed, None, "{program:?}");
        server.stop();
        let mut rung = mock.phones_rung();
        rung.sort();
        assert_eq!(rung, numbers, "{program:?}");
        assert_eq!(creations(&mock), 1000, "{program:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_goes_away_in_the_middle_doubles_nothing() {
    for program in programs() {
        let mock = mock().await;
        let server = Server::start(&program, &mock, &[]);
        let slow = Fault::slow(Duration::from_millis(500));
        mock.on_next(Endpoint::CreateDocketV2, slow);
        let caller = server.send("POST /dockets", &docket(NUMBER, "Asha")).await;
        while creations(&mock) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        drop(caller);
        // The slow answer comes before this one, which is as slow.
        let slow = Fault::slow(Duration::from_millis(1000));
        mock.on_next(Endpoint::CreateDocketV2, slow);
        let (status, answer) = server.create("919876543211", "Bela").await;
        assert_eq!(status, 201, "{program:?}: {answer}");
        server.stop();
        assert_eq!(creations(&mock), 2, "{program:?}");
        assert_eq!(mock.times_rung(NUMBER), 1, "{program:?}");
    }
}

/// The body of such a 500 is wasmtime's: it cannot say that the outcome is unknown. The page
/// therefore tells callers to treat any 5xx without the server's JSON as unknown.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_exceeds_the_time_limit_is_not_sent_to_the_service_again() {
    for program in programs() {
        let mock = mock().await;
        // Enough for the second request, on a busy machine too.
        let server = Server::start(&program, &mock, &["-W", "timeout=5s"]);
        let unanswered = "created-then-unanswered".parse().unwrap();
        mock.on_next(Endpoint::CreateDocketV2, unanswered);
        let (status, answer) = server.create(NUMBER, "Asha").await;
        assert_eq!(status, 500, "{program:?}: {answer}");
        assert!(!answer.contains("outcome"), "{program:?}: {answer}");
        let (status, answer) = server.create("919876543211", "Bela").await;
        assert_eq!(status, 201, "{program:?}: {answer}");
        server.stop();
        assert_eq!(creations(&mock), 2, "{program:?}");
        assert_eq!(mock.times_rung(NUMBER), 1, "{program:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_outcome_differs_from_an_error_after_which_a_retry_is_safe() {
    let once = ["--env", "VOICE_CALLING_MAX_ATTEMPTS=1"];
    for program in programs() {
        let mock = mock().await;
        let server = Server::start(&program, &mock, &once);
        mock.on_next(Endpoint::CreateDocketV2, Fault::created_then(503));
        let (status, answer) = server.create(NUMBER, "Asha").await;
        assert_eq!(status, 502, "{program:?}: {answer}");
        assert!(answer.contains(r#""outcome":"unknown""#), "{answer}");
        assert!(answer.contains("do not retry; ask a person"), "{answer}");
        mock.on_next(Endpoint::CreateDocketV2, Fault::rate_limited(Some("7")));
        let (status, answer) = server.create("919876543211", "Bela").await;
        assert_eq!(status, 503, "{program:?}: {answer}");
        assert!(answer.contains("retry-after: 7"), "{answer}");
        server.stop();
        assert_eq!(creations(&mock), 2, "{program:?}");
        assert_eq!(mock.phones_rung(), [NUMBER], "{program:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_is_believed_only_where_the_service_confirms_it() {
    for program in programs() {
        let receiver = Peer::start([Behaviour::Keep("")]).await.unwrap();
        let webhook = receiver.base_url();
        let options = Options {
            webhook: Some(webhook),
            ..Options::default()
        };
        let mock = MockService::start(options).await.unwrap();
        let server = Server::start(&program, &mock, &[]);
        let (status, answer) = server.create(NUMBER, "Asha").await;
        assert_eq!(status, 201, "{program:?}: {answer}");
        let docket_id = mock.docket_with_context("Asha").unwrap();
        mock.complete_docket(&docket_id).unwrap();
        let delivered = mock.delivered(1).await.remove(0).body;
        let other_docket = delivered.replace(&docket_id, "0ad33a9b-593b-4f55-b577-13349e14a5dd");
        let other_context = delivered.replace("Asha", "Bela");
        for (body, status, says) in [
            (&*delivered, 200, &*docket_id),
            (&other_docket, 404, "does not know the docket"),
            (&other_context, 409, "the service disagrees: "),
            (r#"{"event": "ping"}"#, 200, r#""confirmed":null"#),
            ("no JSON", 422, "JSON"),
        ] {
            let (answered, answer) = server.ask("POST /completions", body).await;
            assert_eq!(answered, status, "{program:?}: {body}: {answer}");
            assert!(answer.contains(says), "{program:?}: {body}: {answer}");
        }
        server.stop();
        assert_eq!(mock.phones_rung(), [NUMBER], "{program:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wash_dev_creates_one_docket_with_the_token_from_its_environment() {
    let mock = mock().await;
    let server = Server::wash_dev(&mock, &mock.address().to_string());
    let (status, answer) = server.create(NUMBER, "Asha").await;
    assert_eq!(status, 201, "{answer}");
    server.stop();
    assert_eq!(mock.phones_rung(), [NUMBER]);
    assert_eq!(creations(&mock), 1);
}

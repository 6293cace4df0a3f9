//! The component and the HTTP server of `examples/http` in hosts: wasmtime's command line, in each
//! version that `cargo xtask setup wasmtime` installs, and wasmCloud's `wash dev` and `wash host`.

use futures_util::{StreamExt, stream};
use serde_json::json;
use std::env;
use std::io::{self, BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use voice_calling_mock::{Endpoint, Fault, MockService, Options, WebhookReceiver};

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
    /// The server's own folder, which is removed with it.
    folder: Option<PathBuf>,
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
            folder: None,
        }
    }

    /// Starts `wash dev` with the configuration of the example, except for addresses and files.
    fn wash_dev(mock: &MockService, allowed_host: &str) -> Self {
        let address = free_address();
        let folder = env::temp_dir().join(format!("voice-calling-wash-{}", address.port()));
        std::fs::create_dir_all(folder.join(".wash")).unwrap();
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
        std::fs::write(folder.join(".wash/config.yaml"), config).unwrap();
        let mut process = Command::new(wash())
            .arg("dev")
            .current_dir(&folder)
            .env("HOME", &folder)
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
            folder: Some(folder),
        }
    }

    async fn send(&self, request: &str, body: &str) -> TcpStream {
        self.try_send(request, body).await.unwrap()
    }

    async fn try_send(&self, request: &str, body: &str) -> io::Result<TcpStream> {
        let head = format!(
            "{request} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        let mut stream = TcpStream::connect(self.address).await?;
        stream.write_all(head.as_bytes()).await?;
        // A server that rejects the request early may have closed the connection.
        let _ = stream.write_all(body.as_bytes()).await;
        Ok(stream)
    }

    /// Returns the status of the answer, and the whole answer.
    async fn ask(&self, request: &str, body: &str) -> (u16, String) {
        let mut stream = self.send(request, body).await;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let status = answer.split(' ').nth(1).map(str::parse);
        (status.expect("a status").unwrap(), answer)
    }

    /// Returns the status of the answer to a creation; `None` if the server died before it.
    async fn create_if_alive(&self, to_phone_number: &str) -> Option<u16> {
        let body = docket(to_phone_number, "Asha");
        let mut stream = self.try_send("POST /dockets", &body).await.ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.ok()?;
        answer.split(' ').nth(1)?.parse().ok()
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
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
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

/// Returns an address for programs that cannot pick a port themselves.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

fn wash() -> PathBuf {
    PathBuf::from(env::var_os("WASH").expect("WASH: `cargo xtask examples test` sets it"))
}

/// The environment of wasmCloud's hosts: NATS, and a registry with the workload's two components.
struct Cluster {
    nats: SocketAddr,
    registry: SocketAddr,
    folder: PathBuf,
    processes: Vec<Child>,
}

impl Cluster {
    async fn start() -> Self {
        let (nats, registry) = (free_address(), free_address());
        let folder = env::temp_dir().join(format!("voice-calling-cluster-{}", nats.port()));
        std::fs::create_dir_all(&folder).unwrap();
        let config = format!(
            "version: 0.1\nlog: {{level: warn}}\nhttp: {{addr: \"{registry}\"}}\n\
             storage: {{filesystem: {{rootdirectory: {}}}}}\n",
            folder.display()
        );
        std::fs::write(folder.join("registry.yml"), config).unwrap();
        let mut cluster = Self {
            nats,
            registry,
            folder,
            processes: Vec::new(),
        };
        let port = nats.port().to_string();
        cluster.run("nats-server", &["-a", "127.0.0.1", "-p", &port]);
        cluster.run("docker-registry", &["serve", "registry.yml"]);
        for address in [nats, registry] {
            while TcpStream::connect(address).await.is_err() {
                for process in &mut cluster.processes {
                    assert_eq!(process.try_wait().unwrap(), None, "a server ended");
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        for file in ["http-guest.wasm", "voice-calling.wasm"] {
            let reference = cluster.image(file);
            let push = Command::new(wash())
                .args(["oci", "push", "--insecure", &reference])
                .arg(root().join("target").join(file))
                .env("HOME", &cluster.folder)
                .output()
                .unwrap();
            let errors = String::from_utf8_lossy(&push.stderr);
            assert!(push.status.success(), "{errors}");
        }
        cluster
    }

    fn image(&self, file: &str) -> String {
        let name = file.trim_end_matches(".wasm");
        format!("{}/acme/{name}:1.0.0", self.registry)
    }

    fn run(&mut self, program: &str, arguments: &[&str]) {
        let command = Command::new(program)
            .args(arguments)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let process = command.unwrap_or_else(|error| {
            panic!("{program}: {error}: `cargo xtask setup wash` installs it on Debian")
        });
        self.processes.push(process);
    }

    /// Starts a host that runs the workload.
    async fn host(&self, mock: &MockService) -> Server {
        let address = free_address();
        let nats = format!("nats://{}", self.nats);
        let mut process = Command::new(wash())
            .args(["host", "--allow-insecure-registries", "--http-addr"])
            .arg(address.to_string())
            // The service is on loopback, which hosts deny by default.
            .arg("--deny-special-ranges=false")
            .args(["--scheduler-nats-url", &nats, "--data-nats-url", &nats])
            .env("HOME", &self.folder)
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let id = said_after(&mut process, "Host started host_id=\"");
        let id = id.split('"').next().unwrap();
        let server = Server {
            process,
            address,
            folder: None,
        };
        let service = mock.address().to_string();
        let workload = json!({ "workloadId": "voice-calling", "workload": {
            "namespace": "default",
            "name": "voice-calling",
            "witWorld": {
                "components": [
                    { "name": "http", "image": self.image("http-guest.wasm"), "poolSize": -1 },
                    {
                        "name": "client",
                        "image": self.image("voice-calling.wasm"),
                        "localResources": {
                            "environment": {
                                "VOICE_CALLING_BASE_URL": mock.base_url(),
                                "VOICE_CALLING_API_TOKEN": mock.token(),
                            },
                            "allowedHosts": [service],
                        },
                    },
                ],
                "hostInterfaces": [{
                    "namespace": "wasi",
                    "package": "http",
                    "interfaces": ["incoming-handler"],
                    "config": { "host": address.ip().to_string() },
                }],
            },
        } });
        let subject = format!("runtime.host.{id}.workload.start");
        let answer = self.request(&subject, &workload.to_string()).await;
        assert!(answer.contains("WORKLOAD_STATE_RUNNING"), "{answer}");
        server
    }

    /// Sends a request over NATS as wasmCloud's operator for Kubernetes does, and returns the
    /// answer. Retries, since a host reports its start just before it listens.
    async fn request(&self, subject: &str, payload: &str) -> String {
        for _ in 0..200 {
            if let Some(answer) = self.request_once(subject, payload).await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{subject} has no subscriber");
    }

    /// Returns `None` if the subject has no subscriber.
    async fn request_once(&self, subject: &str, payload: &str) -> Option<String> {
        let mut stream = TcpStream::connect(self.nats).await.unwrap();
        let commands = format!(
            "CONNECT {{\"verbose\":false,\"headers\":true,\"no_responders\":true}}\r\n\
             SUB inbox 1\r\nPUB {subject} inbox {}\r\n{payload}\r\n",
            payload.len()
        );
        stream.write_all(commands.as_bytes()).await.unwrap();
        let mut stream = tokio::io::BufReader::new(stream);
        loop {
            let mut line = String::new();
            stream.read_line(&mut line).await.unwrap();
            assert!(!line.is_empty() && !line.starts_with("-ERR"), "{line}");
            // The headers of this message contain the status "no receiver".
            if line.starts_with("HMSG ") {
                return None;
            }
            if let Some(message) = line.strip_prefix("MSG ") {
                let bytes = message.trim_end().rsplit(' ').next().unwrap();
                let mut answer = vec![0; bytes.parse().unwrap()];
                stream.read_exact(&mut answer).await.unwrap();
                return Some(String::from_utf8(answer).unwrap());
            }
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for process in &mut self.processes {
            // It may have ended already.
            let _ = process.kill();
            let _ = process.wait();
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
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

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_exceeds_the_memory_limit_makes_no_phone_ring_and_harms_no_other() {
    for program in programs() {
        let mock = mock().await;
        let server = Server::start(&program, &mock, &["-W", "max-memory-size=3000000"]);
        let (status, answer) = server.create(NUMBER, &"x".repeat(900_000)).await;
        assert_eq!(status, 500, "{program:?}: {answer}");
        let (status, answer) = server.create("919876543211", "Bela").await;
        assert_eq!(status, 201, "{program:?}: {answer}");
        server.stop();
        assert_eq!(mock.phones_rung(), ["919876543211"], "{program:?}");
    }
}

/// The body of such a 500 is wasmtime's: it cannot say that the outcome is unknown. The page
/// therefore tells callers to treat any 5xx without the server's JSON as unknown.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_exceeds_the_time_limit_is_not_sent_to_the_service_again() {
    for program in programs() {
        let mock = mock().await;
        let server = Server::start(&program, &mock, &["-W", "timeout=300ms"]);
        let slow = Fault::slow(Duration::from_secs(5));
        mock.on_next(Endpoint::CreateDocketV2, slow);
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
        let receiver = WebhookReceiver::start().await.unwrap();
        let webhook = receiver.url();
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

#[tokio::test(flavor = "multi_thread")]
async fn where_wash_dev_does_not_allow_the_host_nothing_is_sent_and_the_error_says_so() {
    let mock = mock().await;
    let server = Server::wash_dev(&mock, "other.example");
    let (status, answer) = server.create(NUMBER, "Asha").await;
    assert_eq!(status, 500, "{answer}");
    assert!(answer.contains("HTTP-request-denied"), "{answer}");
    server.stop();
    assert!(mock.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_hosts_of_which_one_is_killed_under_load_none_creates_anything_twice() {
    let options = Options {
        answer_delay: Duration::from_millis(50),
        ..Options::default()
    };
    let mock = MockService::start(options).await.unwrap();
    let cluster = Cluster::start().await;
    let kept = cluster.host(&mock).await;
    let killed = cluster.host(&mock).await;
    let pid = killed.process.id().to_string();
    let numbers: Vec<_> = (0..200).map(|index| format!("919876{index:06}")).collect();
    let mock = &mock;
    let answers: Vec<_> = stream::iter(numbers.iter().enumerate())
        .map(async |(index, number)| {
            let on_killed = index % 2 == 1;
            if index == 101 {
                let kill = Command::new("kill").args(["-KILL", &pid]).status();
                assert!(kill.unwrap().success());
            }
            let server = if on_killed { &killed } else { &kept };
            (on_killed, number, server.create_if_alive(number).await)
        })
        .buffer_unordered(10)
        .collect()
        .await;

    let of = |killed: bool, status| {
        let answers = answers.iter();
        answers.filter(move |(on, _, found)| *on == killed && *found == status)
    };
    assert_eq!(of(false, Some(201)).count(), 100, "the host that was kept");
    let (answered, lost) = (of(true, Some(201)).count(), of(true, None).count());
    assert_eq!(answered + lost, 100, "{answers:?}");
    assert!(answered > 0 && lost > 0, "{answered} answered, {lost} lost");
    let (status, answer) = kept.create(NUMBER, "Bela").await;
    assert_eq!(status, 201, "{answer}");
    kept.stop();
    let mut created_without_answer = 0;
    for (_, number, status) in &answers {
        let rung = mock.times_rung(number);
        assert!(rung <= 1, "{number} rang {rung} times");
        match status {
            Some(_) => assert_eq!(rung, 1, "{number}: {status:?}"),
            // The caller cannot know, and does not retry.
            None => created_without_answer += rung,
        }
    }
    assert!(
        created_without_answer > 0,
        "no creation was under way when the host was killed"
    );
    let created = answered + created_without_answer + 101;
    assert_eq!(creations(mock), created, "a request was sent twice");
}

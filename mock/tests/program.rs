//! The program, as a terminal and as tests in other languages start it.

use std::io::{BufRead, BufReader, Read, pipe};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Command, Stdio};
use voice_calling_peer::ClosedPort;

const PROGRAM: &str = env!("CARGO_BIN_EXE_voice-calling-mock");

/// A running mock, which ends with the test.
struct Process {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Process {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(PROGRAM)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the mock starts");
        let stdout = BufReader::new(child.stdout.take().expect("stdout"));
        Self { child, stdout }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("a line");
        line.trim().to_owned()
    }

    /// Waits for the end, and returns the exit code and what was printed since.
    fn end(&mut self) -> (Option<i32>, String) {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).expect("text");
        (self.child.wait().expect("an end").code(), rest)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_program_exports_what_a_client_needs_and_a_signal_ends_it() {
    // Kept from others, who might take it when the mock has ended.
    let port = ClosedPort::bind().expect("a port");
    let address = port.address();
    for signal in ["-INT", "-TERM"] {
        let mut mock = Process::start(&["--port", &address.port().to_string()]);
        assert!(mock.line().contains("No real phone rings"));
        let base_url = format!("export VOICE_CALLING_BASE_URL=http://{address}");
        assert_eq!(mock.line(), base_url);
        assert_eq!(
            mock.line(),
            "export VOICE_CALLING_API_TOKEN=mock-token-0001"
        );
        assert!(mock.line().starts_with("The page: http://127.0.0.1:"));
        assert!(TcpStream::connect(address).is_ok());
        let id = mock.child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.expect("kill runs").success());
        let stopped = "The mock service has stopped.\n".to_owned();
        assert_eq!(mock.end(), (Some(0), stopped), "{signal}");
        assert!(TcpStream::connect(address).is_err());
    }
}

#[test]
fn a_child_prints_one_line_of_json_and_ends_with_its_input() {
    let mut mock = Process::start(&["--child", "--token", "first-token,second-token"]);
    let line: serde_json::Value = serde_json::from_str(&mock.line()).expect("JSON");
    assert_eq!(line["token"], "first-token");
    for url in ["base_url", "control_url"] {
        let address = line[url].as_str().unwrap().strip_prefix("http://").unwrap();
        assert!(TcpStream::connect(address).is_ok(), "{line}");
    }
    drop(mock.child.stdin.take());
    assert_eq!(mock.end(), (Some(0), String::new()));
}

#[test]
fn what_cannot_be_served_is_named_with_exit_code_2() {
    for (arguments, says) in [
        (["--webhook", "http://192.0.2.1/x"], "in a private network"),
        (
            ["--faults", "make-call:teapot"],
            "\"teapot\" is not a fault",
        ),
        (["--rate-limit", "10"], "REQUESTS/SECONDS"),
        (["--token", "secret,"], "2 tokens are given; allowed:"),
        (["--bind", "192.0.2.1"], "cannot listen on 192.0.2.1:0"),
    ] {
        let output = Command::new(PROGRAM)
            .args(["--port", "0"])
            .args(arguments)
            .output()
            .expect("the program runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(says), "{says}: {error}");
    }
}

#[test]
fn a_program_that_cannot_print_where_it_listens_ends_with_exit_code_2() {
    let (reader, writer) = pipe().expect("a pipe");
    drop(reader);
    let mut command = Command::new(PROGRAM);
    let command = command.args(["--port", "0"]).stdout(writer);
    let output = command.output().expect("the program runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("cannot print where it listens"), "{error}");
}

//! Tests that load no component, or choose it themselves: they run once, and not again for the
//! component for WASI 0.3.

use crate::{
    MockProcess, REPOSITORY, assert_refused, check, component, host_test, invoke, run, stderr,
    stdout_json,
};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// The components that `cargo xtask build` builds: the value of `--guest`, and the file.
const BUILT: [(&str, &str); 2] = [
    ("0.2", "target/voice-calling.wasm"),
    ("0.3", "target/voice-calling-p3.wasm"),
];

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
fn help_lists_every_function_with_its_documentation() {
    let output = run(["invoke", "--help"]);
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    for function in voice_calling_host::invoke::functions::exported_functions().expect("the WIT") {
        assert!(help.contains(&function.name), "{}", function.name);
        let first_line = function.docs.lines().next().expect("documentation");
        assert!(help.contains(first_line), "{}: {first_line}", function.name);
    }
}

/// Interrupts a process as Ctrl-C does, and returns its exit code.
#[cfg(unix)]
fn interrupt(process: &mut Child) -> Option<i32> {
    let id = process.id().to_string();
    let interrupted = Command::new("kill").args(["-INT", &id]).status();
    assert!(interrupted.expect("kill runs").success());
    process.wait().expect("it ends").code()
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_the_mock_cleanly() {
    let mut mock = MockProcess::start(&[]);
    let address = mock
        .base_url
        .strip_prefix("http://")
        .expect("an address")
        .to_owned();
    assert!(TcpStream::connect(&address).is_ok());
    assert_eq!(interrupt(&mut mock.child), Some(0));
    let mut rest = String::new();
    mock.stdout
        .read_to_string(&mut rest)
        .expect("its last words");
    assert!(rest.contains("has stopped"), "{rest}");
    assert!(TcpStream::connect(&address).is_err());
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
            &["mock", "--port", "0", "--webhook", "http://hooks.example/x"][..],
            "is not loopback",
        ),
        (
            &["demo", "--component", "/nowhere.wasm"],
            "cargo xtask build",
        ),
        (
            &["bench", "--short", "--component", "no-such-file.wasm"],
            "no-such-file.wasm",
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
            "--ca: cannot read the authorities in /nowhere.pem",
        ),
        (&["check", "no-such-file.wasm"], "cannot read the component"),
        (&["check", MUTANTS, "--env", "MUTANT"], "NAME=VALUE"),
        (&["check", MUTANTS, "--env", insecure], "the check sets it"),
        (&["check", MUTANTS, "--only", "no-such-check"], "no-replay"),
        (
            &["check", "any.wasm", "--guest", "0.2"],
            "cannot be used with",
        ),
        (
            &["demo", "--component", "any.wasm", "--guest", "0.2"],
            "cannot be used with",
        ),
        (
            &["cases", "--folder", folder],
            "agents.json: \"n\": unknown field `request`",
        ),
    ] {
        assert_refused(&run(arguments), says);
    }
}

/// Creates a folder like the repository's, in which only one of the components is built.
fn folder_with_only(component: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("target")).expect("a folder");
    let built = Path::new(REPOSITORY).join(component);
    std::fs::copy(built, folder.path().join(component)).expect("the component");
    folder
}

const WEBHOOK: [&str; 4] = [
    "invoke",
    "webhooks.parse-docket-completed",
    "--json",
    r#"{"body": {"docket_id": "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11", "attempts": [1]}}"#,
];

/// Returns the cached compiled components, if caches are in this folder.
#[cfg(unix)]
fn compiled(caches: &Path) -> Vec<std::path::PathBuf> {
    let files = std::fs::read_dir(caches.join("voice-calling")).expect("the cache");
    files.map(|file| file.expect("a file").path()).collect()
}

#[cfg(unix)]
#[test]
fn what_a_command_compiles_is_read_by_the_next_one() {
    use std::os::unix::fs::MetadataExt;
    use std::time::{Duration, SystemTime};
    let commands: [&[&str]; 4] = [&WEBHOOK, &["demo"], &["faults"], &CHECK];
    let caches = tempfile::tempdir().expect("a folder");
    let mut inode = None;
    for command in commands {
        let component = component();
        let given = match command {
            ["check", ..] => vec![component.as_str()],
            _ => vec!["--component", &component],
        };
        let output = host_test()
            .args(command)
            .args(given)
            .env("XDG_CACHE_HOME", caches.path())
            .output()
            .expect("the command runs");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let [file] = compiled(caches.path()).try_into().expect("one file");
        let found = std::fs::metadata(&file).expect("a file");
        let age = found.modified().expect("a time").elapsed();
        assert!(age.is_ok_and(|age| age < Duration::from_secs(3_600)));
        assert_eq!(*inode.get_or_insert(found.ino()), found.ino());
        // A cache hit marks the file as used.
        let used = SystemTime::now() - Duration::from_secs(24 * 3_600);
        let file = std::fs::File::options().write(true).open(file);
        file.expect("a file").set_modified(used).expect("a time");
    }
}

#[cfg(unix)]
#[test]
fn a_command_without_a_safe_folder_for_its_cache_warns_once_and_works() {
    use std::os::unix::fs::PermissionsExt;
    let caches = tempfile::tempdir().expect("a folder");
    let open = std::fs::Permissions::from_mode(0o775);
    std::fs::set_permissions(caches.path(), open).expect("its mode");
    let output = host_test()
        .args(WEBHOOK)
        .args(["--component", &component()])
        .env("XDG_CACHE_HOME", caches.path())
        .output()
        .expect("the command runs");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout_json(&output)["attempts"], "[1]");
    let text = stderr(&output);
    assert_eq!(text.lines().count(), 1, "{text}");
    for part in ["components are compiled each time", "has mode 0775"] {
        assert!(text.contains(part), "{text}");
    }
}

const CHECK: [&str; 7] = [
    "check",
    "--only",
    "returns,memory",
    "--scenarios",
    "histories",
    "--histories",
    "5",
];

/// Every command that accepts `--guest`, in its shortest form.
const WITH_GUEST: [&[&str]; 4] = [&WEBHOOK, &["demo"], &["faults"], &CHECK];

/// Returns the output of a command if only one of the components is built.
fn with_only(component: &str, arguments: &[&str], guest: &str) -> Output {
    host_test()
        .current_dir(folder_with_only(component).path())
        .args(arguments)
        .args(["--guest", guest])
        .output()
        .expect("the command runs")
}

#[test]
fn a_command_runs_the_component_that_is_asked_for_and_no_other() {
    let [(default, missing), (other, built)] = BUILT;
    let shown = [
        "\"[1]\"",
        "23 tasks were started, none twice",
        "| connection-refused | not sent |",
        "2 checks passed, 0 failed",
    ];
    for (arguments, shown) in WITH_GUEST.into_iter().zip(shown) {
        let output = with_only(built, arguments, other);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(stdout.contains(shown), "{stdout}");
        for (asked, missing, built) in [(default, missing, built), (other, built, missing)] {
            let text = format!("{missing} (`cargo xtask build` builds it)");
            assert_refused(&with_only(built, arguments, asked), &text);
        }
    }
}

/// By default, wasmtime traces what a guest passes to its host, call by call.
#[test]
fn no_trace_shows_the_token_or_the_people_of_a_call_of_any_component() {
    const CANARY: &str = r#"canary/5f1e0c"77a1b2"#;
    let mock = MockProcess::start(&["--token", CANARY]);
    for (_, component) in BUILT {
        for (function, json, code) in [
            (
                "dockets.create-docket-v2",
                r#"{"agent_id": 7, "to_phone_number": "919876543210", "external_id": "crm-Asha",
                    "call_context": {"Asha": "Asha Rao", "age": 41}}"#,
                0,
            ),
            // The number is in the path of the request.
            (
                "calls.get-call-details",
                r#"{"task_id": "Asha 919876543210"}"#,
                1,
            ),
        ] {
            let output = host_test()
                .current_dir(REPOSITORY)
                .args(["invoke", function, "--json", json])
                .args(["--component", component])
                .envs(mock.environment())
                .env("VOICE_CALLING_LOG", "attempts")
                .env("RUST_LOG", "trace")
                .output()
                .expect("the command runs");
            let text = stderr(&output);
            assert_eq!(output.status.code(), Some(code), "{text}");
            assert!(text.contains(" TRACE "), "nothing was traced: {text}");
            // Half of the token, the same in base64, and its beginning as bytes.
            let token = ["canary", "77a1b2", "Y2FuYXJ5", "99, 97, 110, 97"];
            let people = ["9876543210", "Asha", "Rao"];
            // The modules that trace arguments, whatever these are.
            let arguments = ["::bindings::"];
            for unseen in [&token[..], &people, &arguments].concat() {
                assert!(!text.contains(unseen), "{component}: {unseen} in {text}");
            }
        }
    }
}

const MUTANTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/mutants.wasm");

#[test]
fn a_component_that_fails_a_check_ends_with_1_and_the_scenario_in_which_it_did() {
    let mutant = ["--env", "MUTANT=hides-attempts", "--json"];
    let some = ["--scenarios", "histories", "--histories", "50"];
    let output = check(MUTANTS, &[&mutant[..], &some].concat());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let row = |output: &Output| {
        let report = stdout_json(output);
        let mut rows = report["rows"].as_array().unwrap().iter();
        rows.find(|row| row["check"] == "attempts-are-reported")
            .unwrap()
            .clone()
    };
    let caught = row(&output);
    assert!(
        caught["simplest"]
            .as_str()
            .unwrap()
            .starts_with("Scenario {")
    );

    // The reported seed fails again on its own.
    let seed = caught["seed"].to_string();
    let again = [&mutant[..], &["--seed", &seed]].concat();
    assert_eq!(row(&check(MUTANTS, &again))["failed"], 1);
}

#[test]
fn the_short_bench_measures_everything() {
    let output = run(["bench", "--short", "--component", &component()]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("short form: these figures"), "{text}");
    let lines = text.lines().filter_map(|line| line.strip_prefix('│'));
    let rows = lines.map(|line| line.trim_end_matches('│').split('┆').map(str::trim));
    let rows: Vec<_> = rows.map(Vec::from_iter).collect();
    let number = |row: &[&str], column: usize| row[column].parse::<f64>().ok();
    // The memory of a process is measured only on Linux, and need not grow for so few calls.
    let left_out = text.matches("not measured on this machine: ").count();
    assert_eq!(left_out, usize::from(!cfg!(target_os = "linux")));
    let is_figure = |row: &&Vec<&str>| matches!(row[0], "✓" | "✗");
    let figures: Vec<_> = rows.iter().filter(is_figure).collect();
    assert_eq!(figures.len(), 9 - left_out);
    for row in figures {
        assert!(
            number(row, 3) > Some(0.0) || row[1].contains("KiB"),
            "{row:?}"
        );
    }
    let measured = |columns, least, of| {
        let rows = rows.iter().filter(|row| row.len() == columns);
        let numbers = rows.filter_map(|row| Some((number(row, 1)?, number(row, of)?)));
        numbers.filter(|it| it.0 > 0.0 && it.1 > least).count()
    };
    assert_eq!(
        measured(8, 0.0, 3),
        37,
        "crowds with calls/s and CPU: {text}"
    );
    assert_eq!(
        measured(5, 10.0, 2),
        4,
        "files with their size in gzip: {text}"
    );
}

/// Sends a request to a process on loopback, and returns the answer as text.
fn ask(base_url: &str, request: &str) -> String {
    let authority = base_url.strip_prefix("http://").expect("http");
    let mut stream = TcpStream::connect(authority).expect("a connection");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[cfg(unix)]
#[test]
fn the_judge_of_the_cases_says_first_where_it_is_and_ends_when_it_is_interrupted() {
    let folder = tempfile::tempdir().expect("a folder");
    let case = r#"[{"name": "n", "operation": "agents.list-agents", "arguments": {"organization_id": "o"},
        "service": [{"status": 200, "text": "[]"}], "requests": [{"method": "GET", "path": "/a"}],
        "value": []}]"#;
    std::fs::write(folder.path().join("agents.json"), case).expect("a file");
    let mut judge = host_test()
        .args(["cases", "--folder"])
        .arg(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the judge starts");
    let mut stdout = BufReader::new(judge.stdout.take().expect("stdout"));
    let mut base_url = String::new();
    stdout.read_line(&mut base_url).expect("a line");
    let base_url = base_url.trim();

    let tasks = ask(base_url, "GET /runs/r HTTP/1.1\r\n\r\n");
    let service = format!("\"VOICE_CALLING_BASE_URL\":\"{base_url}/runs/r/cases/0\"");
    assert!(tasks.starts_with("HTTP/1.1 200 "), "{tasks}");
    assert!(tasks.contains(&service), "{tasks}");
    let outcome = r#"{"value":[7]}"#;
    let post = format!(
        "POST /runs/r/cases/0/outcome HTTP/1.1\r\nContent-Length: {}\r\n\r\n{outcome}",
        outcome.len()
    );
    for status in [200, 409] {
        let judged = ask(base_url, &post);
        let expected = format!("HTTP/1.1 {status} ");
        assert!(judged.starts_with(&expected), "{judged}");
    }
    let lost = ask(base_url, "GET / HTTP/1.1\r\n\r\n");
    assert!(lost.starts_with("HTTP/1.1 404 "), "{lost}");

    assert_eq!(interrupt(&mut judge), Some(0));
}

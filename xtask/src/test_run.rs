//! Everything that has to hold before a change is good: format, lints, docs, tests.

use std::{
    env,
    io::{self, BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use anyhow::{Result, bail, ensure};
use xshell::Cmd;

use crate::{guest::CLIENT_P3, process::announce, workspace::Workspace};

/// Tells the tests which component to load.
pub const COMPONENT_VARIABLE: &str = "HOST_TEST_COMPONENT";

/// The feature of the tests that need Chromium: `cargo xtask page test`.
pub const BROWSER_TESTS: &str = "voice-calling-browser/chromium";

pub fn run_all(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    check_sources(workspace)?;
    announce("cargo test");
    let mut total = run_tests(workspace, arguments)?;
    match arguments {
        [] => {
            announce("cargo test, of what builds");
            total.join(run_tests_without_host(workspace)?);
            announce("cargo test, on the component for WASI 0.3");
            total.join(run_tests_on_p3(workspace)?);
        }
        _ => announce("only the tests that were asked for, of the harness and on WASI 0.2"),
    }
    println!("total: {} passed, {} failed", total.passed, total.failed);
    total.verdict()
}

fn check_sources(workspace: &Workspace) -> Result<()> {
    announce("cargo fmt");
    workspace.cargo("fmt --all --check").run()?;
    announce("cargo clippy");
    let clippy = workspace.cargo("clippy --workspace --all-targets --locked --features");
    let clippy = clippy.args([BROWSER_TESTS, "--", "--deny", "warnings"]);
    clippy.run()?;
    announce("cargo doc");
    let doc = workspace.cargo("doc --workspace --no-deps --locked --document-private-items");
    Ok(doc.env("RUSTDOCFLAGS", "--deny warnings").run()?)
}

/// What the result lines of all test programs add up to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Total {
    passed: u64,
    failed: u64,
    /// Cargo's own verdict. A test that does not compile has no result line.
    cargo_failed: bool,
}

impl Total {
    /// Counts `test result: ok. 3 passed; 0 failed; …`; other lines say nothing.
    fn add(&mut self, line: &str) {
        let Some((_, counts)) = line
            .strip_prefix("test result: ")
            .and_then(|result| result.split_once(". "))
        else {
            return;
        };
        for count in counts.split("; ") {
            match count.split_once(' ') {
                Some((number, "passed")) => self.passed += number.parse().unwrap_or(0),
                Some((number, "failed")) => self.failed += number.parse().unwrap_or(0),
                _ => {}
            }
        }
    }

    fn join(&mut self, other: Total) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.cargo_failed |= other.cargo_failed;
    }

    fn verdict(&self) -> Result<()> {
        ensure!(self.failed == 0, "{} tests failed", self.failed);
        ensure!(!self.cargo_failed, "`cargo test` failed");
        ensure!(self.passed > 0, "no test was run");
        Ok(())
    }
}

fn run_tests(workspace: &Workspace, arguments: &[String]) -> Result<Total> {
    let component = env::var_os(COMPONENT_VARIABLE).unwrap_or_else(|| workspace.component().into());
    let tests = test_harness(workspace)
        .args(arguments)
        .env(COMPONENT_VARIABLE, component);
    stream(tests)
}

fn run_tests_without_host(workspace: &Workspace) -> Result<Total> {
    let packages = WITHOUT_HOST.map(|package| ["--package", package]);
    let tests = workspace.cargo("test --locked --no-fail-fast");
    stream(tests.args(packages.concat()))
}

/// What builds, and the guests. With them cargo would choose other features of what the harness
/// depends on, and compile the compiler of WebAssembly once more.
const WITHOUT_HOST: [&str; 16] = [
    "plug",
    "voice-calling-bench-peer",
    "voice-calling-example-http",
    "voice-calling-impatient",
    "voice-calling-mutants-p2",
    "voice-calling-obelisk-campaigns",
    "voice-calling-obelisk-http",
    "voice-calling-obelisk-once",
    "voice-calling-obelisk-operator",
    "voice-calling-obelisk-webhook",
    "voice-calling-obelisk-workflow",
    "voice-calling-p2",
    "voice-calling-p3",
    "voice-calling-sans-io",
    "voice-calling-tools",
    "xtask",
];

/// They need the engine, or Python and Node: `cargo xtask obelisk test`, `cargo xtask examples test`.
const ELSEWHERE: [&str; 2] = ["examples-harness", "obelisk-harness"];

/// Tests of everything else, which a new package therefore belongs to.
pub fn test_harness(workspace: &Workspace) -> Cmd<'_> {
    let others = [&WITHOUT_HOST[..], &ELSEWHERE].concat();
    workspace
        .cargo("test --workspace --locked --no-fail-fast")
        .args(others.iter().flat_map(|package| ["--exclude", package]))
}

/// What is said of a component's behaviour is true of the one for WASI 0.3 as well: these programs
/// run again on it, but for the tests in modules `once`, which choose their components themselves.
fn run_tests_on_p3(workspace: &Workspace) -> Result<Total> {
    let programs = [
        "component",
        "embedding",
        "cases",
        "check",
        "command_line",
        "har",
    ];
    let tests = test_harness(workspace)
        .args(programs.map(|program| ["--test", program]).concat())
        .args(["--", "--skip", "once::"])
        .env(COMPONENT_VARIABLE, workspace.component_of(&CLIENT_P3));
    stream(tests)
}

/// Shows each line as it comes, and counts.
fn stream(command: Cmd) -> Result<Total> {
    let mut command = Command::from(command);
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let Some(output) = child.stdout.take() else {
        bail!("cargo has no output to read");
    };
    let mut total = Total::default();
    let mut output = BufReader::new(output);
    let mut shown = io::stdout().lock();
    let mut line = Vec::new();
    while output.read_until(b'\n', &mut line)? > 0 {
        shown.write_all(&line)?;
        total.add(String::from_utf8_lossy(&line).trim_end());
        line.clear();
    }
    total.cargo_failed = !child.wait()?.success();
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(lines: &[&str]) -> Total {
        let mut total = Total::default();
        lines.iter().for_each(|line| total.add(line));
        total
    }

    #[test]
    fn the_results_of_all_test_programs_are_added_up() {
        let total = total(&[
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s",
            "test result: FAILED. 12 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.50s",
            "test calls::a_test_that_says_5 passed; ... ok",
        ]);
        assert_eq!((total.passed, total.failed), (15, 2));
    }

    #[test]
    fn only_tests_that_ran_and_passed_are_a_success() {
        let passed = "test result: ok. 3 passed; 0 failed; 0 ignored";
        let failed = "test result: FAILED. 3 passed; 1 failed; 0 ignored";
        assert!(total(&[passed]).verdict().is_ok());
        assert!(total(&[passed, failed]).verdict().is_err());
        assert!(total(&[]).verdict().is_err());
        let uncompiled = Total {
            cargo_failed: true,
            ..total(&[passed])
        };
        assert!(uncompiled.verdict().is_err());
    }
}

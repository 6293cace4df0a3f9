//! Runs the tests, and checks format, lints, documentation and dependencies.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use xshell::{Cmd, cmd};

use crate::{
    process::{self, announce, describes_running_package, run_quietly, without_variables},
    setup::What,
    workspace::{Workspace, shell_in},
};

/// The feature of the ledger in PostgreSQL, whose tests start a server.
const POSTGRES: &str = "voice-calling/postgres";

/// The feature of the tests on Obelisk.
pub(crate) const ENGINE_TESTS: &str = "obelisk-harness/engine";

/// The feature of the tests of compositions.
pub(crate) const COMPOSITION_TESTS: &str = "examples-harness/compositions";

/// The features of all tests that need something else: an engine, a database, or a guest in Python.
const FEATURES: [&str; 3] = [ENGINE_TESTS, COMPOSITION_TESTS, POSTGRES];

/// The test programs that run again on the component for WASI 0.3, which must behave in the same
/// way, except for the tests in modules `once`, which choose their components themselves.
const ON_P3: [&str; 5] = ["component", "cases", "check", "command_line", "host"];

/// Runs every test that needs no other language and no engine, and counts.
pub(crate) fn run_all(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    announce("cargo test");
    let mut total = [0, 0];
    let mut succeeded = add_all_of(all_tests(workspace).args(arguments), &mut total)?;
    if arguments.is_empty() {
        announce("cargo test, on the component for WASI 0.3");
        let tests = all_tests(workspace)
            .args(ON_P3.map(|program| ["--test", program]).concat())
            .args(["--", "--skip", "once::"]);
        succeeded &= add_all_of(tests.env("HOST_TEST_WASI", "0.3"), &mut total)?;
    } else {
        announce("only the tests that were asked for, on WASI 0.2");
    }
    let [passed, failed] = total;
    println!("total: {passed} passed, {failed} failed");
    // A test that does not compile has no result line.
    ensure!(succeeded && failed == 0, "`cargo test` failed");
    ensure!(passed > 0, "no test was run");
    Ok(())
}

/// Checks format, lints and documentation.
pub(crate) fn check_sources(workspace: &Workspace) -> Result<()> {
    announce("cargo fmt");
    workspace.cargo("fmt --all --check").run()?;
    announce("cargo clippy");
    let clippy = workspace.cargo("clippy --workspace --all-targets --locked --features");
    let clippy = clippy
        .arg(FEATURES.join(","))
        .args(["--", "--deny", "warnings"]);
    clippy.run()?;
    announce("cargo doc");
    let doc = workspace.cargo("doc --workspace --no-deps --locked --document-private-items");
    let doc = doc.args(["--features", POSTGRES]);
    Ok(doc.env("RUSTDOCFLAGS", "--deny warnings").run()?)
}

/// Tests the ledger in PostgreSQL, on a server of the tests' own.
pub(crate) fn test_postgres(workspace: &Workspace) -> Result<()> {
    announce("the ledger in PostgreSQL");
    let test = workspace.cargo("test --locked --package voice-calling --test postgres");
    Ok(test.args(["--features", POSTGRES]).run()?)
}

/// Tests the Rust client in programs whose other libraries choose its versions.
pub(crate) fn test_neighbours(workspace: &Workspace) -> Result<()> {
    announce("the Rust client beside sqlx, diesel, sea-orm and reqwest");
    let folder = workspace.root.join("bindings/rust/neighbours");
    let shell = shell_in(&folder)?;
    let cargo = process::cargo();
    cmd!(shell, "{cargo} fmt --check").quiet().run()?;
    for provider in ["ring", "aws-lc-rs"] {
        let test = cmd!(shell, "{cargo} test --locked --no-default-features").quiet();
        let test = test.args(["--features", provider]);
        let test = test.env("CARGO_TARGET_DIR", workspace.target.join("neighbours"));
        without_variables(test, describes_running_package).run()?;
    }
    Ok(())
}

/// Returns the command for all tests except those that need a feature, for another language or an
/// engine.
pub(crate) fn all_tests(workspace: &Workspace) -> Cmd<'_> {
    workspace.cargo("test --workspace --locked --no-fail-fast")
}

/// Runs tests, shows each line as it comes, adds the numbers of those that passed and failed to
/// `total`, and returns whether cargo reports success.
fn add_all_of(tests: Cmd, total: &mut [u64; 2]) -> Result<bool> {
    let mut child = Command::from(tests).stdout(Stdio::piped()).spawn()?;
    let output = child.stdout.take().context("its output is piped")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        total[0] += count(&line, " passed; ");
        total[1] += count(&line, " failed; ");
    }
    Ok(child.wait()?.success())
}

/// Returns the number before a word of `test result: ok. 3 passed; 0 failed; …`, and 0 for other
/// lines.
fn count(line: &str, word: &str) -> u64 {
    let result = line.strip_prefix("test result: ");
    let before = result.and_then(|result| Some(result.split_once(word)?.0));
    let number = before.and_then(|before| before.rsplit(' ').next()?.parse().ok());
    number.unwrap_or(0)
}

/// Checks dependencies with cargo-deny, by the rules in `deny.toml`. Without the database of
/// advisories, which not every machine can fetch, it says so, and fails if `needs_advisories`.
pub(crate) fn check_dependencies(workspace: &Workspace, needs_advisories: bool) -> Result<()> {
    let program = What::Deny.program(workspace, "cargo-deny")?;
    let deny = || {
        let command = workspace.shell.cmd(&program).arg("--locked").quiet();
        without_variables(command, describes_running_package)
    };
    announce("cargo deny: licences, bans, sources");
    // By default, a permission that no dependency needs any more is only a warning.
    let checks = ["check", "--deny", "warnings", "licenses", "bans", "sources"];
    deny().args(checks).run()?;

    // The database is fetched separately, since cargo-deny fails in the same way if there is none
    // and if there is an advisory.
    announce("cargo deny: fetching the database of advisories");
    // There may be no one to ask for a name and a password.
    let fetch = deny().args(["fetch", "db"]).env("GIT_TERMINAL_PROMPT", "0");
    if let Err(error) = run_quietly(fetch) {
        let error = error.context(
            "the dependencies were NOT checked for known vulnerabilities: the database of \
             advisories cannot be fetched",
        );
        if needs_advisories {
            return Err(error);
        }
        announce(&format!("WARNING: {error:#}"));
        return Ok(());
    }
    announce("cargo deny: advisories");
    // The database is not fetched again, so that fetching cannot fail here.
    Ok(deny().args(["--offline", "check", "advisories"]).run()?)
}

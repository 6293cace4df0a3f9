//! Runs everything that must pass before a change is good: format, lints, docs, tests; and checks
//! the dependencies.

use std::env;

use anyhow::Result;
use xshell::Cmd;

use crate::{
    examples::COMPOSITION_TESTS,
    guest::CLIENT_P3,
    obelisk::ENGINE_TESTS,
    process::{announce, describes_running_package, run_quietly, without_variables},
    setup::tool::CARGO_DENY,
    workspace::Workspace,
};

/// The variable that tells the tests which component to load.
pub const COMPONENT_VARIABLE: &str = "HOST_TEST_COMPONENT";

/// The feature of the tests that need Chromium: `cargo xtask page test`.
pub const BROWSER_TESTS: &str = "voice-calling-browser/chromium";

/// The features of all tests that need something else, including an engine or guests in other
/// languages.
const FEATURES: [&str; 3] = [BROWSER_TESTS, ENGINE_TESTS, COMPOSITION_TESTS];

/// The test programs that run again on the component for WASI 0.3, which must behave in the same
/// way, except for the tests in modules `once`, which choose their components themselves.
const ON_P3: [&str; 4] = ["component", "cases", "check", "command_line"];

pub fn run_all(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    check_sources(workspace)?;
    announce("cargo test");
    let component = env::var_os(COMPONENT_VARIABLE).unwrap_or_else(|| workspace.component().into());
    let tests = all_tests(workspace).args(arguments);
    tests.env(COMPONENT_VARIABLE, component).run()?;
    if arguments.is_empty() {
        announce("cargo test, on the component for WASI 0.3");
        let tests = all_tests(workspace)
            .args(ON_P3.map(|program| ["--test", program]).concat())
            .args(["--", "--skip", "once::"]);
        let component = workspace.component_of(&CLIENT_P3);
        tests.env(COMPONENT_VARIABLE, component).run()?;
        println!("all tests passed");
    } else {
        announce("only the tests that were asked for, on WASI 0.2");
    }
    Ok(())
}

fn check_sources(workspace: &Workspace) -> Result<()> {
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
    Ok(doc.env("RUSTDOCFLAGS", "--deny warnings").run()?)
}

/// Returns the command for all tests except those that need a feature, for another language, a
/// browser or an engine.
pub fn all_tests(workspace: &Workspace) -> Cmd<'_> {
    workspace.cargo("test --workspace --locked --no-fail-fast")
}

/// Checks dependencies with cargo-deny, by the rules in `deny.toml`.
pub fn check_dependencies(workspace: &Workspace) -> Result<()> {
    let program = CARGO_DENY.find()?;
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
        announce(&format!(
            "WARNING: the dependencies were NOT checked for known vulnerabilities, since the \
             database of advisories cannot be fetched: {error:#}"
        ));
        return Ok(());
    }
    announce("cargo deny: advisories");
    // The database is not fetched again, so that fetching cannot fail here.
    Ok(deny().args(["--offline", "check", "advisories"]).run()?)
}

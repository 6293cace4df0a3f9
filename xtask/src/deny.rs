//! What is allowed among the dependencies: `deny.toml` says it, cargo-deny checks it.

use std::{path::Path, process::Command};

use anyhow::Result;

use crate::{
    process::{announce, describes_running_package, remove_variables, run, run_quietly},
    tool::Tool,
    workspace::Workspace,
};

const CARGO_DENY: Tool = Tool {
    name: "cargo-deny",
    version: "0.20.2",
    takes: "about 3 minutes",
};

pub fn check(workspace: &Workspace) -> Result<()> {
    let program = CARGO_DENY.install(workspace)?;
    announce("cargo deny: licences, bans, sources");
    // What `deny.toml` allows and nobody needs any more is only warned of otherwise.
    let checks = ["check", "--deny", "warnings", "licenses", "bans", "sources"];
    run(cargo_deny(&program, workspace).args(checks))?;
    check_advisories(&program, workspace)
}

/// The database is fetched on its own, since cargo-deny fails in the same way where there is no
/// database and where there is an advisory.
fn check_advisories(program: &Path, workspace: &Workspace) -> Result<()> {
    announce("cargo deny: fetching the database of advisories");
    let mut fetch = cargo_deny(program, workspace);
    // Nobody is there to be asked for a name and a password.
    fetch.args(["fetch", "db"]).env("GIT_TERMINAL_PROMPT", "0");
    if let Err(error) = run_quietly(&mut fetch) {
        announce(&format!(
            "WARNING: the dependencies were NOT checked for known vulnerabilities, since the \
             database of advisories cannot be fetched: {error:#}"
        ));
        return Ok(());
    }
    announce("cargo deny: advisories");
    // Not fetched again, so that it cannot fail for that.
    run(cargo_deny(program, workspace).args(["--offline", "check", "advisories"]))
}

fn cargo_deny(program: &Path, workspace: &Workspace) -> Command {
    let mut command = Command::new(program);
    remove_variables(&mut command, describes_running_package);
    command.arg("--locked").current_dir(&workspace.root);
    command
}

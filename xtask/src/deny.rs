//! Checks dependencies with cargo-deny, by the rules in `deny.toml`.

use anyhow::Result;

use crate::{
    process::{announce, describes_running_package, run_quietly, without_variables},
    setup::tool::CARGO_DENY,
    workspace::Workspace,
};

pub fn check(workspace: &Workspace) -> Result<()> {
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

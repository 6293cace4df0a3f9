//! What is allowed among the dependencies: `deny.toml` says it, cargo-deny checks it.

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
    // What `deny.toml` allows and no dependency needs any more is only warned of otherwise.
    let checks = ["check", "--deny", "warnings", "licenses", "bans", "sources"];
    deny().args(checks).run()?;

    // The database is fetched on its own, since cargo-deny fails in the same way where there is
    // none and where there is an advisory.
    announce("cargo deny: fetching the database of advisories");
    // There may be no one to be asked for a name and a password.
    let fetch = deny().args(["fetch", "db"]).env("GIT_TERMINAL_PROMPT", "0");
    if let Err(error) = run_quietly(fetch) {
        announce(&format!(
            "WARNING: the dependencies were NOT checked for known vulnerabilities, since the \
             database of advisories cannot be fetched: {error:#}"
        ));
        return Ok(());
    }
    announce("cargo deny: advisories");
    // Not fetched again, so that it cannot fail for that.
    Ok(deny().args(["--offline", "check", "advisories"]).run()?)
}

//! The recipe for Restate, on its own server and the mock service.

use anyhow::Result;
use clap::Subcommand;
use xshell::{Shell, cmd};

use crate::{
    bindings::{self, npm},
    harness::{self, HARNESS_VARIABLE},
    process::announce,
    workspace::{Workspace, shell_in},
};

#[derive(Subcommand)]
pub enum Command {
    /// Run its tests, which kill the service and the server
    Test,
}

pub fn test(workspace: &Workspace) -> Result<()> {
    let shell = set_up(workspace)?;
    announce("Restate: types, and tests on the server");
    cmd!(shell, "npm run --silent check").quiet().run()?;
    Ok(cmd!(shell, "npm run --silent test").quiet().run()?)
}

/// Measures dockets while the service is killed: a line of JSON.
pub fn measure(workspace: &Workspace, dockets: u32) -> Result<String> {
    let shell = set_up(workspace)?;
    let dockets = dockets.to_string();
    let bench = cmd!(
        shell,
        "npm run --silent bench -- --dockets {dockets} --json"
    );
    Ok(bench.quiet().read()?)
}

fn set_up(workspace: &Workspace) -> Result<Shell> {
    bindings::build_javascript(workspace)?;
    let harness = harness::build(workspace)?;
    let folder = workspace.root.join("engines/restate");
    // With the Node that it needs, which is newer than the one that the other tests need.
    npm::install(&folder)?;
    let shell = shell_in(&folder)?;
    shell.set_var(HARNESS_VARIABLE, harness);
    Ok(shell)
}

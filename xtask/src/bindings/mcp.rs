//! The MCP server, tried by the client of the protocol's own package.

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use crate::{
    process::{announce, run_quietly},
    stamp::Stamp,
    workspace::{Workspace, shell_in},
};

const FOLDER: &str = "bindings/mcp";

pub fn test(workspace: &Workspace) -> Result<()> {
    announce("MCP: tests");
    let shell = installed(workspace)?;
    cmd!(shell, "npm test --silent")
        .quiet()
        .run()
        .context("the tests of the MCP server")
}

/// The folder, with what is in its lock file.
pub fn installed(workspace: &Workspace) -> Result<Shell> {
    let folder = workspace.root.join(FOLDER);
    let shell = shell_in(&folder)?;
    let packages = folder.join("node_modules");
    let lock = folder.join("package-lock.json");
    let pinned = Stamp::of("what the MCP server is made of", &packages, [&lock])?;
    let install = cmd!(shell, "npm ci --ignore-scripts --no-audit --no-fund").quiet();
    pinned.unless_fresh(|| run_quietly(install))?;
    Ok(shell)
}

//! The MCP server, tried by the client of the protocol's own package.

use anyhow::{Context, Result};
use xshell::cmd;

use crate::{
    harness::{HARNESS_VARIABLE, Services},
    process::{announce, run_quietly},
    stamp::Stamp,
    workspace::{Workspace, shell_in},
};

const FOLDER: &str = "bindings/mcp";

pub fn test(workspace: &Workspace, services: &Services) -> Result<()> {
    announce("MCP: tests");
    let folder = workspace.root.join(FOLDER);
    let shell = shell_in(&folder)?;
    let packages = folder.join("node_modules");
    let lock = folder.join("package-lock.json");
    let pinned = Stamp::of("what the MCP server is made of", &packages, [&lock])?;
    let install = cmd!(shell, "npm ci --ignore-scripts --no-audit --no-fund").quiet();
    pinned.unless_fresh(|| run_quietly(install))?;
    let tests = cmd!(shell, "npm test --silent").quiet();
    tests
        .env(HARNESS_VARIABLE, &services.harness)
        .run()
        .context("the tests of the MCP server")
}

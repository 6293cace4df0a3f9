//! Builds and tests the packages for other languages. A test (`xtask/tests/bindings.rs`) checks
//! that they agree with the WIT.

pub mod javascript;
pub mod npm;
pub mod python;

use std::path::PathBuf;

use anyhow::Result;
use xshell::cmd;

use crate::{harness, process::announce, workspace::Workspace};

/// Builds the packages that users install: the wheel, and the tarball.
pub fn build(workspace: &Workspace) -> Result<(PathBuf, PathBuf)> {
    Ok((python::wheel(workspace)?, javascript::build(workspace)?))
}

/// Builds what is published once for each platform.
pub fn build_for_platform(workspace: &Workspace) -> Result<()> {
    python::wheel(workspace)?;
    javascript::pack_platform(workspace).map(drop)
}

/// Tests both packages as their users install them.
pub fn test(workspace: &Workspace) -> Result<()> {
    let (wheel, tarball) = build(workspace)?;
    let programs = harness::programs(workspace)?;
    python::test(workspace, &wheel, &programs)?;
    javascript::test(workspace, &tarball, &programs)?;
    announce("MCP: tests");
    let shell = npm::install(&workspace.root.join("bindings/mcp"))?;
    Ok(cmd!(shell, "npm test --silent").quiet().run()?)
}

/// Tests the nodes for Node-RED in Node-RED itself.
pub fn test_node_red(workspace: &Workspace) -> Result<()> {
    javascript::build(workspace)?;
    let folder = workspace.root.join("bindings/node-red");
    let shell = npm::install(&folder)?;
    // Node-RED 5 runs on the Node that it needs, which is newer than the one that the other tools
    // need.
    npm::install(&folder.join("test/node-red-5"))?;
    announce("the nodes in Node-RED 4");
    cmd!(shell, "npm run --silent test").quiet().run()?;
    announce("the nodes in Node-RED 5");
    Ok(cmd!(shell, "npm run --silent test:5").quiet().run()?)
}

//! Builds and tests the packages for other languages. A test (`xtask/tests/bindings.rs`) checks
//! that they agree with the WIT.

pub(crate) mod javascript;
pub(crate) mod python;

use std::path::PathBuf;

use anyhow::Result;

use crate::{harness, workspace::Workspace};

/// Builds the packages that users install: the wheel, and the tarball.
pub(crate) fn build(workspace: &Workspace) -> Result<(PathBuf, PathBuf)> {
    Ok((python::wheel(workspace)?, javascript::build(workspace)?))
}

/// Builds what is published once for each platform.
pub(crate) fn build_for_platform(workspace: &Workspace) -> Result<()> {
    python::wheel(workspace)?;
    javascript::pack_platform(workspace).map(drop)
}

/// Tests both packages, and the MCP server, as their users install them.
pub(crate) fn test(workspace: &Workspace) -> Result<()> {
    let (wheel, tarball) = build(workspace)?;
    let programs = harness::programs(workspace)?;
    for part in ["python", "javascript", "mcp"] {
        let test = workspace.part(part).envs(programs.clone());
        test.env("WHEEL", &wheel).env("TARBALL", &tarball).run()?;
    }
    Ok(())
}

/// Tests the nodes for Node-RED in Node-RED itself.
pub(crate) fn test_node_red(workspace: &Workspace) -> Result<()> {
    javascript::build(workspace)?;
    Ok(workspace.part("node-red").run()?)
}

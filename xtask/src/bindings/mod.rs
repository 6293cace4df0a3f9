//! Builds and tests the packages for other languages. A test (`xtask/tests/bindings.rs`) checks
//! that they agree with the WIT.

pub mod javascript;
pub mod npm;
pub mod python;

use std::path::PathBuf;

use anyhow::{Context, Result};
use xshell::cmd;

use crate::{
    Tests, harness,
    process::announce,
    workspace::{Workspace, shell_in},
};

/// The packages that users install.
pub struct Packages {
    pub wheel: PathBuf,
    pub tarball: PathBuf,
}

pub fn run(workspace: &Workspace, tests: Option<Tests>) -> Result<()> {
    let packages = build(workspace)?;
    match tests {
        None => Ok(()),
        Some(Tests::Test) => test(workspace, &packages),
    }
}

pub fn build(workspace: &Workspace) -> Result<Packages> {
    Ok(Packages {
        wheel: python::wheel(workspace)?,
        tarball: javascript::build(workspace)?,
    })
}

/// Builds what is published once for each platform.
pub fn build_for_platform(workspace: &Workspace) -> Result<()> {
    python::wheel(workspace)?;
    javascript::pack_platform(workspace).map(drop)
}

/// Builds only the package for JavaScript, on which others are built.
pub fn build_javascript(workspace: &Workspace) -> Result<()> {
    javascript::build(workspace).map(drop)
}

/// Tests both packages as their users install them.
fn test(workspace: &Workspace, packages: &Packages) -> Result<()> {
    let programs = harness::programs(workspace)?;
    python::test(workspace, &packages.wheel, &programs)?;
    javascript::test(workspace, &packages.tarball, &programs)?;

    announce("MCP: tests");
    let mcp = workspace.root.join("bindings/mcp");
    npm::install(&mcp)?;
    let shell = shell_in(&mcp)?;
    let test = cmd!(shell, "npm test --silent").quiet();
    test.run().context("the tests of the MCP server")
}

/// Tests the nodes for Node-RED in Node-RED itself.
pub fn test_node_red(workspace: &Workspace) -> Result<()> {
    build_javascript(workspace)?;
    let folder = workspace.root.join("bindings/node-red");
    npm::install(&folder)?;
    // Node-RED 5 runs on the Node that it needs, which is newer than the one that the other tools
    // need.
    npm::install(&folder.join("test/node-red-5"))?;
    let shell = shell_in(&folder)?;
    announce("the nodes in Node-RED 4");
    cmd!(shell, "npm run --silent test").quiet().run()?;
    announce("the nodes in Node-RED 5");
    Ok(cmd!(shell, "npm run --silent test:5").quiet().run()?)
}

//! Builds and tests the packages for other languages. A test (`xtask/tests/bindings.rs`) checks
//! that they agree with the WIT.

pub mod javascript;
pub mod npm;
pub mod python;

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Subcommand;
use xshell::cmd;

use crate::{
    component,
    guest::{MUTANTS, SANS_IO},
    harness::{JUDGE_VARIABLE, Services},
    process::announce,
    test_run::COMPONENT_VARIABLE,
    workspace::{Workspace, shell_in},
};

#[derive(Subcommand)]
pub enum Command {
    /// Build the packages, and try them as their users install them
    Test,
}

/// The packages that users install.
pub struct Packages {
    pub wheel: PathBuf,
    pub tarball: PathBuf,
}

pub fn run(workspace: &Workspace, command: Option<Command>) -> Result<()> {
    let packages = build(workspace)?;
    match command {
        None => Ok(()),
        Some(Command::Test) => test(workspace, &packages),
    }
}

pub fn build(workspace: &Workspace) -> Result<Packages> {
    crate::build(workspace)?;
    Ok(Packages {
        wheel: python::wheel(workspace)?,
        tarball: javascript::build(workspace)?,
    })
}

/// Builds only the package for JavaScript, on which others are built.
pub fn build_javascript(workspace: &Workspace) -> Result<()> {
    component::build(workspace, &[&SANS_IO])?;
    javascript::build(workspace).map(drop)
}

/// Tests both packages as their users install them. The table of cases is run through the harness
/// and both packages by the same judge, so that the three cannot differ.
fn test(workspace: &Workspace, packages: &Packages) -> Result<()> {
    // With the mutants the table proves that it can fail.
    component::build(workspace, &[&MUTANTS])?;
    let services = Services::start(workspace)?;
    announce("the table of cases, by the harness");
    let cases = workspace.cargo("test --workspace --locked --test cases");
    cases
        .env(COMPONENT_VARIABLE, workspace.component())
        .env(JUDGE_VARIABLE, &services.judge.url)
        .run()?;
    python::test(workspace, &packages.wheel, &services)?;
    javascript::test(workspace, &packages.tarball, &services)?;

    announce("MCP: tests");
    let mcp = workspace.root.join("bindings/mcp");
    npm::install(&mcp)?;
    let shell = shell_in(&mcp)?;
    let test = cmd!(shell, "npm test --silent").quiet();
    test.run().context("the tests of the MCP server")
}

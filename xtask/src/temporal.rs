//! The recipe for Temporal, on Temporal's own server and the mock service.

use std::path::PathBuf;

use anyhow::Result;
use clap::Subcommand;

use crate::{
    bindings::python::{self, Environment, own_python},
    component,
    guest::SANS_IO,
    harness::{self, HARNESS_VARIABLE},
    process::{announce, run_quietly},
    workspace::Workspace,
};

#[derive(Subcommand)]
pub enum Command {
    /// Check and run the recipe's files as their users do
    Test,
}

const FOLDER: &str = "engines/temporal";

pub fn test(workspace: &Workspace) -> Result<()> {
    let (environment, harness) = set_up(workspace)?;
    announce("format, lints and types of the recipe for Temporal");
    let steps: [&[&str]; 3] = [
        &["ruff", "format", "--check", "."],
        &["ruff", "check", "."],
        &["mypy", "."],
    ];
    for step in steps {
        run_quietly(environment.python().arg("-m").args(step))?;
    }
    announce("dockets on Temporal");
    let test = environment.module("pytest").arg("--quiet");
    test.env("PYTHONDONTWRITEBYTECODE", "1")
        .env(HARNESS_VARIABLE, &harness)
        .run()?;
    announce("Temporal: that the figures can be measured");
    let bench = environment.python().arg("bench.py");
    Ok(bench.env(HARNESS_VARIABLE, &harness).run()?)
}

/// Measures a campaign while a worker is killed: a line of JSON.
pub fn measure(workspace: &Workspace, dockets: u32) -> Result<String> {
    let (environment, harness) = set_up(workspace)?;
    let bench = environment
        .python()
        .args(["bench.py", "--json", "--open", "200"]);
    let bench = bench.args(["--dockets", &dockets.to_string()]);
    Ok(bench.env(HARNESS_VARIABLE, &harness).read()?)
}

/// The environment of the recipe, and the harness.
fn set_up(workspace: &Workspace) -> Result<(Environment, PathBuf)> {
    component::build(workspace, &[&SANS_IO])?;
    let wheel = python::wheel(workspace)?;
    let harness = harness::build(workspace)?;
    let own = own_python(&workspace.shell)?;
    let environment = Environment::with(workspace, (FOLDER, "temporal"), &own, "test", &wheel)?;
    Ok((environment, harness))
}

//! The recipes for Restate and Temporal on their own servers; and the durable engines beside each
//! other, the same dockets on each, in one table.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;
use xshell::{Shell, cmd};

use crate::{
    bindings::{
        self, npm,
        python::{self, Environment, own_python},
    },
    mock, obelisk,
    process::{announce, run_quietly},
    workspace::{Workspace, shell_in},
};

/// The columns, and the members of the figures that each engine's bench prints.
const COLUMNS: [(&str, &str); 6] = [
    ("dockets/s", "dockets_per_s"),
    ("CPU of the server, ms/docket", "server_cpu_ms"),
    ("CPU of the worker, ms/docket", "worker_cpu_ms"),
    ("disk, bytes/docket", "bytes"),
    ("rang twice", "rang_twice"),
    ("lost", "lost"),
];

/// Runs so many dockets on each engine, 200 of them open at a time, while its processes are killed.
/// Each line is printed when it is measured: if an engine fails, the lines before it are kept.
pub fn measure(workspace: &Workspace, dockets: u32) -> Result<()> {
    println!(
        "| engine | {} |",
        COLUMNS.map(|(title, _)| title).join(" | ")
    );
    println!("|---{}|", "|---:".repeat(COLUMNS.len()));
    for measure in [measure_restate, obelisk::measure, measure_temporal] {
        let printed = measure(workspace, dockets)?;
        // Engines and their libraries print warnings too.
        let figures = printed.lines().last().unwrap_or_default();
        let figures: Value = serde_json::from_str(figures)
            .with_context(|| format!("expected figures, found {printed:?}"))?;
        let cells = COLUMNS.map(|(_, member)| shown(&figures[member]));
        let engine = figures["engine"].as_str().unwrap_or_default();
        println!("| {engine} | {} |", cells.join(" | "));
    }
    Ok(())
}

fn shown(figure: &Value) -> String {
    let figure = figure.as_f64().unwrap_or(f64::NAN);
    format!("{figure:.prec$}", prec = usize::from(figure < 100.0))
}

/// Tests the recipe for Restate, on its own server and the mock service.
pub fn test_restate(workspace: &Workspace) -> Result<()> {
    let shell = set_up_restate(workspace)?;
    announce("Restate: types, and tests on the server");
    cmd!(shell, "npm run --silent check").quiet().run()?;
    Ok(cmd!(shell, "npm run --silent test").quiet().run()?)
}

/// Measures dockets while the service is killed: a line of JSON.
fn measure_restate(workspace: &Workspace, dockets: u32) -> Result<String> {
    let shell = set_up_restate(workspace)?;
    let dockets = dockets.to_string();
    let bench = cmd!(shell, "npm run --silent bench -- {dockets}");
    Ok(bench.quiet().read()?)
}

fn set_up_restate(workspace: &Workspace) -> Result<Shell> {
    bindings::build_javascript(workspace)?;
    let mock = mock::build(workspace)?;
    let folder = workspace.root.join("engines/restate");
    // With the Node that it needs, which is newer than the one that the other tests need.
    npm::install(&folder)?;
    let shell = shell_in(&folder)?;
    shell.set_var(mock::VARIABLE, mock);
    Ok(shell)
}

/// Tests the recipe for Temporal, on its own server and the mock service.
pub fn test_temporal(workspace: &Workspace) -> Result<()> {
    let (environment, mock) = set_up_temporal(workspace)?;
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
        .env(mock::VARIABLE, &mock)
        .run()?;
    announce("Temporal: that the figures can be measured");
    let bench = environment.python().arg("bench.py");
    Ok(bench.env(mock::VARIABLE, &mock).run()?)
}

/// Measures a campaign while a worker is killed: a line of JSON.
fn measure_temporal(workspace: &Workspace, dockets: u32) -> Result<String> {
    let (environment, mock) = set_up_temporal(workspace)?;
    let bench = environment
        .python()
        .args(["bench.py", &dockets.to_string()]);
    Ok(bench.env(mock::VARIABLE, &mock).read()?)
}

/// The environment of the recipe, and the mock.
fn set_up_temporal(workspace: &Workspace) -> Result<(Environment, PathBuf)> {
    let wheel = python::wheel(workspace)?;
    let mock = mock::build(workspace)?;
    let own = own_python(&workspace.shell)?;
    let environment = Environment::with(
        workspace,
        ("engines/temporal", "temporal"),
        &own,
        "test",
        &wheel,
    )?;
    Ok((environment, mock))
}

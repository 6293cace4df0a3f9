//! The recipes for Restate and Temporal on their own servers; and the durable engines beside each
//! other, the same dockets on each, in one table.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;
use xshell::{Shell, cmd};

use crate::{
    bindings::{
        javascript, npm,
        python::{self, check, environment, own_python},
    },
    harness, obelisk,
    process::announce,
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
    javascript::build(workspace)?;
    // With the Node that it needs, which is newer than the one that the other tests need.
    let shell = npm::install(&workspace.root.join("engines/restate"))?;
    shell.set_var(harness::MOCK, harness::mock(workspace)?);
    Ok(shell)
}

/// Tests the recipe for Temporal, on its own server and the mock service.
pub fn test_temporal(workspace: &Workspace) -> Result<()> {
    let (shell, python) = set_up_temporal(workspace)?;
    announce("format, lints and types of the recipe for Temporal");
    let steps = ["ruff format --check .", "ruff check .", "mypy ."];
    check(&shell, &python, &python, &steps)?;
    announce("dockets on Temporal");
    cmd!(shell, "{python} -m pytest --quiet").quiet().run()?;
    announce("Temporal: that the figures can be measured");
    Ok(cmd!(shell, "{python} bench.py").quiet().run()?)
}

/// Measures a campaign while a worker is killed: a line of JSON.
fn measure_temporal(workspace: &Workspace, dockets: u32) -> Result<String> {
    let (shell, python) = set_up_temporal(workspace)?;
    let dockets = dockets.to_string();
    Ok(cmd!(shell, "{python} bench.py {dockets}").quiet().read()?)
}

/// A shell in the folder of the recipe, and its Python.
fn set_up_temporal(workspace: &Workspace) -> Result<(Shell, PathBuf)> {
    let wheel = python::wheel(workspace)?;
    let own = own_python(&workspace.shell)?;
    let requirements = "engines/temporal/requirements/test.txt";
    let python = environment(workspace, requirements, &own, Some(&wheel))?;
    let shell = shell_in(&workspace.root.join("engines/temporal"))?;
    shell.set_var(harness::MOCK, harness::mock(workspace)?);
    shell.set_var("PYTHONDONTWRITEBYTECODE", "1");
    Ok((shell, python))
}

//! The recipes for Restate and Temporal on their own servers; and the durable engines and the command
//! for lists beside each other, the same dockets on each, in one table.

use anyhow::{Context, Result};
use serde_json::Value;
use xshell::Cmd;

use crate::{
    bindings::{javascript, python},
    harness, obelisk,
    workspace::Workspace,
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

/// Runs so many dockets on each, 200 of them open at a time, while its processes are killed.
/// Each line is printed when it is measured: if an engine fails, the lines before it are kept.
pub(crate) fn measure(workspace: &Workspace, dockets: u32) -> Result<()> {
    println!(
        "| engine | {} |",
        COLUMNS.map(|(title, _)| title).join(" | ")
    );
    println!("|---{}|", "|---:".repeat(COLUMNS.len()));
    let measures = [
        measure_command,
        measure_restate,
        obelisk::measure,
        measure_temporal,
    ];
    for measure in measures {
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
    match (figure.as_u64(), figure.as_f64()) {
        (Some(count), _) => count.to_string(),
        (None, Some(figure)) => format!("{figure:.prec$}", prec = usize::from(figure < 100.0)),
        (None, None) => "–".to_owned(),
    }
}

/// Tests the recipe for Restate, on its own server and the mock service.
pub(crate) fn test_restate(workspace: &Workspace) -> Result<()> {
    Ok(restate(workspace, "restate")?.run()?)
}

/// Measures dockets while the service is killed: a line of JSON.
fn measure_restate(workspace: &Workspace, dockets: u32) -> Result<String> {
    let measure = restate(workspace, "measure-restate")?;
    Ok(measure.arg(dockets.to_string()).read()?)
}

fn restate<'a>(workspace: &'a Workspace, part: &str) -> Result<Cmd<'a>> {
    javascript::build(workspace)?;
    Ok(workspace
        .part(part)
        .env(harness::MOCK, harness::mock(workspace)?))
}

/// Measures a list while the command of the wheel is killed: a line of JSON.
fn measure_command(workspace: &Workspace, dockets: u32) -> Result<String> {
    let measure = with_wheel(workspace, "measure-command")?;
    Ok(measure.arg(dockets.to_string()).read()?)
}

/// Tests the recipe for Temporal, on its own server and the mock service.
pub(crate) fn test_temporal(workspace: &Workspace) -> Result<()> {
    Ok(with_wheel(workspace, "temporal")?.run()?)
}

/// Measures a campaign while a worker is killed: a line of JSON.
fn measure_temporal(workspace: &Workspace, dockets: u32) -> Result<String> {
    let measure = with_wheel(workspace, "measure-temporal")?;
    Ok(measure.arg(dockets.to_string()).read()?)
}

fn with_wheel<'a>(workspace: &'a Workspace, part: &str) -> Result<Cmd<'a>> {
    let part = workspace.part(part).env("WHEEL", python::wheel(workspace)?);
    Ok(part.env(harness::MOCK, harness::mock(workspace)?))
}

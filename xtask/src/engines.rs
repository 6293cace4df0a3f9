//! The durable engines beside each other: the same dockets on each, in one table.

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{obelisk, restate, temporal, workspace::Workspace};

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
pub fn measure(workspace: &Workspace, dockets: u32) -> Result<()> {
    let engines = [
        restate::measure(workspace, dockets)?,
        temporal::measure(workspace, dockets)?,
        obelisk::measure(workspace, dockets)?,
    ];
    println!(
        "| engine | {} |",
        COLUMNS.map(|(title, _)| title).join(" | ")
    );
    println!("|---{}|", "|---:".repeat(COLUMNS.len()));
    for figures in engines {
        let figures: Value = serde_json::from_str(&figures)
            .with_context(|| format!("expected figures, found {figures:?}"))?;
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

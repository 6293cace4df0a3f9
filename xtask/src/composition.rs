//! Two components as one: what one of them imports, the other exports.

use std::path::Path;

use anyhow::{Context, Result};

use crate::{
    component,
    guest::{CLIENT_P3, IMPATIENT, MUTANTS, PEER},
    process::announce,
    workspace::Workspace,
};

/// Plugs the component `plug` into `socket`, which imports what it exports.
pub fn plug(workspace: &Workspace, plug: &Path, socket: &Path, output: &Path) -> Result<()> {
    announce(&format!("{}: composing", workspace.shown(output)));
    let program = workspace.cargo("run --quiet --locked --package plug --");
    let composing = program.arg(plug).arg(socket).arg(output);
    composing.run().context("cannot compose")
}

/// What no user gets: the mutants, the component for WASI 0.3 plugged into a guest that cancels its
/// calls, and what the bench compares with.
pub fn build_for_tests(workspace: &Workspace) -> Result<()> {
    component::build(workspace, &[&CLIENT_P3, &MUTANTS, &IMPATIENT, &PEER])?;
    plug(
        workspace,
        &workspace.component_of(&CLIENT_P3),
        &workspace.component_of(&IMPATIENT),
        &workspace.target.join("impatient.wasm"),
    )
}

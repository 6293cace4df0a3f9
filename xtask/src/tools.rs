//! The tools for AI agents as components: the client plugged into them, and what agents read of
//! them beside it.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Subcommand;
use serde_json::{Map, Value, json};
use wasm_encoder::{ComponentSection, CustomSection};
use xshell::cmd;

use crate::{
    bindings::{
        mcp,
        tools::{self, Tool},
    },
    component,
    composition::plug,
    guest::{CLIENT, Guest, TOOLS, TOOLS_READ_ONLY},
    process::announce,
    setup::wassette,
    workspace::Workspace,
};

#[derive(Subcommand)]
pub enum Command {
    /// Run the tests in Wassette
    Test,
}

pub fn run(workspace: &Workspace, command: Option<Command>) -> Result<()> {
    build(workspace)?;
    match command {
        None => Ok(()),
        Some(Command::Test) => test(workspace),
    }
}

/// `target/voice-calling-tools.wasm`, and `target/voice-calling-tools-read-only.wasm`, which cannot
/// make a telephone ring.
pub fn build(workspace: &Workspace) -> Result<()> {
    component::build(workspace, &[&CLIENT, &TOOLS, &TOOLS_READ_ONLY])?;
    let tools = tools::read(&workspace.root)?;
    let (all, reading) = (tools.iter(), tools.iter().filter(|tool| !tool.rings));
    documented(workspace, &TOOLS, &docs(all))?;
    documented(workspace, &TOOLS_READ_ONLY, &docs(reading))
}

/// What users load.
pub fn file_of(workspace: &Workspace, guest: &Guest) -> PathBuf {
    workspace.target.join(format!("{}.wasm", guest.component))
}

fn documented(workspace: &Workspace, guest: &Guest, docs: &Value) -> Result<()> {
    let file = file_of(workspace, guest);
    plug(
        workspace,
        &workspace.component(),
        &workspace.component_of(guest),
        &file,
    )?;
    let component = workspace.shell.read_binary_file(&file)?;
    let mut component = component::tagged(&component, workspace, guest)?;
    // The first byte is the version of what follows.
    let mut data = vec![1];
    serde_json::to_writer(&mut data, docs)?;
    let section = CustomSection {
        name: "package-docs".into(),
        data: data.into(),
    };
    section.append_to_component(&mut component);
    workspace.shell.write_file(&file, &component)?;
    let shown = workspace.shown(&file);
    announce(&format!("{shown}: {} bytes", component.len()));
    Ok(())
}

/// As Wassette looks them up, which shows them to agents.
fn docs<'a>(tools: impl Iterator<Item = &'a Tool>) -> Value {
    let functions = tools.map(|tool| (tool.name.clone(), json!({ "docs": tool.docs() })));
    let functions: Map<_, _> = functions.collect();
    json!({ "worlds": { "root": { "func_exports": functions } } })
}

fn test(workspace: &Workspace) -> Result<()> {
    let wassette = wassette::find(workspace)?;
    announce("the tools in Wassette");
    let shell = mcp::installed(workspace)?;
    let tests = cmd!(shell, "npm run --silent test:wassette").quiet();
    tests
        .env("WASSETTE", wassette)
        .env("VOICE_CALLING_TARGET", &workspace.target)
        .run()
        .context("the tests in Wassette")
}

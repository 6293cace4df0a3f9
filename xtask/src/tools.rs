//! Builds the tools for AI agents as components, with the client plugged into them, and the
//! documentation that agents read, from `wit/tools/`.

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};
use wit_parser::{Resolve, WorldItem};

use crate::{
    component::{self, append, plug},
    guest::{CLIENT, Guest, TOOLS, TOOLS_READ_ONLY},
    process::announce,
    setup::What,
    wit,
    workspace::Workspace,
};

/// Builds `target/voice-calling-tools.wasm`, and `target/voice-calling-tools-read-only.wasm`, which
/// cannot make a telephone ring.
pub(crate) fn build(workspace: &Workspace) -> Result<()> {
    component::build(workspace, &[&CLIENT, &TOOLS, &TOOLS_READ_ONLY])?;
    let (resolve, _) = wit::read(&workspace.root, &["wit/types", "wit", "wit/tools"])?;
    documented(workspace, &TOOLS, &docs(&resolve, "tools")?)?;
    documented(workspace, &TOOLS_READ_ONLY, &docs(&resolve, "read-only")?)
}

fn documented(workspace: &Workspace, guest: &Guest, docs: &Value) -> Result<()> {
    let (client, socket) = (workspace.component(), workspace.component_of(guest));
    let file = workspace.target.join(format!("{}.wasm", guest.component));
    plug(workspace, &client, &socket, &file)?;
    let component = workspace.shell.read_binary_file(&file)?;
    let mut component = component::tagged(&component, workspace, guest)?;
    // The first byte is the version of the format.
    let mut data = vec![1];
    serde_json::to_writer(&mut data, docs)?;
    append(&mut component, "package-docs", &data);
    workspace.shell.write_file(&file, &component)?;
    let shown = workspace.shown(&file);
    announce(&format!("{shown}: {} bytes", component.len()));
    Ok(())
}

/// Returns the documentation of the functions that a world exports, in the form in which Wassette
/// reads it and shows it to agents.
fn docs(resolve: &Resolve, world: &str) -> Result<Value> {
    let mut worlds = resolve.worlds.iter().map(|(_, it)| it);
    let found = worlds.find(|it| it.name == world);
    let found = found.with_context(|| format!("there is no world `{world}`"))?;
    let functions = found.exports.values().map(|item| match item {
        WorldItem::Function(function) => Ok((
            function.name.clone(),
            json!({ "docs": function.docs.contents }),
        )),
        _ => bail!("the world `{world}` exports something that is not a function"),
    });
    let functions = functions.collect::<Result<Map<_, _>>>()?;
    Ok(json!({ "worlds": { "root": { "func_exports": functions } } }))
}

/// Builds them, and tests them in Wassette.
pub(crate) fn test(workspace: &Workspace) -> Result<()> {
    let wassette = What::Wassette.program(workspace, "wassette")?;
    build(workspace)?;
    let tests = workspace.part("wassette").env("WASSETTE", wassette);
    Ok(tests.run()?)
}

//! The tools for AI agents: one description in `wit-tools/`, which is also a table in JavaScript
//! for the MCP server.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use wit_parser::{Function, Resolve, Type, TypeDefKind, WorldItem};

use crate::bindings::Generated;

pub const FOLDER: &str = "wit-tools";

const NOTE: &str = "// Written from wit-tools/ by `cargo xtask bindings generate`. Do not edit.\n";

/// The table for the MCP server: what the world `read-only` has first, then what rings.
pub fn file(folder: &Path) -> Result<Generated> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(folder)?;
    let package = &resolve.packages[package];
    let functions = |world: &str| {
        let id = package.worlds.get(world);
        let id = id.with_context(|| format!("the package has no world `{world}`"))?;
        let exports = resolve.worlds[*id].exports.values();
        let functions = exports.map(|item| match item {
            WorldItem::Function(function) => Ok(function),
            _ => bail!("the world `{world}` exports something that is not a function"),
        });
        functions.collect::<Result<Vec<_>>>()
    };
    let reading = functions("read-only")?;
    let is_reading = |function: &Function| reading.iter().any(|it| it.name == function.name);
    let all = functions("tools")?;
    let ringing = all.into_iter().filter(|function| !is_reading(function));
    let tools = reading.iter().copied().chain(ringing).map(|function| {
        let tool = tool(&resolve, function, !is_reading(function));
        tool.with_context(|| format!("the tool `{}`", function.name))
    });
    let tools = serde_json::to_string_pretty(&tools.collect::<Result<Vec<_>>>()?)?;
    Ok(Generated {
        path: "bindings/mcp/tools.js".into(),
        text: format!(
            "{NOTE}\n/** What each tool is, in the order in which agents read them. */\n\
             export const TOOLS = {tools};\n"
        ),
    })
}

/// A line of the documentation that begins with a parameter's name describes the parameter.
fn tool(resolve: &Resolve, function: &Function, rings: bool) -> Result<Value> {
    let docs = function.docs.contents.as_deref().unwrap_or_default();
    let mut description = Vec::new();
    let mut described: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in docs.lines().map(str::trim) {
        let named = line.split_once(": ");
        let named = named.filter(|(name, _)| function.params.iter().any(|it| it.name == *name));
        match (named, described.last_mut()) {
            (Some((name, text)), _) => described.push((name, vec![text])),
            (None, Some((_, text))) => text.push(line),
            (None, None) => description.push(line),
        }
    }
    let parameters = function.params.iter().map(|parameter| {
        let name = &parameter.name;
        let text = described.iter().find(|(of, _)| of == name);
        let (_, text) = text.with_context(|| format!("`{name}` is not described"))?;
        let (kind, optional) = kind(resolve, &parameter.ty)?;
        let description = text.join(" ");
        Ok(json!({ "name": name, "kind": kind, "optional": optional, "description": description }))
    });
    Ok(json!({
        "name": function.name,
        "rings": rings,
        "description": description.join(" "),
        "parameters": parameters.collect::<Result<Vec<_>>>()?,
    }))
}

/// The type of a parameter, and whether it may be left out.
fn kind(resolve: &Resolve, ty: &Type) -> Result<(&'static str, bool)> {
    Ok(match ty {
        Type::Bool => ("bool", false),
        Type::U32 => ("u32", false),
        Type::S64 => ("s64", false),
        Type::String => ("string", false),
        Type::Id(id) => match &resolve.types[*id].kind {
            TypeDefKind::Option(inner) => (kind(resolve, inner)?.0, true),
            other => bail!("tools have no parameters that are a {}", other.as_str()),
        },
        other => bail!("tools have no parameters of type {other:?}"),
    })
}

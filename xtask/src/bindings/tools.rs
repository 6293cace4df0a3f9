//! The tools for AI agents: one description in `wit/tools/`, which is also a table in JavaScript
//! for the MCP server.

use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use wit_parser::{Function, Resolve, Type, TypeDefKind, WorldItem};

use crate::bindings::Generated;

/// The package, after the one that it uses.
pub const FOLDERS: [&str; 2] = ["wit", "wit/tools"];

const NOTE: &str = "// Written from wit/tools/ by `cargo xtask bindings generate`. Do not edit.\n";

/// A tool, as agents know it.
pub struct Tool {
    pub name: String,
    /// Whether it makes a telephone ring.
    pub rings: bool,
    /// What it does, without its parameters.
    description: String,
    parameters: Vec<Parameter>,
}

struct Parameter {
    name: String,
    kind: &'static str,
    is_optional: bool,
    description: String,
}

/// What the world `read-only` has first, then what rings.
pub fn read(root: &Path) -> Result<Vec<Tool>> {
    let mut resolve = Resolve::default();
    let [client, tools] = FOLDERS.map(|folder| root.join(folder));
    resolve.push_dir(client)?;
    let (package, _) = resolve.push_dir(tools)?;
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
    tools.collect()
}

/// The table for the MCP server.
pub fn file(root: &Path) -> Result<Generated> {
    let tools = read(root)?;
    let tools: Vec<_> = tools.iter().map(Tool::entry).collect();
    let tools = serde_json::to_string_pretty(&tools)?;
    Ok(Generated {
        path: "bindings/mcp/tools.js".into(),
        text: format!(
            "{NOTE}\n/** What each tool is, in the order in which agents read them. */\n\
             export const TOOLS = {tools};\n"
        ),
    })
}

impl Tool {
    /// All of it as one text.
    pub fn docs(&self) -> String {
        let parameters = self.parameters.iter();
        let lines = parameters.map(|it| format!("{}: {}", it.name, it.description));
        let lines: Vec<_> = [self.description.clone()]
            .into_iter()
            .chain(lines)
            .collect();
        lines.join("\n")
    }

    fn entry(&self) -> Value {
        let parameters = self.parameters.iter().map(|it| {
            json!({
                "name": it.name,
                "kind": it.kind,
                "optional": it.is_optional,
                "description": it.description,
            })
        });
        json!({
            "name": self.name,
            "rings": self.rings,
            "description": self.description,
            "parameters": parameters.collect::<Vec<_>>(),
        })
    }
}

/// A line of the documentation that begins with a parameter's name describes the parameter.
fn tool(resolve: &Resolve, function: &Function, rings: bool) -> Result<Tool> {
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
        let (kind, is_optional) = kind(resolve, &parameter.ty)?;
        Ok(Parameter {
            name: name.clone(),
            kind,
            is_optional,
            description: text.join(" "),
        })
    });
    Ok(Tool {
        name: function.name.clone(),
        rings,
        description: description.join(" "),
        parameters: parameters.collect::<Result<_>>()?,
    })
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

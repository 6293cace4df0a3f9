//! Reads WIT from folders and from components.

use std::{collections::BTreeSet, path::Path};

use anyhow::{Context, Result, bail};
use wit_component::{DecodedWasm, WitPrinter};
use wit_parser::{PackageId, Resolve};

/// Reads the packages in these folders. Returns the last one, which may use those before.
pub fn read(root: &Path, folders: &[&str]) -> Result<(Resolve, PackageId)> {
    let mut resolve = Resolve::new();
    let mut last = None;
    for folder in folders {
        last = Some(resolve.push_dir(root.join(folder))?.0);
    }
    Ok((resolve, last.context("a package is in a folder")?))
}

/// Returns the lines of a component's WIT without comments, each with those that it is in. Equivalent
/// components have the same: encoders order types, functions and interfaces each in their own way.
pub fn of_component(component: &[u8]) -> Result<BTreeSet<String>> {
    let decoded = wit_component::decode(component).context("this is not a component")?;
    let DecodedWasm::Component(resolve, world) = decoded else {
        bail!("this is a WIT package, not a component");
    };
    let main = resolve.worlds[world].package;
    let main = main.context("the world is in no package")?;
    let others = resolve.packages.iter().map(|(id, _)| id);
    let others: Vec<_> = others.filter(|id| *id != main).collect();
    let mut printer = WitPrinter::default();
    printer.emit_docs(false).print(&resolve, main, &others)?;
    let mut within = Vec::new();
    let text = printer.output.to_string();
    let lines = text.lines().map(|line| {
        within.truncate((line.len() - line.trim_start().len()) / 2);
        within.push(line.trim());
        within.join(" ")
    });
    Ok(lines.collect())
}

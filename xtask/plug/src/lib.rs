//! Makes one component of two, as `wac plug` does.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use wac_graph::{CompositionGraph, EncodeOptions, PackageId, types::Package};

/// Writes to `output` the component `socket`, which gets what it imports from the exports of `plug`.
pub fn plug(plug: &Path, socket: &Path, output: &Path) -> Result<()> {
    let mut graph = CompositionGraph::new();
    let plugged = register(&mut graph, plug)?;
    let socketed = register(&mut graph, socket)?;
    wac_graph::plug(&mut graph, vec![plugged], socketed)
        .with_context(|| format!("cannot plug {} into {}", plug.display(), socket.display()))?;
    // The host that loads it validates it.
    let options = EncodeOptions {
        validate: false,
        ..EncodeOptions::default()
    };
    let composition = graph.encode(options)?;
    fs::write(output, composition).with_context(|| format!("cannot write {}", output.display()))
}

fn register(graph: &mut CompositionGraph, component: &Path) -> Result<PackageId> {
    let shown = component.display();
    let name = component.file_stem().context("a component has a name")?;
    let package = Package::from_file(&name.to_string_lossy(), None, component, graph.types_mut())
        .with_context(|| format!("cannot compose {shown}"))?;
    Ok(graph.register_package(package)?)
}

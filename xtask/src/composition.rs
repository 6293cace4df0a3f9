//! Two components as one: what one of them imports, the other exports. This is what `wac plug`
//! runs; its command line takes minutes to install, most of it for what is not used here.

use std::path::Path;

use anyhow::{Context, Result};
use wac_graph::{CompositionGraph, EncodeOptions, PackageId, types::Package};

/// One component of one that exports (`plug`) and one that imports (`socket`).
pub fn plug(plug: &Path, socket: &Path) -> Result<Vec<u8>> {
    let mut graph = CompositionGraph::new();
    let plugged = register(&mut graph, plug)?;
    let socketed = register(&mut graph, socket)?;
    let (plug, socket) = (plug.display(), socket.display());
    wac_graph::plug(&mut graph, vec![plugged], socketed)
        .with_context(|| format!("cannot plug {plug} into {socket}"))?;
    // Whoever loads it validates it.
    let options = EncodeOptions {
        validate: false,
        ..EncodeOptions::default()
    };
    graph
        .encode(options)
        .with_context(|| format!("cannot make one component of {plug} and {socket}"))
}

fn register(graph: &mut CompositionGraph, component: &Path) -> Result<PackageId> {
    let name = component.file_stem().context("a component has a name")?;
    let name = name.to_string_lossy();
    let package = Package::from_file(&name, None, component, graph.types_mut())
        .with_context(|| format!("cannot compose {}", component.display()))?;
    Ok(graph.register_package(package)?)
}

//! Two components as one: what one of them imports, the other exports. This is what `wac plug`
//! runs; its command line takes minutes to install, most of it for what is not used here. A program
//! of its own, so that `cargo xtask` need not wait for it where nothing is composed.
#![forbid(unsafe_code)]

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use clap::Parser;
use wac_graph::{CompositionGraph, EncodeOptions, PackageId, types::Package};

/// Plugs a component into another
#[derive(Parser)]
struct Plug {
    /// The component that exports
    plug: PathBuf,
    /// The component that imports
    socket: PathBuf,
    /// Where the composition goes
    output: PathBuf,
}

fn main() -> Result<()> {
    let Plug {
        plug,
        socket,
        output,
    } = Plug::parse();
    let composition = compose(&plug, &socket)?;
    fs::write(&output, composition).with_context(|| format!("cannot write {}", output.display()))
}

fn compose(plug: &Path, socket: &Path) -> Result<Vec<u8>> {
    let mut graph = CompositionGraph::new();
    let plugged = register(&mut graph, plug)?;
    let socketed = register(&mut graph, socket)?;
    let (plug, socket) = (plug.display(), socket.display());
    wac_graph::plug(&mut graph, vec![plugged], socketed)
        .with_context(|| format!("cannot plug {plug} into {socket}"))?;
    // The host that loads it validates it.
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

//! `plug PLUG SOCKET OUTPUT` makes one component of two: what the second imports, the first exports.
//! This is what `wac plug` runs; its command line takes minutes to install, most of it for what is
//! not used here. A program of its own, so that `cargo xtask` need not wait for it where nothing is
//! composed.
#![forbid(unsafe_code)]

use std::{env, fs, path::Path};

use anyhow::{Context, Result, bail};
use wac_graph::{CompositionGraph, EncodeOptions, PackageId, types::Package};

fn main() -> Result<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let [plug, socket, output] = arguments.as_slice() else {
        bail!("usage: plug PLUG SOCKET OUTPUT");
    };
    let mut graph = CompositionGraph::new();
    let plugged = register(&mut graph, plug)?;
    let socketed = register(&mut graph, socket)?;
    wac_graph::plug(&mut graph, vec![plugged], socketed)
        .with_context(|| format!("cannot plug {plug} into {socket}"))?;
    // The host that loads it validates it.
    let options = EncodeOptions {
        validate: false,
        ..EncodeOptions::default()
    };
    let composition = graph
        .encode(options)
        .with_context(|| format!("cannot make one component of {plug} and {socket}"))?;
    fs::write(output, composition).with_context(|| format!("cannot write {output}"))
}

fn register(graph: &mut CompositionGraph, component: &str) -> Result<PackageId> {
    let name = Path::new(component)
        .file_stem()
        .context("a component has a name")?;
    let package = Package::from_file(&name.to_string_lossy(), None, component, graph.types_mut())
        .with_context(|| format!("cannot compose {component}"))?;
    Ok(graph.register_package(package)?)
}

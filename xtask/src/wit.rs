//! Reads WIT from folders and from components.

use std::path::Path;

use anyhow::{Context, Result};
use wit_component::WitPrinter;
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

/// Returns a component's WIT, without comments.
pub fn of_component(component: &[u8]) -> Result<String> {
    let decoded = wit_component::decode(component).context("this is not a component")?;
    let (resolve, main) = (decoded.resolve(), decoded.package());
    let packages = resolve.packages.iter().map(|(id, _)| id);
    let others: Vec<_> = packages.filter(|id| *id != main).collect();
    let mut printer = WitPrinter::default();
    printer.emit_docs(false);
    printer.print(resolve, main, &others)?;
    Ok(printer.output.to_string())
}

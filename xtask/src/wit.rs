//! Reads WIT from folders and from components.

use std::{mem, path::Path};

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

/// Returns a component's WIT without comments and sorted: equivalent components have the same text.
/// Encoders order types and functions in an interface, and interfaces in a world, each in their own
/// way.
pub fn of_component(component: &[u8]) -> Result<String> {
    let decoded = wit_component::decode(component).context("this is not a component")?;
    let DecodedWasm::Component(mut resolve, world) = decoded else {
        bail!("this is a WIT package, not a component");
    };
    for (_, interface) in resolve.interfaces.iter_mut() {
        interface.types.sort_keys();
        interface.functions.sort_keys();
    }
    let mut imports = mem::take(&mut resolve.worlds[world].imports);
    imports.sort_by_cached_key(|key, _| resolve.name_world_key(key));
    let mut exports = mem::take(&mut resolve.worlds[world].exports);
    exports.sort_by_cached_key(|key, _| resolve.name_world_key(key));
    let found = &mut resolve.worlds[world];
    (found.imports, found.exports) = (imports, exports);

    let main = found.package.context("the world is in no package")?;
    let mut others: Vec<_> = resolve.packages.iter().collect();
    others.retain(|(id, _)| *id != main);
    others.sort_by_key(|(_, package)| package.name.to_string());
    let others: Vec<_> = others.into_iter().map(|(id, _)| id).collect();
    let mut printer = WitPrinter::default();
    printer.emit_docs(false);
    printer.print(&resolve, main, &others)?;
    Ok(printer.output.to_string())
}

//! What a component says of itself in WIT.

use std::mem;

use anyhow::{Context, Result, bail};
use wit_component::{DecodedWasm, WitPrinter};
use wit_parser::{Resolve, WorldId};

/// The world that a component implements.
pub struct Wit {
    resolve: Resolve,
    world: WorldId,
}

impl Wit {
    pub fn of_component(bytes: &[u8]) -> Result<Self> {
        match wit_component::decode(bytes).context("this is not a component")? {
            DecodedWasm::Component(resolve, world) => Ok(Self { resolve, world }),
            DecodedWasm::WitPackage(..) => bail!("this is a WIT package, not a component"),
        }
    }

    /// Everything, as WIT text without comments: the same for components that mean the same.
    pub fn text(mut self) -> Result<String> {
        self.sort();
        let world = &self.resolve.worlds[self.world];
        let main = world.package.context("the world is in no package")?;
        let mut others: Vec<_> = self.resolve.packages.iter().collect();
        others.retain(|(id, _)| *id != main);
        others.sort_by_key(|(_, package)| package.name.to_string());
        let others: Vec<_> = others.into_iter().map(|(id, _)| id).collect();
        let mut printer = WitPrinter::default();
        printer.emit_docs(false);
        printer.print(&self.resolve, main, &others)?;
        Ok(printer.output.to_string())
    }

    /// Takes away the order that encoders give to what has none in WIT: types and functions in an
    /// interface, interfaces in a world.
    fn sort(&mut self) {
        for (_, interface) in self.resolve.interfaces.iter_mut() {
            interface.types.sort_keys();
            interface.functions.sort_keys();
        }
        let mut imports = mem::take(&mut self.resolve.worlds[self.world].imports);
        imports.sort_by_cached_key(|key, _| self.resolve.name_world_key(key));
        let mut exports = mem::take(&mut self.resolve.worlds[self.world].exports);
        exports.sort_by_cached_key(|key, _| self.resolve.name_world_key(key));
        let world = &mut self.resolve.worlds[self.world];
        (world.imports, world.exports) = (imports, exports);
    }
}

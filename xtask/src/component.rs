//! A component: a guest's core module, encoded, with a name tag.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use wasm_encoder::{Module, RawSection};
use wasm_metadata::{AddMetadata, AddMetadataField, Description, Licenses, Version};
use wasmparser::{Parser, Payload};
use wit_component::ComponentEncoder;

use crate::{
    guest,
    process::announce,
    toolchain::Toolchain,
    workspace::{GuestPackage, Workspace},
};

/// Builds a guest of the workspace and makes the component of it.
pub fn build(toolchain: &Toolchain, workspace: &Workspace, guest: &GuestPackage) -> Result<()> {
    let package = guest.guest.package;
    announce(&format!("{package}: {}", toolchain.description()));
    let core_module = guest::build(toolchain, workspace, guest.guest)?;
    let core_module = read(&core_module)?;
    let component = encode(&core_module, guest)?;
    write(workspace, &workspace.component_of(guest), &component)
}

/// Writes a component, unless it is there already.
pub fn write(workspace: &Workspace, path: &Path, component: &[u8]) -> Result<()> {
    let shown = workspace.shown(path);
    if fs::read(path).is_ok_and(|old| old == component) {
        announce(&format!("{shown}: up to date"));
    } else {
        fs::write(path, component).with_context(|| format!("cannot write {shown}"))?;
        announce(&format!("{shown}: written, {} bytes", component.len()));
    }
    Ok(())
}

pub fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn encode(core_module: &[u8], guest: &GuestPackage) -> Result<Vec<u8>> {
    let component = ComponentEncoder::default()
        .module(&without_debris(core_module)?)
        .context("the core module does not say what WIT it implements")?
        .validate(true)
        .encode()
        .context("cannot make a component of the core module")?;
    tagged(&component, guest)
}

/// Leaves out what no host reads (function names, debug information, the compilers' names), and
/// keeps the description of the WIT, which the encoder needs.
fn without_debris(core_module: &[u8]) -> Result<Vec<u8>> {
    let mut kept = Module::new();
    for payload in Parser::new(0).parse_all(core_module) {
        let payload = payload.context("cargo did not build a WebAssembly module")?;
        if is_debris(&payload) {
            continue;
        }
        if let Some((id, range)) = payload.as_section() {
            let data = &core_module[range.start as usize..range.end as usize];
            kept.section(&RawSection { id, data });
        }
    }
    Ok(kept.finish())
}

fn is_debris(section: &Payload) -> bool {
    match section {
        Payload::CustomSection(custom) => !custom.name().starts_with("component-type"),
        _ => false,
    }
}

/// With a name tag instead of the encoder's names for every type and instance, which are some
/// kilobytes that no host reads.
fn tagged(component: &[u8], guest: &GuestPackage) -> Result<Vec<u8>> {
    let mut no_names = AddMetadata::default();
    no_names.name = AddMetadataField::Clear;
    let licenses = Licenses::new(&guest.license)
        .with_context(|| format!("`{}` is no SPDX expression", guest.license))?;
    let mut tag = AddMetadata::default();
    tag.name = AddMetadataField::Set(guest.guest.component.to_owned());
    tag.version = AddMetadataField::Set(Version::new(guest.version.clone()));
    tag.licenses = AddMetadataField::Set(licenses);
    tag.description = AddMetadataField::Set(Description::new(guest.description.clone()));
    tag.to_wasm(&no_names.to_wasm(component)?)
}

//! Makes components of guests' core modules, with a name tag; and composes two components into one,
//! in which one provides the imports of the other.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use wasm_encoder::{ComponentSection, CustomSection, Module, RawSection};
use wasm_metadata::{AddMetadata, AddMetadataField};
use wasmparser::{Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};

use crate::{
    core_module,
    guest::{Form, Guest},
    process::announce,
    wit,
    workspace::Workspace,
};

/// Builds guests of the workspace in the form that hosts load.
pub fn build(workspace: &Workspace, guests: &[&Guest]) -> Result<()> {
    for guest in guests {
        build_into(&workspace.target, workspace, guest)?;
    }
    Ok(())
}

/// Builds a guest, and returns the path of its final form, which is in this folder.
pub fn build_into(folder: &Path, workspace: &Workspace, guest: &Guest) -> Result<PathBuf> {
    core_module::build(workspace, guest)?.run()?;
    let path = folder.join(guest.file);
    make(&path, workspace, guest)?;
    Ok(path)
}

/// Plugs the component `plug` into `socket`, which imports what it exports.
pub fn plug(workspace: &Workspace, plug: &Path, socket: &Path, output: &Path) -> Result<()> {
    announce(&format!("{}: composing", workspace.shown(output)));
    let program = workspace.cargo("run --quiet --locked --bin plug --");
    let composing = program.arg(plug).arg(socket).arg(output);
    composing.run().context("cannot compose")
}

/// Writes the final form of cargo's output, if it is not there.
fn make(path: &Path, workspace: &Workspace, guest: &Guest) -> Result<()> {
    let shell = &workspace.shell;
    let core_module = core_module::path(&workspace.guest_target(), guest);
    let core_module = shell.read_binary_file(core_module)?;
    let component = tagged(&formed(&core_module, workspace, guest)?, workspace, guest)?;
    // Another command may be reading it.
    if !fs::read(path).is_ok_and(|old| old == component) {
        shell.write_file(path, &component)?;
    }
    let (shown, size) = (workspace.shown(path), component.len());
    announce(&format!("{shown}: {size} bytes"));
    Ok(())
}

fn formed(core_module: &[u8], workspace: &Workspace, guest: &Guest) -> Result<Vec<u8>> {
    match guest.form {
        Form::Component => encode(&without_debris(core_module, is_debris)?),
        Form::ComponentOf { folders, world } => {
            let mut module = without_debris(core_module, is_custom)?;
            let (resolve, package) = wit::read(&workspace.root, folders)?;
            let world = resolve.select_world(&[package], Some(world))?;
            embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)?;
            encode(&module)
        }
    }
}

/// Encodes a core module that describes its own WIT as a component.
fn encode(core_module: &[u8]) -> Result<Vec<u8>> {
    ComponentEncoder::default()
        .module(core_module)
        .context("the core module has no component type section")?
        .validate(true)
        .encode()
        .context("cannot make a component of the core module")
}

/// Removes sections that no host reads (function names, debug information, the compilers' names),
/// and keeps the description of the WIT if the encoder needs it.
fn without_debris(core_module: &[u8], is_debris: fn(&Payload) -> bool) -> Result<Vec<u8>> {
    let mut kept = Module::new();
    for payload in Parser::new(0).parse_all(core_module) {
        let payload = payload.context("cargo did not build a WebAssembly module")?;
        if is_debris(&payload) {
            continue;
        }
        if let Some((id, range)) = payload.as_section() {
            let data = &core_module[range.start..range.end];
            kept.section(&RawSection { id, data });
        }
    }
    Ok(kept.finish())
}

/// Returns the first core module in a component, without sections that no host reads. It is the
/// guest's own, since the encoder's modules come after it.
pub fn core_module(component: &[u8]) -> Result<Vec<u8>> {
    for payload in Parser::new(0).parse_all(component) {
        if let Payload::ModuleSection {
            unchecked_range, ..
        } = payload?
        {
            let range = unchecked_range.start..unchecked_range.end;
            return without_debris(&component[range], is_debris);
        }
    }
    bail!("the component holds no core module")
}

fn is_debris(section: &Payload) -> bool {
    match section {
        Payload::CustomSection(custom) => !custom.name().starts_with("component-type"),
        _ => false,
    }
}

fn is_custom(section: &Payload) -> bool {
    matches!(section, Payload::CustomSection(_))
}

/// Adds a name tag, whose sections become annotations in a registry, in place of the encoder's names for every type and instance, which are some
/// kilobytes that no host reads.
pub fn tagged(component: &[u8], workspace: &Workspace, guest: &Guest) -> Result<Vec<u8>> {
    let mut no_names = AddMetadata::default();
    no_names.name = AddMetadataField::Clear;
    let mut name = AddMetadata::default();
    name.name = AddMetadataField::Set(guest.component.to_owned());
    let mut tagged = name.to_wasm(&no_names.to_wasm(component)?)?;
    let package = workspace.package(guest)?;
    for (name, text) in [
        (
            "description",
            package.description.as_deref().unwrap_or_default(),
        ),
        ("licenses", package.license.as_deref().unwrap_or_default()),
        ("source", package.repository.as_deref().unwrap_or_default()),
        ("version", &package.version.to_string()),
    ] {
        append(&mut tagged, name, text.as_bytes());
    }
    Ok(tagged)
}

/// Adds a custom section at the end.
pub fn append(wasm: &mut Vec<u8>, name: &str, data: &[u8]) {
    let section = CustomSection {
        name: name.into(),
        data: data.into(),
    };
    section.append_to_component(wasm);
}

//! Builds the package for JavaScript as npm tarballs.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};
use xshell::cmd;

use crate::{bindings::npm, licenses, program, toolchain::Toolchain, workspace::Workspace};

const FOLDER: &str = "bindings/javascript";

/// The package of its native half.
pub const NATIVE: &str = "voice-calling-javascript";

/// The native half in the folder of the package.
const MODULE: &str = "voice-calling.node";

/// Builds the tarball for this machine, native half included, and returns its path.
pub fn build(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.root.join(FOLDER);
    put_native(workspace, &folder)?;
    pack(workspace, &folder)
}

/// Builds the native half, and puts it into a folder, with the licences of what it has.
fn put_native(workspace: &Workspace, folder: &Path) -> Result<()> {
    let (prefix, suffix) = (env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let library = format!("{prefix}{}{suffix}", NATIVE.replace('-', "_"));
    let built = program::build(workspace, NATIVE, &library)?;
    // A program may have loaded the earlier one: it keeps that.
    let new = folder.join(format!("{MODULE}.new"));
    fs::copy(&built, &new)?;
    fs::rename(&new, folder.join(MODULE))?;
    fs::copy(workspace.root.join("LICENSE"), folder.join("LICENSE"))?;
    licenses::write(workspace, &[], &[NATIVE], folder)
}

fn pack(workspace: &Workspace, folder: &Path) -> Result<PathBuf> {
    let tarball = npm::pack(folder, &workspace.target.join("bindings"))?;
    println!("{}", workspace.shown(&tarball));
    Ok(tarball)
}

/// Builds and packs what is published for the platform of this machine: the native half alone.
pub fn pack_platform(workspace: &Workspace) -> Result<PathBuf> {
    let (package, platforms) = (
        read(workspace, "package.json")?,
        read(workspace, "platforms.json")?,
    );
    let host = Toolchain::find(&workspace.shell)?.compiler.host;
    let Some((platform, conditions)) = platforms.iter().find(|(_, it)| it["target"] == host) else {
        bail!("{FOLDER}/platforms.json has no platform for {host}");
    };
    let folder = workspace.target.join("npm").join(platform);
    workspace.shell.remove_path(&folder)?;
    workspace.shell.create_dir(&folder)?;
    let mut native = json!({ "name": format!("@voice-calling/{platform}"), "main": MODULE });
    for name in ["version", "license", "engines", "description"] {
        native[name] = package[name].clone();
    }
    for name in ["os", "cpu", "libc"] {
        if let Some(condition) = conditions.get(name) {
            native[name] = condition.clone();
        }
    }
    fs::write(folder.join("package.json"), native.to_string())?;
    put_native(workspace, &folder)?;
    pack(workspace, &folder)
}

/// Packs what is published for all platforms: the package without a native half, which depends on
/// those of the platforms.
pub fn pack_for_release(workspace: &Workspace) -> Result<PathBuf> {
    let mut package = read(workspace, "package.json")?;
    let version = package["version"].clone();
    let platforms = read(workspace, "platforms.json")?.into_iter();
    let native = platforms.map(|(name, _)| (format!("@voice-calling/{name}"), version.clone()));
    package.insert("optionalDependencies".to_owned(), native.collect());
    package.remove("devDependencies");
    package.remove("scripts");
    let shell = &workspace.shell;
    let folder = workspace.target.join("npm/voice-calling");
    shell.remove_path(&folder)?;
    shell.create_dir(&folder)?;
    for name in [
        "bin",
        "src",
        "types",
        "platforms.json",
        "README.md",
        "../../LICENSE",
    ] {
        let from = workspace.root.join(FOLDER).join(name);
        cmd!(shell, "cp -r {from} {folder}").quiet().run()?;
    }
    let package = serde_json::to_string_pretty(&package)?;
    fs::write(folder.join("package.json"), package)?;
    npm::pack(&folder, &folder)
}

/// Reads a file of the package.
fn read(workspace: &Workspace, name: &str) -> Result<Map<String, Value>> {
    let text = fs::read_to_string(workspace.root.join(FOLDER).join(name))?;
    serde_json::from_str(&text).context(format!("{FOLDER}/{name}"))
}

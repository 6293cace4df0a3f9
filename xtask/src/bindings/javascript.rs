//! Builds the package for JavaScript as npm tarballs.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};
use xshell::cmd;

use crate::{
    licenses,
    process::announce,
    program,
    toolchain::Toolchain,
    workspace::{Workspace, shell_in},
};

const FOLDER: &str = "bindings/javascript";

/// The package of its native half.
pub(crate) const NATIVE: &str = "voice-calling-javascript";

/// The native half in the folder of the package.
const MODULE: &str = "voice-calling.node";

/// Builds the tarball for this machine, native half included, and returns its path.
pub(crate) fn build(workspace: &Workspace) -> Result<PathBuf> {
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

/// Packs the package in a folder, and returns the path of the tarball.
fn pack(workspace: &Workspace, folder: &Path) -> Result<PathBuf> {
    let (shell, to) = (shell_in(folder)?, workspace.target.join("bindings"));
    shell.create_dir(&to)?;
    let pack = cmd!(shell, "npm pack --silent --pack-destination {to}").quiet();
    let name = pack.read().context("npm, which Node 20 or newer has")?;
    let tarball = to.join(name.lines().last().unwrap_or_default());
    announce(&workspace.shown(&tarball));
    Ok(tarball)
}

/// Builds and packs what is published for the platform of this machine: the native half alone.
pub(crate) fn pack_platform(workspace: &Workspace) -> Result<PathBuf> {
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

/// Reads a file of the package.
fn read(workspace: &Workspace, name: &str) -> Result<Map<String, Value>> {
    let text = fs::read_to_string(workspace.root.join(FOLDER).join(name))?;
    serde_json::from_str(&text).context(format!("{FOLDER}/{name}"))
}

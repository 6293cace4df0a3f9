//! A guest: cargo makes a core WebAssembly module of it, the same on every machine that has
//! this compiler.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::{
    process::run,
    toolchain::{TARGET, Toolchain},
    workspace::{Guest, Workspace},
};

const PROFILE: &str = "guest";

/// Goes before every other place from which cargo takes flags.
pub const FLAGS_VARIABLE: &str = "CARGO_ENCODED_RUSTFLAGS";

/// Builds a guest and returns where its core module lies.
pub fn build(toolchain: &Toolchain, workspace: &Workspace, guest: Guest) -> Result<PathBuf> {
    let target = workspace.guest_target();
    let mut cargo = toolchain.cargo();
    cargo
        .args(["build", "--locked", "--package", guest.package])
        .args(["--target", TARGET, "--profile", PROFILE])
        .arg("--target-dir")
        .arg(&target)
        .env(FLAGS_VARIABLE, flags(toolchain, workspace)?)
        .current_dir(&workspace.root);
    run(&mut cargo).with_context(|| format!("cannot build {}", guest.package))?;
    Ok(core_module(workspace, guest))
}

/// Where the last build left the core module, function names and all.
pub fn core_module(workspace: &Workspace, guest: Guest) -> PathBuf {
    let folder = workspace.guest_target().join(TARGET).join(PROFILE);
    folder.join(file(guest))
}

/// What cargo calls the core module.
pub fn file(guest: Guest) -> String {
    format!("{}.wasm", guest.package.replace('-', "_"))
}

/// Cargo's own folder, with the sources of all dependencies.
pub fn cargo_home() -> Result<PathBuf> {
    env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(env::home_dir()?.join(".cargo")))
        .context("neither CARGO_HOME nor a home directory is known")
}

/// The value of [`FLAGS_VARIABLE`]. Panic messages hold the path of the source they come from:
/// every folder that differs from machine to machine gets a fixed name instead.
pub fn flags(toolchain: &Toolchain, workspace: &Workspace) -> Result<OsString> {
    let compiler = toolchain.compiler();
    let mut folders = vec![
        (workspace.root.clone(), "/voice-calling".to_owned()),
        (workspace.target.clone(), "/target".to_owned()),
        (cargo_home()?, "/cargo".to_owned()),
        (compiler.std_source(), compiler.std_source_name()),
    ];
    add_link_targets(&mut folders);
    Ok(remap_flags(folders))
}

/// A compiler may print the folder that a symbolic link leads to instead of the link.
fn add_link_targets(folders: &mut Vec<(PathBuf, String)>) {
    let real: Vec<_> = folders
        .iter()
        .filter_map(|(folder, name)| Some((fs::canonicalize(folder).ok()?, name.clone())))
        .filter(|pair| !folders.contains(pair))
        .collect();
    folders.extend(real);
}

/// Of several prefixes that fit, rustc takes the last:
/// the innermost folder has to come last.
fn remap_flags(mut folders: Vec<(PathBuf, String)>) -> OsString {
    folders.sort_by_key(|(folder, _)| folder.components().count());
    let flags: Vec<OsString> = folders
        .iter()
        .map(|(folder, name)| remap_flag(folder, name))
        .collect();
    flags.join("\u{1f}".as_ref())
}

fn remap_flag(folder: &Path, name: &str) -> OsString {
    let mut flag = OsString::from("--remap-path-prefix=");
    flag.push(folder);
    flag.push("=");
    flag.push(name);
    flag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_folder_is_renamed_last() {
        let flags = remap_flags(vec![
            ("/w/target/x".into(), "/target".into()),
            ("/w".into(), "/voice-calling".into()),
        ]);
        assert_eq!(
            flags,
            "--remap-path-prefix=/w=/voice-calling\u{1f}\
             --remap-path-prefix=/w/target/x=/target"
        );
    }
}

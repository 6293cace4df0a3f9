//! Builds a guest's core WebAssembly module, which is the same on every machine with this compiler.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use xshell::Cmd;

use crate::{
    guest::Guest,
    process::announce,
    toolchain::{TARGET, Toolchain},
    workspace::Workspace,
};

pub const PROFILE: &str = "guest";

/// The variable for flags that takes precedence over all others that cargo reads.
pub const FLAGS_VARIABLE: &str = "CARGO_ENCODED_RUSTFLAGS";

/// The separator between flags in that variable.
pub const SEPARATOR: &str = "\u{1f}";

/// Returns the command that builds the core module. Each guest has its own: cargo would unify the
/// features of common dependencies, and the bytes would depend on what else is built.
pub fn build<'a>(workspace: &'a Workspace, guest: &Guest) -> Result<Cmd<'a>> {
    let toolchain = Toolchain::find(&workspace.shell)?;
    announce(&format!("{}: {}", guest.package, toolchain.description()));
    Ok(toolchain
        .cargo(&workspace.shell)
        .args(["build", "--locked", "--package", guest.package])
        .args(["--target", TARGET, "--profile", PROFILE, "--target-dir"])
        .arg(workspace.guest_target())
        .env(FLAGS_VARIABLE, flags(&toolchain, workspace)?))
}

/// Returns the path at which cargo leaves the core module in a target directory.
pub fn path(target: &Path, guest: &Guest) -> PathBuf {
    let file = format!("{}.wasm", guest.package.replace('-', "_"));
    target.join(TARGET).join(PROFILE).join(file)
}

/// Returns the source files of a guest that was built, as cargo lists them.
pub fn sources(target: &Path, guest: &Guest) -> Result<Vec<String>> {
    let list = path(target, guest).with_extension("d");
    let list = fs::read_to_string(&list).with_context(|| format!("{}", list.display()))?;
    let sources = list.split_once(": ").map_or("", |(_, sources)| sources);
    // A space within a path is escaped.
    let sources = sources.trim().replace("\\ ", "\0");
    let sources = sources.split(' ').map(|source| source.replace('\0', " "));
    Ok(sources.collect())
}

/// Returns cargo's own folder, with the sources of all dependencies.
pub fn cargo_home() -> Result<PathBuf> {
    env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(env::home_dir()?.join(".cargo")))
        .context("neither CARGO_HOME nor a home directory is known")
}

/// The flags that make a component a twelfth smaller. The linker pads every address in the code to
/// five bytes, so that it could be changed in place, unless it compresses them. And the data
/// contains a file and line for every place in the code that may panic, which messages then lack.
const SMALLER: [&str; 2] = [
    "-Clink-arg=--compress-relocations",
    "-Zlocation-detail=none",
];

/// Returns the value of [`FLAGS_VARIABLE`] for a guest.
pub fn flags(toolchain: &Toolchain, workspace: &Workspace) -> Result<OsString> {
    let smaller = SMALLER.map(OsString::from);
    let remapped = reproducible_flags(toolchain, workspace)?;
    Ok([&smaller[..], &[remapped]]
        .concat()
        .join(SEPARATOR.as_ref()))
}

/// Returns the flags for other programs. Panic messages contain the path of their source: every
/// folder that differs from machine to machine gets a fixed name instead.
pub fn reproducible_flags(toolchain: &Toolchain, workspace: &Workspace) -> Result<OsString> {
    let compiler = &toolchain.compiler;
    let mut folders = vec![
        (workspace.root.clone(), "/voice-calling".to_owned()),
        (workspace.target.clone(), "/target".to_owned()),
        (cargo_home()?, "/cargo".to_owned()),
        (compiler.std_source(), compiler.std_source_name()),
    ];
    // A compiler may print the folder that a symbolic link leads to instead of the link.
    let real: Vec<_> = folders
        .iter()
        .filter_map(|(folder, name)| Some((fs::canonicalize(folder).ok()?, name.clone())))
        .filter(|pair| !folders.contains(pair))
        .collect();
    folders.extend(real);
    Ok(remap_flags(folders))
}

/// rustc uses the last of several prefixes that match, so that the innermost folder must come last.
fn remap_flags(mut folders: Vec<(PathBuf, String)>) -> OsString {
    folders.sort_by_key(|(folder, _)| folder.components().count());
    let flag = |(folder, name): &(PathBuf, String)| {
        let mut flag = OsString::from("--remap-path-prefix=");
        flag.push(folder);
        flag.push("=");
        flag.push(name);
        flag
    };
    let flags: Vec<_> = folders.iter().map(flag).collect();
    flags.join(SEPARATOR.as_ref())
}

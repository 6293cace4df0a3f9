//! npm: packages to publish.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use xshell::cmd;

use crate::{
    process::{announce, run_quietly},
    workspace::{Workspace, shell_in},
};

/// Packs the package in `folder` into the folder `to`, and returns the path of the tarball.
pub fn pack(folder: &Path, to: &Path) -> Result<PathBuf> {
    let shell = shell_in(folder)?;
    shell.create_dir(to)?;
    let pack = cmd!(shell, "npm pack --silent --pack-destination {to}").quiet();
    let name = pack.read().context("npm pack")?;
    Ok(to.join(name.lines().last().unwrap_or_default()))
}

/// Packs a package that is built on the one for JavaScript: it depends on the released version of
/// that, while the one in the workspace depends on its folder.
pub fn pack_dependent(workspace: &Workspace, package: &str) -> Result<PathBuf> {
    announce(&format!("{package}: packing"));
    let scratch = workspace.target.join("npm").join(package);
    let shell = &workspace.shell;
    shell.remove_path(&scratch)?;
    let tarball = pack(&workspace.root.join(package), &scratch)?;
    run_quietly(cmd!(shell, "tar -xzf {tarball} -C {scratch}"))?;
    let folder = scratch.join("package");
    shell.copy_file(workspace.root.join("LICENSE"), &folder)?;
    let dependency = format!("dependencies.voice-calling={}", workspace.version()?);
    run_quietly(cmd!(shell, "npm pkg set {dependency} --prefix {folder}"))?;
    pack(&folder, &scratch)
}

//! npm: the packages in its lock files, and packages to publish.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use xshell::cmd;

use crate::{
    process::{announce, run_quietly},
    setup::check_node,
    workspace::{Workspace, shell_in},
};

/// Installs the packages in the lock file in `folder`, unless they are there. npm writes its own
/// list of them last.
pub fn install(folder: &Path) -> Result<()> {
    let shell = shell_in(folder)?;
    check_node(&shell)?;
    let changed = |file: &str| fs::metadata(folder.join(file))?.modified();
    let lock = changed("package-lock.json")?;
    if changed("node_modules/.package-lock.json").is_ok_and(|installed| lock <= installed) {
        return Ok(());
    }
    announce(&format!("npm ci in {}", folder.display()));
    // No package needs its scripts.
    run_quietly(cmd!(shell, "npm ci --ignore-scripts --no-audit --no-fund"))
}

/// Packs the package in `folder` into the target directory, and returns the path of the tarball.
pub fn pack(workspace: &Workspace, folder: &Path) -> Result<PathBuf> {
    let to = workspace.target.join("bindings");
    workspace.shell.create_dir(&to)?;
    pack_into(folder, &to)
}

/// Packs the package in `folder` into the folder `to`, and returns the path of the tarball.
pub fn pack_into(folder: &Path, to: &Path) -> Result<PathBuf> {
    let shell = shell_in(folder)?;
    let pack = cmd!(shell, "npm pack --silent --pack-destination {to}").quiet();
    let name = pack.read().context("npm pack")?;
    Ok(to.join(name.lines().last().unwrap_or_default()))
}

/// Packs a package that is built on the one for JavaScript: it depends on the released version of
/// that, while the one in the workspace depends on its folder.
pub fn pack_dependent(workspace: &Workspace, package: &str) -> Result<PathBuf> {
    announce(&format!("{package}: packing"));
    let scratch = workspace.target.join("npm").join(package);
    let shell = shell_in(&workspace.target)?;
    shell.remove_path(&scratch)?;
    shell.create_dir(&scratch)?;
    let tarball = pack(workspace, &workspace.root.join(package))?;
    run_quietly(cmd!(shell, "tar -xzf {tarball} -C {scratch}"))?;
    let folder = scratch.join("package");
    shell.copy_file(workspace.root.join("LICENSE"), &folder)?;
    let dependency = format!("dependencies.voice-calling={}", workspace.version()?);
    run_quietly(cmd!(shell, "npm pkg set {dependency} --prefix {folder}"))?;
    pack(workspace, &folder)
}

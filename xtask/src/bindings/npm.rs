//! npm: the packages in its lock files, and packages to publish.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use crate::{
    process::{announce, run_quietly},
    workspace::{Workspace, shell_in},
};

/// Installs the packages in the lock file in `folder`, unless they are there (npm writes its own list
/// of them last), and returns a shell in it.
pub fn install(folder: &Path) -> Result<Shell> {
    let shell = shell_in(folder)?;
    check_node(&shell)?;
    let changed = |file: &str| fs::metadata(folder.join(file))?.modified();
    let lock = changed("package-lock.json")?;
    if !changed("node_modules/.package-lock.json").is_ok_and(|installed| lock <= installed) {
        announce(&format!("npm ci in {}", folder.display()));
        // No package needs its scripts.
        run_quietly(cmd!(shell, "npm ci --ignore-scripts --no-audit --no-fund"))?;
    }
    Ok(shell)
}

/// Checks that `node` on the PATH is new enough: how to install it is the user's choice.
pub fn check_node(shell: &Shell) -> Result<()> {
    let code = "process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)";
    let check = cmd!(shell, "node -e {code}").quiet().ignore_stderr();
    check
        .run()
        .context("`node` is needed on the PATH, 20 or newer")
}

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

//! Proves that the bytes of a release depend only on the source and the compiler.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::{
    core_module,
    process::announce,
    program,
    release::{self, Origin, SUMS},
    toolchain::Toolchain,
    workspace::Workspace,
};

/// Makes the release here and, from clean, in a copy of the workspace in another folder, and
/// compares every file.
pub fn prove(workspace: &Workspace) -> Result<()> {
    let toolchain = &Toolchain::find(&workspace.shell)?;
    let origin = Origin::default();
    let made = release::make(workspace, &origin)?;
    let folder = workspace.target.join("reproducible");
    let shell = &workspace.shell;
    shell.remove_path(&folder)?;
    announce(&format!("making it in {}", workspace.shown(&folder)));
    copy_sources(shell, &folder)?;
    let again = release::make(&workspace.copied_to(&folder)?, &origin)?;
    let compare = cmd!(shell, "diff --recursive --brief {made} {again}").quiet();
    compare
        .run()
        .context("the two releases differ, and are kept")?;
    // The program is compressed in its archive. Its standard library was compiled by the compiler's
    // makers, and contains the names of their folders, one of which may equal one here.
    let own = own_folders(workspace)?;
    check_for_paths(shell, &program::build(workspace)?, &own)?;
    let compiler = toolchain.compiler();
    let all = [own, vec![compiler.sysroot.clone(), compiler.std_source()]].concat();
    check_for_paths(shell, &made, &all)?;
    print!("{}", shell.read_file(made.join(SUMS))?);
    shell.remove_path(&folder)?;
    println!("reproducible: the same bytes in another folder, and no path of this machine in them");
    Ok(())
}

/// Returns the folders of the user, on this machine.
fn own_folders(workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let mut folders = vec![
        workspace.root.clone(),
        workspace.target.clone(),
        core_module::cargo_home()?,
    ];
    folders.extend(env::home_dir());
    Ok(folders)
}

/// Checks that no file contains one of these folders, which would reveal the machine of the build.
/// A separator must follow, so that `/home/me` is not found in `/home/merlin`.
fn check_for_paths(shell: &Shell, files: &Path, folders: &[PathBuf]) -> Result<()> {
    let real = folders.iter().flat_map(fs::canonicalize);
    for folder in folders.iter().cloned().chain(real) {
        // The root folder is in every path.
        if folder.parent().is_none() {
            continue;
        }
        let path = format!("{}{}", folder.display(), std::path::MAIN_SEPARATOR);
        let search = cmd!(shell, "grep --recursive --text --files-with-matches");
        let search = search.args(["--fixed-strings", "-e"]).arg(&path).arg(files);
        let found = search.env("LC_ALL", "C").quiet().ignore_status().output()?;
        ensure!(
            found.status.code() == Some(1),
            "a path of this machine, {path}, is in: {}{}",
            String::from_utf8_lossy(&found.stdout),
            String::from_utf8_lossy(&found.stderr)
        );
    }
    Ok(())
}

/// Copies the files that are or would be in git: no results of earlier builds. Git also lists
/// deleted files until their deletion is committed.
fn copy_sources(shell: &Shell, to: &Path) -> Result<()> {
    shell.create_dir(to)?;
    let copy = "git ls-files -z --cached --others --exclude-standard \
        | tar --create --null --files-from - --ignore-failed-read \
        | tar --extract --directory \"$1\"";
    let copy = cmd!(shell, "bash -euo pipefail -c {copy} bash {to}").quiet();
    copy.run().context("the sources cannot be copied")
}

//! Proves that the bytes of a release depend only on the source and the compiler.

use std::{env, ffi::OsStr, path::Path};

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::{
    core_module,
    process::announce,
    release::{self, SUMS},
    workspace::Workspace,
};

/// Makes the release here and, from clean, in a copy of the workspace in another folder, and
/// compares every file.
pub fn prove(workspace: &Workspace) -> Result<()> {
    let made = release::make(workspace)?;
    let folder = workspace.target.join("reproducible");
    let shell = &workspace.shell;
    shell.remove_path(&folder)?;
    announce(&format!("making it in {}", workspace.shown(&folder)));
    copy_sources(shell, &folder)?;
    let again = release::make(&workspace.copied_to(&folder)?)?;
    let compare = cmd!(shell, "diff --recursive --brief {made} {again}").quiet();
    compare
        .run()
        .context("the two releases differ, and are kept")?;
    check_for_paths(shell, &made)?;
    let unpacked = workspace.target.join("unpacked");
    unpack(shell, &made, &unpacked)?;
    check_for_paths(shell, &unpacked)?;
    print!("{}", shell.read_file(made.join(SUMS))?);
    shell.remove_path(&folder)?;
    println!("reproducible: the same bytes in another folder, and no path of this machine in them");
    Ok(())
}

/// Checks that no file contains a folder of the user, which would reveal the machine of the build.
/// The folders of the two workspaces differ, so that their bytes would, too.
fn check_for_paths(shell: &Shell, files: &Path) -> Result<()> {
    let folders = env::home_dir()
        .into_iter()
        .chain([core_module::cargo_home()?]);
    // A separator follows, so that `/home/me` is not found in `/home/merlin`.
    let patterns = folders.flat_map(|folder| ["-e".to_owned(), format!("{}/", folder.display())]);
    let search = cmd!(
        shell,
        "grep --recursive --text --files-with-matches --fixed-strings"
    );
    let search = search.args(patterns).arg(files).env("LC_ALL", "C");
    let found = search.quiet().ignore_status().output()?;
    ensure!(
        found.status.code() == Some(1),
        "a path of this machine is in: {}{}",
        String::from_utf8_lossy(&found.stdout),
        String::from_utf8_lossy(&found.stderr)
    );
    Ok(())
}

/// Unpacks the archives of a release, each into a folder of its own.
fn unpack(shell: &Shell, release: &Path, to: &Path) -> Result<()> {
    shell.remove_path(to)?;
    for archive in shell.read_dir(release)? {
        let folder = to.join(archive.file_name().unwrap_or_default());
        let unpack = match archive.extension().and_then(OsStr::to_str) {
            Some("gz" | "tgz") => cmd!(shell, "tar -xzf {archive} -C {folder}"),
            Some("whl") => cmd!(shell, "python3 -m zipfile -e {archive} {folder}"),
            _ => continue,
        };
        shell.create_dir(&folder)?;
        unpack.quiet().run()?;
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

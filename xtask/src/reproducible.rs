//! Proves that the bytes of a release depend only on the source and the compiler.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use xshell::cmd;

use crate::{
    core_module, inspect,
    process::announce,
    program,
    release::{self, Origin},
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
    let copy = workspace.copied_to(&folder)?;
    copy_sources(workspace, &folder)?;
    let again = release::make(&copy, &origin)?;
    let files = release::files(&made)?;
    ensure!(
        files == release::files(&again)?,
        "the two releases have different files"
    );
    // The program is compressed in its archive. Its standard library was compiled by the compiler's
    // makers, and contains the names of their folders, one of which may equal one here.
    let own = own_folders(workspace)?;
    let program = shell.read_binary_file(program::build(workspace)?)?;
    check_for_paths(&program, &own).context("the mock service as a program")?;
    let compiler = toolchain.compiler();
    let all = [own, vec![compiler.sysroot.clone(), compiler.std_source()]].concat();
    let mut others = Vec::new();
    for file in files {
        let bytes = shell.read_binary_file(made.join(&file))?;
        if bytes != shell.read_binary_file(again.join(&file))? {
            others.push(file);
            continue;
        }
        check_for_paths(&bytes, &all)
            .with_context(|| format!("{file} differs from machine to machine"))?;
        println!("{}  {file}", inspect::sha256(&bytes));
    }
    ensure!(
        others.is_empty(),
        "these have other bytes in {}, where they are kept: {}",
        again.display(),
        others.join(", ")
    );
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

/// Checks that the bytes contain none of these folders, which would reveal the machine of the
/// build.
fn check_for_paths(bytes: &[u8], folders: &[PathBuf]) -> Result<()> {
    let real: Vec<_> = folders.iter().flat_map(fs::canonicalize).collect();
    for folder in folders.iter().chain(&real) {
        ensure!(
            !holds_path(bytes, folder),
            "it holds a path of this machine: {}",
            folder.display()
        );
    }
    Ok(())
}

/// Returns `true` if the bytes contain a folder followed by a separator, so that `/home/me` is not
/// found in `/home/merlin`. The root folder is in every path.
fn holds_path(bytes: &[u8], folder: &Path) -> bool {
    let begin = format!("{}{}", folder.display(), std::path::MAIN_SEPARATOR);
    let found = bytes.windows(begin.len()).any(|it| it == begin.as_bytes());
    found && folder.parent().is_some()
}

/// Copies the files that are or would be in git: no results of earlier builds.
fn copy_sources(workspace: &Workspace, to: &Path) -> Result<()> {
    let shell = &workspace.shell;
    let list = cmd!(
        shell,
        "git ls-files -z --cached --others --exclude-standard"
    );
    let files = list
        .read()
        .context("git has to list the workspace's files")?;
    for file in files.split_terminator('\0').map(Path::new) {
        // Git also lists deleted files until their deletion is committed.
        let from = workspace.root.join(file);
        if from.is_file() || from.is_symlink() {
            shell.create_dir(to.join(file.parent().context("a file is in a folder")?))?;
            let to = to.join(file);
            cmd!(shell, "cp --no-dereference {from} {to}")
                .quiet()
                .run()?;
        }
    }
    Ok(())
}

//! The proof that the component's bytes depend on the source and the compiler alone.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use xshell::cmd;

use crate::{
    component,
    guest::{self, CLIENT, CLIENT_P3},
    inspect,
    process::announce,
    toolchain::Toolchain,
    workspace::Workspace,
};

/// Builds here and, from clean, in a copy of the workspace in a deeper folder, and compares.
pub fn prove(workspace: &Workspace) -> Result<()> {
    let toolchain = &Toolchain::find(&workspace.shell)?;
    let guests = [&CLIENT, &CLIENT_P3];
    component::build(toolchain, workspace, &guests)?;
    let folder = workspace.target.join("reproducible/in-a-deeper-folder");
    remove(&folder)?;
    announce(&format!("building a copy in {}", workspace.shown(&folder)));
    let copy = workspace.copied_to(&folder)?;
    copy_sources(workspace, &folder)?;
    component::build(toolchain, &copy, &guests)?;
    for guest in guests {
        let path = workspace.component_of(guest);
        let bytes = component::read(&path)?;
        ensure!(
            bytes == component::read(&copy.component_of(guest))?,
            "{} was built otherwise in {}, where it is kept",
            workspace.shown(&path),
            folder.display()
        );
        check_for_paths(&bytes, toolchain, workspace)?;
        println!("{}  {}", inspect::sha256(&bytes), workspace.shown(&path));
    }
    remove(&folder)?;
    println!("reproducible: the same bytes in another folder, and no path of this machine in them");
    Ok(())
}

fn check_for_paths(bytes: &[u8], toolchain: &Toolchain, workspace: &Workspace) -> Result<()> {
    let found = paths_in(bytes, &machine_paths(toolchain, workspace)?);
    ensure!(
        found.is_empty(),
        "the component holds paths of this machine: {}",
        found.join(", ")
    );
    Ok(())
}

fn remove(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    Ok(())
}

/// Copies what is in git or would be: no results of earlier builds.
fn copy_sources(workspace: &Workspace, to: &Path) -> Result<()> {
    let files = cmd!(
        workspace.shell,
        "git ls-files -z --cached --others --exclude-standard"
    );
    let files = files
        .read()
        .context("git has to say which files belong to the workspace")?;
    for file in files.split_terminator('\0') {
        let source = workspace.root.join(file);
        // Git lists what has been deleted, too, until that is committed.
        if source.is_file() {
            copy_file(&source, &to.join(file))?;
        }
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().context("a file without folder")?;
    fs::create_dir_all(folder)
        .and_then(|()| fs::copy(from, to))
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// The folders that would tell on which machine the component was built.
fn machine_paths(toolchain: &Toolchain, workspace: &Workspace) -> Result<Vec<PathBuf>> {
    let mut folders = vec![
        workspace.root.clone(),
        workspace.target.clone(),
        guest::cargo_home()?,
        toolchain.compiler().sysroot.clone(),
        toolchain.compiler().std_source(),
    ];
    folders.extend(env::home_dir());
    let real: Vec<_> = folders.iter().flat_map(fs::canonicalize).collect();
    folders.extend(real);
    folders.sort();
    folders.dedup();
    Ok(folders)
}

fn paths_in(bytes: &[u8], folders: &[PathBuf]) -> Vec<String> {
    let mut found = Vec::new();
    for folder in folders {
        let folder = folder.display().to_string();
        // With what follows a folder, so that `/home/me` is not seen in `/home/merlin`. The root
        // of all is in every path.
        let begin = format!("{folder}{}", std::path::MAIN_SEPARATOR);
        let holds = bytes
            .windows(begin.len())
            .any(|window| window == begin.as_bytes());
        if folder.len() > 1 && holds {
            found.push(folder);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_anywhere_in_the_bytes() {
        let folders = ["/home/me", "/home/you", "/"].map(PathBuf::from);
        let bytes = b"\0asm panicked at /home/me/.cargo/registry/x.rs:1";
        assert_eq!(paths_in(bytes, &folders), ["/home/me"]);
    }

    #[test]
    fn a_longer_name_that_begins_alike_is_another_folder() {
        let folders = ["/home/me"].map(PathBuf::from);
        assert!(paths_in(b"/home/merlin/x.rs", &folders).is_empty());
    }
}

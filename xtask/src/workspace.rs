//! The workspace: its location, the folder for results, and its manifests.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use cargo_metadata::{MetadataCommand, Package};
use xshell::{Cmd, Shell};

use crate::{
    guest::{CLIENT, Guest},
    process::{self, describes_running_package, without_variables},
};

#[derive(Debug)]
pub struct Workspace {
    /// A shell in the root.
    pub shell: Shell,
    pub root: PathBuf,
    /// The folder for results: `target`, or the user's `CARGO_TARGET_DIR`.
    pub target: PathBuf,
    packages: Vec<Package>,
}

impl Workspace {
    /// Returns the workspace of the current folder.
    pub fn load() -> Result<Self> {
        let here = MetadataCommand::new().no_deps().exec()?;
        let root = here.workspace_root;
        // A package's folder may have its own target directory.
        let metadata = MetadataCommand::new().no_deps().current_dir(&root).exec()?;
        Ok(Self {
            shell: shell_in(root.as_ref())?,
            root: root.into(),
            target: metadata.target_directory.into(),
            packages: metadata.packages,
        })
    }

    /// Returns the cargo that runs this program, in the root, in the environment in which it was
    /// itself started. `words` are its arguments, separated by spaces.
    pub fn cargo(&self, words: &str) -> Cmd<'_> {
        let command = self.shell.cmd(process::cargo()).args(words.split(' '));
        let command = command.env("CARGO_TARGET_DIR", &self.target);
        without_variables(command.quiet(), describes_running_package)
    }

    /// Returns the command that runs a script of xtask in the root.
    pub fn script(&self, name: &str) -> Cmd<'_> {
        // On Windows, `bash` would be that of its subsystem for Linux.
        let bash = if cfg!(windows) { "sh" } else { "bash" };
        let command = self.shell.cmd(bash).arg(format!("xtask/{name}")).quiet();
        without_variables(command, describes_running_package).env("TARGET", &self.target)
    }

    /// Returns the command that builds or tests a package for another language, or what uses it.
    pub fn part(&self, name: &str) -> Cmd<'_> {
        self.script("parts.sh").arg(name)
    }

    pub fn package(&self, guest: &Guest) -> Result<&Package> {
        let name = guest.package;
        let mut packages = self.packages.iter();
        packages
            .find(|package| *package.name == name)
            .with_context(|| format!("the workspace has no package `{name}`"))
    }

    /// Returns the version of everything that is released.
    pub fn version(&self) -> Result<String> {
        Ok(self.package(&CLIENT)?.version.to_string())
    }

    /// Returns the licence of everything that is released, as SPDX.
    pub fn license(&self) -> Result<&str> {
        let license = self.package(&CLIENT)?.license.as_deref();
        license.context("the workspace has a licence")
    }

    /// Returns the path of the client for WASI 0.2.
    pub fn component(&self) -> PathBuf {
        self.component_of(&CLIENT)
    }

    pub fn component_of(&self, guest: &Guest) -> PathBuf {
        self.target.join(guest.file)
    }

    /// Returns the target directory of guests, which differs from the host's: two compilers may be
    /// at work, and cargo confuses their files in one directory.
    pub fn guest_target(&self) -> PathBuf {
        self.target.join("guest")
    }

    /// Returns a path for the user: it is relative if it is in the workspace.
    pub fn shown(&self, path: &Path) -> String {
        let path = path.strip_prefix(&self.root).unwrap_or(path);
        path.display().to_string()
    }
}

pub fn shell_in(folder: &Path) -> Result<Shell> {
    let shell = Shell::new()?;
    shell.change_dir(folder);
    Ok(shell)
}

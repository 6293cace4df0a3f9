//! The workspace: where it lies, where its results go, and what its manifests say.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use cargo_metadata::{MetadataCommand, Package};
use xshell::{Cmd, Shell};

use crate::{
    guest::{CLIENT, Guest},
    process::{self, describes_running_package, without_variables},
};

pub struct Workspace {
    /// In the root.
    pub shell: Shell,
    pub root: PathBuf,
    /// Where results go: `target`, or what the user set (`CARGO_TARGET_DIR`).
    pub target: PathBuf,
    /// Where cargo compiles programs of this machine: the same for a copy of the workspace, since
    /// nothing of them is in what is released.
    programs: PathBuf,
    packages: Vec<Package>,
}

impl Workspace {
    /// The one that this program belongs to.
    pub fn load() -> Result<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = folder.parent().context("xtask lies in the workspace")?;
        // Asked in the root, since a package's folder may have a target directory of its own.
        let metadata = MetadataCommand::new().no_deps().current_dir(root).exec()?;
        Ok(Self {
            shell: shell_in(root)?,
            root: root.to_owned(),
            target: metadata.target_directory.clone().into(),
            programs: metadata.target_directory.into(),
            packages: metadata.packages,
        })
    }

    /// The same workspace copied to `root`, with its results in the copy.
    pub fn copied_to(&self, root: &Path) -> Result<Self> {
        Ok(Self {
            shell: shell_in(root)?,
            root: root.to_owned(),
            target: root.join("target"),
            programs: self.programs.clone(),
            packages: self.packages.clone(),
        })
    }

    /// The cargo that runs this program, in the root, in the environment it was itself started in.
    /// `words` are its arguments, separated by spaces.
    pub fn cargo(&self, words: &str) -> Cmd<'_> {
        let command = self.shell.cmd(process::cargo()).args(words.split(' '));
        let command = command.env("CARGO_TARGET_DIR", &self.programs);
        without_variables(command.quiet(), describes_running_package)
    }

    pub fn programs(&self) -> &Path {
        &self.programs
    }

    pub fn package(&self, guest: &Guest) -> Result<&Package> {
        let name = guest.package;
        let mut packages = self.packages.iter();
        packages
            .find(|package| *package.name == name)
            .with_context(|| format!("the workspace has no package `{name}`"))
    }

    /// Of everything that is released.
    pub fn version(&self) -> Result<String> {
        Ok(self.package(&CLIENT)?.version.to_string())
    }

    /// As SPDX, of everything that is released.
    pub fn license(&self) -> Result<&str> {
        let license = self.package(&CLIENT)?.license.as_deref();
        license.context("the workspace has a licence")
    }

    /// The one file that all this is for.
    pub fn component(&self) -> PathBuf {
        self.component_of(&CLIENT)
    }

    pub fn component_of(&self, guest: &Guest) -> PathBuf {
        self.target.join(guest.file)
    }

    /// Never the host's: two compilers may be at work, and cargo mixes up what they leave in one
    /// directory.
    pub fn guest_target(&self) -> PathBuf {
        self.target.join("guest")
    }

    /// A path as the user is shown it: relative to the workspace where it lies in it.
    pub fn shown(&self, path: &Path) -> String {
        let path = path.strip_prefix(&self.root).unwrap_or(path);
        path.display().to_string()
    }
}

/// A shell whose commands run in `folder`.
pub fn shell_in(folder: &Path) -> Result<Shell> {
    let shell = Shell::new()?;
    shell.change_dir(folder);
    Ok(shell)
}

/// Whether `made` is there, and nothing that it is made of was changed since.
pub fn is_fresh<P: AsRef<Path>>(made: &Path, inputs: impl IntoIterator<Item = P>) -> bool {
    let changed = |path: &Path| fs::metadata(path)?.modified();
    let mut inputs = inputs.into_iter();
    changed(made).is_ok_and(|made| {
        inputs.all(|input| changed(input.as_ref()).is_ok_and(|changed| changed <= made))
    })
}

//! A release: everything that users download, in one folder.

mod artifact;
mod contents;
mod notes;
mod registry;
mod rehearsal;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};

use crate::{inspect::sha256, process::announce, workspace::Workspace};

/// The checksums of all other files.
pub const SUMS: &str = "SHA256SUMS";

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Release {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    origin: Origin,
}

/// Where the source is, which only the releaser knows. It goes into the components.
#[derive(Args, Default)]
pub struct Origin {
    /// The address of the repository
    #[arg(long)]
    source: Option<String>,
    /// The commit
    #[arg(long)]
    revision: Option<String>,
}

#[derive(Subcommand)]
enum Command {
    /// Publish what is in the folder to registries on loopback, and use it from there as users do
    Rehearse,
    /// Push components and WIT packages to an OCI registry, over http if it is on loopback. What is
    /// there is never overwritten
    Push {
        /// Registry and namespace: registry.example/acme
        base: String,
    },
    /// Build a guest as the rehearsal does, and plug the released client into it
    #[command(hide = true)]
    Guest { project: PathBuf },
}

impl Release {
    pub fn run(&self, workspace: &Workspace) -> Result<()> {
        match &self.command {
            None => make(workspace, &self.origin).map(drop),
            Some(Command::Rehearse) => rehearsal::run(workspace, &made(workspace)?),
            Some(Command::Push { base }) => registry::push(workspace, base, &made(workspace)?),
            Some(Command::Guest { project }) => {
                rehearsal::guest(workspace, &made(workspace)?, project)
            }
        }
    }
}

/// Returns the folder of a release of this version.
fn folder(workspace: &Workspace) -> Result<PathBuf> {
    let name = format!("release-{}", workspace.version()?);
    Ok(workspace.target.join(name))
}

fn made(workspace: &Workspace) -> Result<PathBuf> {
    let folder = folder(workspace)?;
    ensure!(
        folder.join(SUMS).is_file(),
        "{} is missing or not finished: `cargo xtask release` makes it",
        workspace.shown(&folder)
    );
    Ok(folder)
}

/// Makes the release. The checksums are written last: a folder that has them is complete.
pub fn make(workspace: &Workspace, origin: &Origin) -> Result<PathBuf> {
    let folder = folder(workspace)?;
    workspace.shell.remove_path(&folder)?;
    workspace.shell.create_dir(&folder)?;
    let artifacts = artifact::make_all(workspace, &folder, origin)?;
    contents::write(workspace, &folder, &artifacts)?;
    fs::copy(workspace.root.join("LICENSE"), folder.join("LICENSE"))?;
    let notes = notes::of(&artifacts, workspace, &folder)?;
    fs::write(folder.join("RELEASE.md"), notes)?;
    let mut sums = String::new();
    for file in files(&folder)? {
        let bytes = fs::read(folder.join(&file))?;
        sums += &format!("{}  {file}\n", sha256(&bytes));
    }
    fs::write(folder.join(SUMS), sums)?;
    announce(&format!("{}: complete", workspace.shown(&folder)));
    Ok(folder)
}

/// Returns the names of all files in the folder of a release, sorted.
fn files(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder)?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

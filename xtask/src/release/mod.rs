//! A release: everything that users download, in one folder.

mod artifact;
pub mod licenses;
mod registry;
mod rehearsal;

use std::{fs, path::PathBuf};

use anyhow::{Result, ensure};
use clap::Subcommand;
use xshell::cmd;

use crate::{
    process::announce,
    workspace::{Workspace, shell_in},
};

/// The checksums of all other files.
pub const SUMS: &str = "SHA256SUMS";

#[derive(Subcommand)]
pub enum Command {
    /// Publish what is in the folder to registries on loopback, and use it from there as users do
    Rehearse,
    /// Push components and WIT packages to an OCI registry, over http if it is on loopback. What is
    /// there is never overwritten
    Push {
        /// Registry and namespace: registry.example/acme
        base: String,
    },
}

pub fn run(workspace: &Workspace, command: Option<Command>) -> Result<()> {
    match command {
        None => make(workspace).map(drop),
        Some(Command::Rehearse) => rehearsal::run(workspace, &made(workspace)?),
        Some(Command::Push { base }) => registry::push(workspace, &base, &made(workspace)?),
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
pub fn make(workspace: &Workspace) -> Result<PathBuf> {
    let folder = folder(workspace)?;
    workspace.shell.remove_path(&folder)?;
    workspace.shell.create_dir(&folder)?;
    artifact::make_all(workspace, &folder)?;
    licenses::write(workspace, &folder)?;
    fs::copy(workspace.root.join("LICENSE"), folder.join("LICENSE"))?;
    let shell = shell_in(&folder)?;
    let sums = cmd!(shell, "sh -c").arg("sha256sum *").env("LC_ALL", "C");
    let sums = sums.quiet().read()?;
    fs::write(folder.join(SUMS), sums + "\n")?;
    announce(&format!("{}: complete", workspace.shown(&folder)));
    Ok(folder)
}

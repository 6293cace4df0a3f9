//! A release: everything that users download, in one folder.

mod archive;
mod artifact;
mod crates;
mod history;
mod licenses;
mod notes;
pub mod origin;
mod registry;
mod rehearsal;
mod sbom;
mod signature;
mod version;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Result, ensure};
use clap::{Args, Subcommand};

use crate::{
    process::announce,
    release::{crates::Crates, history::LastRelease, origin::Origin, registry::Registry},
    workspace::Workspace,
};

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Release {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    origin: Origin,
}

#[derive(Subcommand)]
enum Command {
    /// Publish what is in the folder to registries on loopback, and use it from there as users do
    Rehearse,
    /// Sign the checksums with a secret key of minisign
    Sign {
        #[arg(long)]
        key: PathBuf,
    },
    /// Push components and WIT packages to an OCI registry. What is there is never overwritten
    Push {
        /// Registry and namespace: registry.example/acme
        base: String,
    },
    /// After a release: keep its WIT and its sizes in released/, for the next one
    Record,
}

impl Release {
    pub fn run(&self, workspace: &Workspace) -> Result<()> {
        let folder = folder(workspace)?;
        match &self.command {
            None => make(workspace, &self.origin).map(drop),
            Some(Command::Rehearse) => rehearsal::run(workspace, &made(workspace)?),
            Some(Command::Sign { key }) => {
                let key = fs::canonicalize(key)?;
                let comment = format!("voice-calling {}", workspace.version()?);
                signature::sign(&made(workspace)?, &key, &comment)
            }
            Some(Command::Push { base }) => {
                let registry = Registry::new(workspace, base, false)?;
                registry.push(&made(workspace)?, &workspace.version()?)
            }
            Some(Command::Record) => LastRelease::find(workspace)?.replace(workspace, &folder),
        }
    }
}

/// Where a release of this version lies.
fn folder(workspace: &Workspace) -> Result<PathBuf> {
    let name = format!("release-{}", workspace.version()?);
    Ok(workspace.target.join(name))
}

fn made(workspace: &Workspace) -> Result<PathBuf> {
    let folder = folder(workspace)?;
    ensure!(
        folder.join(signature::SUMS).is_file(),
        "{} is missing or not finished: `cargo xtask release` makes it",
        workspace.shown(&folder)
    );
    Ok(folder)
}

/// Makes the release. The checksums are written last: a folder that has them is complete.
pub fn make(workspace: &Workspace, origin: &Origin) -> Result<PathBuf> {
    version::check(workspace)?;
    let last = LastRelease::find(workspace)?;
    last.check(workspace)?;

    let folder = folder(workspace)?;
    workspace.shell.remove_path(&folder)?;
    workspace.shell.create_dir(&folder)?;
    let artifacts = artifact::make_all(workspace, &folder, origin)?;
    let crates = Crates::load(workspace)?;
    for artifact in &artifacts {
        let bytes = fs::read(folder.join(&artifact.file))?;
        let document = sbom::of(artifact, &bytes, workspace, &crates)?;
        let path = folder.join(format!("{}.cdx.json", artifact.file));
        fs::write(path, serde_json::to_string_pretty(&document)? + "\n")?;
    }
    let licenses = licenses::of(&artifacts, workspace, &crates)?;
    fs::write(folder.join("THIRD-PARTY-LICENSES.txt"), licenses)?;
    fs::copy(workspace.root.join("LICENSE"), folder.join("LICENSE"))?;
    let notes = notes::of(&artifacts, workspace, &folder, &last)?;
    fs::write(folder.join("RELEASE.md"), notes)?;
    signature::write_sums(&folder)?;
    announce(&format!("{}: complete", workspace.shown(&folder)));
    Ok(folder)
}

/// The names of all files in the folder of a release, sorted.
pub fn files(folder: &Path) -> Result<Vec<String>> {
    Ok(history::sizes_of(folder)?.into_keys().collect())
}

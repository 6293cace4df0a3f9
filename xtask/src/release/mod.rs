//! A release: everything that users download, in one folder.

mod artifact;

use std::{env, fs, path::PathBuf};

use anyhow::{Result, ensure};
use clap::Subcommand;
use xshell::{Cmd, cmd};

use crate::{
    bindings::{javascript, python},
    guest::{OBELISK, OBELISK_SOCKETS},
    licenses, obelisk,
    process::announce,
    program::{self, PROGRAMS},
    setup::What,
    workspace::{Workspace, shell_in},
};

/// The checksums of all other files.
const SUMS: &str = "SHA256SUMS";

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
        Some(Command::Rehearse) => rehearse(workspace),
        Some(Command::Push { base }) => {
            let wkg = What::Release.program(workspace, "wkg")?;
            let push = script(workspace, "push.sh")?.env("WKG", wkg);
            Ok(push.arg(base).run()?)
        }
    }
}

/// Makes the release, and proves that it is the same bytes wherever it is made.
pub fn reproduce(workspace: &Workspace) -> Result<()> {
    make(workspace)?;
    Ok(script(workspace, "reproducible.sh")?.run()?)
}

/// Returns the folder of a release of this version.
fn folder(workspace: &Workspace) -> Result<PathBuf> {
    let name = format!("release-{}", workspace.version()?);
    Ok(workspace.target.join(name))
}

/// Makes the release. The checksums are written last: a folder that has them is complete.
fn make(workspace: &Workspace) -> Result<PathBuf> {
    let folder = folder(workspace)?;
    workspace.shell.remove_path(&folder)?;
    workspace.shell.create_dir(&folder)?;
    artifact::make_all(workspace, &folder)?;
    let sockets = OBELISK_SOCKETS.map(|(guest, _)| guest);
    let guests = artifact::COMPONENTS
        .into_iter()
        .chain(OBELISK)
        .chain(sockets);
    let guests: Vec<_> = guests.map(|guest| guest.package).collect();
    let mut programs = PROGRAMS.map(|(package, ..)| package).to_vec();
    programs.extend([javascript::NATIVE, python::PACKAGE]);
    licenses::write(workspace, &guests, &programs, &folder)?;
    fs::copy(workspace.root.join("LICENSE"), folder.join("LICENSE"))?;
    let shell = shell_in(&folder)?;
    let sums = cmd!(shell, "sh -c").arg("sha256sum *").env("LC_ALL", "C");
    let sums = sums.quiet().read()?;
    fs::write(folder.join(SUMS), sums + "\n")?;
    announce(&format!("{}: complete", workspace.shown(&folder)));
    Ok(folder)
}

/// Uses the release as its users do, on registries of this machine. Nothing leaves loopback except
/// for what the installers of other packages fetch.
fn rehearse(workspace: &Workspace) -> Result<()> {
    let wasmtime = What::Wasmtime.program(workspace, "wasmtime")?;
    let wash = What::Wash.program(workspace, "wash")?;
    let engine = obelisk::engine(workspace)?;
    let scratch = workspace.target.join("rehearsal");
    workspace.shell.remove_path(&scratch)?;
    workspace.shell.create_dir(&scratch)?;
    // Users get WASI's packages from where WASI publishes them.
    for (name, bytes) in artifact::encoded_wit(&workspace.root, &["wit/types", "wit"])? {
        if name.starts_with("wasi:") {
            fs::write(scratch.join(format!("{name}.wasm")), bytes)?;
        }
    }
    announce("rehearsing the release");
    let rehearsal = script(workspace, "rehearse.sh")?
        .env("SCRATCH", &scratch)
        .env("PLATFORM", program::platform())
        .env("WKG", What::Release.program(workspace, "wkg")?)
        .env("WASMTIME", wasmtime)
        .env("WASH", wash);
    Ok(rehearsal.env("OBELISK", engine).run()?)
}

/// Returns the command that runs a script on the finished release.
fn script<'a>(workspace: &'a Workspace, name: &str) -> Result<Cmd<'a>> {
    let folder = folder(workspace)?;
    ensure!(
        folder.join(SUMS).is_file(),
        "{} is missing or not finished: `cargo xtask release` makes it",
        workspace.shown(&folder)
    );
    let script = workspace.script(&format!("release/{name}"));
    let script = script.env("XTASK", env::current_exe()?);
    Ok(script
        .env("RELEASE", folder)
        .env("VERSION", workspace.version()?))
}

//! A release: everything that users download, in one folder.

use std::{collections::BTreeMap, env, fs, path::PathBuf};

use anyhow::{Context, Result, ensure};
use clap::Subcommand;
use xshell::Cmd;

use crate::{
    bindings::{javascript, python},
    component,
    guest::{CLIENT, CLIENT_P3, OBELISK, OBELISK_SOCKETS, PRODUCTS, TOOLS},
    licenses, obelisk,
    process::announce,
    program::{self, PROGRAMS},
    setup::What,
    site, tools, wit,
    workspace::Workspace,
};

/// The WIT packages, each after those that it uses: the folders to read, the last of which has the
/// package.
const WIT_PACKAGES: [(&str, &[&str]); 4] = [
    ("types", &["wit/types"]),
    ("client", &["wit/types", "wit"]),
    ("client-async", &["wit/types", "wit/async"]),
    ("tools", &["wit/types", "wit", "wit/tools"]),
];

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Publish what is in the folder to registries on loopback, and use it from there as users do
    Rehearse,
    /// Push components and WIT packages to an OCI registry, over http if it is on loopback. What is
    /// there is never overwritten
    Push {
        /// Registry and namespace: registry.example/acme
        base: String,
    },
}

pub(crate) fn run(workspace: &Workspace, command: Option<Command>) -> Result<()> {
    match command {
        None => make(workspace),
        Some(Command::Rehearse) => rehearse(workspace),
        Some(Command::Push { base }) => {
            let wkg = What::Release.program(workspace, "wkg")?;
            let push = finished(workspace, "push.sh")?.env("WKG", wkg);
            Ok(push.arg(base).run()?)
        }
    }
}

/// Makes the release, and proves that it is the same bytes wherever it is made.
pub(crate) fn reproduce(workspace: &Workspace) -> Result<()> {
    make(workspace)?;
    Ok(finished(workspace, "reproducible.sh")?.run()?)
}

fn make(workspace: &Workspace) -> Result<()> {
    let (shell, folder) = (&workspace.shell, folder(workspace)?);
    shell.remove_path(&folder)?;
    shell.create_dir(&folder)?;
    component::build(workspace, &PRODUCTS)?;
    tools::build(workspace)?;
    let version = workspace.version()?;
    for (name, folders) in WIT_PACKAGES {
        let mut encoded = encoded_wit(workspace, folders)?;
        let bytes = encoded.remove(&format!("voice-calling:{name}@{version}"));
        let bytes = bytes.with_context(|| {
            format!("no WIT package is voice-calling:{name} of the version {version}")
        })?;
        fs::write(folder.join(format!("wit-{name}-{version}.wasm")), bytes)?;
    }
    let wheel = python::wheel(workspace)?;
    let tarball = javascript::pack_platform(workspace)?;
    // Files of an earlier version must not be released. The folder is not the one that tests on
    // the engine may be reading.
    let deployment = workspace.target.join("obelisk-release");
    shell.remove_path(&deployment)?;
    obelisk::build_into(workspace, &deployment)?;
    site::build(workspace)?;
    let mut programs = PathBuf::new();
    for (package, file) in PROGRAMS {
        programs = program::build(workspace, package, file)?;
        programs.pop();
    }
    let sockets = OBELISK_SOCKETS.map(|(guest, _)| guest);
    let guests = [&CLIENT, &CLIENT_P3, &TOOLS].into_iter();
    let guests = guests.chain(OBELISK).chain(sockets).map(|it| it.package);
    let native = [javascript::NATIVE, python::PACKAGE].into_iter();
    let native = native.chain(PROGRAMS.map(|(package, _)| package));
    licenses::write(
        workspace,
        &guests.collect::<Vec<_>>(),
        &native.collect::<Vec<_>>(),
        &folder,
    )?;
    let make = script(workspace, "make.sh")?.env("PROGRAMS", programs);
    Ok(make.env("WHEEL", wheel).env("TARBALL", tarball).run()?)
}

/// Uses the release as its users do, on registries of this machine. Nothing leaves loopback except
/// for what the installers of other packages fetch.
fn rehearse(workspace: &Workspace) -> Result<()> {
    let rehearsal = finished(workspace, "rehearse.sh")?
        .env("WKG", What::Release.program(workspace, "wkg")?)
        .env("WASMTIME", What::Wasmtime.program(workspace, "wasmtime")?)
        .env("WASH", What::Wash.program(workspace, "wash")?)
        .env("OBELISK", obelisk::engine(workspace)?);
    let scratch = workspace.target.join("rehearsal");
    workspace.shell.remove_path(&scratch)?;
    workspace.shell.create_dir(&scratch)?;
    // Users get WASI's packages from where WASI publishes them.
    for (name, bytes) in encoded_wit(workspace, &["wit/types", "wit"])? {
        if name.starts_with("wasi:") {
            fs::write(scratch.join(format!("{name}.wasm")), bytes)?;
        }
    }
    announce("rehearsing the release");
    Ok(rehearsal.env("SCRATCH", &scratch).run()?)
}

/// Returns the folder of a release of this version.
fn folder(workspace: &Workspace) -> Result<PathBuf> {
    let name = format!("release-{}", workspace.version()?);
    Ok(workspace.target.join(name))
}

/// Returns the command that runs a script on the finished release, which has its checksums.
fn finished<'a>(workspace: &'a Workspace, name: &str) -> Result<Cmd<'a>> {
    let folder = folder(workspace)?;
    ensure!(
        folder.join("SHA256SUMS").is_file(),
        "{} is missing or not finished: `cargo xtask release` makes it",
        workspace.shown(&folder)
    );
    script(workspace, name)
}

fn script<'a>(workspace: &'a Workspace, name: &str) -> Result<Cmd<'a>> {
    let script = workspace.script(&format!("release/{name}"));
    Ok(script
        .env("XTASK", env::current_exe()?)
        .env("RELEASE", folder(workspace)?)
        .env("VERSION", workspace.version()?)
        .env(
            "PLATFORM",
            format!("{}-{}", env::consts::ARCH, env::consts::OS),
        ))
}

/// Returns the packages in these folders by name, in the form of registries.
fn encoded_wit(workspace: &Workspace, folders: &[&str]) -> Result<BTreeMap<String, Vec<u8>>> {
    let (resolve, _) = wit::read(&workspace.root, folders)?;
    let packages = resolve.packages.iter().map(|(id, package)| {
        let bytes = wit_component::encode(&resolve, id)?;
        Ok((package.name.to_string(), bytes))
    });
    packages.collect()
}

//! A release on registries of this machine: it is pushed there, and used from there as its users do
//! (`xtask/rehearsal/rehearse.sh`). Nothing leaves loopback except for what the installers of other
//! packages fetch.

use std::{env, fs, path::Path};

use anyhow::Result;
use xshell::cmd;

use crate::{
    obelisk,
    process::{announce, describes_running_package, without_variables},
    program,
    release::artifact::encoded_wit,
    setup::{
        check_node, check_python, debian,
        tool::WKG,
        wheel::{WASH, WASMTIME},
    },
    workspace::Workspace,
};

/// Runs the script, once everything that it needs is available.
pub fn run(workspace: &Workspace, release: &Path) -> Result<()> {
    let shell = &workspace.shell;
    debian::RELEASE.check(shell)?;
    check_python(shell)?;
    check_node(shell)?;
    let scratch = workspace.target.join("rehearsal");
    shell.remove_path(&scratch)?;
    shell.create_dir(&scratch)?;
    // Users get WASI's packages from where WASI publishes them.
    for (name, bytes) in encoded_wit(&workspace.root, &["wit/types", "wit"])? {
        if name.starts_with("wasi:") {
            fs::write(scratch.join(format!("{name}.wasm")), bytes)?;
        }
    }
    let version = workspace.version()?;
    announce("rehearsing the release");
    let script = cmd!(shell, "bash xtask/rehearsal/rehearse.sh").quiet();
    without_variables(script, describes_running_package)
        .env("RELEASE", release)
        .env("SCRATCH", &scratch)
        .env("VERSION", &version)
        .env("PLATFORM", program::platform())
        .env("XTASK", env::current_exe()?)
        .env("WKG", WKG.find()?)
        .env("WASMTIME", WASMTIME[WASMTIME.len() - 1].find(shell)?)
        .env("WASH", WASH.find(shell)?)
        .env("OBELISK", obelisk::engine(workspace)?)
        .run()?;
    package_crates(workspace, &scratch)?;
    println!("rehearsed: voice-calling {version} as its users get it");
    Ok(())
}

/// Packages the crates for Rust in the order in which they are published, and builds them from the
/// packages; not the host, which would compile wasmtime once more.
fn package_crates(workspace: &Workspace, scratch: &Path) -> Result<()> {
    announce("the crates for Rust: packaged, and built from the packages");
    // Cargo unpacks a version from a folder once and for all: from the usual one, it might build what
    // an earlier rehearsal has packaged.
    let folder = scratch.join(format!("crates-{}", std::process::id()));
    let package = || {
        let package = workspace.cargo("package --quiet --locked --allow-dirty --target-dir");
        let below = [
            "--package",
            "voice-calling-core",
            "--package",
            "voice-calling-net",
        ];
        package.arg(&folder).args(below)
    };
    let others = [
        "voice-calling",
        "voice-calling-rules",
        "voice-calling-cli",
        "voice-calling-mock",
    ];
    let others = others.iter().flat_map(|name| ["--package", name]);
    let features = ["--features", "voice-calling/ledger"];
    package().args(others).args(features).run()?;
    let host = ["--no-verify", "--package", "voice-calling-host"];
    Ok(package().args(host).run()?)
}

//! Builds the programs of a release for this machine, for users without Rust.

use std::{env, path::PathBuf};

use anyhow::Result;

use crate::{
    core_module::{FLAGS_VARIABLE, reproducible_flags},
    mock,
    process::announce,
    toolchain::Toolchain,
    workspace::Workspace,
};

/// A program of a release.
pub struct Program {
    pub package: &'static str,
    pub name: &'static str,
    /// What the name of its archive begins with.
    pub archive: &'static str,
}

/// The mock service, and the command for people with a list.
pub const PROGRAMS: [Program; 2] = [
    Program {
        package: mock::PACKAGE,
        name: "voice-calling-mock",
        archive: "voice-calling-mock",
    },
    Program {
        package: "voice-calling-cli",
        name: "voice-calling",
        archive: "voice-calling-cli",
    },
];

/// The profile of what is compiled for this machine and released.
pub const PROFILE: &str = "program";

/// Returns the name of this platform, such as `x86_64-linux`.
pub fn platform() -> String {
    format!("{}-{}", env::consts::ARCH, env::consts::OS)
}

/// Builds a program, which is the same wherever the workspace is.
pub fn build(workspace: &Workspace, program: &Program) -> Result<PathBuf> {
    let toolchain = Toolchain::find(&workspace.shell)?;
    announce(&format!("{}: {}", program.name, toolchain.compiler()));
    let target = workspace.target.join("program");
    toolchain
        .cargo_for_programs(&workspace.shell)
        .args(["build", "--locked", "--package", program.package])
        // Without a target, the flags would also apply to programs that run during the build.
        .args(["--target", toolchain.compiler().host()])
        .args(["--profile", PROFILE, "--target-dir"])
        .arg(&target)
        .env(FLAGS_VARIABLE, reproducible_flags(&toolchain, workspace)?)
        .run()?;
    let name = format!("{}{}", program.name, env::consts::EXE_SUFFIX);
    let folder = target.join(toolchain.compiler().host()).join(PROFILE);
    Ok(folder.join(name))
}

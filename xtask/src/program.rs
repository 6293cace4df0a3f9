//! Builds the mock service as a program of this machine, for users without Rust.

use std::{env, path::PathBuf};

use anyhow::Result;

use crate::{
    core_module::{FLAGS_VARIABLE, reproducible_flags},
    process::announce,
    toolchain::Toolchain,
    workspace::Workspace,
};

pub const PACKAGE: &str = "voice-calling-mock-server";

/// The profile of what is compiled for this machine and released.
pub const PROFILE: &str = "program";

/// Returns the name of this platform, such as `x86_64-linux`.
pub fn platform() -> String {
    format!("{}-{}", env::consts::ARCH, env::consts::OS)
}

/// Builds the program, which is the same wherever the workspace is.
pub fn build(workspace: &Workspace) -> Result<PathBuf> {
    let toolchain = Toolchain::find(&workspace.shell)?;
    announce(&format!("{PACKAGE}: {}", toolchain.compiler()));
    let target = workspace.target.join("program");
    toolchain
        .cargo_for_programs(&workspace.shell)
        .args(["build", "--locked", "--package", PACKAGE])
        // Without a target, the flags would also apply to programs that run during the build.
        .args(["--target", toolchain.compiler().host()])
        .args(["--profile", PROFILE, "--target-dir"])
        .arg(&target)
        .env(FLAGS_VARIABLE, reproducible_flags(&toolchain, workspace)?)
        .run()?;
    let name = format!("voice-calling-mock{}", env::consts::EXE_SUFFIX);
    let folder = target.join(toolchain.compiler().host()).join(PROFILE);
    Ok(folder.join(name))
}

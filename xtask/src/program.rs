//! Builds what a release has for this machine: programs, for users without Rust, and the native half of
//! the package for JavaScript.

use std::{env, path::PathBuf};

use anyhow::Result;

use crate::{
    core_module::{FLAGS_VARIABLE, SEPARATOR, reproducible_flags},
    process::announce,
    toolchain::Toolchain,
    workspace::Workspace,
};

/// The mock service, and the command for people with a list: the package, and the program.
pub(crate) const PROGRAMS: [(&str, &str); 2] = [
    ("voice-calling-mock", "voice-calling-mock"),
    ("voice-calling-cli", "voice-calling"),
];

/// The profile of what is compiled for this machine and released.
const PROFILE: &str = "program";

/// Builds a package, and returns the path of what it consists of: a program, or a library that Node
/// loads. It is the same wherever the workspace is.
pub(crate) fn build(workspace: &Workspace, package: &str, file: &str) -> Result<PathBuf> {
    let toolchain = Toolchain::find(&workspace.shell)?;
    announce(&format!("{file}: {}", toolchain.compiler));
    let (host, target) = (&toolchain.compiler.host, workspace.target.join("program"));
    let mut flags = reproducible_flags(&toolchain, workspace)?;
    if host.ends_with("musl") && file.ends_with(env::consts::DLL_SUFFIX) {
        // A library shares the libc of the program that loads it.
        flags.push(format!("{SEPARATOR}-Ctarget-feature=-crt-static"));
    }
    toolchain
        .cargo_for_programs(&workspace.shell)
        .args(["build", "--locked", "--package", package])
        // Without a target, the flags would also apply to programs that run during the build.
        .args(["--target", host, "--profile", PROFILE, "--target-dir"])
        .arg(&target)
        .env(FLAGS_VARIABLE, flags)
        .run()?;
    Ok(target.join(host).join(PROFILE).join(file))
}

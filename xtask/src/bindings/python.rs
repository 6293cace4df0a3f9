//! Builds the package for Python as a wheel.

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::{
    core_module::{FLAGS_VARIABLE, reproducible_flags},
    licenses,
    process::announce,
    toolchain::Toolchain,
    workspace::Workspace,
};

/// The crate that is compiled into the wheel.
pub(crate) const PACKAGE: &str = "voice-calling-python";

/// Builds the wheel, with the Rust client for this machine, and returns its path.
pub(crate) fn wheel(workspace: &Workspace) -> Result<PathBuf> {
    let (shell, package) = (&workspace.shell, workspace.root.join("bindings/python"));
    shell.copy_file("LICENSE", &package)?;
    licenses::write(workspace, &[], &[PACKAGE], &package)?;
    let toolchain = Toolchain::find(shell)?;
    let build = workspace
        .part("wheel")
        .env("HOST", &toolchain.compiler.host);
    let flags = reproducible_flags(&toolchain, workspace)?;
    build.env(FLAGS_VARIABLE, flags).run()?;
    let wheels = shell.read_dir(workspace.target.join("bindings/python"))?;
    let [wheel] = &wheels[..] else {
        bail!("expected one wheel, found {wheels:?}");
    };
    announce(&workspace.shown(wheel));
    Ok(wheel.clone())
}

//! Other programs: what is announced, and what of the environment they do not get.

use std::{env, ffi::OsString};

use anyhow::{Result, bail};
use xshell::Cmd;

/// Says what is done next. On stderr, so that a command's own output can be piped.
pub fn announce(step: &str) {
    eprintln!("xtask: {step}");
}

/// The cargo that runs this program.
pub fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Takes every variable that `unwanted` names out of the environment of `command`.
pub fn without_variables<'a>(command: Cmd<'a>, unwanted: fn(&str) -> bool) -> Cmd<'a> {
    env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| unwanted(name))
        .fold(command, Cmd::env_remove)
}

/// Is this one of the variables in which `cargo run` describes the package it runs?
///
/// Passed on, they make build scripts that watch them (ring's) run again each time a user
/// alternates between `cargo` and `cargo xtask`.
pub fn describes_running_package(name: &str) -> bool {
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

/// Runs a command whose output is of interest only if it fails.
pub fn run_quietly(command: Cmd) -> Result<()> {
    let shown = command.to_string();
    let output = command.ignore_status().output()?;
    if !output.status.success() {
        bail!(
            "`{shown}` failed ({}):\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr).trim_end(),
        );
    }
    Ok(())
}

/// Whether a command can be started and succeeds. Nothing it prints is shown.
pub fn succeeds(command: Cmd) -> bool {
    command.output().is_ok()
}

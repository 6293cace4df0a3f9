//! Other programs: the announcement of steps, and the removal of variables from their environment.

use std::{env, ffi::OsString, path::Path};

use anyhow::{Result, bail};
use xshell::Cmd;

/// Announces the next step on stderr, so that a command's own output can be piped.
pub fn announce(step: &str) {
    eprintln!("xtask: {step}");
}

/// Returns the path of the cargo that runs this program.
pub fn cargo() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// Removes every variable that `unwanted` names from the environment of `command`.
pub fn without_variables<'a>(command: Cmd<'a>, unwanted: fn(&str) -> bool) -> Cmd<'a> {
    env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| unwanted(name))
        .fold(command, Cmd::env_remove)
}

/// Returns `true` for a variable in which `cargo run` describes the package that it runs.
///
/// Passed on, these variables make build scripts that watch them (ring's) run again each time a
/// user alternates between `cargo` and `cargo xtask`.
pub fn describes_running_package(name: &str) -> bool {
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

/// Returns the PATH with folders that come first.
pub fn path_from(folders: &[&Path]) -> Result<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = folders.iter().map(|it| it.to_path_buf());
    Ok(env::join_paths(folders.chain(env::split_paths(&path)))?)
}

/// Runs a command whose output is of interest only if it fails.
pub fn run_quietly(command: Cmd) -> Result<()> {
    output(command).map(drop)
}

/// Runs a command and returns what it prints, without the end of the last line.
pub fn output(command: Cmd) -> Result<String> {
    let shown = command.to_string();
    let output = command.quiet().ignore_status().output()?;
    if !output.status.success() {
        bail!(
            "`{shown}` failed ({}):\n{}{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr).trim_end(),
        );
    }
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

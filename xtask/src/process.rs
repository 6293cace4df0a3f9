//! Other programs: how they are started, and what is said when they fail.

use std::{
    env,
    ffi::OsStr,
    process::{Command, Output, Stdio},
};

use anyhow::{Context, Result, bail};

/// Says what is done next. On stderr, so that a command's own output can be piped.
pub fn announce(step: &str) {
    eprintln!("xtask: {step}");
}

/// The cargo that runs this program, in the environment it was itself started in.
///
/// `cargo run` tells a program about its package in variables. Passed on, they make build scripts
/// that watch them (ring's) run again each time a user alternates between `cargo` and
/// `cargo xtask`.
pub fn cargo() -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    remove_variables(&mut command, describes_running_package);
    command
}

/// Takes every variable that `unwanted` names out of the environment of `command`.
pub fn remove_variables(command: &mut Command, unwanted: fn(&str) -> bool) {
    for (name, _) in env::vars_os() {
        if name.to_str().is_some_and(unwanted) {
            command.env_remove(name);
        }
    }
}

/// Is this one of the variables that `cargo run` sets for the program it starts?
pub fn describes_running_package(name: &str) -> bool {
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
}

/// Runs a command that writes to the user's terminal.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| cannot_start(command))?;
    if !status.success() {
        bail!("`{}` failed ({status})", rendered(command));
    }
    Ok(())
}

/// Runs a command whose output is of interest only if it fails.
pub fn run_quietly(command: &mut Command) -> Result<()> {
    succeeded(command).map(drop)
}

/// What a command prints on stdout, without white space at the ends.
pub fn output(command: &mut Command) -> Result<String> {
    let output = succeeded(command)?;
    let text = String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` printed something that is no text", rendered(command)))?;
    Ok(text.trim().to_owned())
}

/// Whether a command can be started and succeeds. Nothing it prints is shown.
pub fn succeeds(program: impl AsRef<OsStr>, arguments: &[&str]) -> bool {
    let status = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok_and(|status| status.success())
}

fn succeeded(command: &mut Command) -> Result<Output> {
    let output = command.output().with_context(|| cannot_start(command))?;
    if !output.status.success() {
        bail!(
            "`{}` failed ({}):\n{}{}",
            rendered(command),
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr).trim_end(),
        );
    }
    Ok(output)
}

/// For the context of an error: the program could not be started at all.
pub fn cannot_start(command: &Command) -> String {
    format!("cannot start `{}`", command.get_program().display())
}

/// The command as one would type it, without its environment.
pub fn rendered(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(|word| word.to_string_lossy().into_owned())
        .collect::<Vec<_>>()
        .join(" ")
}

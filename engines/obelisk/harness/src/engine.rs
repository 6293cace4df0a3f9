//! The engine's executable.

use std::env;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use voice_calling_test_postgres::bound;

use crate::api::TOKEN;

/// The variable with the path of the executable.
const VARIABLE: &str = "OBELISK";

/// The variables that the engine inherits: the locations of other programs, of temporary files and
/// of its caches, and the certificate authorities that it trusts when it contacts a registry.
const PASSED_ON: [&str; 4] = ["HOME", "PATH", "SSL_CERT_FILE", "TMPDIR"];

/// The program `obelisk`.
#[derive(Clone)]
pub struct Engine {
    pub program: PathBuf,
}

impl Engine {
    /// Returns the program that the variable `OBELISK` names. `PATH` is not searched: the tests
    /// cover one version, and any other would prove nothing.
    pub fn from_environment() -> Result<Self> {
        let hint = "the path of the engine's program; `cargo xtask obelisk test` sets it";
        let program = env::var_os(VARIABLE);
        let program =
            program.with_context(|| format!("{VARIABLE} is not set: it must be {hint}"))?;
        // A node runs in its own folder, in which a relative path would mean another file.
        let program = std::path::absolute(&program)?;
        ensure!(
            program.is_file(),
            "{VARIABLE} is {program:?}; it must be {hint}"
        );
        Ok(Self { program })
    }

    /// Runs `obelisk deployment apply`: the node at `api` switches to another deployment without a
    /// restart.
    pub fn apply(&self, deployment: &Path, api: SocketAddr) -> Result<()> {
        let mut command = self.command(&[]);
        command.args(["deployment", "apply", "--api-token", TOKEN, "--api-url"]);
        command.arg(format!("http://{api}")).arg(deployment);
        succeeded(&mut command)
    }

    /// Returns a command for the program with `variables` and those that it always needs. Nothing
    /// else of the caller's environment is passed on: a stray `OBELISK__…` would change the
    /// server's settings, and a stray setting of the component would change the component.
    pub(crate) fn command(&self, variables: &[(String, String)]) -> Command {
        let mut command = bound(&self.program, "KILL");
        command.env_clear().stdin(Stdio::null());
        // It would be fetched from a registry.
        command.env("OBELISK__webui__enabled", "false");
        command.envs(
            PASSED_ON
                .iter()
                .filter_map(|it| Some((it, env::var_os(it)?))),
        );
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

fn succeeded(command: &mut Command) -> Result<()> {
    let output = command.output();
    let output = output.with_context(|| format!("cannot start {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} failed ({}):\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr).trim_end(),
    );
    Ok(())
}

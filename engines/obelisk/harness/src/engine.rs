//! The engine's program.

use std::env;
use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::api::TOKEN;

/// Names the program.
const VARIABLE: &str = "OBELISK";

/// What a program of the engine's kind needs from the environment of its caller: where
/// other programs, temporary files and its own caches are.
const PASSED_ON: [&str; 7] = [
    "HOME",
    "PATH",
    // The authorities that it trusts, for a registry.
    "SSL_CERT_FILE",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
];

/// The program `obelisk`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Engine {
    pub program: PathBuf,
}

impl Engine {
    /// The program that the variable `OBELISK` names. None is searched for in `PATH`: the
    /// tests are about one version, and any other would prove nothing.
    pub fn from_environment() -> Result<Self> {
        let hint = "the path of the engine's program; `cargo xtask obelisk test` sets it";
        let Some(program) = env::var_os(VARIABLE) else {
            bail!("the variable {VARIABLE} is not set: it must be {hint}");
        };
        // A node runs in a folder of its own, where a relative path would be another one.
        let program = std::path::absolute(&program)
            .with_context(|| format!("{VARIABLE} is {program:?}, but must be {hint}"))?;
        ensure!(
            program.is_file(),
            "{VARIABLE} is {program:?}, which is not a file; it must be {hint}"
        );
        Ok(Self { program })
    }

    /// Lets the engine check a deployment as it would at a start, but without a database and
    /// without a server. It compiles the components; that takes seconds.
    ///
    /// It knows no variables but `variables` and those that say where its caches are.
    pub fn verify(
        &self,
        server_config: &Path,
        deployment: &Path,
        variables: &[(String, String)],
    ) -> Result<()> {
        let mut command = self.command(variables);
        command.args(["server", "verify", "--skip-db", "--server-config"]);
        command
            .arg(server_config)
            .arg("--deployment")
            .arg(deployment);
        succeeded(&mut command)
    }

    /// `obelisk deployment apply`: the node at `api` goes on with another deployment, without a
    /// restart.
    pub fn apply(&self, deployment: &Path, api: SocketAddr) -> Result<()> {
        let mut command = self.command(&[]);
        command.args(["deployment", "apply", "--api-token", TOKEN, "--api-url"]);
        command.arg(format!("http://{api}")).arg(deployment);
        succeeded(&mut command)
    }

    /// `obelisk generate ARGUMENTS… INTO`: it writes what `arguments` ask for (say
    /// `wit-deps -f -d deployment.toml`) to `into`.
    pub fn generate(
        &self,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
        into: &Path,
    ) -> Result<()> {
        let mut command = self.command(&[]);
        command.arg("generate").args(arguments).arg(into);
        succeeded(&mut command)
    }

    /// The program, in an environment of `variables` and what it needs in any case. Of the
    /// caller's own nothing else is passed on: a stray `OBELISK__…` would be a setting of the
    /// server, and a stray setting of the component would be another component.
    pub(crate) fn command(&self, variables: &[(String, String)]) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().stdin(Stdio::null());
        // It would be fetched from a registry.
        command.env("OBELISK__webui__enabled", "false");
        for name in PASSED_ON {
            if let Some(value) = env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command
    }
}

fn succeeded(command: &mut Command) -> Result<()> {
    let output = command.output();
    let output = output.with_context(|| format!("cannot start `{}`", rendered(command)))?;
    ensure!(
        output.status.success(),
        "`{}` failed ({}):\n{}{}",
        rendered(command),
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr).trim_end(),
    );
    Ok(())
}

/// The command as one would type it, without its environment.
fn rendered(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

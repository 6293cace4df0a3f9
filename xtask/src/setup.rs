//! Everything that is installed on the user's machine, and announced. Nothing else in xtask installs
//! anything; if something is missing, the error names the command that installs it.

use std::{env, path::PathBuf};

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use xshell::cmd;

use crate::{
    debian_rust,
    process::{announce, output},
    toolchain::{TARGET, Toolchain},
    workspace::Workspace,
};

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub(crate) enum What {
    /// The standard library of the target for which the guests are built
    Guest,
    /// cargo-component (about 2 minutes)
    CargoComponent,
    /// cargo-deny (about 2 minutes)
    Deny,
    /// mdBook and lychee, for the documentation and its links (about a minute)
    Docs,
    /// wkg (about 2 minutes), minisign, a registry and OpenSSL, for releases
    Release,
    /// The workflow engine Obelisk (10 to 20 minutes)
    Obelisk,
    /// PostgreSQL, for the tests of the ledger and on Obelisk
    Postgresql,
    /// Chromium, for the tests of pages
    Chromium,
    /// Wassette, for the tests of the tools for AI agents
    Wassette,
    /// The command line of wasmtime, in the versions that the examples are tested on
    Wasmtime,
    /// wasmCloud's command line, for the tests of the examples
    Wash,
}

impl What {
    pub(crate) fn install(self, workspace: &Workspace) -> Result<()> {
        if self == Self::Guest {
            return install_standard_library(workspace);
        }
        let name = self.name();
        let install = workspace.script(TOOLS).args(["install", &name]);
        install
            .run()
            .with_context(|| format!("cannot set up {name}"))
    }

    /// Returns the path of a program that this installs.
    pub(crate) fn program(self, workspace: &Workspace, program: &str) -> Result<PathBuf> {
        let name = self.name();
        let find = workspace.script(TOOLS).args(["find", program, &name]);
        Ok(output(find)?.into())
    }

    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |it| it.get_name().to_owned())
    }
}

/// The script that installs and finds programs.
const TOOLS: &str = "tools/tools.sh";

/// Installs the standard library for the guests' target: rustup adds it, unless it is told to
/// install nothing or the compiler is not rustup's, or Debian provides its source and a compiler.
fn install_standard_library(workspace: &Workspace) -> Result<()> {
    let shell = &workspace.shell;
    let by_rustup = || {
        let is_forbidden = env::var_os("RUSTUP_AUTO_INSTALL").is_some_and(|value| value == "0");
        if is_forbidden {
            bail!("RUSTUP_AUTO_INSTALL=0 forbids `rustup target add {TARGET}`");
        }
        cmd!(shell, "rustup target add {TARGET}").run()?;
        Toolchain::find(shell)
    };
    let by_debian = |error| {
        let packages = debian_rust::packages(shell)?;
        let install = workspace.script(TOOLS).args(["debian", &packages]);
        install.run().with_context(|| {
            format!("{error:#}, and Debian's packages `{packages}` cannot be installed")
        })?;
        Toolchain::find(shell)
    };
    let found = Toolchain::find(shell);
    let toolchain = found.or_else(|_| by_rustup()).or_else(by_debian)?;
    announce(&toolchain.description());
    Ok(())
}

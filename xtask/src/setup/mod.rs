//! Everything that is installed on the user's machine, and announced: the standard library for the
//! guest, programs, Debian's packages. Nothing else in xtask installs anything; if something is
//! missing, the error names the command that installs it.

pub mod debian;
pub mod tool;
pub mod wheel;

use std::{env, path::PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::ValueEnum;
use xshell::{Shell, cmd};

use crate::{
    process::{announce, succeeds},
    toolchain::{Compiler, TARGET, Toolchain},
    workspace::Workspace,
};

#[derive(Clone, Copy, ValueEnum)]
pub enum What {
    /// The standard library of the target for which the guests are built
    Guest,
    /// cargo-component (about 2 minutes)
    CargoComponent,
    /// cargo-deny (about 2 minutes)
    Deny,
    /// What makes the site of the documentation and checks its links (about a minute)
    Docs,
    /// What signs, pushes and rehearses a release: wkg (about 2 minutes) and packages of Debian
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
    pub fn install(self, workspace: &Workspace) -> Result<()> {
        let shell = &workspace.shell;
        match self {
            Self::Guest => install_standard_library(shell),
            Self::CargoComponent => tool::CARGO_COMPONENT.install(workspace),
            Self::Deny => tool::CARGO_DENY.install(workspace),
            Self::Docs => {
                tool::MDBOOK.install(workspace)?;
                wheel::LYCHEE.install(shell)
            }
            Self::Release => {
                debian::RELEASE.install(shell)?;
                tool::WKG.install(workspace)
            }
            Self::Obelisk => {
                debian::PROTOBUF.install(shell)?;
                tool::OBELISK.install(workspace)
            }
            Self::Postgresql => debian::POSTGRESQL.install(shell),
            Self::Chromium => debian::CHROMIUM.install(shell),
            Self::Wassette => wheel::WASSETTE.install(shell),
            Self::Wasmtime => wheel::WASMTIME.iter().try_for_each(|it| it.install(shell)),
            Self::Wash => wheel::WASH.install(shell),
        }
    }
}

/// Installs the standard library for the guests' target: rustup adds it, or Debian provides its
/// source and a compiler for it.
fn install_standard_library(shell: &Shell) -> Result<()> {
    if let Ok(toolchain) = Toolchain::find(shell) {
        announce(&toolchain.description());
        return Ok(());
    }
    let active = Compiler::active(shell)?;
    let packages = debian::compiler(active.linker.as_deref());
    let instructions = format!(
        "do one of these, then run the command again\n  rustup target add {TARGET}\n  {}    \
         (Debian, as root)",
        debian::install_commands(&packages)
    );
    let is_forbidden = env::var_os("RUSTUP_AUTO_INSTALL").is_some_and(|value| value == "0");
    match active.rustup_toolchain() {
        Some(toolchain) if !is_forbidden => {
            let add = cmd!(shell, "rustup target add {TARGET} --toolchain {toolchain}");
            add.run().context(instructions)
        }
        _ if debian::has_apt(shell) => debian::install(shell, &packages).context(instructions),
        toolchain => {
            let reason = match toolchain {
                Some(_) => "RUSTUP_AUTO_INSTALL=0 forbids adding it",
                None => "it does not belong to rustup",
            };
            bail!(
                "{active} has no standard library for {TARGET}: {reason}, and this is not \
                 Debian\n{instructions}"
            )
        }
    }
}

/// Checks that `python3` on the PATH is new enough: how to install it is the user's choice.
pub fn check_python(shell: &Shell) -> Result<()> {
    let code = "import sys; sys.exit(sys.version_info < (3, 11))";
    let check = cmd!(shell, "python3 -c {code}").ignore_stderr();
    ensure!(
        succeeds(check),
        "`python3` is needed on the PATH, 3.11 or newer"
    );
    Ok(())
}

/// Checks that `node` on the PATH is new enough.
pub fn check_node(shell: &Shell) -> Result<()> {
    let code = "process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)";
    let check = cmd!(shell, "node -e {code}").ignore_stderr();
    ensure!(succeeds(check), "`node` is needed on the PATH, 20 or newer");
    Ok(())
}

/// The variable that names an installed browser; it is passed to the tests.
pub const CHROMIUM_VARIABLE: &str = "CHROMIUM";

/// Returns the path of Chromium: the one that the variable names, or Debian's.
pub fn find_chromium(shell: &Shell) -> Result<PathBuf> {
    if let Some(browser) = env::var_os(CHROMIUM_VARIABLE) {
        return Ok(browser.into());
    }
    debian::CHROMIUM.check(shell)?;
    Ok("/usr/bin/chromium".into())
}

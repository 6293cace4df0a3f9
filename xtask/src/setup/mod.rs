//! Everything that is installed on the user's machine, and announced: the standard library for the
//! guest, programs, Debian's packages. Nothing else in xtask installs anything; if something is
//! missing, the error names the command that installs it.

pub mod debian;
pub mod interpreter;
pub mod standard_library;
pub mod tool;
pub mod wheel;

use anyhow::Result;
use clap::ValueEnum;

use crate::workspace::Workspace;

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
    /// PostgreSQL, for the tests on Obelisk
    Postgresql,
    /// Chromium and its driver, for the tests of the mock's page
    Chromium,
    /// Wassette, for the tests of the tools for AI agents
    Wassette,
    /// The command line of wasmtime, in the versions that the examples are tested on
    Wasmtime,
    /// wasmCloud's command line, and the NATS and the registry that its hosts need, for the tests
    /// of the examples
    Wash,
}

impl What {
    pub fn install(self, workspace: &Workspace) -> Result<()> {
        let shell = &workspace.shell;
        match self {
            Self::Guest => standard_library::install(shell),
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
            Self::Wash => {
                debian::WASH_HOST.install(shell)?;
                wheel::WASH.install(shell)
            }
        }
    }
}

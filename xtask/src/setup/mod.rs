//! What is installed on the user's machine, and announced: the standard library for the guest,
//! programs, Debian's packages. Nothing else in xtask installs anything; where something is
//! missing, the error names the command that gets it.

pub mod debian;
pub mod standard_library;
pub mod tool;
pub mod wassette;
pub mod wheel;

use std::{fs, path::Path};

use anyhow::{Result, ensure};
use clap::ValueEnum;
use xshell::{Shell, cmd};

use crate::{process::succeeds, workspace::Workspace};

const WASH_HOST_PACKAGES: [&str; 2] = ["nats-server", "docker-registry"];
const RELEASE_PACKAGES: [&str; 4] = ["minisign", "docker-registry", "shellcheck", "openssl"];

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
    All,
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
                if check_release(shell).is_err() {
                    debian::install(shell, &RELEASE_PACKAGES)?;
                }
                tool::WKG.install(workspace)
            }
            Self::Obelisk => {
                if !has_protobuf(shell) {
                    debian::install(shell, &["protobuf-compiler", "libprotobuf-dev"])?;
                }
                tool::OBELISK.install(workspace)
            }
            Self::Postgresql => match has_postgresql(shell) {
                true => Ok(()),
                false => debian::install(shell, &["postgresql"]),
            },
            Self::Chromium => match has_chromium(shell) {
                true => Ok(()),
                false => {
                    debian::install(shell, &["chromium", "chromium-driver", "fonts-dejavu-core"])
                }
            },
            Self::Wassette => wassette::install(workspace),
            Self::Wasmtime => wheel::WASMTIME.iter().try_for_each(|it| it.install(shell)),
            Self::Wash => {
                if check_wash_host(shell).is_err() {
                    debian::install(shell, &WASH_HOST_PACKAGES)?;
                }
                wheel::WASH.install(shell)
            }
            Self::All => Self::value_variants()
                .iter()
                .filter(|what| !matches!(what, Self::All))
                .try_for_each(|what| what.install(workspace)),
        }
    }
}

/// PostgreSQL is started by the tests themselves, from Debian's folder or the PATH.
pub fn check_postgresql(shell: &Shell) -> Result<()> {
    ensure!(
        has_postgresql(shell),
        "PostgreSQL is missing: `cargo xtask setup postgresql` installs it on Debian"
    );
    Ok(())
}

/// Chromium and its driver are started by the tests themselves, from the PATH.
pub fn check_chromium(shell: &Shell) -> Result<()> {
    ensure!(
        has_chromium(shell),
        "Chromium or its driver is missing: `cargo xtask setup chromium` installs both on Debian"
    );
    Ok(())
}

/// What signs and verifies, and what the rehearsal of a release starts, from the PATH.
pub fn check_release(shell: &Shell) -> Result<()> {
    let missing = [
        ("minisign", succeeds(cmd!(shell, "minisign -v"))),
        (
            "docker-registry",
            succeeds(cmd!(shell, "docker-registry --version")),
        ),
        ("shellcheck", succeeds(cmd!(shell, "shellcheck --version"))),
        ("openssl", succeeds(cmd!(shell, "openssl version"))),
    ];
    for (program, is_there) in missing {
        ensure!(
            is_there,
            "{program} is missing: `cargo xtask setup release` installs it on Debian"
        );
    }
    Ok(())
}

/// Both are started by the tests of wasmCloud's hosts, from the PATH.
pub fn check_wash_host(shell: &Shell) -> Result<()> {
    let missing = [
        (
            "nats-server",
            succeeds(cmd!(shell, "nats-server --version")),
        ),
        (
            "docker-registry",
            succeeds(cmd!(shell, "docker-registry --version")),
        ),
    ];
    for (program, is_there) in missing {
        ensure!(
            is_there,
            "{program} is missing: `cargo xtask setup wash` installs it on Debian"
        );
    }
    Ok(())
}

fn has_chromium(shell: &Shell) -> bool {
    succeeds(cmd!(shell, "chromium --version")) && succeeds(cmd!(shell, "chromedriver --version"))
}

fn has_postgresql(shell: &Shell) -> bool {
    let mut versions = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    succeeds(cmd!(shell, "initdb --version"))
        || versions.any(|version| version.path().join("bin/initdb").is_file())
}

/// The compiler, and the descriptions of types that come with it.
fn has_protobuf(shell: &Shell) -> bool {
    succeeds(cmd!(shell, "protoc --version")) && Path::new("/usr/include/google/protobuf").is_dir()
}

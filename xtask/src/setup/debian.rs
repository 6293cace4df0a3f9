//! Debian's packages, above all its Rust for browsers (`rustc-web`): a second compiler that can be
//! installed beside rustup's and includes the source of the standard library.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use xshell::{Cmd, Shell, cmd};

use crate::process::{announce, run_quietly, succeeds};

pub const CARGO: &str = "/usr/bin/cargo";
pub const RUSTC: &str = "/usr/bin/rustc";
/// The linker that replaces `rust-lld` if rustup has none.
pub const LINKER: &str = "/usr/bin/wasm-ld-19";
const COMPILER_PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];

/// The Rust version that this workspace requires.
const RUST_VERSION: &str = env!("CARGO_PKG_RUST_VERSION");

/// Programs that the user may have installed in any way, and that Debian's packages install
/// otherwise.
pub struct Programs {
    /// The argument of `cargo xtask setup`.
    setup: &'static str,
    /// The shell command that succeeds if the programs are installed.
    check: &'static str,
    packages: &'static [&'static str],
}

/// The browser of tests.
pub const CHROMIUM: Programs = Programs {
    setup: "chromium",
    check: "chromium --version",
    packages: &["chromium", "fonts-dejavu-core"],
};

/// The server that the tests of the ledger and on Obelisk start.
pub const POSTGRESQL: Programs = Programs {
    setup: "postgresql",
    check: "initdb --version || ls /usr/lib/postgresql/*/bin/initdb",
    packages: &["postgresql"],
};

/// The tools that build Obelisk: the compiler, and the descriptions of types that come with it.
pub const PROTOBUF: Programs = Programs {
    setup: "obelisk",
    check: "protoc --version && test -d /usr/include/google/protobuf",
    packages: &["protobuf-compiler", "libprotobuf-dev"],
};

/// The programs that sign and verify a release, and that its rehearsal starts.
pub const RELEASE: Programs = Programs {
    setup: "release",
    check: "minisign -v && docker-registry --version && openssl version",
    packages: &["minisign", "docker-registry", "openssl"],
};

impl Programs {
    pub fn check(&self, shell: &Shell) -> Result<()> {
        let Self { setup, check, .. } = self;
        ensure!(
            succeeds(cmd!(shell, "sh -c {check}").ignore_stderr()),
            "`{check}` fails: `cargo xtask setup {setup}` installs what is missing on Debian"
        );
        Ok(())
    }

    /// Installs the programs, unless they are there.
    pub fn install(&self, shell: &Shell) -> Result<()> {
        match self.check(shell) {
            Ok(()) => Ok(()),
            Err(_) => install(shell, self.packages),
        }
    }
}

/// Returns the packages that a guest build needs, with a linker only if rustup has none.
pub fn compiler(rustup_linker: Option<&Path>) -> Vec<&'static str> {
    let linker = rustup_linker.is_none().then_some("lld-19");
    COMPILER_PACKAGES.into_iter().chain(linker).collect()
}

/// Returns `true` if all packages are installed, and the compiler is new enough.
pub fn are_installed(shell: &Shell, packages: &[&str]) -> bool {
    let format = "--showformat=${db:Status-Status} ${Version}";
    packages.iter().all(|package| {
        let query = cmd!(shell, "dpkg-query --show {format} {package}").ignore_stderr();
        let answer = query.read().unwrap_or_default();
        answer.strip_prefix("installed ").is_some_and(|version| {
            let compare = cmd!(shell, "dpkg --compare-versions {version} ge {RUST_VERSION}");
            !COMPILER_PACKAGES.contains(package) || succeeds(compare)
        })
    })
}

pub fn has_apt(shell: &Shell) -> bool {
    succeeds(cmd!(shell, "apt-get --version"))
}

/// Installs `packages`, unless this Debian has none or only older ones. Never removes a package:
/// `rustc-web` conflicts with `rustc`, which may be in use.
pub fn install(shell: &Shell, packages: &[&str]) -> Result<()> {
    let dependencies = dependencies(packages);
    let install = || {
        announce("apt-get update");
        run_quietly(apt_get(shell).arg("update"))?;
        announce(&format!("apt-get satisfy \"{dependencies}\""));
        run_quietly(apt_get(shell).args(["satisfy", "--yes", "--no-remove", &dependencies]))
    };
    install().with_context(|| format!("on Debian, as root: {}", install_commands(packages)))
}

/// Returns the equivalent command for a user with root.
pub fn install_commands(packages: &[&str]) -> String {
    let dependencies = dependencies(packages);
    format!("apt-get update && apt-get satisfy \"{dependencies}\"")
}

fn dependencies(packages: &[&str]) -> String {
    let dependency = |package: &&str| match COMPILER_PACKAGES.contains(package) {
        true => format!("{package} (>= {RUST_VERSION})"),
        false => (*package).to_owned(),
    };
    let dependencies: Vec<_> = packages.iter().map(dependency).collect();
    dependencies.join(", ")
}

/// Returns apt-get as root, or with sudo if that asks for no password.
fn apt_get(shell: &Shell) -> Cmd<'_> {
    let is_root = cmd!(shell, "id -u").read().is_ok_and(|id| id == "0");
    let (env, prefix): (_, &[_]) = match is_root {
        true => ("env", &[]),
        false => ("sudo", &["-n", "env"]),
    };
    cmd!(
        shell,
        "{env} {prefix...} DEBIAN_FRONTEND=noninteractive apt-get -qq"
    )
}

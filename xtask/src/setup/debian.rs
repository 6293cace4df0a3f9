//! Debian's packages. First of all its Rust for browsers (`rustc-web`): a second compiler that can
//! be installed beside rustup's and comes with the source of the standard library.

use std::path::Path;

use anyhow::{Context, Result};
use xshell::{Cmd, Shell, cmd};

use crate::process::{announce, run_quietly, succeeds};

pub const CARGO: &str = "/usr/bin/cargo";
pub const RUSTC: &str = "/usr/bin/rustc";
/// `rust-lld`, where rustup brings none.
pub const LINKER: &str = "/usr/bin/wasm-ld-19";
const COMPILER_PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];
const LINKER_PACKAGE: &str = "lld-19";

/// What this workspace needs of them.
const RUST_VERSION: &str = env!("CARGO_PKG_RUST_VERSION");

/// The packages that a guest build needs. A linker is among them only where rustup has none.
pub fn compiler(rustup_linker: Option<&Path>) -> Vec<&'static str> {
    let mut packages = COMPILER_PACKAGES.to_vec();
    if rustup_linker.is_none() {
        packages.push(LINKER_PACKAGE);
    }
    packages
}

/// Whether all are there, and the compiler is new enough.
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
/// `rustc-web` conflicts with `rustc`, which someone may be using.
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

/// What someone with root types to the same end.
pub fn install_commands(packages: &[&str]) -> String {
    let dependencies = dependencies(packages);
    format!("apt-get update && apt-get satisfy \"{dependencies}\"")
}

fn dependencies(packages: &[&str]) -> String {
    let dependency = |package: &&str| match COMPILER_PACKAGES.contains(package) {
        true => format!("{package} (>= {RUST_VERSION})"),
        false => (*package).to_owned(),
    };
    packages
        .iter()
        .map(dependency)
        .collect::<Vec<_>>()
        .join(", ")
}

/// As root, or by sudo where it asks for no password.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_compiler_than_the_workspace_asks_for_is_not_installed() {
        let asked = dependencies(&["rustc-web", "lld-19"]);
        assert_eq!(asked, format!("rustc-web (>= {RUST_VERSION}), lld-19"));
    }

    #[test]
    fn a_linker_is_installed_only_where_rustup_has_none() {
        assert!(!compiler(Some(Path::new("rust-lld"))).contains(&LINKER_PACKAGE));
        assert!(compiler(None).contains(&LINKER_PACKAGE));
    }
}

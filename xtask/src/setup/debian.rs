//! Debian's packages. First of all its Rust for browsers (`rustc-web`): a second compiler that can
//! be installed beside rustup's and comes with the source of the standard library.

use std::{fs, path::Path};

use anyhow::{Context, Result, bail, ensure};
use xshell::{Cmd, Shell, cmd};

use crate::process::{announce, run_quietly, succeeds};

pub const CARGO: &str = "/usr/bin/cargo";
pub const RUSTC: &str = "/usr/bin/rustc";
/// `rust-lld`, where rustup brings none.
pub const LINKER: &str = "/usr/bin/wasm-ld-19";
const COMPILER_PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];
const LINKER_PACKAGE: &str = "lld-19";

/// Whether packages can be installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Debian {
    /// No Debian, so no apt.
    Absent,
    /// Without asking anyone.
    Installable(Superuser),
    /// Only by someone with root.
    NoPermission,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Superuser {
    Root,
    Sudo,
}

impl Debian {
    pub fn look(shell: &Shell) -> Self {
        let os_release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        if !is_debian(&os_release) {
            return Self::Absent;
        }
        if cmd!(shell, "id -u").read().is_ok_and(|id| id == "0") {
            Self::Installable(Superuser::Root)
        } else if succeeds(cmd!(shell, "sudo -n true")) {
            Self::Installable(Superuser::Sudo)
        } else {
            Self::NoPermission
        }
    }
}

impl Superuser {
    fn apt_get(self, shell: &Shell) -> Cmd<'_> {
        let (env, prefix): (_, &[_]) = match self {
            Self::Root => ("env", &[]),
            Self::Sudo => ("sudo", &["-n", "env"]),
        };
        cmd!(
            shell,
            "{env} {prefix...} DEBIAN_FRONTEND=noninteractive apt-get -qq"
        )
    }
}

/// The packages that a guest build needs. A linker is among them only where rustup has none.
pub fn compiler(rustup_linker: Option<&Path>) -> Vec<&'static str> {
    let mut packages = COMPILER_PACKAGES.to_vec();
    if rustup_linker.is_none() {
        packages.push(LINKER_PACKAGE);
    }
    packages
}

/// Whether all are there, and the compiler is new enough for this workspace.
pub fn are_installed(shell: &Shell, packages: &[&str]) -> bool {
    packages.iter().all(|package| {
        let format = "--showformat=${db:Status-Status} ${Version}";
        let status = cmd!(shell, "dpkg-query --show {format} {package}").ignore_stderr();
        let status = status.read().unwrap_or_default();
        status
            .strip_prefix("installed ")
            .is_some_and(|version| !COMPILER_PACKAGES.contains(package) || is_new_enough(version))
    })
}

/// Installs `packages`, or says who can.
pub fn install(shell: &Shell, packages: &[&str]) -> Result<()> {
    match Debian::look(shell) {
        Debian::Installable(superuser) => install_as(superuser, shell, packages),
        Debian::NoPermission | Debian::Absent => bail!(
            "these are missing, by the names of Debian's packages: {}\non Debian: {}",
            packages.join(" "),
            install_commands(packages)
        ),
    }
}

/// Installs `packages`, unless this Debian does not know them or only older ones. Never removes a
/// package: `rustc-web` conflicts with `rustc`, which someone may be using.
pub fn install_as(superuser: Superuser, shell: &Shell, packages: &[&str]) -> Result<()> {
    announce("apt-get update");
    run_quietly(superuser.apt_get(shell).arg("update"))?;
    if packages.contains(&COMPILER_PACKAGES[0]) {
        check_candidate(shell)?;
    }
    announce(&format!("apt-get install {}", packages.join(" ")));
    let install = superuser.apt_get(shell);
    run_quietly(
        install
            .args(["install", "--yes", "--no-remove"])
            .args(packages),
    )
}

/// What someone with root types to the same end.
pub fn install_commands(packages: &[&str]) -> String {
    format!(
        "sudo apt-get update && sudo apt-get install {}",
        packages.join(" ")
    )
}

fn check_candidate(shell: &Shell) -> Result<()> {
    let policy = cmd!(shell, "apt-cache policy rustc-web").read()?;
    let candidate = candidate(&policy).context("apt knows no package `rustc-web` here")?;
    ensure!(
        is_new_enough(candidate),
        "apt offers rustc-web {candidate}, and this workspace needs {} or later",
        env!("CARGO_PKG_RUST_VERSION")
    );
    Ok(())
}

fn is_debian(os_release: &str) -> bool {
    os_release
        .lines()
        .filter_map(|line| line.strip_prefix("ID=").or(line.strip_prefix("ID_LIKE=")))
        .flat_map(|names| names.trim_matches('"').split_whitespace())
        .any(|name| name == "debian")
}

fn candidate(apt_policy: &str) -> Option<&str> {
    let candidate = apt_policy
        .lines()
        .find_map(|line| line.trim().strip_prefix("Candidate: "))?;
    (candidate != "(none)").then_some(candidate)
}

fn is_new_enough(package_version: &str) -> bool {
    let needed = release(env!("CARGO_PKG_RUST_VERSION"));
    release(package_version).is_some_and(|found| Some(found) >= needed)
}

/// `1.96.0+dfsg1-1` → (1, 96)
fn release(version: &str) -> Option<(u32, u32)> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit());
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next()?.parse().ok()?;
    Some((major, minor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debian_and_its_children_are_told_by_id_and_id_like() {
        assert!(is_debian("NAME=x\nID=debian\nVERSION_ID=\"12\"\n"));
        assert!(is_debian("ID=mint\nID_LIKE=\"ubuntu debian\"\n"));
        assert!(!is_debian("ID=fedora\nNAME=debian-like\n"));
        assert!(!is_debian(""));
    }

    #[test]
    fn a_package_that_apt_does_not_know_has_no_candidate() {
        let known = "rustc-web:\n  Installed: (none)\n  Candidate: 1.96.0+dfsg1-1~deb12u2\n";
        let gone = "rustc-web:\n  Installed: (none)\n  Candidate: (none)\n";
        assert_eq!(candidate(known), Some("1.96.0+dfsg1-1~deb12u2"));
        assert_eq!(candidate(gone), None);
        assert_eq!(candidate(""), None);
    }

    #[test]
    fn an_older_compiler_than_the_workspace_asks_for_is_refused() {
        assert!(is_new_enough("1.95.0"));
        assert!(is_new_enough("1.96.0+dfsg1-1~deb12u2"));
        assert!(is_new_enough("2.0.1"));
        assert!(!is_new_enough("1.85.0+dfsg3-1~deb12u3"));
        assert!(!is_new_enough("unknown"));
    }

    #[test]
    fn a_linker_is_installed_only_where_rustup_has_none() {
        assert!(!compiler(Some(Path::new("rust-lld"))).contains(&LINKER_PACKAGE));
        assert!(compiler(None).contains(&LINKER_PACKAGE));
    }
}

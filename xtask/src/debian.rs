//! Debian's packages. First of all its Rust for browsers (`rustc-web`): a second compiler that can
//! be installed beside rustup's and comes with the source of the standard library.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, bail, ensure};

use crate::process::{announce, output, run_quietly, succeeds};

pub const CARGO: &str = "/usr/bin/cargo";
pub const RUSTC: &str = "/usr/bin/rustc";
/// `rust-lld`, where rustup brings none.
pub const LINKER: &str = "/usr/bin/wasm-ld-19";
const COMPILER_PACKAGES: [&str; 3] = ["rustc-web", "cargo-web", "rust-web-src"];
const LINKER_PACKAGE: &str = "lld-19";

/// What this system offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Debian {
    /// No Debian, so no apt.
    Absent,
    /// All packages are there, new enough for this workspace.
    Ready,
    /// They can be installed without asking anybody.
    Installable(Superuser),
    /// Somebody with root has to install them.
    NoPermission,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Superuser {
    Root,
    Sudo,
}

impl Debian {
    pub fn look(packages: &[&str]) -> Self {
        let os_release = fs::read_to_string("/etc/os-release").unwrap_or_default();
        if !is_debian(&os_release) {
            return Self::Absent;
        }
        if packages.iter().all(|package| is_installed(package)) {
            return Self::Ready;
        }
        match Superuser::find() {
            Some(superuser) => Self::Installable(superuser),
            None => Self::NoPermission,
        }
    }
}

impl Superuser {
    fn find() -> Option<Self> {
        let user = output(Command::new("id").arg("-u"));
        if user.is_ok_and(|id| id == "0") {
            return Some(Self::Root);
        }
        succeeds("sudo", &["-n", "true"]).then_some(Self::Sudo)
    }

    fn apt_get(self, arguments: &[&str]) -> Command {
        let mut command = match self {
            Self::Root => Command::new("env"),
            Self::Sudo => {
                let mut sudo = Command::new("sudo");
                sudo.args(["-n", "env"]);
                sudo
            }
        };
        command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]);
        command.args(arguments);
        command
    }
}

/// The packages that a guest build needs. A linker is among them only where rustup has none.
pub fn packages(rustup_linker: Option<&Path>) -> Vec<&'static str> {
    let mut packages = COMPILER_PACKAGES.to_vec();
    if rustup_linker.is_none() {
        packages.push(LINKER_PACKAGE);
    }
    packages
}

/// Installs `packages`, unless this Debian does not know them or only older ones. Never removes a
/// package: `rustc-web` conflicts with `rustc`, which somebody may be using.
pub fn install(superuser: Superuser, packages: &[&str]) -> Result<()> {
    announce("apt-get update");
    run_quietly(&mut superuser.apt_get(&["update"]))?;
    if packages.contains(&COMPILER_PACKAGES[0]) {
        check_candidate()?;
    }
    announce(&format!("apt-get install {}", packages.join(" ")));
    let mut arguments = vec!["install", "--yes", "--no-remove"];
    arguments.extend(packages);
    run_quietly(&mut superuser.apt_get(&arguments))
}

/// Has programs that a check needs: nothing is done where `are_there`, and elsewhere than on Debian
/// the user is told.
pub fn provide(packages: &[&str], are_there: impl FnOnce() -> bool) -> Result<()> {
    if are_there() {
        return Ok(());
    }
    match Debian::look(packages) {
        Debian::Ready => Ok(()),
        Debian::Installable(superuser) => install(superuser, packages),
        Debian::NoPermission | Debian::Absent => bail!(
            "these are missing, by the names of Debian's packages: {}\non Debian: {}",
            packages.join(" "),
            install_commands(packages)
        ),
    }
}

/// What somebody with root types to the same end.
pub fn install_commands(packages: &[&str]) -> String {
    format!(
        "sudo apt-get update && sudo apt-get install {}",
        packages.join(" ")
    )
}

fn check_candidate() -> Result<()> {
    let policy = output(Command::new("apt-cache").args(["policy", "rustc-web"]))?;
    let candidate = candidate(&policy).context("apt knows no package `rustc-web` here")?;
    ensure!(
        is_new_enough(candidate),
        "apt offers rustc-web {candidate}, and this workspace needs {} or later",
        env!("CARGO_PKG_RUST_VERSION")
    );
    Ok(())
}

fn is_installed(package: &str) -> bool {
    let query = [
        "--show",
        "--showformat=${db:Status-Status} ${Version}",
        package,
    ];
    let answer = Command::new("dpkg-query").args(query).output();
    let Ok(answer) = answer else { return false };
    let answer = String::from_utf8_lossy(&answer.stdout);
    let Some(version) = answer.strip_prefix("installed ") else {
        return false;
    };
    !COMPILER_PACKAGES.contains(&package) || is_new_enough(version)
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
        assert!(!packages(Some(Path::new("rust-lld"))).contains(&LINKER_PACKAGE));
        assert!(packages(None).contains(&LINKER_PACKAGE));
    }
}

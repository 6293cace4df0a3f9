//! Programs that some command needs, installed by cargo at versions that are known to do, into a
//! folder of this user that outlives the target directory.

use std::{env, fs, path::PathBuf};

use anyhow::{Context, Result, ensure};
use xshell::Cmd;

use crate::{
    compiler::Compiler,
    process::{announce, describes_running_package, without_variables},
    setup::debian,
    workspace::Workspace,
};

/// A compiler for programs of this machine, beside rustup's.
const DEBIAN_RUST: [&str; 2] = ["rustc-web", "cargo-web"];

pub struct Tool {
    name: &'static str,
    pub version: &'static str,
    /// What `cargo xtask setup` calls it.
    setup: &'static str,
    /// How long the installation takes, for people.
    takes: &'static str,
    /// These in place of the default ones.
    features: Option<&'static str>,
    /// `1.<minor>`, where it needs a newer Rust than this workspace.
    newer_rust_minor: Option<u32>,
}

/// The last one; its maintainers point to plain cargo with wit-bindgen.
pub const CARGO_COMPONENT: Tool = Tool {
    name: "cargo-component",
    version: "0.21.1",
    setup: "cargo-component",
    takes: "about 2 minutes",
    features: None,
    newer_rust_minor: None,
};

pub const CARGO_DENY: Tool = Tool {
    name: "cargo-deny",
    version: "0.20.2",
    setup: "deny",
    takes: "about 2 minutes",
    features: None,
    newer_rust_minor: None,
};

/// Makes the site of the documentation.
pub const MDBOOK: Tool = Tool {
    name: "mdbook",
    version: "0.5.4",
    setup: "docs",
    takes: "about a minute",
    features: Some("search"),
    newer_rust_minor: None,
};

/// The package tool of WebAssembly components.
pub const WKG: Tool = Tool {
    name: "wkg",
    version: "0.16.1",
    setup: "release",
    takes: "about 2 minutes",
    features: None,
    newer_rust_minor: None,
};

pub const OBELISK: Tool = Tool {
    name: "obelisk",
    version: "0.41.4",
    setup: "obelisk",
    takes: "10 to 20 minutes",
    features: None,
    newer_rust_minor: Some(96),
};

impl Tool {
    /// Where the program is.
    pub fn find(&self) -> Result<PathBuf> {
        let Self {
            name,
            version,
            setup,
            takes,
            ..
        } = self;
        let folder = folder()?;
        let record = fs::read_to_string(folder.join(".crates.toml")).unwrap_or_default();
        let program = folder
            .join("bin")
            .join(format!("{name}{}", env::consts::EXE_SUFFIX));
        ensure!(
            is_recorded(&record, name, version) && program.is_file(),
            "{name} {version} is missing: `cargo xtask setup {setup}` installs it ({takes}, once \
             for this user)"
        );
        Ok(program)
    }

    /// Installs it, unless it is there.
    pub fn install(&self, workspace: &Workspace) -> Result<()> {
        let Self {
            name,
            version,
            takes,
            ..
        } = self;
        if let Ok(program) = self.find() {
            announce(&format!("{name} {version}: {}", program.display()));
            return Ok(());
        }
        announce(&format!("installing {name} {version} ({takes})"));
        // Unoptimized, a program is built in a fraction of the time, and quick enough here.
        let mut install = self
            .cargo_install(workspace)?
            .args(["--locked", "--force", "--version", version, name])
            .arg("--root")
            .arg(folder()?)
            .env_remove("CARGO_TARGET_DIR")
            .arg("--debug")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
            .env("CARGO_INCREMENTAL", "0");
        if let Some(features) = self.features {
            install = install.args(["--no-default-features", "--features", features]);
        }
        install
            .run()
            .with_context(|| format!("cannot install {name}"))
    }

    /// By the cargo that runs this program; by Debian's where the active compiler is too old.
    fn cargo_install<'a>(&self, workspace: &'a Workspace) -> Result<Cmd<'a>> {
        let shell = &workspace.shell;
        let active = Compiler::active(shell)?;
        let needed = self.newer_rust_minor;
        if active.minor() >= needed {
            return Ok(workspace.cargo("install"));
        }
        if !debian::are_installed(shell, &DEBIAN_RUST) {
            debian::install(shell, &DEBIAN_RUST)?;
        }
        let other = Compiler::ask(debian::RUSTC.into(), shell)?;
        ensure!(
            other.minor() >= needed,
            "{} needs Rust 1.{}, and both {active} and {other} are older",
            self.name,
            needed.unwrap_or_default()
        );
        announce(&format!("by {other}"));
        let install = shell.cmd(debian::CARGO).arg("install").quiet();
        Ok(without_variables(install, describes_running_package)
            .env("RUSTC", debian::RUSTC)
            // rustup and `cargo run` make it name the libraries of another compiler.
            .env_remove("LD_LIBRARY_PATH"))
    }
}

/// The user's folder for what can be had again.
pub fn folder() -> Result<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache
        .filter(|folder| folder.is_absolute())
        .or_else(|| Some(env::home_dir()?.join(".cache")))
        .context("neither XDG_CACHE_HOME nor a home directory is known")?;
    Ok(cache.join("voice-calling/tools"))
}

/// Whether cargo's own record of what it installed has this version:
/// `"cargo-deny 0.20.2 (registry+https://…)" = ["cargo-deny"]`
fn is_recorded(record: &str, name: &str, version: &str) -> bool {
    record.contains(&format!("\"{name} {version} ("))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_or_program_is_not_the_one_that_is_needed() {
        let record =
            "[v1]\n\"cargo-deny 0.20.2 (registry+https://a.example/)\" = [\"cargo-deny\"]\n";
        assert!(is_recorded(record, "cargo-deny", "0.20.2"));
        assert!(!is_recorded(record, "cargo-deny", "0.20.1"));
        assert!(!is_recorded(record, "cargo-deny", "0.20"));
        assert!(!is_recorded(record, "deny", "0.20.2"));
        assert!(!is_recorded("", "cargo-deny", "0.20.2"));
    }
}

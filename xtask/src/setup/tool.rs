//! Programs that some command needs, which cargo installs at versions that are known to work, into
//! a folder of this user that outlives the target directory.

use std::{env, fs, path::PathBuf};

use anyhow::{Context, Result, ensure};
use xshell::Cmd;

use crate::{
    process::{announce, describes_running_package, without_variables},
    setup::debian,
    toolchain::Compiler,
    workspace::Workspace,
};

/// A compiler for programs of this machine, beside rustup's.
const DEBIAN_RUST: [&str; 2] = ["rustc-web", "cargo-web"];

pub struct Tool {
    name: &'static str,
    pub version: &'static str,
    /// The argument of `cargo xtask setup`.
    setup: &'static str,
    /// The duration of the installation, for people.
    takes: &'static str,
    /// Further arguments of `cargo install`.
    arguments: &'static [&'static str],
    /// The Rust that it needs, as the minor version in `1.<minor>`, if the workspace needs an older
    /// one.
    newer_rust_minor: Option<u32>,
}

/// A checker of what is allowed among dependencies.
pub const CARGO_DENY: Tool = tool("cargo-deny", "0.20.2", "deny");

/// Makes the site of the documentation.
pub const MDBOOK: Tool = Tool {
    takes: "about a minute",
    arguments: &["--no-default-features", "--features", "search"],
    ..tool("mdbook", "0.5.4", "docs")
};

/// The package tool of WebAssembly components.
pub const WKG: Tool = tool("wkg", "0.16.1", "release");

pub const OBELISK: Tool = Tool {
    takes: "10 to 20 minutes",
    newer_rust_minor: Some(96),
    ..tool("obelisk", "0.41.4", "obelisk")
};

const fn tool(name: &'static str, version: &'static str, setup: &'static str) -> Tool {
    Tool {
        name,
        version,
        setup,
        takes: "about 2 minutes",
        arguments: &[],
        newer_rust_minor: None,
    }
}

impl Tool {
    /// Returns the path of the program. cargo records its installations:
    /// `"wkg 0.16.1 (registry+https://…)" = ["wkg"]`
    pub fn find(&self) -> Result<PathBuf> {
        let Self { name, version, .. } = self;
        let folder = folder()?;
        let record = fs::read_to_string(folder.join(".crates.toml")).unwrap_or_default();
        let program = format!("bin/{name}{}", env::consts::EXE_SUFFIX);
        let program = folder.join(program);
        ensure!(
            record.contains(&format!("\"{name} {version} (")) && program.is_file(),
            "{name} {version} is missing: `cargo xtask setup {}` installs it ({}, once for this \
             user)",
            self.setup,
            self.takes
        );
        Ok(program)
    }

    /// Installs the program, unless it is there.
    pub fn install(&self, workspace: &Workspace) -> Result<()> {
        let Self { name, version, .. } = self;
        if let Ok(program) = self.find() {
            announce(&format!("{name} {version}: {}", program.display()));
            return Ok(());
        }
        announce(&format!("installing {name} {version} ({})", self.takes));
        // Without optimization, a program is built in a fraction of the time, and is fast enough
        // here.
        self.cargo_install(workspace)?
            .args(["--locked", "--force", "--version", version, name])
            .args(self.arguments)
            .arg("--root")
            .arg(folder()?)
            .env_remove("CARGO_TARGET_DIR")
            .arg("--debug")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
            .env("CARGO_INCREMENTAL", "0")
            .run()
            .with_context(|| format!("cannot install {name}"))
    }

    /// Returns the command, with the cargo that runs this program, or Debian's if the active
    /// compiler is too old.
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
            // rustup and `cargo run` set it to the libraries of another compiler.
            .env_remove("LD_LIBRARY_PATH"))
    }
}

/// Returns the user's folder for files that can be installed again.
pub fn folder() -> Result<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache
        .filter(|folder| folder.is_absolute())
        .or_else(|| Some(env::home_dir()?.join(".cache")))
        .context("neither XDG_CACHE_HOME nor a home directory is known")?;
    Ok(cache.join("voice-calling/tools"))
}

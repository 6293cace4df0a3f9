//! A Rust compiler, by its own description.

use std::{env, fmt, fs, path::PathBuf};

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

#[derive(Debug)]
pub struct Compiler {
    sysroot: PathBuf,
    /// `1.96.0`
    pub release: String,
    commit: String,
    /// The target of programs of this machine.
    pub host: String,
}

impl Compiler {
    /// Returns the compiler that runs by default.
    pub fn active(shell: &Shell) -> Result<Self> {
        let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        Self::ask(rustc.into(), shell)
    }

    /// Asks a compiler in the workspace's shell, since rustup lets a folder choose its toolchain.
    pub fn ask(rustc: PathBuf, shell: &Shell) -> Result<Self> {
        let version = cmd!(shell, "{rustc} --version --verbose").read()?;
        let said = |name: &str| {
            let mut lines = version.lines();
            let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            let value = value.map(str::to_owned);
            value.with_context(|| format!("`rustc --version --verbose` names no {name}"))
        };
        Ok(Self {
            sysroot: cmd!(shell, "{rustc} --print sysroot").read()?.into(),
            release: said("release")?,
            commit: said("commit-hash")?,
            host: said("host")?,
        })
    }

    /// Returns the path of the compiler itself, since `rustc` may be rustup's proxy.
    pub fn program(&self) -> PathBuf {
        let name = format!("rustc{}", env::consts::EXE_SUFFIX);
        self.sysroot.join("bin").join(name)
    }

    /// Returns the path that rustup installs the linker for WebAssembly at.
    pub fn linker(&self) -> PathBuf {
        let bin = format!("lib/rustlib/{}/bin/rust-lld", self.host);
        self.sysroot.join(bin)
    }

    /// Returns the folder of the standard library's source, which exists if that is installed.
    pub fn std_source(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib/src/rust")
    }

    /// Returns the name of [`Self::std_source`] in a precompiled standard library.
    pub fn std_source_name(&self) -> String {
        format!("/rustc/{}", self.commit)
    }

    /// Returns `true` if there is a compiled standard library for `target`.
    pub fn has_target(&self, target: &str) -> bool {
        let folder = self.sysroot.join("lib/rustlib").join(target).join("lib");
        fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some())
    }
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rustc {} in {}", self.release, self.sysroot.display())
    }
}

//! A Rust compiler: its own description, and the files beside it.

use std::{env, fmt, fs, path::PathBuf};

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

pub struct Compiler {
    pub sysroot: PathBuf,
    /// The linker for WebAssembly, which rustup installs with every toolchain.
    pub linker: Option<PathBuf>,
    version: String,
    commit: String,
    host: String,
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
        // This is `rustc 1.96.0`, without the commit and date behind it.
        let name = version
            .lines()
            .next()
            .and_then(|line| line.split(" (").next());
        let said = |name: &str| {
            let mut lines = version.lines();
            let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            value.with_context(|| format!("`rustc --version --verbose` names no {name}"))
        };
        let libraries = PathBuf::from(cmd!(shell, "{rustc} --print target-libdir").read()?);
        let linker = libraries.with_file_name("bin").join("rust-lld");
        Ok(Self {
            sysroot: cmd!(shell, "{rustc} --print sysroot").read()?.into(),
            linker: linker.is_file().then_some(linker),
            version: name.unwrap_or_default().to_owned(),
            commit: said("commit-hash")?.to_owned(),
            host: said("host")?.to_owned(),
        })
    }

    /// Returns `1.96.0` of `rustc 1.96.0`.
    pub fn release(&self) -> &str {
        self.version.trim_start_matches("rustc ")
    }

    /// Returns the target of programs of this machine.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns `96` of `rustc 1.96.0`.
    pub fn minor(&self) -> Option<u32> {
        let minor = self.version.split('.').nth(1)?;
        minor.parse().ok()
    }

    /// Returns the path of the compiler itself, since `rustc` may be rustup's proxy.
    pub fn program(&self) -> PathBuf {
        let name = format!("rustc{}", env::consts::EXE_SUFFIX);
        self.sysroot.join("bin").join(name)
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

    /// Returns the name of the toolchain if it is rustup's: only to such a one can a target be
    /// added. (A linked toolchain, or a distribution's, is elsewhere.)
    pub fn rustup_toolchain(&self) -> Option<&str> {
        let is_rustups = self.sysroot.parent()?.file_name()? == "toolchains";
        let name = self.sysroot.file_name()?.to_str()?;
        is_rustups.then_some(name)
    }
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.version, self.sysroot.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_is_known_by_its_version_and_its_place() {
        let compiler = |sysroot: &str| Compiler {
            sysroot: sysroot.into(),
            linker: None,
            version: "rustc 1.96.0-nightly".to_owned(),
            commit: String::new(),
            host: String::new(),
        };
        let rustups = compiler("/home/me/.rustup/toolchains/stable-x86_64");
        assert_eq!(rustups.minor(), Some(96));
        assert_eq!(rustups.rustup_toolchain(), Some("stable-x86_64"));
        assert_eq!(compiler("/usr").rustup_toolchain(), None);
    }
}

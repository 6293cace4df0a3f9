//! What a Rust compiler says of itself, and what lies beside it.

use std::{
    env, fmt, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

/// What a `rustc` says of itself.
pub struct Compiler {
    pub sysroot: PathBuf,
    release: String,
    host: String,
    commit: String,
}

impl Compiler {
    /// The one that runs where nothing else is asked for.
    pub fn active(shell: &Shell) -> Result<Self> {
        let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        Self::ask(rustc.into(), shell)
    }

    /// Asked in the workspace's shell, since rustup lets a folder choose its toolchain.
    pub fn ask(rustc: PathBuf, shell: &Shell) -> Result<Self> {
        let version = cmd!(shell, "{rustc} --version --verbose").read()?;
        let sysroot = cmd!(shell, "{rustc} --print sysroot").read()?;
        let field = |name| {
            field(&version, name)
                .with_context(|| format!("`{} -vV` shows no {name}", rustc.display()))
        };
        Ok(Self {
            sysroot: sysroot.into(),
            release: field("release")?.to_owned(),
            host: field("host")?.to_owned(),
            commit: field("commit-hash")?.to_owned(),
        })
    }

    /// The compiler itself, where `rustc` may be rustup's choice of one.
    pub fn program(&self) -> PathBuf {
        let name = format!("rustc{}", env::consts::EXE_SUFFIX);
        self.sysroot.join("bin").join(name)
    }

    /// Where the source of the standard library lies, if it is installed at all.
    pub fn std_source(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib/src/rust")
    }

    /// What a standard library that came compiled calls [`Self::std_source`].
    pub fn std_source_name(&self) -> String {
        format!("/rustc/{}", self.commit)
    }

    /// Is there a compiled standard library for `target`?
    pub fn has_target(&self, target: &str) -> bool {
        let folder = self.sysroot.join("lib/rustlib").join(target).join("lib");
        fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some())
    }

    /// The linker for WebAssembly, which rustup brings with every toolchain.
    pub fn linker(&self) -> Option<PathBuf> {
        let folder = self.sysroot.join("lib/rustlib").join(&self.host);
        let linker = folder.join("bin/rust-lld");
        linker.is_file().then_some(linker)
    }

    pub fn rustup(&self) -> Rustup {
        let toolchains = rustup_home().map(|home| home.join("toolchains"));
        let auto_install = env::var("RUSTUP_AUTO_INSTALL").ok();
        rustup(
            &self.sysroot,
            toolchains.as_deref(),
            auto_install.as_deref(),
        )
    }
}

impl fmt::Display for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rustc {} in {}", self.release, self.sysroot.display())
    }
}

/// Whether rustup can be asked for another target.
#[derive(Debug, PartialEq, Eq)]
pub enum Rustup {
    /// The active compiler is not rustup's.
    Absent,
    /// `RUSTUP_AUTO_INSTALL=0`: nothing may be fetched.
    Forbidden,
    Allowed {
        toolchain: String,
    },
}

fn rustup_home() -> Option<PathBuf> {
    env::var_os("RUSTUP_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(env::home_dir()?.join(".rustup")))
}

/// A toolchain is rustup's where its sysroot lies among rustup's toolchains: only there can a
/// target be added. (A linked one, or a distribution's, lies elsewhere.)
fn rustup(sysroot: &Path, toolchains: Option<&Path>, auto_install: Option<&str>) -> Rustup {
    let name = toolchains
        .and_then(|toolchains| sysroot.strip_prefix(toolchains).ok())
        .and_then(|name| name.to_str());
    match name {
        None => Rustup::Absent,
        Some(_) if auto_install == Some("0") => Rustup::Forbidden,
        Some(name) => Rustup::Allowed {
            toolchain: name.to_owned(),
        },
    }
}

/// `host: x86_64-unknown-linux-gnu` in what `rustc --version --verbose` prints.
fn field<'text>(version: &'text str, name: &str) -> Option<&'text str> {
    version
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_toolchain_is_rustups_only_among_rustups_toolchains() {
        let toolchains = Some(Path::new("/home/me/.rustup/toolchains"));
        let own = Path::new("/home/me/.rustup/toolchains/stable-x86_64");
        let toolchain = "stable-x86_64".to_owned();
        assert_eq!(rustup(own, toolchains, None), Rustup::Allowed { toolchain });
        assert_eq!(rustup(own, toolchains, Some("0")), Rustup::Forbidden);
        assert_eq!(rustup(own, None, None), Rustup::Absent);
        assert_eq!(rustup(Path::new("/usr"), toolchains, None), Rustup::Absent);
    }

    #[test]
    fn fields_are_read_from_what_rustc_says_of_itself() {
        let version = "rustc 1.96.0\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\n";
        assert_eq!(field(version, "host"), Some("x86_64-unknown-linux-gnu"));
        assert_eq!(field(version, "commit-hash"), None);
    }
}

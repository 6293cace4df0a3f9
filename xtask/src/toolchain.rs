//! Chooses the compiler that builds the guest. Missing parts are installed by [`crate::setup`].

use std::{env, fmt, fs, path::PathBuf};

use anyhow::{Context, Result, ensure};
use xshell::{Cmd, Shell, cmd};

use crate::{
    process::{self, describes_running_package, without_variables},
    setup::debian,
};

pub const TARGET: &str = "wasm32-unknown-unknown";

/// A compiler that can build the guest.
pub struct Toolchain {
    cargo: PathBuf,
    compiler: Compiler,
    /// The linker, if the standard library is built from source too.
    std_from_source: Option<PathBuf>,
}

impl Toolchain {
    /// Returns the active compiler, or Debian's if that one has no standard library for the target.
    pub fn find(shell: &Shell) -> Result<Self> {
        let active = Compiler::active(shell)?;
        if active.has_target(TARGET) {
            return Ok(Self {
                cargo: process::cargo().into(),
                compiler: active,
                std_from_source: None,
            });
        }
        ensure!(
            debian::are_installed(shell, &debian::compiler(active.linker.as_deref())),
            "the active compiler, {active}, has no standard library for {TARGET}: \
             `cargo xtask setup guest` gets one",
        );
        Ok(Self {
            cargo: debian::CARGO.into(),
            compiler: Compiler::ask(debian::RUSTC.into(), shell)?,
            std_from_source: Some(active.linker.unwrap_or_else(|| debian::LINKER.into())),
        })
    }

    /// Returns a description of the compiler and the standard library, in one line.
    pub fn description(&self) -> String {
        let std = match self.std_from_source {
            None => "installed",
            Some(_) => "built from source",
        };
        format!("{}, standard library for {TARGET} {std}", self.compiler)
    }

    /// Returns a cargo that builds for the target, whatever the user's environment sets for
    /// compilers: nothing in it may change the bytes.
    pub fn cargo<'a>(&self, shell: &'a Shell) -> Cmd<'a> {
        // One of a guest's flags, and building the standard library, are nightly features that a
        // stable compiler allows with this variable.
        let command = self.cargo_for_programs(shell).env("RUSTC_BOOTSTRAP", "1");
        let Some(linker) = &self.std_from_source else {
            return command;
        };
        command
            .env("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort")
            .env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker)
    }

    /// Returns a cargo for programs of this machine.
    pub fn cargo_for_programs<'a>(&self, shell: &'a Shell) -> Cmd<'a> {
        let command = without_variables(shell.cmd(&self.cargo).quiet(), steers_compiler);
        match self.std_from_source {
            None => command,
            Some(_) => command
                .env("RUSTC", self.compiler.program())
                // rustup and `cargo run` set it to the libraries of another compiler.
                .env_remove("LD_LIBRARY_PATH"),
        }
    }

    pub fn compiler(&self) -> &Compiler {
        &self.compiler
    }
}

/// Returns `true` if this variable changes the output of a compiler for the target.
///
/// `RUSTC` does not count: it selects the active compiler.
fn steers_compiler(name: &str) -> bool {
    const NAMES: [&str; 5] = [
        "CARGO_INCREMENTAL",
        "RUSTC_BOOTSTRAP",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTFLAGS",
    ];
    const PREFIXES: [&str; 5] = [
        "CARGO_BUILD_",
        "CARGO_ENCODED_",
        "CARGO_PROFILE_",
        "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_",
        "CARGO_UNSTABLE_",
    ];
    let steers = NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let harmless = name == "CARGO_BUILD_JOBS";
    (steers && !harmless) || describes_running_package(name)
}

/// A Rust compiler, by its own description.
pub struct Compiler {
    sysroot: PathBuf,
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

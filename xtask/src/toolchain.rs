//! Chooses the compiler that builds the guest. Missing parts are installed by [`crate::setup`].

use std::path::PathBuf;

use anyhow::{Result, ensure};
use xshell::{Cmd, Shell};

use crate::{
    compiler::Compiler,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compiler_settings_of_the_user_do_not_reach_the_guest() {
        for name in [
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_BUILD_TARGET",
            "CARGO_PROFILE_GUEST_OPT_LEVEL",
            "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS",
            "CARGO_PKG_NAME",
        ] {
            assert!(steers_compiler(name), "{name}");
        }
        for name in ["PATH", "RUSTC", "CARGO_HOME", "CARGO_BUILD_JOBS"] {
            assert!(!steers_compiler(name), "{name}");
        }
    }
}

//! The compiler that builds guests, and what a release has for this machine: nothing in the user's
//! environment changes what it builds.

use std::ffi::OsString;

use anyhow::{Context, Result};
use xshell::{Cmd, Shell};

use crate::{
    compiler::Compiler,
    debian_rust,
    process::{self, describes_running_package, without_variables},
};

pub const TARGET: &str = "wasm32-unknown-unknown";

#[derive(Debug)]
pub struct Toolchain {
    cargo: OsString,
    pub compiler: Compiler,
    /// What tells cargo to build with this compiler, and to build guests.
    variables: Vec<(&'static str, OsString)>,
    variables_for_guests: Vec<(&'static str, OsString)>,
}

impl Toolchain {
    /// Returns the active compiler, or Debian's if that one has no standard library for the target.
    pub fn find(shell: &Shell) -> Result<Self> {
        let active = Compiler::active(shell)?;
        if active.has_target(TARGET) {
            return Ok(Self {
                cargo: process::cargo(),
                compiler: active,
                variables: Vec::new(),
                variables_for_guests: Vec::new(),
            });
        }
        let compiler = debian_rust::find(shell).with_context(|| {
            format!(
                "the active compiler, {active}, has no standard library for {TARGET}: \
                 `cargo xtask setup guest` gets one"
            )
        })?;
        Ok(Self {
            cargo: debian_rust::CARGO.into(),
            compiler,
            variables: debian_rust::variables().into(),
            variables_for_guests: debian_rust::variables_for_guests(shell)?.into(),
        })
    }

    /// Returns a description of the compiler and the standard library, in one line.
    pub fn description(&self) -> String {
        let std = match *self.variables_for_guests {
            [] => "installed",
            _ => "built from source",
        };
        format!("{}, standard library for {TARGET} {std}", self.compiler)
    }

    /// Returns a cargo that builds guests.
    pub fn cargo<'a>(&self, shell: &'a Shell) -> Cmd<'a> {
        // One of a guest's flags, and building the standard library, are nightly features that a
        // stable compiler allows with this variable.
        let cargo = self.cargo_for_programs(shell).env("RUSTC_BOOTSTRAP", "1");
        cargo.envs(self.variables_for_guests.clone())
    }

    /// Returns a cargo for programs of this machine.
    pub fn cargo_for_programs<'a>(&self, shell: &'a Shell) -> Cmd<'a> {
        let cargo = without_variables(shell.cmd(&self.cargo).quiet(), steers_compiler);
        cargo.envs(self.variables.clone())
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

//! Debian's Rust for browsers (`rustc-web`), for machines whose compiler has no standard library for
//! WebAssembly, and whose rustup may not install one. It can be installed beside rustup's compiler,
//! and builds the standard library from the source that comes with it.

use std::{ffi::OsString, path::PathBuf};

use anyhow::Result;
use xshell::Shell;

use crate::compiler::Compiler;

pub const CARGO: &str = "/usr/bin/cargo";
const RUSTC: &str = "/usr/bin/rustc";

/// The Rust version that this workspace requires.
const RUST_VERSION: &str = env!("CARGO_PKG_RUST_VERSION");

/// Returns the compiler, if it is installed with all that a guest needs.
pub fn find(shell: &Shell) -> Option<Compiler> {
    let compiler = Compiler::ask(RUSTC.into(), shell).ok()?;
    let needed = [CARGO.into(), compiler.std_source(), linker(shell).ok()?];
    let is_complete = needed.iter().all(|it| it.exists());
    (is_complete && minor(&compiler.release) >= minor(RUST_VERSION)).then_some(compiler)
}

/// Returns `96` of `1.96.0`.
fn minor(version: &str) -> Option<u32> {
    version.split('.').nth(1)?.parse().ok()
}

/// Returns the packages that a guest build needs.
pub fn packages(shell: &Shell) -> Result<String> {
    let compiler = ["rustc-web", "cargo-web", "rust-web-src"];
    let mut packages = compiler
        .map(|name| format!("{name} (>= {RUST_VERSION})"))
        .to_vec();
    if linker(shell)?.starts_with("/usr/bin") {
        packages.push("lld-19".to_owned());
    }
    Ok(packages.join(", "))
}

/// Returns the linker for WebAssembly: rustup's, which comes with each of its toolchains, or else
/// Debian's.
fn linker(shell: &Shell) -> Result<PathBuf> {
    let rustups = Compiler::active(shell)?.linker();
    Ok(if rustups.exists() {
        rustups
    } else {
        "/usr/bin/wasm-ld-19".into()
    })
}

/// Returns the variables with which its cargo builds programs of this machine.
pub fn variables() -> [(&'static str, OsString); 2] {
    // rustup and `cargo run` set the second to the libraries of another compiler.
    [("RUSTC", RUSTC.into()), ("LD_LIBRARY_PATH", "".into())]
}

/// Returns further variables with which it builds guests.
pub fn variables_for_guests(shell: &Shell) -> Result<[(&'static str, OsString); 2]> {
    Ok([
        ("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort".into()),
        (
            "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER",
            linker(shell)?.into(),
        ),
    ])
}

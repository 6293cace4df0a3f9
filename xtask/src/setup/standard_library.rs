//! Installs the standard library for the guest's target: rustup adds it, or Debian provides its
//! source and a compiler for it.

use std::env;

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

use crate::{
    compiler::Compiler,
    process::announce,
    setup::debian,
    toolchain::{TARGET, Toolchain},
};

pub fn install(shell: &Shell) -> Result<()> {
    if let Ok(toolchain) = Toolchain::find(shell) {
        announce(&toolchain.description());
        return Ok(());
    }
    let active = Compiler::active(shell)?;
    let packages = debian::compiler(active.linker.as_deref());
    let instructions = format!(
        "do one of these, then run the command again\n  rustup target add {TARGET}\n  {}    \
         (Debian, as root)",
        debian::install_commands(&packages)
    );
    let is_forbidden = env::var_os("RUSTUP_AUTO_INSTALL").is_some_and(|value| value == "0");
    match active.rustup_toolchain() {
        Some(toolchain) if !is_forbidden => {
            let add = cmd!(shell, "rustup target add {TARGET} --toolchain {toolchain}");
            add.run().context(instructions)
        }
        _ if debian::has_apt(shell) => debian::install(shell, &packages).context(instructions),
        toolchain => {
            let reason = match toolchain {
                Some(_) => "RUSTUP_AUTO_INSTALL=0 forbids adding it",
                None => "it does not belong to rustup",
            };
            bail!(
                "{active} has no standard library for {TARGET}: {reason}, and this is not \
                 Debian\n{instructions}"
            )
        }
    }
}

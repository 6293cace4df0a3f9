//! The standard library for the guest's target: added by rustup, or its source and a compiler for
//! it from Debian.

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
    let auto_install = env::var("RUSTUP_AUTO_INSTALL").ok();
    let toolchain = active.rustup_toolchain();
    match route(toolchain, auto_install.as_deref(), || {
        debian::has_apt(shell)
    }) {
        Route::AddRustupTarget(toolchain) => {
            let add = cmd!(shell, "rustup target add {TARGET} --toolchain {toolchain}");
            add.run().context(instructions)
        }
        Route::InstallPackages => debian::install(shell, &packages).context(instructions),
        Route::AskUser(reason) => {
            bail!("{active} has no standard library for {TARGET}: {reason}\n{instructions}")
        }
    }
}

/// Where a standard library for the target comes from.
#[derive(Debug, PartialEq, Eq)]
enum Route<'a> {
    AddRustupTarget(&'a str),
    InstallPackages,
    AskUser(&'static str),
}

/// Decides. Debian is asked only where it matters.
fn route<'a>(
    rustup_toolchain: Option<&'a str>,
    auto_install: Option<&str>,
    has_apt: impl FnOnce() -> bool,
) -> Route<'a> {
    match (rustup_toolchain, auto_install) {
        (Some(toolchain), auto_install) if auto_install != Some("0") => {
            Route::AddRustupTarget(toolchain)
        }
        _ if has_apt() => Route::InstallPackages,
        (Some(_), _) => {
            Route::AskUser("RUSTUP_AUTO_INSTALL=0 forbids adding it, and this is not Debian")
        }
        (None, _) => Route::AskUser("it does not belong to rustup, and this is not Debian"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rustup_comes_before_debian() {
        let route = route(Some("stable"), None, || panic!("no need to ask Debian"));
        assert_eq!(route, Route::AddRustupTarget("stable"));
    }

    #[test]
    fn debian_packages_are_installed_where_rustup_is_absent_or_forbidden() {
        for (toolchain, auto_install) in
            [(None, None), (None, Some("0")), (Some("stable"), Some("0"))]
        {
            let route = route(toolchain, auto_install, || true);
            assert_eq!(route, Route::InstallPackages);
        }
    }

    #[test]
    fn without_any_way_the_user_is_told_why() {
        for (toolchain, why) in [(Some("stable"), "RUSTUP_AUTO_INSTALL=0"), (None, "rustup")] {
            let Route::AskUser(reason) = route(toolchain, Some("0"), || false) else {
                panic!("something is installed for {toolchain:?}");
            };
            assert!(reason.contains(why), "{reason}");
        }
    }
}

//! The standard library for the guest's target: added by rustup, or its source and a compiler for
//! it from Debian.

use anyhow::{Context, Result, bail};
use xshell::{Shell, cmd};

use crate::{
    compiler::{Compiler, Rustup},
    process::announce,
    setup::debian::{self, Debian, Superuser},
    toolchain::{TARGET, Toolchain},
};

pub fn install(shell: &Shell) -> Result<()> {
    if let Ok(toolchain) = Toolchain::find(shell) {
        announce(&toolchain.description());
        return Ok(());
    }
    let active = Compiler::active(shell)?;
    let packages = debian::compiler(active.linker().as_deref());
    let instructions = || {
        format!(
            "one of these helps; then run the command again\n  \
             rustup target add {TARGET}\n  \
             {}    (Debian)",
            debian::install_commands(&packages)
        )
    };
    match route(active.rustup(), || Debian::look(shell)) {
        Route::AddRustupTarget { toolchain } => {
            let add = cmd!(shell, "rustup target add {TARGET} --toolchain {toolchain}");
            add.run().with_context(instructions)
        }
        Route::InstallPackages(superuser) => {
            debian::install_as(superuser, shell, &packages).with_context(instructions)
        }
        Route::AskUser { reasons } => bail!(
            "the active compiler ({}) has no standard library for {TARGET}; {}\n{}",
            active.sysroot.display(),
            reasons.join("; "),
            instructions(),
        ),
    }
}

/// Where a standard library for the target comes from.
#[derive(Debug, PartialEq, Eq)]
enum Route {
    AddRustupTarget { toolchain: String },
    InstallPackages(Superuser),
    AskUser { reasons: [&'static str; 2] },
}

/// Decides. Debian is asked only where it matters, since it may have to ask sudo.
fn route(rustup: Rustup, debian: impl FnOnce() -> Debian) -> Route {
    let no_rustup = match rustup {
        Rustup::Allowed { toolchain } => return Route::AddRustupTarget { toolchain },
        Rustup::Forbidden => "RUSTUP_AUTO_INSTALL=0 forbids `rustup target add`",
        Rustup::Absent => "it does not belong to rustup",
    };
    let no_debian = match debian() {
        Debian::Installable(superuser) => return Route::InstallPackages(superuser),
        Debian::NoPermission => {
            "Debian's packages are missing, and there is neither root nor sudo without password"
        }
        Debian::Absent => "this is not Debian, which has packages to build one with",
    };
    Route::AskUser {
        reasons: [no_rustup, no_debian],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rustup_comes_before_debian() {
        let toolchain = "stable".to_owned();
        let rustup = Rustup::Allowed {
            toolchain: toolchain.clone(),
        };
        let route = route(rustup, || panic!("no need to ask Debian"));
        assert_eq!(route, Route::AddRustupTarget { toolchain });
    }

    #[test]
    fn debian_packages_are_installed_where_rustup_is_absent_or_forbidden() {
        for superuser in [Superuser::Root, Superuser::Sudo] {
            for rustup in [Rustup::Absent, Rustup::Forbidden] {
                let route = route(rustup, || Debian::Installable(superuser));
                assert_eq!(route, Route::InstallPackages(superuser));
            }
        }
    }

    #[test]
    fn without_any_way_the_user_is_told_why() {
        let route = route(Rustup::Forbidden, || Debian::NoPermission);
        let Route::AskUser { reasons } = route else {
            panic!("{route:?}");
        };
        assert!(reasons[0].contains("RUSTUP_AUTO_INSTALL=0"), "{reasons:?}");
        assert!(reasons[1].contains("root"), "{reasons:?}");
    }
}

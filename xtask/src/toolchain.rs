//! Which compiler builds the guest, and how the standard library for its target gets there.

use std::{path::PathBuf, process::Command};

use anyhow::{Result, anyhow, bail};

use crate::{
    compiler::{Compiler, Rustup},
    debian::{self, Debian, Superuser},
    process::{self, announce, run},
    workspace::Workspace,
};

pub const TARGET: &str = "wasm32-unknown-unknown";

/// A compiler that can build the guest.
pub struct Toolchain {
    cargo: PathBuf,
    compiler: Compiler,
    /// The linker, where the standard library is built from source too.
    std_from_source: Option<PathBuf>,
}

/// The steps in which a standard library for the target is looked for.
#[derive(Debug, PartialEq, Eq)]
enum Route {
    UseInstalled,
    AddRustupTarget { toolchain: String },
    BuildStdWithDebian { install_as: Option<Superuser> },
    AskUser { reasons: [&'static str; 2] },
}

/// Decides. Debian is asked only where it matters, since it may have to ask sudo.
fn route(std_installed: bool, rustup: Rustup, debian: impl FnOnce() -> Debian) -> Route {
    if std_installed {
        return Route::UseInstalled;
    }
    let no_rustup = match rustup {
        Rustup::Allowed { toolchain } => return Route::AddRustupTarget { toolchain },
        Rustup::Forbidden => "RUSTUP_AUTO_INSTALL=0 forbids `rustup target add`",
        Rustup::Absent => "it does not belong to rustup",
    };
    let no_debian = match debian() {
        Debian::Ready => return Route::BuildStdWithDebian { install_as: None },
        Debian::Installable(superuser) => {
            return Route::BuildStdWithDebian {
                install_as: Some(superuser),
            };
        }
        Debian::NoPermission => {
            "Debian's packages are missing, and there is neither root nor sudo without password"
        }
        Debian::Absent => "this is not Debian, which has packages to build one with",
    };
    Route::AskUser {
        reasons: [no_rustup, no_debian],
    }
}

impl Toolchain {
    /// Finds a compiler for the guest, and sets up what is missing for it.
    pub fn prepare(workspace: &Workspace) -> Result<Self> {
        let active = Compiler::active(workspace)?;
        let packages = debian::packages(active.linker().as_deref());
        let route = route(active.has_target(TARGET), active.rustup(), || {
            Debian::look(&packages)
        });
        match route {
            Route::UseInstalled => Ok(Self::of_user(active)),
            Route::AddRustupTarget { toolchain } => {
                add_rustup_target(&toolchain)
                    .map_err(|error| anyhow!("{error:#}\n{}", instructions(&packages)))?;
                Ok(Self::of_user(active))
            }
            Route::BuildStdWithDebian { install_as } => {
                if let Some(superuser) = install_as {
                    debian::install(superuser, &packages)
                        .map_err(|error| anyhow!("{error:#}\n{}", instructions(&packages)))?;
                }
                let linker = active.linker().unwrap_or_else(|| debian::LINKER.into());
                Self::of_debian(linker, workspace)
            }
            Route::AskUser { reasons } => bail!(
                "the active compiler ({}) has no standard library for {TARGET}; {}\n{}",
                active.sysroot.display(),
                reasons.join("; "),
                instructions(&packages),
            ),
        }
    }

    fn of_user(compiler: Compiler) -> Self {
        Self {
            cargo: process::cargo().get_program().into(),
            compiler,
            std_from_source: None,
        }
    }

    fn of_debian(linker: PathBuf, workspace: &Workspace) -> Result<Self> {
        Ok(Self {
            cargo: debian::CARGO.into(),
            compiler: Compiler::ask(debian::RUSTC.into(), workspace)?,
            std_from_source: Some(linker),
        })
    }

    /// Who compiles what, in one line.
    pub fn description(&self) -> String {
        let std = match self.std_from_source {
            None => "installed",
            Some(_) => "built from source",
        };
        format!("{}, standard library for {TARGET} {std}", self.compiler)
    }

    /// A cargo that builds for the target, whatever the user's environment says about compilers:
    /// nothing in it may change the bytes.
    pub fn cargo(&self) -> Command {
        let mut command = Command::new(&self.cargo);
        process::remove_variables(&mut command, steers_compiler);
        if let Some(linker) = &self.std_from_source {
            command.env("RUSTC", self.compiler.program());
            // rustup and `cargo run` make it name the libraries of another compiler.
            command.env_remove("LD_LIBRARY_PATH");
            // Building the standard library is a nightly feature of a stable compiler.
            command.env("RUSTC_BOOTSTRAP", "1");
            command.env("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort");
            command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
        }
        command
    }

    pub fn compiler(&self) -> &Compiler {
        &self.compiler
    }
}

fn add_rustup_target(toolchain: &str) -> Result<()> {
    announce(&format!("rustup target add {TARGET}"));
    let arguments = ["target", "add", TARGET, "--toolchain", toolchain];
    run(Command::new("rustup").args(arguments))
}

/// What the user can do where nothing may be done unasked.
fn instructions(packages: &[&str]) -> String {
    format!(
        "one of these helps; then run the command again\n  \
         rustup target add {TARGET}\n  \
         {}    (Debian)",
        debian::install_commands(packages)
    )
}

/// Does this variable change what a compiler for the target does?
///
/// `RUSTC` does not count: it is part of what the active compiler is.
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
    (steers && !harmless) || process::describes_running_package(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> Rustup {
        Rustup::Allowed {
            toolchain: "stable".into(),
        }
    }

    #[test]
    fn an_installed_standard_library_is_used_whatever_else_there_is() {
        for rustup in [Rustup::Absent, Rustup::Forbidden, allowed()] {
            let route = route(true, rustup, || panic!("no need to ask Debian"));
            assert_eq!(route, Route::UseInstalled);
        }
    }

    #[test]
    fn rustup_comes_before_debian() {
        let route = route(false, allowed(), || panic!("no need to ask Debian"));
        let toolchain = "stable".into();
        assert_eq!(route, Route::AddRustupTarget { toolchain });
    }

    #[test]
    fn debian_builds_the_standard_library_where_rustup_is_absent_or_forbidden() {
        for rustup in [Rustup::Absent, Rustup::Forbidden] {
            let route = route(false, rustup, || Debian::Ready);
            assert_eq!(route, Route::BuildStdWithDebian { install_as: None });
        }
    }

    #[test]
    fn debian_packages_are_installed_as_root_or_by_sudo() {
        for superuser in [Superuser::Root, Superuser::Sudo] {
            let route = route(false, Rustup::Forbidden, || Debian::Installable(superuser));
            let install_as = Some(superuser);
            assert_eq!(route, Route::BuildStdWithDebian { install_as });
        }
    }

    #[test]
    fn without_any_way_the_user_is_told_why() {
        let route = route(false, Rustup::Forbidden, || Debian::NoPermission);
        let Route::AskUser { reasons } = route else {
            panic!("{route:?}");
        };
        assert!(reasons[0].contains("RUSTUP_AUTO_INSTALL=0"), "{reasons:?}");
        assert!(reasons[1].contains("root"), "{reasons:?}");
    }

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

//! The other way to build the guest: `cargo component build --release` in its folder. Nothing here
//! needs it; this is the check that it works and gives the same WIT.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

use crate::{
    component, guest,
    process::{announce, run},
    tool::{self, Tool},
    toolchain::{TARGET, Toolchain},
    wit::Wit,
    workspace::Workspace,
};

/// The last one; its maintainers point to plain cargo with wit-bindgen.
const CARGO_COMPONENT: Tool = Tool {
    name: "cargo-component",
    version: "0.21.1",
    takes: "about 4 minutes",
};

/// cargo-component looks for this target whatever it builds for, and would have rustup fetch it.
const EXPECTED_TARGET: &str = "wasm32-wasip1";

pub fn build_and_compare(toolchain: &Toolchain, workspace: &Workspace) -> Result<()> {
    CARGO_COMPONENT.install(workspace)?;
    let built = build(toolchain, workspace, &tool::folder(workspace))?;
    compare_wit(&built, &workspace.component())?;
    let copy = workspace.target.join("voice-calling-cargo-component.wasm");
    fs::write(&copy, component::read(&built)?)
        .with_context(|| format!("cannot write {}", copy.display()))?;
    println!(
        "{} has the same WIT; to run the tests with it:\n\
         HOST_TEST_COMPONENT={} cargo test --package host-test",
        workspace.shown(&copy),
        copy.display(),
    );
    Ok(())
}

/// Runs what a user types in the guest's folder, and returns where the component lies. Only that
/// it holds no path of this machine is owed to a variable.
fn build(toolchain: &Toolchain, workspace: &Workspace, tools: &Path) -> Result<PathBuf> {
    announce("cargo component build --release");
    let target = workspace.target.join("cargo-component");
    let compiler = toolchain.compiler();
    let mut folders = vec![tools.join("bin")];
    if !compiler.has_target(EXPECTED_TARGET) {
        folders.insert(0, stand_in(&compiler.program(), tools)?);
    }
    folders.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    let mut cargo = toolchain.cargo();
    cargo
        .args(["component", "build", "--release", "--locked"])
        .current_dir(&workspace.guest.folder)
        .env("PATH", env::join_paths(folders)?)
        .env("CARGO_TARGET_DIR", &target)
        .env(guest::FLAGS_VARIABLE, guest::flags(toolchain, workspace)?);
    run(&mut cargo)?;
    let file = guest::file(workspace.guest.guest);
    Ok(target.join(TARGET).join("release").join(file))
}

/// A `rustc` to be found before the real one, which answers cargo-component's question for the
/// sysroot with a folder that looks as expected, and passes on everything else.
#[cfg(unix)]
fn stand_in(rustc: &Path, tools: &Path) -> Result<PathBuf> {
    use std::os::unix::fs::PermissionsExt;

    let sysroot = tools.join("sysroot");
    let folder = tools.join("stand-in");
    fs::create_dir_all(sysroot.join("lib/rustlib").join(EXPECTED_TARGET))?;
    fs::create_dir_all(&folder)?;
    let script = format!(
        "#!/bin/sh\n\
         if [ \"$*\" = '--print sysroot' ]; then\n  echo '{}'\nelse\n  exec '{}' \"$@\"\nfi\n",
        sysroot.display(),
        rustc.display()
    );
    let program = folder.join("rustc");
    fs::write(&program, script)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    Ok(folder)
}

#[cfg(not(unix))]
fn stand_in(_: &Path, _: &Path) -> Result<PathBuf> {
    anyhow::bail!("cargo-component needs one more target: rustup target add {EXPECTED_TARGET}")
}

fn compare_wit(built: &Path, reference: &Path) -> Result<()> {
    let [built, reference] = [wit_text(built)?, wit_text(reference)?];
    ensure!(
        built == reference,
        "the WIT of the two components differs: {}",
        first_difference(&built, &reference)
    );
    Ok(())
}

fn first_difference(one: &str, other: &str) -> String {
    let mut lines = one.lines().zip(other.lines());
    match lines.find(|(one, other)| one != other) {
        Some((one, other)) => format!("`{}` and `{}`", one.trim(), other.trim()),
        None => "one goes on where the other ends".to_owned(),
    }
}

fn wit_text(path: &Path) -> Result<String> {
    let wit = Wit::of_component(&component::read(path)?);
    wit.and_then(|wit| wit.text())
        .with_context(|| format!("cannot read the WIT of {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_shown() {
        let one = "a\n  b: u8;\nc";
        assert_eq!(
            first_difference(one, "a\n  b: u16;\nd"),
            "`b: u8;` and `b: u16;`"
        );
        assert_eq!(
            first_difference(one, "a"),
            "one goes on where the other ends"
        );
    }
}

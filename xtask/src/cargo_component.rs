//! The other way to build the guest: `cargo component build --profile guest` in its folder. The
//! project does not depend on it; this checks that it gives the same result.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};

use crate::{
    component,
    core_module::{self, FLAGS_VARIABLE, PROFILE},
    guest::CLIENT,
    process::announce,
    setup::What,
    toolchain::Toolchain,
    wit,
    workspace::{Workspace, shell_in},
};

/// The target that cargo-component requires whatever it builds for, and would have rustup fetch.
const EXPECTED_TARGET: &str = "wasm32-wasip1";

/// Checks that it gives the same core module and the same WIT, so that the tests of our component
/// are valid for it.
pub fn build_and_compare(workspace: &Workspace) -> Result<()> {
    let program = What::CargoComponent.program(workspace, "cargo-component")?;
    let toolchain = Toolchain::find(&workspace.shell)?;
    component::build(workspace, &[&CLIENT])?;
    let ours = workspace.shell.read_binary_file(workspace.component())?;
    let path = build(&toolchain, workspace, &program)?;
    let built = workspace.shell.read_binary_file(&path)?;
    let shown = workspace.shown(&path);
    ensure!(
        component::core_module(&built)? == component::core_module(&ours)?,
        "{shown} has a different core module"
    );
    ensure!(
        wit::of_component(&built)? == wit::of_component(&ours)?,
        "{shown} has a different WIT"
    );
    println!("{shown} has the same core module and the same WIT");
    Ok(())
}

/// Runs the command that a user types in the guest's folder, and returns the path of the component.
/// The only difference is a variable that keeps paths of this machine out of it.
fn build(toolchain: &Toolchain, workspace: &Workspace, program: &Path) -> Result<PathBuf> {
    announce("cargo component build --profile guest");
    let target = workspace.target.join("cargo-component");
    let compiler = &toolchain.compiler;
    let own = program.parent().context("a program in a folder")?;
    let mut folders = vec![own.to_owned()];
    if !compiler.has_target(EXPECTED_TARGET) {
        folders.insert(0, stand_in(&compiler.program(), &target)?);
    }
    folders.extend(env::split_paths(&env::var_os("PATH").unwrap_or_default()));
    let shell = shell_in(&workspace.root.join("component/p2"))?;
    let cargo = toolchain.cargo(&shell);
    cargo
        .args(["component", "build", "--locked", "--profile", PROFILE])
        .env("PATH", env::join_paths(folders)?)
        .env("CARGO_TARGET_DIR", &target)
        .env(FLAGS_VARIABLE, core_module::flags(toolchain, workspace)?)
        .run()?;
    Ok(core_module::path(&target, &CLIENT))
}

/// Creates a `rustc` to be found before the real one, which answers cargo-component's question for
/// the sysroot with a folder that looks as expected, and passes on everything else.
fn stand_in(rustc: &Path, target: &Path) -> Result<PathBuf> {
    let sysroot = target.join("sysroot");
    let folder = target.join("stand-in");
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

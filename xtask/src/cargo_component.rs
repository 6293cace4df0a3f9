//! The other way to build the guest: `cargo component build --profile guest` in its folder. The
//! project does not depend on it; this checks that it gives the same result.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use xshell::cmd;

use crate::{
    component,
    core_module::{self, FLAGS_VARIABLE, PROFILE},
    guest::CLIENT,
    process::{announce, path_from},
    setup::What,
    toolchain::Toolchain,
    wit,
    workspace::{Workspace, shell_in},
};

/// Checks that it gives the same core module and the same WIT, so that the tests of our component
/// are valid for it.
pub(crate) fn build_and_compare(workspace: &Workspace) -> Result<()> {
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
    let folder = stand_in(workspace, &toolchain.compiler.program(), &target)?;
    let own = program.parent().context("a program in a folder")?;
    let shell = shell_in(&workspace.root.join("component/p2"))?;
    let cargo = toolchain.cargo(&shell);
    cargo
        .args(["component", "build", "--locked", "--profile", PROFILE])
        .env("PATH", path_from(&[&folder, own])?)
        .env("CARGO_TARGET_DIR", &target)
        .env(FLAGS_VARIABLE, core_module::flags(toolchain, workspace)?)
        .run()?;
    Ok(core_module::path(&target, &CLIENT))
}

/// Returns a folder with a `rustc` to be found before the real one, since cargo-component requires the
/// target wasm32-wasip1, whatever it builds for, and would have rustup fetch it. This one answers its
/// question for the sysroot with a folder that has it, and passes on everything else.
fn stand_in(workspace: &Workspace, rustc: &Path, target: &Path) -> Result<PathBuf> {
    let (shell, sysroot, folder) = (
        &workspace.shell,
        target.join("sysroot"),
        target.join("stand-in"),
    );
    shell.create_dir(sysroot.join("lib/rustlib/wasm32-wasip1"))?;
    let script = format!(
        "#!/bin/sh\n\
         if [ \"$*\" = '--print sysroot' ]; then\n  echo '{}'\nelse\n  exec '{}' \"$@\"\nfi\n",
        sysroot.display(),
        rustc.display()
    );
    let program = folder.join("rustc");
    shell.write_file(&program, script)?;
    cmd!(shell, "chmod +x {program}").quiet().run()?;
    Ok(folder)
}

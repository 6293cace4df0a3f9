//! The host harness, which is the program `host-test`: its demo; and the bench.

use std::{env, path::PathBuf, thread};

use anyhow::{Context, Result};

use crate::{
    component,
    guest::{CLIENT, WSTD},
    mock,
    process::announce,
    setup::What,
    workspace::Workspace,
};

/// The variable that tells a language's tests the path of the program `host-test`.
pub const HARNESS_VARIABLE: &str = "HOST_TEST";

/// The programs that the tests of packages start, by the variables that tell their paths.
pub type Programs = [(&'static str, PathBuf); 2];

/// Builds the programs that the tests of packages start.
pub fn programs(workspace: &Workspace) -> Result<Programs> {
    let harness = (HARNESS_VARIABLE, build(workspace)?);
    Ok([harness, (mock::VARIABLE, mock::build(workspace)?)])
}

/// Builds the program `host-test`, and returns its path.
pub fn build(workspace: &Workspace) -> Result<PathBuf> {
    announce("host-test: building (some minutes the first time)");
    let build = workspace.cargo("build --locked --bin host-test");
    build.run().context("cannot build the host harness")?;
    let name = format!("host-test{}", env::consts::EXE_SUFFIX);
    Ok(workspace.target.join("debug").join(name))
}

/// Builds the component and runs the demo.
pub fn demo(workspace: &Workspace) -> Result<()> {
    What::Guest.install(workspace)?;
    // Both run at the same time, since each leaves processors idle, the guest while it is linked.
    let component = thread::spawn(move || component::build(&Workspace::load()?, &[&CLIENT]));
    let harness = build(workspace);
    component.join().expect("a build does not panic")?;
    let demo = workspace.shell.cmd(harness?).quiet();
    announce("host-test: demo");
    let demo = demo.args(["demo", "--component"]);
    Ok(demo.arg(workspace.component()).run()?)
}

/// Measures the components that were just built, and the client for Rust, beside other clients. The
/// short form measures nothing, so it uses the build of the tests.
pub fn bench(workspace: &Workspace, is_short: bool) -> Result<()> {
    component::build(workspace, &[&WSTD])?;
    let profile = if is_short { "dev" } else { "release" };
    announce("bench (building takes some minutes the first time)");
    let bench = workspace
        .cargo("run --quiet --locked --package voice-calling-bench --profile")
        .args([profile, "--", "--component"])
        .arg(workspace.component());
    Ok(bench.args(is_short.then_some("--short")).run()?)
}

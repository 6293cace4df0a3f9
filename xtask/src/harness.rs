//! The programs that tests start, and what they run by themselves: the demo, the bench, and the
//! mock's page.

use std::{env, path::PathBuf, thread};

use anyhow::{Context, Result};
use clap::Subcommand;

use crate::{
    component,
    guest::{CLIENT, PRODUCTS, WSTD},
    process::announce,
    setup::What,
    workspace::Workspace,
};

/// The variable that tells tests the path of the program `voice-calling-mock`.
pub(crate) const MOCK: &str = "MOCK";

/// The programs that the tests of packages start, by the variables that tell their paths.
pub(crate) type Programs = [(&'static str, PathBuf); 2];

/// Builds the programs that the tests of packages start.
pub(crate) fn programs(workspace: &Workspace) -> Result<Programs> {
    let harness = ("HOST_TEST", build(workspace, "host-test")?);
    Ok([harness, (MOCK, mock(workspace)?)])
}

/// Builds the mock service, and returns its path.
pub(crate) fn mock(workspace: &Workspace) -> Result<PathBuf> {
    build(workspace, "voice-calling-mock")
}

/// Builds a program, and returns its path.
fn build(workspace: &Workspace, name: &str) -> Result<PathBuf> {
    announce(&format!(
        "{name}: building (may take some minutes the first time)"
    ));
    let build = workspace.cargo("build --locked --bin").arg(name);
    build
        .run()
        .with_context(|| format!("cannot build {name}"))?;
    let file = format!("debug/{name}{}", env::consts::EXE_SUFFIX);
    Ok(workspace.target.join(file))
}

/// Builds the component and runs the demo.
pub(crate) fn demo(workspace: &Workspace) -> Result<()> {
    What::Guest.install(workspace)?;
    // Both run at the same time, since each leaves processors idle, the guest while it is linked.
    let component = thread::spawn(move || component::build(&Workspace::load()?, &[&CLIENT]));
    let harness = build(workspace, "host-test");
    component.join().expect("a build does not panic")?;
    let demo = workspace.shell.cmd(harness?).quiet();
    announce("host-test: demo");
    let demo = demo.args(["demo", "--component"]);
    Ok(demo.arg(workspace.component()).run()?)
}

/// Measures the components, and the client for Rust, beside other clients. The short form measures
/// nothing, so it uses the build of the tests.
pub(crate) fn bench(workspace: &Workspace, is_short: bool) -> Result<()> {
    component::build(workspace, &PRODUCTS)?;
    component::build(workspace, &[&WSTD])?;
    let profile = if is_short { "dev" } else { "release" };
    announce("bench (building takes some minutes the first time)");
    let bench = workspace
        .cargo("run --quiet --locked --package voice-calling-bench --profile")
        .args([profile, "--", "--component"])
        .arg(workspace.component());
    Ok(bench.args(is_short.then_some("--short")).run()?)
}

#[derive(Subcommand)]
pub(crate) enum Page {
    /// Run the tests
    Test,
    /// Draw the page into docs/pictures
    Pictures,
}

/// Runs the tests of the mock's page in Chromium, which also draw the pictures of the
/// documentation.
pub(crate) fn run_page(workspace: &Workspace, page: Page) -> Result<()> {
    let chromium = What::Chromium.program(workspace, "chromium")?;
    let part = match page {
        Page::Test => "page",
        Page::Pictures => "pictures",
    };
    let tests = workspace.part(part).env("CHROMIUM", chromium);
    Ok(tests.env(MOCK, mock(workspace)?).run()?)
}

//! The host harness, which is the program `host-test`: its demo and the mock's page; and the bench.

use std::{env, path::PathBuf, thread};

use anyhow::{Context, Result};
use clap::Subcommand;
use xshell::cmd;

use crate::{
    bindings::npm,
    component,
    guest::{CLIENT, WSTD},
    process::announce,
    setup::{CHROMIUM_VARIABLE, What, find_chromium},
    workspace::{Workspace, shell_in},
};

/// The variable that tells a language's tests the path of the program `host-test`.
pub const HARNESS_VARIABLE: &str = "HOST_TEST";

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

#[derive(Subcommand)]
pub enum Page {
    /// Run the tests
    Test,
    /// Draw the page into docs/pictures
    Pictures,
}

/// Runs the tests of the mock's page in Chromium, which also draw the pictures of the
/// documentation.
pub fn run_page(workspace: &Workspace, page: Page) -> Result<()> {
    let chromium = find_chromium(&workspace.shell)?;
    let harness = build(workspace)?;
    let folder = workspace.root.join("host-test/browser");
    npm::install(&folder)?;
    announce("the mock's page in Chromium");
    let shell = shell_in(&folder)?;
    let tests = match page {
        Page::Test => cmd!(shell, "npm run --silent page"),
        Page::Pictures => cmd!(shell, "npm run --silent pictures")
            .env("PAGE_PICTURES", workspace.root.join("docs/pictures")),
    };
    let tests = tests.quiet().env(CHROMIUM_VARIABLE, chromium);
    Ok(tests.env(HARNESS_VARIABLE, harness).run()?)
}

//! The mock service as a program: for tests, for users without Rust, and its page.

use std::{env, path::PathBuf};

use anyhow::{Context, Result};
use clap::Subcommand;
use xshell::cmd;

use crate::{
    bindings::npm,
    core_module::{FLAGS_VARIABLE, reproducible_flags},
    process::announce,
    setup::{CHROMIUM_VARIABLE, find_chromium},
    toolchain::Toolchain,
    workspace::{Workspace, shell_in},
};

pub const PACKAGE: &str = "voice-calling-mock";

/// The variable that tells tests the path of the program.
pub const VARIABLE: &str = "MOCK";

const PROFILE: &str = "program";

/// Returns the name of this platform, such as `x86_64-linux`.
pub fn platform() -> String {
    format!("{}-{}", env::consts::ARCH, env::consts::OS)
}

/// Returns the name of the program's file.
fn file_name() -> String {
    format!("{PACKAGE}{}", env::consts::EXE_SUFFIX)
}

/// Builds the program for tests, and returns its path.
pub fn build(workspace: &Workspace) -> Result<PathBuf> {
    announce(&format!("{PACKAGE}: building"));
    let build = workspace
        .cargo("build --locked")
        .args(["--package", PACKAGE]);
    build.run().context("cannot build the mock")?;
    Ok(workspace.target.join("debug").join(file_name()))
}

/// Builds the program for a release, which is the same wherever the workspace is.
pub fn build_for_release(workspace: &Workspace) -> Result<PathBuf> {
    let toolchain = Toolchain::find(&workspace.shell)?;
    announce(&format!("{PACKAGE}: {}", toolchain.compiler()));
    let target = workspace.target.join("program");
    toolchain
        .cargo_for_programs(&workspace.shell)
        .args(["build", "--locked", "--package", PACKAGE])
        // Without a target, the flags would also apply to programs that run during the build.
        .args(["--target", toolchain.compiler().host()])
        .args(["--profile", PROFILE, "--target-dir"])
        .arg(&target)
        .env(FLAGS_VARIABLE, reproducible_flags(&toolchain, workspace)?)
        .run()?;
    let folder = target.join(toolchain.compiler().host()).join(PROFILE);
    Ok(folder.join(file_name()))
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
    let mock = build(workspace)?;
    let folder = workspace.root.join("mock/browser");
    npm::install(&folder)?;
    announce("the mock's page in Chromium");
    let shell = shell_in(&folder)?;
    let tests = match page {
        Page::Test => cmd!(shell, "npm run --silent page"),
        Page::Pictures => cmd!(shell, "npm run --silent pictures")
            .env("PAGE_PICTURES", workspace.root.join("docs/pictures")),
    };
    let tests = tests.quiet().env(CHROMIUM_VARIABLE, chromium);
    Ok(tests.env(VARIABLE, mock).run()?)
}

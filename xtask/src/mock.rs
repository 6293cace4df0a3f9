//! The mock service as a program for tests, and its page.

use std::{env, path::PathBuf};

use anyhow::{Context, Result};
use clap::Subcommand;
use xshell::cmd;

use crate::{
    bindings::npm,
    process::announce,
    setup::{CHROMIUM_VARIABLE, find_chromium},
    workspace::{Workspace, shell_in},
};

pub const PACKAGE: &str = "voice-calling-mock";

/// The variable that tells tests the path of the program.
pub const VARIABLE: &str = "MOCK";

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

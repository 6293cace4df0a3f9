//! The mock's page in Chromium: its tests, and the pictures that they make for the documentation.

use anyhow::Result;
use clap::Subcommand;
use xshell::Cmd;

use crate::{
    component,
    guest::CLIENT,
    process::announce,
    setup::check_chromium,
    test_run::{BROWSER_TESTS, COMPONENT_VARIABLE, test_harness},
    workspace::Workspace,
};

#[derive(Subcommand)]
pub enum Command {
    /// Run the tests
    Test {
        /// For `cargo test`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Draw the page into docs/pictures
    Pictures,
}

/// Where the tests write their pictures, if it is set.
const PICTURES_VARIABLE: &str = "PAGE_PICTURES";
const PICTURES: &str = "docs/pictures";

/// The test that draws.
const DRAWING: &str = "the_page_is_drawn";

pub fn run(workspace: &Workspace, command: Command) -> Result<()> {
    check_chromium(&workspace.shell)?;
    component::build(workspace, &[&CLIENT])?;
    announce("the mock's page in Chromium");
    let tests = tests(workspace);
    match command {
        Command::Test { arguments } => Ok(tests.args(arguments).run()?),
        Command::Pictures => {
            let folder = workspace.root.join(PICTURES);
            workspace.shell.create_dir(&folder)?;
            let drawing = tests.arg(DRAWING).env(PICTURES_VARIABLE, &folder);
            drawing.run()?;
            println!("{}", workspace.shown(&folder));
            Ok(())
        }
    }
}

/// With the packages of `cargo xtask test`, so that no dependency is compiled once more.
fn tests(workspace: &Workspace) -> Cmd<'_> {
    test_harness(workspace)
        .args(["--features", BROWSER_TESTS, "--test", "telephone"])
        .env(COMPONENT_VARIABLE, workspace.component())
}

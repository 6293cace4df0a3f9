//! Runs the tests of the mock's page in Chromium, which also draw the pictures of the
//! documentation.

use anyhow::Result;
use clap::Subcommand;

use crate::{
    component,
    guest::CLIENT,
    process::announce,
    setup::debian::CHROMIUM,
    test_run::{BROWSER_TESTS, COMPONENT_VARIABLE, all_tests},
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

pub fn run(workspace: &Workspace, command: Command) -> Result<()> {
    CHROMIUM.check(&workspace.shell)?;
    component::build(workspace, &[&CLIENT])?;
    announce("the mock's page in Chromium");
    let tests = all_tests(workspace)
        .args(["--features", BROWSER_TESTS, "--test", "telephone"])
        .env(COMPONENT_VARIABLE, workspace.component());
    match command {
        Command::Test { arguments } => Ok(tests.args(arguments).run()?),
        Command::Pictures => {
            let folder = workspace.root.join("docs/pictures");
            workspace.shell.create_dir(&folder)?;
            let drawing = tests.arg("the_page_is_drawn").env("PAGE_PICTURES", &folder);
            drawing.run()?;
            println!("{}", workspace.shown(&folder));
            Ok(())
        }
    }
}

//! The recipe for Restate: tried, and measured, on its server.

use anyhow::Result;
use clap::Subcommand;
use xshell::cmd;

use crate::{
    bindings::{self, npm},
    harness::{self, HARNESS_VARIABLE},
    process::announce,
    workspace::{Workspace, shell_in},
};

#[derive(Subcommand)]
pub enum Command {
    /// Run its tests, which kill the service and the server
    Test,
    /// Measure dockets while the service is killed: time, processor, disk
    Bench {
        /// For the program `bench.ts`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

pub fn run(workspace: &Workspace, command: Command) -> Result<()> {
    bindings::build_javascript(workspace)?;
    let harness = harness::build(workspace)?;
    let folder = workspace.root.join("engines/restate");
    // With the Node that it needs, which is newer than the one that the other tests need.
    npm::install(&folder)?;
    let shell = shell_in(&folder)?;
    shell.set_var(HARNESS_VARIABLE, harness);
    match command {
        Command::Test => {
            announce("Restate: types, and tests on the server");
            cmd!(shell, "npm run --silent check").quiet().run()?;
            Ok(cmd!(shell, "npm run --silent test").quiet().run()?)
        }
        Command::Bench { arguments } => {
            let bench = cmd!(shell, "npm run --silent bench -- {arguments...}");
            Ok(bench.quiet().run()?)
        }
    }
}

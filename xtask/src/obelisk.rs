//! voice-calling on the workflow engine Obelisk: the folder that its users copy, and the tests on
//! the engine itself.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Subcommand;
use xshell::Cmd;

use crate::{
    component::{self, plug},
    guest::{CLIENT, OBELISK, OBELISK_SOCKETS},
    process::announce,
    setup::What,
    test_run::{ENGINE_TESTS, all_tests},
    workspace::Workspace,
};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Build what runs on it into target/obelisk
    Build,
    /// Measure a campaign on the engine: time, memory, database. The variable OBELISK names an engine
    /// that is built with optimizations
    Measure {
        contacts: u32,
        /// Two nodes on PostgreSQL, in place of one on SQLite
        #[arg(long)]
        postgres: bool,
    },
    /// Run the tests on the engine
    Test {
        /// For `cargo test`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

pub(crate) fn run(workspace: &Workspace, command: Command) -> Result<()> {
    match command {
        Command::Build => {
            build_into(workspace, &folder(workspace))?;
            println!("{}", workspace.shown(&folder(workspace)));
            Ok(())
        }
        Command::Measure { contacts, postgres } => {
            let database = if postgres { "postgres" } else { "sqlite" };
            Ok(measurement(workspace, contacts, database)?.run()?)
        }
        Command::Test { arguments } => {
            let tests = all_tests(workspace)
                .args(["--features", ENGINE_TESTS])
                .args(["--test", "dockets", "--test", "two_nodes"]);
            Ok(on_engine(workspace, tests.args(arguments))?.run()?)
        }
    }
}

/// Measures a campaign while the node is killed: a line of JSON.
pub(crate) fn measure(workspace: &Workspace, contacts: u32) -> Result<String> {
    Ok(measurement(workspace, contacts, "sqlite")?.read()?)
}

fn measurement<'a>(workspace: &'a Workspace, contacts: u32, database: &str) -> Result<Cmd<'a>> {
    let measure = workspace.cargo("run --release --locked --bin obelisk-harness --");
    on_engine(workspace, measure.args([&contacts.to_string(), database]))
}

fn on_engine<'a>(workspace: &Workspace, harness: Cmd<'a>) -> Result<Cmd<'a>> {
    let engine = engine(workspace)?;
    build_into(workspace, &folder(workspace))?;
    announce(&format!("on {}", engine.display()));
    Ok(harness
        .env("OBELISK", engine)
        .env("OBELISK_FOLDER", folder(workspace)))
}

/// Returns the path of the engine: the one that the variable OBELISK names, or the one that was set
/// up.
pub(crate) fn engine(workspace: &Workspace) -> Result<PathBuf> {
    What::Obelisk.program(workspace, "obelisk")
}

/// Returns the folder that users copy.
fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("obelisk")
}

/// Builds the components, and puts everything that a deployment needs into a folder.
pub(crate) fn build_into(workspace: &Workspace, folder: &Path) -> Result<()> {
    workspace.shell.create_dir(folder)?;
    for guest in OBELISK {
        component::build_into(folder, workspace, guest)?;
    }
    for (guest, file) in OBELISK_SOCKETS {
        component::build(workspace, &[guest])?;
        let (client, socket) = (folder.join(CLIENT.file), workspace.component_of(guest));
        plug(workspace, &client, &socket, &folder.join(file))?;
    }
    Ok(workspace.part("obelisk").arg(folder).run()?)
}

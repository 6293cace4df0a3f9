//! voice-calling on the workflow engine Obelisk: the folder that its users copy, and the tests on
//! the engine itself.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
use clap::Subcommand;
use xshell::{Cmd, cmd};

use crate::{
    component::{self, plug},
    guest::{self, OBELISK_ONCE, OBELISK_WEBHOOK},
    process::announce,
    setup::{debian::POSTGRESQL, tool::OBELISK},
    test_run::all_tests,
    workspace::Workspace,
};

#[derive(Subcommand)]
pub enum Command {
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

/// The variable that names an installed engine.
const PROGRAM_VARIABLE: &str = "OBELISK";

/// The feature of the tests on the engine.
pub const ENGINE_TESTS: &str = "obelisk-harness/engine";

/// The files that are copied unchanged.
const FILES: [&str; 6] = [
    "README.md",
    "campaigns.md",
    "operations.md",
    "crashes.md",
    "deployment.toml",
    "server.toml",
];

/// The WIT for users: the options and outcomes, the exports of an operator of their own, and the
/// types that both share with the client.
const WIT: [(&str, &str); 3] = [
    ("types", "wit/types"),
    ("workflows", "engines/obelisk/wit"),
    ("operator", "engines/obelisk/operator/wit"),
];

pub fn run(workspace: &Workspace, command: Command) -> Result<()> {
    match command {
        Command::Build => {
            build(workspace)?;
            println!("{}", workspace.shown(&folder(workspace)));
            Ok(())
        }
        Command::Measure { contacts, postgres } => {
            let database = if postgres { "postgres" } else { "sqlite" };
            Ok(measurement(workspace, contacts, database)?.run()?)
        }
        Command::Test { arguments } => {
            POSTGRESQL.check(&workspace.shell)?;
            let tests = all_tests(workspace)
                .args(["--features", ENGINE_TESTS])
                .args(["--test", "dockets", "--test", "two_nodes"]);
            Ok(on_engine(workspace, tests.args(arguments))?.run()?)
        }
    }
}

/// Measures a campaign while the node is killed: a line of JSON.
pub fn measure(workspace: &Workspace, contacts: u32) -> Result<String> {
    Ok(measurement(workspace, contacts, "sqlite")?.read()?)
}

fn measurement<'a>(workspace: &'a Workspace, contacts: u32, database: &str) -> Result<Cmd<'a>> {
    let measure = workspace.cargo("run --release --locked --bin obelisk-harness --");
    on_engine(workspace, measure.args([&contacts.to_string(), database]))
}

fn on_engine<'a>(workspace: &Workspace, harness: Cmd<'a>) -> Result<Cmd<'a>> {
    let engine = engine(workspace)?;
    build(workspace)?;
    announce(&format!("on {}", engine.display()));
    Ok(harness
        .env(PROGRAM_VARIABLE, engine)
        .env("OBELISK_FOLDER", folder(workspace)))
}

/// Returns the folder that users copy.
pub fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("obelisk")
}

/// Builds the components, and puts everything that a deployment needs into the folder.
pub fn build(workspace: &Workspace) -> Result<()> {
    build_into(workspace, &folder(workspace))
}

/// Builds the components, and puts everything that a deployment needs into a folder.
pub fn build_into(workspace: &Workspace, folder: &Path) -> Result<()> {
    component::build(workspace, &guest::OBELISK)?;
    let shell = &workspace.shell;
    let client = workspace.component();
    shell.create_dir(folder)?;
    shell.copy_file(&client, folder)?;
    for name in ["operator.wasm", "workflow.wasm", "campaigns.wasm"] {
        let built = workspace.target.join(format!("obelisk-{name}"));
        shell.copy_file(built, folder.join(name))?;
    }
    for (guest, file) in [
        (&OBELISK_ONCE, "once.wasm"),
        (&OBELISK_WEBHOOK, "webhook.wasm"),
    ] {
        let socket = workspace.component_of(guest);
        plug(workspace, &client, &socket, &folder.join(file))?;
    }
    for file in FILES {
        shell.copy_file(format!("engines/obelisk/{file}"), folder)?;
    }
    let deployment = shell.read_file("engines/obelisk/deployment.toml")?;
    let [awaits, interrupts] =
        ["await", "interrupt"].map(|it| format!("blocking_strategy = \"{it}\""));
    ensure!(
        deployment.contains(&awaits),
        "the deployment has no {awaits}"
    );
    let deployment = deployment.replace(&awaits, &interrupts);
    shell.write_file(folder.join("deployment-postgres.toml"), deployment)?;
    let [server, postgres] = ["server.toml", "postgres.toml"]
        .map(|file| shell.read_file(format!("engines/obelisk/{file}")));
    let server = on_postgres(&server?, &postgres?).context("server.toml has no SQLite")?;
    shell.write_file(folder.join("server-postgres.toml"), server)?;
    for (package, from) in WIT {
        let to = folder.join("wit").join(package);
        shell.create_dir(&to)?;
        for file in shell.read_dir(from)? {
            shell.copy_file(file, &to)?;
        }
    }
    Ok(())
}

/// Returns the server's file with another first comment, and with the section of the other database.
fn on_postgres(server: &str, postgres: &str) -> Option<String> {
    let (_, server) = server.split_once('\n')?;
    let (before, after) = server.split_once("[database.sqlite]")?;
    let after = &after[after.find("\n\n[")?..];
    let (comment, section) = postgres.split_once("[database")?;
    Some(format!(
        "{comment}{before}[database{}{after}",
        section.trim_end()
    ))
}

/// Returns the path of the engine: the one that the variable names, or the one that was set up.
pub fn engine(workspace: &Workspace) -> Result<PathBuf> {
    let program = match env::var_os(PROGRAM_VARIABLE) {
        Some(program) => PathBuf::from(program),
        None => OBELISK.find()?,
    };
    let version = cmd!(workspace.shell, "{program} --version").read()?;
    let expected = format!("obelisk {}", OBELISK.version);
    ensure!(
        version == expected,
        "{} is `{version}`, but this repository was written for `{expected}`",
        program.display()
    );
    Ok(program)
}

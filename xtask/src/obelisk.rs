//! voice-calling on the workflow engine Obelisk: the folder that its users copy, and the proof
//! that it works, on the engine itself.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Result, ensure};
use clap::Subcommand;
use xshell::cmd;

use crate::{
    component,
    composition::plug,
    guest::{
        CLIENT, Guest, OBELISK_CAMPAIGNS, OBELISK_ONCE, OBELISK_OPERATOR, OBELISK_WEBHOOK,
        OBELISK_WORKFLOW,
    },
    process::announce,
    setup::{check_postgresql, tool::OBELISK},
    workspace::Workspace,
};

#[derive(Subcommand)]
pub enum Command {
    /// Only build what runs on it into target/obelisk
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

/// Names an engine that is there already.
const PROGRAM_VARIABLE: &str = "OBELISK";

/// Tells the tests where the folder is that they deploy.
const FOLDER_VARIABLE: &str = "OBELISK_FOLDER";

/// What is copied as it is.
const FILES: [&str; 4] = [
    "README.md",
    "deployment.toml",
    "server.toml",
    "server-postgres.toml",
];

/// For users to read: the options and outcomes, and what an operator of their own has to export.
const WIT: [(&str, &str); 2] = [
    ("workflows", "engines/obelisk/wit"),
    ("operator", "engines/obelisk/operator/wit"),
];

const HARNESS: &str = "obelisk-harness";

pub fn run(workspace: &Workspace, command: Option<Command>) -> Result<()> {
    match command {
        None => run_harness(workspace, "run", &[]),
        Some(Command::Build) => {
            build(workspace)?;
            println!("{}", workspace.shown(&folder(workspace)));
            Ok(())
        }
        Some(Command::Measure { contacts, postgres }) => {
            let database = match postgres {
                true => "postgres",
                false => "sqlite",
            };
            let contacts = contacts.to_string();
            let arguments = ["--", "measure", &contacts, database];
            run_harness(workspace, "run --release", &arguments.map(str::to_owned))
        }
        Some(Command::Test { arguments }) => {
            check_postgresql(&workspace.shell)?;
            run_harness(workspace, "test --no-fail-fast", &arguments)
        }
    }
}

fn run_harness(workspace: &Workspace, command: &str, arguments: &[String]) -> Result<()> {
    let engine = engine(workspace)?;
    build(workspace)?;
    announce(&format!("on {}", engine.display()));
    let harness = workspace.cargo(command);
    Ok(harness
        .args(["--locked", "--package", HARNESS])
        .args(arguments)
        .env(PROGRAM_VARIABLE, engine)
        .env(FOLDER_VARIABLE, folder(workspace))
        .run()?)
}

/// A docket from its creation to its webhook, with the deployment in `folder`, whose components may
/// lie in a registry with this certificate.
pub fn try_one_docket(workspace: &Workspace, folder: &Path, certificate: &Path) -> Result<()> {
    let engine = engine(workspace)?;
    let test = "docket::a_docket_is_created_once_and_completed_by_its_webhook";
    let harness = workspace.cargo("test --quiet --locked --test dockets");
    let harness = harness.args(["--package", HARNESS, "--", "--exact", test]);
    let harness = harness.env(PROGRAM_VARIABLE, engine);
    let harness = harness.env(FOLDER_VARIABLE, folder);
    // OpenSSL's name, which the engine's TLS library heeds as well.
    Ok(harness.env("SSL_CERT_FILE", certificate).run()?)
}

/// What users copy.
pub fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("obelisk")
}

/// All that is in the folder.
pub const GUESTS: [&Guest; 6] = [
    &CLIENT,
    &OBELISK_ONCE,
    &OBELISK_OPERATOR,
    &OBELISK_WORKFLOW,
    &OBELISK_WEBHOOK,
    &OBELISK_CAMPAIGNS,
];

/// Builds the components, and puts all that a deployment needs into one folder.
pub fn build(workspace: &Workspace) -> Result<()> {
    component::build(workspace, &GUESTS)?;
    let (shell, folder) = (&workspace.shell, folder(workspace));
    let client = workspace.component();
    shell.copy_file(&client, &folder)?;
    let once = workspace.component_of(&OBELISK_ONCE);
    plug(workspace, &client, &once, &folder.join("once.wasm"))?;
    for file in FILES {
        shell.copy_file(format!("engines/obelisk/{file}"), &folder)?;
    }
    for (package, from) in WIT {
        let to = folder.join("wit").join(package);
        shell.create_dir(&to)?;
        for file in shell.read_dir(from)? {
            shell.copy_file(file, &to)?;
        }
    }
    Ok(())
}

/// The engine: the one that the variable names, or the one that was set up.
fn engine(workspace: &Workspace) -> Result<PathBuf> {
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

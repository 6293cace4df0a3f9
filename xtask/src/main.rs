//! `cargo xtask <command>`: builds the component, runs the demo, the tests and the benches, and
//! checks the README's promises about the built file.

mod bindings;
mod cargo_component;
mod engines;
mod examples;
mod harness;
mod licenses;
mod obelisk;
mod program;
mod release;
mod setup;
mod site;
mod test_run;
mod tools;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use xtask::{component, core_module, debian_rust, guest, process, toolchain, wit, workspace};

use crate::{guest::PRODUCTS, setup::What, workspace::Workspace};

/// Builds the component, and runs what the README promises about it
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Command {
    /// Install what is missing, and say so
    Setup {
        #[arg(value_enum, default_value = "guest")]
        what: Vec<What>,
    },
    /// Build target/voice-calling.wasm (WASI 0.2) and target/voice-calling-p3.wasm (WASI 0.3)
    Build,
    /// Set up and build what the demo needs, and run it against the mock service
    Demo,
    /// Check format, lints and documentation of all Rust
    Lint,
    /// Set up and build what the tests need, and run every test
    Test {
        /// For `cargo test`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Measure the component beside a native client, and the core
    Bench {
        /// Only prove that the bench works
        #[arg(long)]
        short: bool,
    },
    /// Build, test or measure what runs on the workflow engine Obelisk
    #[command(subcommand)]
    Obelisk(obelisk::Command),
    /// Test the Rust client beside libraries that share SQLite or TLS with it
    #[command(subcommand)]
    Neighbours(Tests),
    /// Test the ledger in PostgreSQL, on a server of its own
    #[command(subcommand)]
    Postgres(Tests),
    /// Run the tests of the mock's page in Chromium, or draw its pictures into docs/pictures
    #[command(subcommand)]
    Page(harness::Page),
    /// Build the packages for Python and JavaScript into target/bindings
    Bindings(Part),
    /// Build what is published once for each platform, into target/bindings: the wheel, and the npm
    /// package with the native half of that for JavaScript
    Platform,
    /// Build a guest in Python and an HTTP server, and compose each with the
    /// component into target/examples; needs Python and Node
    Examples(Part),
    /// Build the tools for AI agents: target/voice-calling-tools.wasm, and
    /// target/voice-calling-tools-read-only.wasm, which cannot make a telephone ring
    Tools(Part),
    /// Test the nodes for Node-RED in Node-RED itself and in a browser
    #[command(subcommand)]
    NodeRed(Tests),
    /// Measure dockets of the command for lists, Restate, Obelisk and Temporal, while each is killed
    Engines { dockets: u32 },
    /// Test the recipe for Restate on its server
    #[command(subcommand)]
    Restate(Tests),
    /// Test the recipe for the workflow engine Temporal on its dev server
    #[command(subcommand)]
    Temporal(Tests),
    /// Make the documentation as a site, in target/docs-site
    Docs(Part),
    /// Make everything that a release consists of, in a folder of target/
    Release {
        #[command(subcommand)]
        command: Option<release::Command>,
    },
    /// Check licences, sources, doubled versions and known vulnerabilities of all dependencies
    Deny {
        /// Fail if the database of known vulnerabilities cannot be fetched
        #[arg(long)]
        needs_advisories: bool,
    },
    /// Make a release in another folder as well, and compare the bytes of every file
    Reproducible,
    /// Build the guest with cargo-component as well, and compare the two
    CargoComponent,
}

/// A part, which is built, or built and tested
#[derive(Args)]
struct Part {
    #[command(subcommand)]
    tests: Option<Tests>,
}

/// The tests of a part, which need more than `cargo xtask test` does
#[derive(Subcommand)]
enum Tests {
    /// Run the tests, as the users of the part would use it
    Test,
}

fn main() -> ExitCode {
    match run(Command::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    let workspace = &Workspace::load()?;
    match command {
        Command::Setup { what } => what.iter().try_for_each(|what| what.install(workspace)),
        Command::Build => component::build(workspace, &PRODUCTS),
        Command::Demo => harness::demo(workspace),
        Command::Lint => test_run::check_sources(workspace),
        Command::Test { arguments } => {
            What::Guest.install(workspace)?;
            test_run::run_all(workspace, &arguments)
        }
        Command::Bench { short } => harness::bench(workspace, short),
        Command::Obelisk(command) => obelisk::run(workspace, command),
        Command::Neighbours(Tests::Test) => test_run::test_neighbours(workspace),
        Command::Postgres(Tests::Test) => test_run::test_postgres(workspace),
        Command::Page(page) => harness::run_page(workspace, page),
        Command::Bindings(Part { tests: None }) => bindings::build(workspace).map(drop),
        Command::Bindings(_) => bindings::test(workspace),
        Command::Platform => bindings::build_for_platform(workspace),
        Command::Examples(Part { tests: None }) => examples::build(workspace).map(drop),
        Command::Examples(_) => examples::test(workspace),
        Command::Tools(Part { tests: None }) => tools::build(workspace),
        Command::Tools(_) => tools::test(workspace),
        Command::NodeRed(Tests::Test) => bindings::test_node_red(workspace),
        Command::Restate(Tests::Test) => engines::test_restate(workspace),
        Command::Engines { dockets } => engines::measure(workspace, dockets),
        Command::Temporal(Tests::Test) => engines::test_temporal(workspace),
        Command::Docs(Part { tests: None }) => site::build(workspace).map(drop),
        Command::Docs(_) => site::test(workspace),
        Command::Release { command } => release::run(workspace, command),
        Command::Deny { needs_advisories } => {
            test_run::check_dependencies(workspace, needs_advisories)
        }
        Command::Reproducible => release::reproduce(workspace),
        Command::CargoComponent => cargo_component::build_and_compare(workspace),
    }
}

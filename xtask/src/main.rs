//! `cargo xtask <command>`: builds the component, runs the demo, the tests and the benches, and
//! checks what the README says about the file that comes out.
#![forbid(unsafe_code)]

mod bench;
mod bindings;
mod cargo_component;
mod code_size;
mod compiler;
mod component;
mod composition;
mod debian;
mod demo;
mod deny;
mod examples;
mod guest;
mod hosts;
mod inspect;
mod interpreter;
mod obelisk;
mod process;
mod reproducible;
mod service;
mod stamp;
mod test_run;
mod tool;
mod toolchain;
mod wit;
mod workspace;

use std::{env, process::ExitCode};

use anyhow::{Result, bail, ensure};

use crate::{toolchain::Toolchain, workspace::Workspace};

const USAGE: &str = "\
usage: cargo xtask <command>

  build            set up what is missing, then build target/voice-calling.wasm (WASI 0.2) and
                   target/voice-calling-p3.wasm (WASI 0.3)
  demo [--wasi 0.3] [args…]
                   build, then run the demo against the mock service
  test [args…]     build both components, then check format, lints and docs and run every
                   test; the arguments go to `cargo test`
  bench [args…]    build, then measure the component beside a native client, and the core;
                   --short only proves that the benches work
  mutants          build the components of the tests: target/mutants.wasm, which misbehaves as
                   the variable MUTANT says, and target/impatient.wasm, which cancels its calls
  obelisk          install the workflow engine Obelisk if it is missing, build what runs on it
                   into target/obelisk, and show a docket that survives a crash of the engine
  obelisk build    only build, and say what is in the folder
  obelisk test [args…]
                   run the tests on the engine; the arguments go to `cargo test`
  obelisk throughput
                   measure how many dockets one node and two nodes carry
  bindings         build the packages for Python and JavaScript into target/bindings
  bindings generate
                   only write what follows from the WIT
  bindings test    build them, and try them as their users install them
  examples         build the guests in Python and JavaScript, compose each with the component
                   into target/examples, and run them against the mock service; needs Python
                   and Node
  examples build   only build
  examples test [args…]
                   run the tests of the compositions; the arguments go to `cargo test`
  hosts            build, then try the component for WASI 0.3 on hosts of others (jco, wasmtime
                   for Python); needs Python and Node
  inspect          build, then print the component's interfaces, sizes, SHA-256 and metadata
  deny             check licences, sources, doubled versions and known vulnerabilities of all
                   dependencies with cargo-deny
  reproducible     build twice from clean in two folders and compare the bytes
  cargo-component  build the guest with cargo-component as well and compare the two WITs";

fn main() -> ExitCode {
    match run(env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(mut arguments: Vec<String>) -> Result<()> {
    if arguments.is_empty() {
        bail!("no command given\n\n{USAGE}");
    }
    let command = arguments.remove(0);
    let arguments = arguments.as_slice();
    match command.as_str() {
        "build" => {
            refuse_arguments(&command, arguments)?;
            build(&Workspace::load()?)
        }
        "demo" => {
            let workspace = Workspace::load()?;
            build(&workspace)?;
            demo::run_demo(&workspace, arguments)
        }
        "test" => {
            let workspace = Workspace::load()?;
            let toolchain = Toolchain::prepare(&workspace)?;
            build_with(&toolchain, &workspace)?;
            build_for_tests(&toolchain, &workspace)?;
            test_run::run_all(&workspace, arguments)
        }
        "bench" => {
            let workspace = Workspace::load()?;
            build(&workspace)?;
            bench::run_benches(&workspace, arguments)
        }
        "mutants" => {
            refuse_arguments(&command, arguments)?;
            let workspace = Workspace::load()?;
            let toolchain = Toolchain::prepare(&workspace)?;
            component::build(&toolchain, &workspace, &workspace.guest_p3)?;
            build_for_tests(&toolchain, &workspace)
        }
        "bindings" => bindings::run_command(&Workspace::load()?, arguments),
        "obelisk" => obelisk::run_command(&Workspace::load()?, arguments),
        "examples" => examples::run_command(&Workspace::load()?, arguments),
        "hosts" => {
            refuse_arguments(&command, arguments)?;
            hosts::check(&Workspace::load()?)
        }
        "inspect" => {
            refuse_arguments(&command, arguments)?;
            let workspace = Workspace::load()?;
            build(&workspace)?;
            inspect::print(&workspace)
        }
        "reproducible" => {
            refuse_arguments(&command, arguments)?;
            let workspace = Workspace::load()?;
            reproducible::prove(&Toolchain::prepare(&workspace)?, &workspace)
        }
        "deny" => {
            refuse_arguments(&command, arguments)?;
            deny::check(&Workspace::load()?)
        }
        "cargo-component" => {
            refuse_arguments(&command, arguments)?;
            let workspace = Workspace::load()?;
            let toolchain = Toolchain::prepare(&workspace)?;
            component::build(&toolchain, &workspace, &workspace.guest)?;
            cargo_component::build_and_compare(&toolchain, &workspace)
        }
        "help" | "--help" | "-h" => {
            println!("{USAGE}");
            Ok(())
        }
        unknown => bail!("unknown command `{unknown}`\n\n{USAGE}"),
    }
}

fn build(workspace: &Workspace) -> Result<()> {
    build_with(&Toolchain::prepare(workspace)?, workspace)
}

/// The component, for hosts of WASI 0.2 and for those of WASI 0.3.
fn build_with(toolchain: &Toolchain, workspace: &Workspace) -> Result<()> {
    component::build(toolchain, workspace, &workspace.guest)?;
    component::build(toolchain, workspace, &workspace.guest_p3)
}

/// What no user gets: the mutants, and the component for WASI 0.3 plugged into a guest that cancels
/// its calls.
fn build_for_tests(toolchain: &Toolchain, workspace: &Workspace) -> Result<()> {
    component::build(toolchain, workspace, &workspace.mutants)?;
    component::build(toolchain, workspace, &workspace.impatient)?;
    let client = workspace.component_of(&workspace.guest_p3);
    let composition = composition::plug(&client, &workspace.component_of(&workspace.impatient))?;
    component::write(workspace, &workspace.impatient_composition(), &composition)
}

fn refuse_arguments(command: &str, arguments: &[String]) -> Result<()> {
    ensure!(
        arguments.is_empty(),
        "`{command}` takes no arguments, found `{}`",
        arguments.join(" ")
    );
    Ok(())
}

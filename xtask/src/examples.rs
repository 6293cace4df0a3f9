//! The examples: a guest in Python and an HTTP server in Rust, each composed with voice-calling, and
//! run by the host harness and by other hosts; and programs in Python and JavaScript that call the
//! component by bindings.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use xshell::{Shell, cmd};

use crate::{
    Tests,
    bindings::npm,
    component::{self, plug},
    guest::{CLIENT, EXAMPLE_HTTP},
    process::{announce, run_quietly},
    setup::{
        check_python,
        wheel::{WASH, WASMTIME},
    },
    test_run::all_tests,
    workspace::{Workspace, shell_in},
};

/// The feature of the tests of compositions.
pub const COMPOSITION_TESTS: &str = "examples-harness/compositions";

/// The variable that tells the tests which component to load.
const COMPONENT_VARIABLE: &str = "HOST_TEST_COMPONENT";

/// Variables that tell the tests which programs to run, as `PATH` lists folders.
type Hosts = Vec<(&'static str, OsString)>;

pub fn run(workspace: &Workspace, tests: Option<Tests>) -> Result<()> {
    let Some(Tests::Test) = tests else {
        return build(workspace);
    };
    // This comes before anything that takes time.
    let hosts = hosts(workspace)?;
    build(workspace)?;
    Ok(all_tests(workspace)
        .args(["--features", COMPOSITION_TESTS])
        .args([
            "--test", "hosts", "--test", "programs", "--test", "renewals",
        ])
        .env("BINDINGS_PYTHON", python_of("bindings-python", workspace))
        .env("EXAMPLES_FOLDER", folder(workspace))
        .envs(hosts)
        .env(COMPONENT_VARIABLE, workspace.component())
        .run()?)
}

fn hosts(workspace: &Workspace) -> Result<Hosts> {
    let shell = &workspace.shell;
    let wasmtime = WASMTIME.iter().map(|wheel| wheel.find(shell));
    let wasmtime = env::join_paths(wasmtime.collect::<Result<Vec<_>>>()?)?;
    Ok(vec![
        ("WASMTIME", wasmtime),
        ("WASH", WASH.find(shell)?.into()),
    ])
}

/// Returns the folder of guests, compositions and Python's tools.
fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("examples")
}

/// Builds our component and the guests, and plugs it into each.
fn build(workspace: &Workspace) -> Result<()> {
    let (shell, folder, client) = (&workspace.shell, folder(workspace), workspace.component());
    check_python(shell)?;
    shell.create_dir(&folder)?;
    component::build(workspace, &[&CLIENT, &EXAMPLE_HTTP])?;
    let server = workspace.component_of(&EXAMPLE_HTTP);
    plug(workspace, &client, &server, &folder.join("http.wasm"))?;
    let guest = folder.join("guest-python.wasm");
    python(workspace, &guest)?;
    plug(workspace, &client, &guest, &folder.join("renewals.wasm"))?;
    install_python("bindings-python", workspace)?;
    bindings_javascript(workspace)
}

/// The program of the environment of an example.
fn python_of(example: &str, workspace: &Workspace) -> PathBuf {
    let environment = folder(workspace).join("venv").join(example);
    environment.join("bin/python")
}

/// Makes the environment of an example, and returns a shell in the example's folder.
fn install_python(example: &str, workspace: &Workspace) -> Result<Shell> {
    let shell = shell_in(&workspace.root.join("examples").join(example))?;
    announce(&format!("examples/{example}"));
    let venv = folder(workspace).join("venv").join(example);
    run_quietly(cmd!(shell, "python3 -m venv {venv}"))?;
    let python = python_of(example, workspace);
    let install = cmd!(shell, "{python} -m pip install --quiet");
    let install = install.args(["--disable-pip-version-check", "--requirement"]);
    run_quietly(install.arg("requirements.txt"))?;
    Ok(shell)
}

fn bindings_javascript(workspace: &Workspace) -> Result<()> {
    let example = workspace.root.join("examples/bindings-javascript");
    npm::install(&example)?;
    announce("examples/bindings-javascript");
    let (shell, component) = (shell_in(&example)?, workspace.component());
    let jco = "node_modules/.bin/jco";
    let transpile = cmd!(shell, "{jco} transpile --name voice-calling {component}");
    run_quietly(transpile.args(["--quiet", "--out-dir", "generated"]))
}

fn python(workspace: &Workspace, guest: &Path) -> Result<()> {
    let shell = install_python("python", workspace)?;
    let program = python_of("python", workspace);
    let folder = program.parent().context("a program in a folder")?;
    let componentize = folder.join("componentize-py");
    let guest_of = cmd!(shell, "{componentize} --wit-path ../wit --world workflow")
        // It looks there for the guest's imports, and in the system's Python otherwise.
        .env("VIRTUAL_ENV", folder.join(".."))
        .args(["componentize", "--stub-wasi", "renewals", "--output"]);
    run_quietly(guest_of.arg(guest))
}

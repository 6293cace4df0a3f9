//! The examples: a guest in Python and an HTTP server in Rust, each composed with voice-calling, and
//! run by the host harness and by other hosts; and programs in Python and JavaScript that call the
//! component by bindings.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use xshell::cmd;

use crate::{
    bindings::{
        npm,
        python::{environment, own_python},
    },
    component::{self, plug},
    guest::{CLIENT, EXAMPLE_HTTP},
    process::{announce, run_quietly},
    setup::What,
    test_run::{COMPOSITION_TESTS, all_tests},
    workspace::{Workspace, shell_in},
};

pub fn test(workspace: &Workspace) -> Result<()> {
    // This comes before anything that takes time. The oldest version comes first.
    let wasmtime = ["wasmtime-oldest", "wasmtime"];
    let wasmtime = wasmtime.map(|name| What::Wasmtime.program(workspace, name));
    let wasmtime = env::join_paths(wasmtime.into_iter().collect::<Result<Vec<_>>>()?)?;
    let wash = What::Wash.program(workspace, "wash")?;
    build(workspace)?;
    Ok(all_tests(workspace)
        .args(["--features", COMPOSITION_TESTS])
        .args([
            "--test", "hosts", "--test", "programs", "--test", "renewals",
        ])
        .env("BINDINGS_PYTHON", python_of("bindings-python", workspace)?)
        .env("EXAMPLES_FOLDER", workspace.target.join("examples"))
        .env("HOST_TEST_COMPONENT", workspace.component())
        .env("WASMTIME", wasmtime)
        .env("WASH", wash)
        .run()?)
}

/// Builds our component and the guests, and plugs it into each.
pub fn build(workspace: &Workspace) -> Result<()> {
    let (folder, client) = (workspace.target.join("examples"), workspace.component());
    own_python(&workspace.shell)?;
    workspace.shell.create_dir(&folder)?;
    component::build(workspace, &[&CLIENT, &EXAMPLE_HTTP])?;
    let server = workspace.component_of(&EXAMPLE_HTTP);
    plug(workspace, &client, &server, &folder.join("http.wasm"))?;
    let guest = folder.join("guest-python.wasm");
    python(workspace, &guest)?;
    plug(workspace, &client, &guest, &folder.join("renewals.wasm"))?;
    python_of("bindings-python", workspace)?;
    bindings_javascript(workspace)
}

/// Makes the environment of an example, and returns its Python.
fn python_of(example: &str, workspace: &Workspace) -> Result<PathBuf> {
    announce(&format!("examples/{example}"));
    let requirements = format!("examples/{example}/requirements.txt");
    environment(
        workspace,
        &requirements,
        &own_python(&workspace.shell)?,
        None,
    )
}

fn bindings_javascript(workspace: &Workspace) -> Result<()> {
    announce("examples/bindings-javascript");
    let shell = npm::install(&workspace.root.join("examples/bindings-javascript"))?;
    let (jco, component) = ("node_modules/.bin/jco", workspace.component());
    let transpile = cmd!(shell, "{jco} transpile --name voice-calling {component}");
    run_quietly(transpile.args(["--quiet", "--out-dir", "generated"]))
}

fn python(workspace: &Workspace, guest: &Path) -> Result<()> {
    let python = python_of("python", workspace)?;
    let shell = shell_in(&workspace.root.join("examples/python"))?;
    let folder = python.parent().context("a program in a folder")?;
    let componentize = folder.join("componentize-py");
    let guest_of = cmd!(shell, "{componentize} --wit-path ../wit --world workflow")
        // It looks there for the guest's imports, and in the system's Python otherwise.
        .env("VIRTUAL_ENV", folder.join(".."))
        .args(["componentize", "--stub-wasi", "renewals", "--output"]);
    run_quietly(guest_of.arg(guest))
}

//! The examples: a guest in Python and an HTTP server in Rust, each composed with voice-calling, and
//! run by the host harness and by other hosts; and programs in Python and JavaScript that call the
//! component by bindings.

use std::{env, path::PathBuf};

use anyhow::Result;

use crate::{
    component::{self, plug},
    guest::{CLIENT, EXAMPLE_HTTP},
    setup::What,
    test_run::{COMPOSITION_TESTS, all_tests},
    workspace::Workspace,
};

pub(crate) fn test(workspace: &Workspace) -> Result<()> {
    // This comes before anything that takes time. The oldest version comes first.
    let wasmtime = ["wasmtime-oldest", "wasmtime"];
    let wasmtime = wasmtime.map(|name| What::Wasmtime.program(workspace, name));
    let wasmtime = env::join_paths(wasmtime.into_iter().collect::<Result<Vec<_>>>()?)?;
    let wash = What::Wash.program(workspace, "wash")?;
    let python = build(workspace)?;
    Ok(all_tests(workspace)
        .args(["--features", COMPOSITION_TESTS])
        .args([
            "--test", "hosts", "--test", "programs", "--test", "renewals",
        ])
        .env("BINDINGS_PYTHON", python)
        .env("EXAMPLES_FOLDER", workspace.target.join("examples"))
        .env("HOST_TEST_COMPONENT", workspace.component())
        .env("WASMTIME", wasmtime)
        .env("WASH", wash)
        .run()?)
}

/// Builds our component and the guests, and plugs it into each. Returns the Python of the program that
/// calls the component by bindings.
pub(crate) fn build(workspace: &Workspace) -> Result<PathBuf> {
    let (folder, client) = (workspace.target.join("examples"), workspace.component());
    workspace.shell.create_dir(&folder)?;
    component::build(workspace, &[&CLIENT, &EXAMPLE_HTTP])?;
    let server = workspace.component_of(&EXAMPLE_HTTP);
    plug(workspace, &client, &server, &folder.join("http.wasm"))?;
    let python = workspace.part("examples").read()?;
    let guest = folder.join("guest-python.wasm");
    plug(workspace, &client, &guest, &folder.join("renewals.wasm"))?;
    Ok(python.into())
}

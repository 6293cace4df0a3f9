//! Hosts of others: what the component for WASI 0.3 does on jco, and what a host says that cannot
//! run it. `engines/jco` and `engines/wasmtime-py` have the checks.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::{
    component,
    interpreter::{NODE, PYTHON},
    process::{announce, run, run_quietly},
    service::{Service, build_harness},
    stamp::Stamp,
    toolchain::Toolchain,
    workspace::Workspace,
};

/// The last version of wasmtime's Python package that does not even load the component, and one
/// that loads it and cannot link it.
const WASMTIME_PY: [&str; 2] = ["45.0.0", "50.0.1"];

/// The token of the mock service, where nobody says otherwise.
const MOCK_TOKEN: &str = "mock-token-0001";

pub fn check(workspace: &Workspace) -> Result<()> {
    // Before anything takes time.
    PYTHON.check()?;
    NODE.check()?;
    let toolchain = Toolchain::prepare(workspace)?;
    component::build(&toolchain, workspace, &workspace.guest)?;
    component::build(&toolchain, workspace, &workspace.guest_p3)?;
    for version in WASMTIME_PY {
        check_wasmtime_py(workspace, version)?;
    }
    check_jco(workspace)
}

fn check_wasmtime_py(workspace: &Workspace, version: &str) -> Result<()> {
    let folder = workspace.target.join("hosts");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let venv = folder.join(format!("wasmtime-py-{version}"));
    let programs = venv.join("bin");
    let name = format!("wasmtime {version} for Python");
    Stamp::of::<PathBuf>(&name, &venv, [])?.unless_fresh(|| {
        run_quietly(PYTHON.command().args(["-m", "venv", "--clear"]).arg(&venv))?;
        let install = ["install", "--quiet", "--disable-pip-version-check"];
        let mut pip = Command::new(programs.join("pip"));
        run_quietly(pip.args(install).arg(format!("wasmtime=={version}")))
    })?;
    let mut python = Command::new(programs.join("python"));
    python
        .arg(workspace.root.join("engines/wasmtime-py/check.py"))
        .arg(workspace.component_of(&workspace.guest_p3))
        .arg(workspace.component());
    run(&mut python)
}

fn check_jco(workspace: &Workspace) -> Result<()> {
    let sources = workspace.root.join("engines/jco");
    let packages = sources.join("node_modules");
    let lock = sources.join("package-lock.json");
    Stamp::of("jco", &packages, [&lock])?.unless_fresh(|| install(&sources))?;
    let harness = build_harness(workspace)?;
    let mock = ["mock", "--port", "0", "--call-ms", "300"];
    let service = Service::start(&harness, &workspace.root, &mock)?;
    announce("jco: the component for WASI 0.3");
    let mut node = NODE.command();
    node.current_dir(&sources)
        .arg("check.mjs")
        .arg(workspace.component_of(&workspace.guest_p3))
        .args([&service.url, MOCK_TOKEN]);
    run(&mut node)
}

fn install(sources: &Path) -> Result<()> {
    let mut npm = Command::new("npm");
    let install = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    run_quietly(npm.current_dir(sources).args(install))
}

//! The examples: guests in Python and JavaScript and an HTTP server in Rust, each composed with
//! voice-calling, and run by the host harness and by other hosts.

use std::{env, ffi::OsString, fs, path::PathBuf};

use anyhow::Result;
use clap::Subcommand;
use xshell::cmd;

use crate::{
    component,
    composition::plug,
    guest::{CLIENT, EXAMPLE_HTTP},
    interpreter::{NODE, PYTHON},
    process::{announce, run_quietly},
    setup::{check_wash_host, wheel},
    stamp::Stamp,
    test_run::COMPONENT_VARIABLE,
    workspace::{Workspace, shell_in},
};

#[derive(Subcommand)]
pub enum Command {
    /// Only build
    Build,
    /// Run the tests of the compositions
    Test {
        /// For `cargo test`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

/// Tells the tests which programs of wasmtime to run, as `PATH` lists folders.
const WASMTIME_VARIABLE: &str = "WASMTIME";

/// The same for wasmCloud's only program.
const WASH_VARIABLE: &str = "WASH";

/// Tells the harness where the compositions are.
const FOLDER_VARIABLE: &str = "EXAMPLES_FOLDER";

const HARNESS: &str = "examples-harness";

/// What both guests implement, in `examples/wit`.
const WORLD: &str = "workflow";

pub fn run(workspace: &Workspace, command: Option<Command>) -> Result<()> {
    let examples = Examples::of(workspace);
    let mut hosts = Vec::new();
    if matches!(command, Some(Command::Test { .. })) {
        // Before anything takes time.
        let shell = &workspace.shell;
        let wasmtime = wheel::WASMTIME.iter().map(|wheel| wheel.find(shell));
        let wasmtime = wasmtime.collect::<Result<Vec<_>>>()?;
        hosts.push((WASMTIME_VARIABLE, env::join_paths(wasmtime)?));
        check_wash_host(shell)?;
        hosts.push((WASH_VARIABLE, wheel::WASH.find(shell)?.into()));
    }
    examples.build()?;
    match command {
        None => {
            announce("examples: the same campaign by each guest, on the mock service");
            examples.run_harness("run --quiet", &[], hosts)
        }
        Some(Command::Build) => Ok(()),
        Some(Command::Test { arguments }) => {
            examples.run_harness("test --no-fail-fast", &arguments, hosts)
        }
    }
}

/// Variables, and the programs that they name.
type Hosts = Vec<(&'static str, OsString)>;

struct Examples<'a> {
    workspace: &'a Workspace,
    sources: PathBuf,
    /// Where guests, compositions and Python's tools go.
    folder: PathBuf,
}

impl<'a> Examples<'a> {
    fn of(workspace: &'a Workspace) -> Self {
        Self {
            workspace,
            sources: workspace.root.join("examples"),
            folder: workspace.target.join("examples"),
        }
    }

    /// Builds our component and both guests, and plugs it into each.
    fn build(&self) -> Result<()> {
        let workspace = self.workspace;
        let shell = &workspace.shell;
        // Before anything takes time.
        PYTHON.check(shell)?;
        NODE.check(shell)?;
        shell.create_dir(&self.folder)?;
        component::build(workspace, &[&CLIENT, &EXAMPLE_HTTP])?;
        let server = workspace.component_of(&EXAMPLE_HTTP);
        plug(
            workspace,
            &workspace.component(),
            &server,
            &self.folder.join("http.wasm"),
        )?;
        for (language, guest) in [
            ("python", self.python()?),
            ("javascript", self.javascript()?),
        ] {
            let path = self.folder.join(format!("renewals-{language}.wasm"));
            let old = fs::read(&path).ok();
            plug(workspace, &workspace.component(), &guest, &path)?;
            if old != fs::read(&path).ok() {
                // What the harness compiled of the old one takes more room than both guests.
                shell.remove_path(self.folder.join("compiled"))?;
            }
        }
        Ok(())
    }

    fn python(&self) -> Result<PathBuf> {
        let sources = self.sources.join("python");
        let requirements = sources.join("requirements.txt");
        let shell = shell_in(&sources)?;
        let python = PYTHON.program;
        let venv = self.folder.join("venv");
        let (pip, componentize) = (venv.join("bin/pip"), venv.join("bin/componentize-py"));
        let tools = Stamp::of("the tools for Python", &venv, [&requirements])?;
        tools.unless_fresh(|| {
            run_quietly(cmd!(shell, "{python} -m venv --clear {venv}"))?;
            let install = cmd!(shell, "{pip} install --quiet --disable-pip-version-check");
            run_quietly(install.arg("--requirement").arg(&requirements))
        })?;

        let guest = self.folder.join("guest-python.wasm");
        let inputs = self.inputs([sources.join("renewals.py"), requirements])?;
        let building = Stamp::of("the guest in Python", &guest, &inputs)?;
        building.unless_fresh(|| {
            let guest_of = cmd!(shell, "{componentize} --wit-path ../wit --world {WORLD}")
                // It looks there for what the guest imports, else in the system's Python.
                .env("VIRTUAL_ENV", &venv)
                .args(["componentize", "--stub-wasi", "renewals", "--output"]);
            run_quietly(guest_of.arg(&guest))
        })?;
        Ok(guest)
    }

    fn javascript(&self) -> Result<PathBuf> {
        let sources = self.sources.join("javascript");
        let shell = shell_in(&sources)?;
        let lock = sources.join("package-lock.json");
        let packages = sources.join("node_modules");
        let componentize = packages.join(".bin/componentize-js");
        let tools = Stamp::of("the tools for JavaScript", &packages, [&lock])?;
        tools.unless_fresh(|| {
            run_quietly(cmd!(shell, "npm ci --ignore-scripts --no-audit --no-fund"))
        })?;

        let guest = self.folder.join("guest-javascript.wasm");
        let inputs = self.inputs([sources.join("renewals.js"), lock])?;
        let building = Stamp::of("the guest in JavaScript", &guest, &inputs)?;
        building.unless_fresh(|| {
            let guest_of = cmd!(shell, "{componentize} renewals.js --wit ../wit")
                .args(["--world-name", WORLD, "--disable"])
                .args(["stdio", "random", "clocks", "http", "fetch-event", "--out"]);
            run_quietly(guest_of.arg(&guest))
        })?;
        Ok(guest)
    }

    /// What a guest is made of: its own files and the WIT.
    fn inputs(&self, own: [PathBuf; 2]) -> Result<Vec<PathBuf>> {
        let mut inputs = Vec::from(own);
        for folder in ["examples/wit", "wit", "wit/deps"] {
            inputs.extend(self.workspace.shell.read_dir(folder)?);
        }
        inputs.retain(|path| path.is_file());
        inputs.sort();
        Ok(inputs)
    }

    fn run_harness(&self, command: &str, arguments: &[String], hosts: Hosts) -> Result<()> {
        let harness = self.workspace.cargo(command);
        Ok(harness
            .args(["--locked", "--package", HARNESS])
            .args(arguments)
            .env(FOLDER_VARIABLE, &self.folder)
            .envs(hosts)
            .env(COMPONENT_VARIABLE, self.workspace.component())
            .run()?)
    }
}

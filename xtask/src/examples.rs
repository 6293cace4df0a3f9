//! The examples in other languages: guests in Python and JavaScript, each composed with
//! voice-calling, and run by the host harness.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context, Result, bail};

use crate::{
    component,
    composition::plug,
    interpreter::{NODE, PYTHON},
    process::{announce, run, run_quietly},
    stamp::Stamp,
    test_run::COMPONENT_VARIABLE,
    toolchain::Toolchain,
    workspace::Workspace,
};

/// Tells the harness where the compositions are.
const FOLDER_VARIABLE: &str = "EXAMPLES_FOLDER";

const HARNESS: &str = "examples-harness";

/// What both guests implement, in `examples/wit`.
const WORLD: &str = "workflow";

pub fn run_command(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let examples = Examples::of(workspace);
    match arguments.split_first() {
        None => {
            examples.build()?;
            announce("examples: the same campaign by each guest, on the mock service");
            examples.run_harness(&["run", "--quiet"], &[])
        }
        Some((command, [])) if command == "build" => examples.build(),
        Some((command, arguments)) if command == "test" => {
            examples.build()?;
            examples.run_harness(&["test", "--no-fail-fast"], arguments)
        }
        Some(_) => bail!(
            "`examples` takes nothing, `build`, or `test` and its arguments, found `{}`",
            arguments.join(" ")
        ),
    }
}

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
        // Before anything takes time.
        PYTHON.check()?;
        NODE.check()?;
        fs::create_dir_all(&self.folder)
            .with_context(|| format!("cannot make {}", self.folder.display()))?;
        let toolchain = Toolchain::prepare(workspace)?;
        component::build(&toolchain, workspace, &workspace.guest)?;
        let client = workspace.component();
        for (language, guest) in [
            ("python", self.python()?),
            ("javascript", self.javascript()?),
        ] {
            let composition = plug(&client, &guest)?;
            let path = self.folder.join(format!("renewals-{language}.wasm"));
            let shown = workspace.shown(&path);
            if fs::read(&path).is_ok_and(|old| old == composition) {
                announce(&format!("{shown}: up to date"));
                continue;
            }
            // What the harness compiled of the old one takes more room than both guests.
            let _ = fs::remove_dir_all(self.folder.join("compiled"));
            fs::write(&path, &composition).with_context(|| format!("cannot write {shown}"))?;
            announce(&format!("{shown}: composed, {} bytes", composition.len()));
        }
        Ok(())
    }

    fn python(&self) -> Result<PathBuf> {
        let sources = self.sources.join("python");
        let requirements = sources.join("requirements.txt");
        let venv = self.folder.join("venv");
        let programs = venv.join("bin");
        let tools = Stamp::of("the tools for Python", &venv, [&requirements])?;
        tools.unless_fresh(|| {
            run_quietly(PYTHON.command().args(["-m", "venv", "--clear"]).arg(&venv))?;
            let install = ["install", "--quiet", "--disable-pip-version-check"];
            let mut pip = Command::new(programs.join("pip"));
            run_quietly(pip.args(install).arg("--requirement").arg(&requirements))
        })?;

        let guest = self.folder.join("guest-python.wasm");
        let inputs = self.inputs([sources.join("renewals.py"), requirements])?;
        let building = Stamp::of("the guest in Python", &guest, &inputs)?;
        building.unless_fresh(|| {
            let mut componentize = Command::new(programs.join("componentize-py"));
            componentize
                .current_dir(&sources)
                // It looks there for what the guest imports, else in the system's Python.
                .env("VIRTUAL_ENV", &venv)
                .args(["--wit-path", "../wit", "--world", WORLD, "componentize"])
                .args(["--stub-wasi", "renewals", "--output"])
                .arg(&guest);
            run_quietly(&mut componentize)
        })?;
        Ok(guest)
    }

    fn javascript(&self) -> Result<PathBuf> {
        let sources = self.sources.join("javascript");
        let lock = sources.join("package-lock.json");
        let packages = sources.join("node_modules");
        let tools = Stamp::of("the tools for JavaScript", &packages, [&lock])?;
        tools.unless_fresh(|| {
            let mut npm = Command::new("npm");
            let install = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
            run_quietly(npm.current_dir(&sources).args(install))
        })?;

        let guest = self.folder.join("guest-javascript.wasm");
        let inputs = self.inputs([sources.join("renewals.js"), lock])?;
        let building = Stamp::of("the guest in JavaScript", &guest, &inputs)?;
        building.unless_fresh(|| {
            let mut componentize = Command::new(packages.join(".bin/componentize-js"));
            componentize
                .current_dir(&sources)
                .args(["renewals.js", "--wit", "../wit", "--world-name", WORLD])
                .args([
                    "--disable",
                    "stdio",
                    "random",
                    "clocks",
                    "http",
                    "fetch-event",
                ])
                .arg("--out")
                .arg(&guest);
            run_quietly(&mut componentize)
        })?;
        Ok(guest)
    }

    /// What a guest is made of: its own files and the WIT.
    fn inputs(&self, own: [PathBuf; 2]) -> Result<Vec<PathBuf>> {
        let mut inputs = Vec::from(own);
        for folder in [self.sources.join("wit"), self.workspace.root.join("wit")] {
            let entries = fs::read_dir(&folder)
                .with_context(|| format!("cannot read {}", folder.display()))?;
            for entry in entries {
                let path = entry?.path();
                if path.extension().is_some_and(|extension| extension == "wit") {
                    inputs.push(path);
                }
            }
        }
        inputs.sort();
        Ok(inputs)
    }

    fn run_harness(&self, command: &[&str], arguments: &[String]) -> Result<()> {
        let mut harness = self.workspace.cargo();
        harness
            .args(command)
            .args(["--locked", "--package", HARNESS])
            .args(arguments)
            .env(FOLDER_VARIABLE, &self.folder)
            .env(COMPONENT_VARIABLE, self.workspace.component());
        run(&mut harness)
    }
}

//! Builds the package for JavaScript as an npm tarball, and tests it as its users install it.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use xshell::cmd;

use crate::{
    bindings::npm,
    guest::SANS_IO,
    harness::Programs,
    process::announce,
    workspace::{Workspace, shell_in},
};

const FOLDER: &str = "bindings/javascript";

/// Builds the tarball and returns its path.
pub fn build(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.root.join(FOLDER);
    npm::install(&folder)?;
    announce("the package for JavaScript");
    let shell = shell_in(&folder)?;
    let module = workspace.component_of(&SANS_IO);
    cmd!(shell, "node build.mjs {module}").quiet().run()?;
    shell.copy_file(workspace.root.join("LICENSE"), &folder)?;
    let tarball = npm::pack(workspace, &folder)?;
    println!("{}", workspace.shown(&tarball));
    Ok(tarball)
}

pub fn test(workspace: &Workspace, tarball: &Path, programs: &Programs) -> Result<()> {
    let folder = workspace.root.join(FOLDER);
    let shell = shell_in(&folder)?;
    announce("JavaScript: types");
    cmd!(shell, "npm run --silent check").quiet().run()?;
    let runtimes = folder.join("test/runtimes");
    npm::install(&runtimes)?;
    let runtime = |path: &str| runtimes.join("node_modules").join(path);
    let nodes = ["node-oldest", "node-newest"].map(|name| runtime(name).join("bin/node"));
    let deno = runtime("@deno/linux-x64-glibc/deno");

    // The files are named one by one, since old and new versions of Node interpret patterns
    // differently.
    let mut tests = shell.read_dir("test")?;
    tests.retain(|path| path.to_string_lossy().ends_with(".test.js"));
    ensure!(!tests.is_empty(), "{FOLDER}/test has no tests");
    let tests = &tests;
    for node in [PathBuf::from("node")].into_iter().chain(nodes) {
        announce(&format!("JavaScript: tests with {}", node.display()));
        cmd!(shell, "{node} --test --test-reporter=spec {tests...}")
            .envs(programs.clone())
            .env("VOICE_CALLING_TARBALL", tarball)
            .env("DENO", &deno)
            .quiet()
            .run()?;
    }
    let frameworks = folder.join("test/frameworks");
    npm::install(&frameworks)?;
    announce("JavaScript: users' tests in Jest and Vitest, with msw and nock");
    let test = cmd!(shell, "npm test --silent --prefix {frameworks}").quiet();
    test.run()?;
    announce("JavaScript: that the figures can be measured");
    let bench = cmd!(shell, "node bench.mjs --short").quiet();
    Ok(bench.envs(programs.clone()).run()?)
}

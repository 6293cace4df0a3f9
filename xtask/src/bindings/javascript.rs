//! Builds the package for JavaScript as an npm tarball, and tests it as its users install it.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use xshell::cmd;

use crate::{
    bindings::npm,
    guest::SANS_IO,
    harness::{HARNESS_VARIABLE, JUDGE_VARIABLE, Services},
    process::{Service, announce},
    workspace::{Workspace, shell_in},
};

const FOLDER: &str = "bindings/javascript";

/// The versions of Node that the package is tested with, beside the user's own: the oldest that its
/// manifest allows (`engines`), and the newest that is known to work.
const NODES: [&str; 2] = ["20.3.1", "24.21.0"];

/// The version of Deno that the package is tested with.
const DENO: &str = "2.9.6";

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

pub fn test(workspace: &Workspace, tarball: &PathBuf, services: &Services) -> Result<()> {
    let folder = workspace.root.join(FOLDER);
    let shell = shell_in(&folder)?;
    announce("JavaScript: types");
    cmd!(shell, "npm run --silent check").quiet().run()?;
    let mock = ["mock", "--port", "0", "--call-ms", "50"];
    let mock = Service::start(&services.harness, &workspace.root, &mock)?;

    let platform = npm::platform()?;
    // Deno's own package is not used, since a lock file pins it only if the packages of all
    // platforms are available.
    let libc = if cfg!(target_os = "linux") {
        "-glibc"
    } else {
        ""
    };
    let deno = format!("@deno/{platform}{libc}");
    let deno = npm::program(workspace, &deno, DENO, "deno")?;
    let mut nodes = vec![PathBuf::from("node")];
    for version in NODES {
        let package = format!("node-{platform}");
        nodes.push(npm::program(workspace, &package, version, "bin/node")?);
    }

    // The files are named one by one, since old and new versions of Node interpret patterns
    // differently.
    let mut tests = shell.read_dir("test")?;
    tests.retain(|path| path.to_string_lossy().ends_with(".test.js"));
    ensure!(!tests.is_empty(), "{FOLDER}/test has no tests");
    let tests = &tests;
    for node in nodes {
        announce(&format!("JavaScript: tests with {}", node.display()));
        cmd!(shell, "{node} --test --test-reporter=spec {tests...}")
            .env(JUDGE_VARIABLE, &services.judge.url)
            .env("VOICE_CALLING_MOCK", &mock.url)
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
    Ok(bench.env(HARNESS_VARIABLE, &services.harness).run()?)
}

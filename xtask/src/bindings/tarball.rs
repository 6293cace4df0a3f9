//! The package for JavaScript as an npm tarball: built, and tried as its users install it.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use xshell::{Cmd, Shell, cmd};

use crate::{
    guest::SANS_IO,
    harness::{HARNESS_VARIABLE, JUDGE_VARIABLE, Service, Services},
    interpreter::NODE,
    process::{announce, run_quietly},
    stamp::Stamp,
    workspace::{Workspace, shell_in},
};

const FOLDER: &str = "bindings/javascript";

/// The versions of Node that the package is tried with, beside the user's own: the oldest that it
/// says it runs on (`engines` in its manifest), and the newest that is known to do.
const NODES: [&str; 2] = ["20.3.1", "24.21.0"];

/// The version of Deno that the package is tried with.
const DENO: &str = "2.9.6";

/// Tells the tests where it is.
const DENO_VARIABLE: &str = "DENO";

pub fn build(workspace: &Workspace) -> Result<()> {
    let npm = Npm::find(workspace)?;
    npm.install()?;
    announce("the package for JavaScript");
    let module = workspace.component_of(&SANS_IO);
    npm.node(&["build.mjs"]).arg(&module).run()?;
    let license = workspace.root.join("LICENSE");
    fs::copy(license, npm.folder.join("LICENSE")).context("cannot copy the licence")?;
    let tarball = tarball(workspace)?;
    let folder = tarball.parent().context("a file is in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    run_quietly(npm.npm(&["pack", "--pack-destination"]).arg(folder))?;
    announce(&format!("{}: written", workspace.shown(&tarball)));
    Ok(())
}

pub fn test(workspace: &Workspace, services: &Services) -> Result<()> {
    let npm = Npm::find(workspace)?;
    announce("JavaScript: types");
    npm.npm(&["run", "--silent", "check"]).run()?;
    let mock = ["mock", "--port", "0", "--call-ms", "50"];
    let mock = Service::start(&services.harness, &workspace.root, &mock)?;
    let deno = npm.install_deno(workspace)?;
    for node in npm.nodes(workspace)? {
        announce(&format!("JavaScript: tests with Node {}", node.version));
        npm.shell
            .cmd(&node.program)
            .args(["--test", "--test-reporter=spec"])
            .args(test_files(&npm.folder)?)
            .env(JUDGE_VARIABLE, &services.judge.url)
            .env("VOICE_CALLING_MOCK", &mock.url)
            .env("VOICE_CALLING_TARBALL", tarball(workspace)?)
            .env(DENO_VARIABLE, &deno)
            .quiet()
            .run()?;
    }
    announce("JavaScript: that the figures can be measured");
    let bench = npm.node(&["bench.mjs", "--short"]);
    Ok(bench.env(HARNESS_VARIABLE, &services.harness).run()?)
}

/// What users install.
pub fn tarball(workspace: &Workspace) -> Result<PathBuf> {
    let manifest = workspace.root.join(FOLDER).join("package.json");
    let manifest = workspace.shell.read_file(manifest)?;
    let manifest: serde_json::Value = serde_json::from_str(&manifest)?;
    let version = manifest["version"].as_str().context("no version")?;
    let name = format!("voice-calling-{version}.tgz");
    Ok(workspace.target.join("bindings").join(name))
}

/// Named one by one, since old and new versions of Node take patterns for different things.
fn test_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder.join("test"))?;
    let paths = entries.map(|entry| Ok(entry?.path()));
    let mut files = paths.collect::<Result<Vec<_>>>()?;
    files.retain(|path| path.to_string_lossy().ends_with(".test.js"));
    files.sort();
    ensure!(!files.is_empty(), "{FOLDER}/test has no tests");
    Ok(files)
}

/// Node and npm, where the package lies.
struct Npm {
    folder: PathBuf,
    /// In that folder.
    shell: Shell,
    /// Of the Node that is on the user's PATH.
    version: String,
}

/// A Node that the package is tried with.
struct Node {
    version: String,
    program: PathBuf,
}

impl Npm {
    fn find(workspace: &Workspace) -> Result<Self> {
        let folder = workspace.root.join(FOLDER);
        let shell = shell_in(&folder)?;
        NODE.check(&shell)?;
        cmd!(shell, "npm --version")
            .read()
            .context("npm is needed, and is not on the PATH")?;
        let version = cmd!(shell, "node --version").read()?;
        Ok(Self {
            folder,
            shell,
            version: version.trim_start_matches('v').to_owned(),
        })
    }

    fn npm(&self, arguments: &[&str]) -> Cmd<'_> {
        self.shell.cmd("npm").args(arguments).quiet()
    }

    fn node(&self, arguments: &[&str]) -> Cmd<'_> {
        self.shell.cmd(NODE.program).args(arguments).quiet()
    }

    /// Installs the tools that build and check it, as they are pinned, unless they are there.
    fn install(&self) -> Result<()> {
        let lock = self.folder.join("package-lock.json");
        let packages = self.folder.join("node_modules");
        let tools = Stamp::of(
            "what builds and checks the package for JavaScript",
            &packages,
            [&lock],
        )?;
        // None of them needs a script of its own.
        let install = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
        tools.unless_fresh(|| run_quietly(self.npm(&install)))
    }

    /// The user's Node, and those of `NODES`.
    fn nodes(&self, workspace: &Workspace) -> Result<Vec<Node>> {
        let mut nodes = vec![Node {
            version: self.version.clone(),
            program: "node".into(),
        }];
        for version in NODES {
            if version != self.version {
                nodes.push(self.install_node(workspace, version)?);
            }
        }
        Ok(nodes)
    }

    /// A Node from npm, where there is a package of it for each platform.
    fn install_node(&self, workspace: &Workspace, version: &str) -> Result<Node> {
        let package = format!("node-{}", platform()?);
        let program = self.install_program(workspace, &package, version, "bin/node")?;
        Ok(Node {
            version: version.to_owned(),
            program,
        })
    }

    /// Deno from npm, likewise. Not by its own package, which a lock file pins only where those of
    /// all platforms can be had.
    fn install_deno(&self, workspace: &Workspace) -> Result<PathBuf> {
        let libc = if cfg!(target_os = "linux") {
            "-glibc"
        } else {
            ""
        };
        let package = format!("@deno/{}{libc}", platform()?);
        self.install_program(workspace, &package, DENO, "deno")
    }

    /// A program that npm has as a package of one platform.
    fn install_program(
        &self,
        workspace: &Workspace,
        package: &str,
        version: &str,
        path: &str,
    ) -> Result<PathBuf> {
        let name = format!("{}-{version}", package.replace('/', "-"));
        let folder = workspace.target.join("tools").join(name);
        let program = folder.join("node_modules").join(package).join(path);
        let says_version = || {
            let said = self.shell.cmd(&program).arg("--version").quiet().read();
            said.is_ok_and(|said| said.contains(version))
        };
        if !says_version() {
            announce(&format!("installing {package} {version}"));
            fs::create_dir_all(&folder)?;
            let options = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund"];
            let install = self.npm(&["install"]).args(options);
            let install = install.arg("--prefix").arg(&folder);
            run_quietly(install.arg(format!("{package}@{version}")))?;
            let program = program.display();
            ensure!(says_version(), "{program} is not of version {version}");
        }
        Ok(program)
    }
}

/// As the packages of programs call it.
fn platform() -> Result<&'static str> {
    Ok(match (env::consts::OS, env::consts::ARCH) {
        ("linux", "x86_64") => "linux-x64",
        ("linux", "aarch64") => "linux-arm64",
        ("macos", "x86_64") => "darwin-x64",
        ("macos", "aarch64") => "darwin-arm64",
        (os, arch) => bail!("npm has neither Node nor Deno for {os} on {arch}"),
    })
}

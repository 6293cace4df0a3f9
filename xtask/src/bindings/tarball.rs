//! The package for JavaScript as an npm tarball: built, and tried as its users install it.

use std::{
    env,
    ffi::OsString,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};

use crate::{
    component,
    process::{announce, cannot_start, output, run, run_quietly},
    workspace::Workspace,
};

const FOLDER: &str = "bindings/javascript";

/// The versions of Node that the package is tried with, beside the user's own: the oldest that it
/// says it runs on (`engines` in its manifest), and the newest that is known to do.
const NODES: [&str; 2] = ["20.3.1", "24.21.0"];

/// The oldest major version of Node that builds it.
const OLDEST: u32 = 20;

/// Names a harness that is built already.
const HARNESS_VARIABLE: &str = "HOST_TEST";

/// Where the judge of the table of cases is.
const CASES_VARIABLE: &str = "VOICE_CALLING_CASES";

pub fn build(workspace: &Workspace) -> Result<()> {
    let npm = Npm::find(workspace)?;
    npm.install()?;
    announce("the package for JavaScript");
    let component = workspace.component();
    run(npm.node(&["build.mjs"]).arg(&component))?;
    let license = workspace.root.join("LICENSE");
    fs::copy(license, npm.folder.join("LICENSE")).context("cannot copy the licence")?;
    let tarball = tarball(workspace)?;
    let folder = tarball.parent().context("a file is in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    run_quietly(npm.npm(&["pack", "--pack-destination"]).arg(folder))?;
    announce(&format!("{}: written", workspace.shown(&tarball)));
    Ok(())
}

pub fn test(workspace: &Workspace) -> Result<()> {
    let npm = Npm::find(workspace)?;
    announce("JavaScript: types");
    run(&mut npm.npm(&["run", "--silent", "check"]))?;
    let harness = harness(workspace)?;
    let mock = Service::start(
        &harness,
        workspace,
        &["mock", "--port", "0", "--call-ms", "50"],
    )?;
    let judge = match env::var_os(CASES_VARIABLE) {
        Some(url) => Judge::Running(url),
        None => Judge::Started(Service::start(&harness, workspace, &["cases"])?),
    };
    for node in npm.nodes(workspace)? {
        announce(&format!("JavaScript: tests with Node {}", node.version));
        let mut tests = Command::new(&node.program);
        tests
            .current_dir(&npm.folder)
            .args(["--test", "--test-reporter=spec"])
            .args(test_files(&npm.folder)?)
            .env(CASES_VARIABLE, judge.url())
            .env("VOICE_CALLING_MOCK", &mock.url)
            .env("VOICE_CALLING_TARBALL", tarball(workspace)?);
        run(&mut tests)?;
    }
    announce("JavaScript: that the figures can be measured");
    run(npm
        .node(&["bench.mjs", "--short"])
        .env(HARNESS_VARIABLE, &harness))
}

/// What users install.
fn tarball(workspace: &Workspace) -> Result<PathBuf> {
    let manifest = component::read(&workspace.root.join(FOLDER).join("package.json"))?;
    let manifest: serde_json::Value = serde_json::from_slice(&manifest)?;
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
        let hint = || format!("JavaScript needs Node {OLDEST} or newer, and npm, on the PATH");
        let version = output(Command::new("node").arg("--version")).with_context(hint)?;
        let version = version.trim_start_matches('v').to_owned();
        let major: u32 = version.split('.').next().unwrap_or_default().parse()?;
        ensure!(major >= OLDEST, "{}; found Node {version}", hint());
        output(Command::new("npm").arg("--version")).with_context(hint)?;
        Ok(Self {
            folder: workspace.root.join(FOLDER),
            version,
        })
    }

    fn npm(&self, arguments: &[&str]) -> Command {
        let mut npm = Command::new("npm");
        npm.args(arguments).current_dir(&self.folder);
        npm
    }

    fn node(&self, arguments: &[&str]) -> Command {
        let mut node = Command::new("node");
        node.args(arguments).current_dir(&self.folder);
        node
    }

    /// Installs the tools that build and check it, as they are pinned, unless they are there.
    fn install(&self) -> Result<()> {
        let pinned = component::read(&self.folder.join("package-lock.json"))?;
        let record = self.folder.join("node_modules/.pinned-by");
        if fs::read(&record).is_ok_and(|installed| installed == pinned) {
            return Ok(());
        }
        announce("installing what builds and checks the package for JavaScript");
        // None of them needs a script of its own.
        run_quietly(&mut self.npm(&["ci", "--ignore-scripts", "--no-audit", "--no-fund"]))?;
        fs::write(&record, pinned).with_context(|| format!("cannot write {}", record.display()))
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
        let platform = match (env::consts::OS, env::consts::ARCH) {
            ("linux", "x86_64") => "linux-x64",
            ("linux", "aarch64") => "linux-arm64",
            ("macos", "x86_64") => "darwin-x64",
            ("macos", "aarch64") => "darwin-arm64",
            (os, arch) => bail!("npm has no Node for {os} on {arch}"),
        };
        let package = format!("node-{platform}");
        let folder = workspace
            .target
            .join("tools")
            .join(format!("node-{version}"));
        let program = folder.join("node_modules").join(&package).join("bin/node");
        let found = |program: &Path| output(Command::new(program).arg("--version")).ok();
        let expected = Some(format!("v{version}"));
        if found(&program) != expected {
            announce(&format!("installing Node {version}"));
            fs::create_dir_all(&folder)?;
            let options = ["--no-save", "--ignore-scripts", "--no-audit", "--no-fund"];
            let mut install = self.npm(&["install"]);
            install.args(options).arg("--prefix").arg(&folder);
            run_quietly(install.arg(format!("{package}@{version}")))?;
            ensure!(
                found(&program) == expected,
                "{} is no Node {version}",
                program.display()
            );
        }
        Ok(Node {
            version: version.to_owned(),
            program,
        })
    }
}

/// The command `host-test`: one that is there already, or one that is built.
fn harness(workspace: &Workspace) -> Result<PathBuf> {
    if let Some(program) = env::var_os(HARNESS_VARIABLE) {
        return Ok(program.into());
    }
    let build = ["build", "--locked", "--quiet", "--package", "host-test"];
    run(workspace.cargo().args(build))?;
    let name = format!("host-test{}", env::consts::EXE_SUFFIX);
    Ok(workspace.target.join("debug").join(name))
}

/// A process that serves on loopback until this is dropped.
struct Service {
    url: String,
    process: Child,
    /// Kept open, since a process that cannot print may end.
    printed: BufReader<ChildStdout>,
}

impl Service {
    /// Starts it, and waits until it has printed where it is.
    fn start(harness: &Path, workspace: &Workspace, arguments: &[&str]) -> Result<Self> {
        let mut command = Command::new(harness);
        command
            .args(arguments)
            .current_dir(&workspace.root)
            .stdout(Stdio::piped());
        let mut process = command.spawn().with_context(|| cannot_start(&command))?;
        let printed = process.stdout.take().context("its output is piped")?;
        let mut service = Self {
            url: String::new(),
            process,
            printed: BufReader::new(printed),
        };
        let mut line = String::new();
        while service.printed.read_line(&mut line)? > 0 {
            if let Some(at) = line.find("http://127.0.0.1:") {
                service.url = line[at..].trim().to_owned();
                return Ok(service);
            }
            line.clear();
        }
        bail!("`host-test {}` ended at once", arguments.join(" "))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Who judges the table of cases.
enum Judge {
    Running(OsString),
    Started(Service),
}

impl Judge {
    fn url(&self) -> OsString {
        match self {
            Self::Running(url) => url.clone(),
            Self::Started(service) => (&service.url).into(),
        }
    }
}

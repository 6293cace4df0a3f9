//! The host harness as processes: the mock service, and the judge of the table of cases. The
//! clients of all languages are tried on them.

use std::{
    env,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, Stdio},
};

use anyhow::{Context, Result, bail};

use crate::{process::announce, workspace::Workspace};

/// Tells a language's tests where the program `host-test` is.
pub const HARNESS_VARIABLE: &str = "HOST_TEST";

/// Tells a language's tests where the judge is.
pub const JUDGE_VARIABLE: &str = "VOICE_CALLING_CASES";

/// What the tests of the packages talk to.
pub struct Services {
    /// The program `host-test`.
    pub harness: PathBuf,
    /// One for all languages.
    pub judge: Service,
}

impl Services {
    pub fn start(workspace: &Workspace) -> Result<Self> {
        let harness = build(workspace)?;
        let judge = Service::start(&harness, &workspace.root, &["cases"])?;
        Ok(Self { harness, judge })
    }
}

/// Builds the program `host-test`, and says where it is.
pub fn build(workspace: &Workspace) -> Result<PathBuf> {
    announce("host-test: building (some minutes the first time)");
    let build = workspace.cargo("build --locked --package host-test");
    build.run().context("cannot build the host harness")?;
    let name = format!("host-test{}", env::consts::EXE_SUFFIX);
    Ok(workspace.target.join("debug").join(name))
}

/// A process that serves on loopback until this is dropped.
pub struct Service {
    pub url: String,
    process: Child,
    /// Kept open, since a process that cannot print may end.
    _printed: BufReader<ChildStdout>,
}

impl Service {
    /// Starts it in `folder`, and waits until it has printed where it is.
    pub fn start(harness: &Path, folder: &Path, arguments: &[&str]) -> Result<Self> {
        let mut command = Command::new(harness);
        command
            .args(arguments)
            .current_dir(folder)
            .stdout(Stdio::piped());
        let mut process = command
            .spawn()
            .with_context(|| format!("cannot start `{}`", harness.display()))?;
        let printed = process.stdout.take().context("its output is piped")?;
        let mut printed = BufReader::new(printed);
        let mut line = String::new();
        while printed.read_line(&mut line)? > 0 {
            if let Some(at) = line.find("http://127.0.0.1:") {
                return Ok(Self {
                    url: line[at..].trim().to_owned(),
                    process,
                    _printed: printed,
                });
            }
            line.clear();
        }
        process.wait()?;
        bail!(
            "`{} {}` ended at once",
            harness.display(),
            arguments.join(" ")
        )
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

//! The judge of the table of cases, as a process for the clients of all languages.

use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, ensure};

use crate::{
    process::{announce, cannot_start, run},
    workspace::Workspace,
};

/// Tells the tests of each language where the judge is.
pub const URL_VARIABLE: &str = "VOICE_CALLING_CASES";

/// A judge that ends with this.
pub struct Judge {
    process: Child,
    url: String,
}

impl Judge {
    pub fn start(workspace: &Workspace, host_test: &PathBuf) -> Result<Self> {
        let mut command = Command::new(host_test);
        command
            .args(["cases", "--folder"])
            .arg(workspace.root.join("cases"))
            .stdout(Stdio::piped());
        let mut process = command.spawn().with_context(|| cannot_start(&command))?;
        let mut url = String::new();
        if let Some(stdout) = process.stdout.take() {
            BufReader::new(stdout).read_line(&mut url)?;
        }
        let judge = Self {
            process,
            url: url.trim().to_owned(),
        };
        ensure!(judge.url.starts_with("http://127.0.0.1:"), "the judge did not start");
        Ok(judge)
    }

    pub fn url(&self) -> &str {
        &self.url
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The harness, built: the mock service and the judge are in it.
pub fn build_harness(workspace: &Workspace) -> Result<PathBuf> {
    announce("host-test: building (some minutes the first time)");
    let build = ["build", "--locked", "--package", "host-test"];
    run(workspace.cargo().args(build)).context("cannot build the host harness")?;
    Ok(workspace.target.join("debug/host-test"))
}

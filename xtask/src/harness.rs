//! The host harness: the program `host-test`, and the judge of the table of cases. The clients of
//! all languages are tested with them.

use std::{env, path::PathBuf};

use anyhow::{Context, Result};

use crate::{
    process::{Service, announce},
    workspace::Workspace,
};

/// The variable that tells a language's tests the path of the program `host-test`.
pub const HARNESS_VARIABLE: &str = "HOST_TEST";

/// The variable that tells a language's tests the address of the judge.
pub const JUDGE_VARIABLE: &str = "VOICE_CALLING_CASES";

/// The services that the tests of the packages use.
pub struct Services {
    /// The program `host-test`.
    pub harness: PathBuf,
    /// The judge, which all languages share.
    pub judge: Service,
}

impl Services {
    pub fn start(workspace: &Workspace) -> Result<Self> {
        let harness = build(workspace)?;
        let judge = Service::start(&harness, &workspace.root, &["cases"])?;
        Ok(Self { harness, judge })
    }
}

/// Builds the program `host-test`, and returns its path.
pub fn build(workspace: &Workspace) -> Result<PathBuf> {
    announce("host-test: building (some minutes the first time)");
    let build = workspace.cargo("build --locked --bin host-test");
    build.run().context("cannot build the host harness")?;
    let name = format!("host-test{}", env::consts::EXE_SUFFIX);
    Ok(workspace.target.join("debug").join(name))
}

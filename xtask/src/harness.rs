//! The host harness: the program `host-test`, and the judge of the table of cases. The clients of
//! all languages are tried on them.

use std::{env, path::PathBuf};

use anyhow::{Context, Result};

use crate::{
    process::{Service, announce},
    workspace::Workspace,
};

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
    let build = workspace.cargo("build --locked --bin host-test");
    build.run().context("cannot build the host harness")?;
    let name = format!("host-test{}", env::consts::EXE_SUFFIX);
    Ok(workspace.target.join("debug").join(name))
}

//! The bench: the components that were just built beside a native client and one written with wstd,
//! in an optimized harness. The short form measures nothing, so it uses the build of the tests.

use anyhow::{Context, Result};
use clap::Args;

use crate::{component, guest::PEER, process::announce, workspace::Workspace};

#[derive(Args)]
pub struct Bench {
    /// Only prove that the bench works
    #[arg(long)]
    short: bool,
}

impl Bench {
    pub fn run(&self, workspace: &Workspace) -> Result<()> {
        let profile = if self.short { "dev" } else { "release" };
        let short = self.short.then_some("--short");
        component::build(workspace, &[&PEER])?;
        announce("host-test: building (some minutes the first time)");
        let build = workspace.cargo("build --locked --bin host-test --profile");
        build
            .arg(profile)
            .run()
            .context("cannot build the host harness")?;
        announce("host-test: bench");
        let bench = workspace
            .cargo("run --quiet --locked --bin host-test --profile")
            .args([profile, "--", "bench", "--component"])
            .arg(workspace.component());
        Ok(bench.args(short).run()?)
    }
}

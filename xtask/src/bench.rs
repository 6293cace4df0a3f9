//! The benches: the components that were just built beside a native client and one written with
//! wstd, in an optimized harness, and the core on its own. The short form measures nothing, so it takes the build that
//! the tests use.

use anyhow::{Context, Result};
use clap::Args;

use crate::{component, guest::PEER, process::announce, workspace::Workspace};

#[derive(Args)]
pub struct Bench {
    /// Only prove that the benches work
    #[arg(long)]
    short: bool,
    /// A report for machines, without the core, since nothing else is to stand on stdout
    #[arg(long)]
    json: bool,
}

impl Bench {
    pub fn run(&self, workspace: &Workspace) -> Result<()> {
        let (profile, core_profile) = match self.short {
            true => ("dev", "dev"),
            false => ("release", "bench"),
        };
        let short = self.short.then_some("--short");
        let json = self.json.then_some("--json");
        component::build(workspace, &[&PEER])?;
        announce("host-test: building (some minutes the first time)");
        let build = workspace.cargo("build --locked --package host-test --profile");
        build
            .arg(profile)
            .run()
            .context("cannot build the host harness")?;
        announce("host-test: bench");
        let bench = workspace
            .cargo("run --quiet --locked --package host-test --profile")
            .args([profile, "--", "bench", "--component"])
            .arg(workspace.component());
        bench.args(short).args(json).run()?;
        if self.json {
            return Ok(());
        }
        announce("the core: bench");
        let core = workspace.cargo("bench --locked --package voice-calling-core --bench core");
        let core = core.args(["--profile", core_profile, "--"]);
        Ok(core.args(self.short.then_some("--test")).run()?)
    }
}

//! The benches: the component that was just built beside a native client, in an optimized
//! harness, and the core on its own. The short form measures nothing, so it takes the build that
//! the tests use.

use anyhow::{Context, Result};

use crate::{
    process::{announce, run},
    workspace::Workspace,
};

/// Gives both benches their short form, which proves that they work.
const SHORT: &str = "--short";

/// For machines: nothing else is to stand on stdout, so the core is left out.
const JSON: &str = "--json";

pub fn run_benches(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    let (profile, core_profile) = match has(SHORT) {
        true => ("dev", "dev"),
        false => ("release", "bench"),
    };
    announce("host-test: building (some minutes the first time)");
    let build = ["build", "--locked", "--package", "host-test"];
    run(workspace.cargo().args(build).args(["--profile", profile]))
        .context("cannot build the host harness")?;
    announce("host-test: bench");
    let mut bench = workspace.cargo();
    bench
        .args(["run", "--quiet", "--locked", "--profile", profile])
        .args(["--package", "host-test", "--", "bench", "--component"])
        .arg(workspace.component())
        .args(arguments);
    run(&mut bench)?;
    if has(JSON) {
        return Ok(());
    }
    announce("the core: bench");
    let mut bench = workspace.cargo();
    bench.args(["bench", "--locked", "--package", "voice-calling-core"]);
    bench.args(["--profile", core_profile]);
    bench.args(["--bench", "core", "--"]);
    if has(SHORT) {
        bench.arg("--test");
    }
    run(&mut bench)
}

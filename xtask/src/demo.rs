//! The demo: the host harness and its mock service, with the component that was just built.

use anyhow::{Context, Result};

use crate::{
    process::{announce, run},
    workspace::Workspace,
};

pub fn run_demo(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    // Two commands: the first shows what cargo compiles, the second only what the demo prints.
    announce("host-test: building (some minutes the first time)");
    let build = ["build", "--locked", "--package", "host-test"];
    run(workspace.cargo().args(build)).context("cannot build the host harness")?;
    announce("host-test: demo");
    let mut demo = workspace.cargo();
    demo.args(["run", "--quiet", "--locked", "--package", "host-test", "--"])
        .args(["demo", "--component"])
        .arg(workspace.component())
        .args(arguments);
    run(&mut demo)
}

//! The demo: the host harness and its mock service, with the component that was just built.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::{
    process::{announce, run},
    workspace::Workspace,
};

pub fn run_demo(workspace: &Workspace, arguments: &[String]) -> Result<()> {
    let (component, arguments) = component(workspace, arguments)?;
    // Two commands: the first shows what cargo compiles, the second only what the demo prints.
    announce("host-test: building (some minutes the first time)");
    let build = ["build", "--locked", "--package", "host-test"];
    run(workspace.cargo().args(build)).context("cannot build the host harness")?;
    announce("host-test: demo");
    let mut demo = workspace.cargo();
    demo.args(["run", "--quiet", "--locked", "--package", "host-test", "--"])
        .args(["demo", "--component"])
        .arg(component)
        .args(arguments);
    run(&mut demo)
}

/// The component for the WASI that is asked for, and the other arguments.
fn component(workspace: &Workspace, arguments: &[String]) -> Result<(PathBuf, Vec<String>)> {
    let mut others = Vec::new();
    let mut component = workspace.component();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let version = match argument.strip_prefix("--wasi") {
            Some("") => arguments.next().map(String::as_str),
            Some(joined) if joined.starts_with('=') => joined.strip_prefix('='),
            _ => {
                others.push(argument.clone());
                continue;
            }
        };
        component = match version {
            Some("0.2") => workspace.component(),
            Some("0.3") => workspace.component_of(&workspace.guest_p3),
            found => bail!(
                "`--wasi` is 0.2 or 0.3, found `{}`",
                found.unwrap_or_default()
            ),
        };
    }
    Ok((component, others))
}

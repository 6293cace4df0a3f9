//! The nodes for Node-RED: tried in Node-RED itself, and in a browser.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};
use clap::Subcommand;
use xshell::cmd;

use crate::{
    bindings,
    interpreter::NODE,
    process::{announce, run_quietly, succeeds},
    stamp::Stamp,
    workspace::{Workspace, shell_in},
};

#[derive(Subcommand)]
pub enum Command {
    /// Run the tests in Node-RED; needs Chromium
    Test,
}

const FOLDER: &str = "bindings/node-red";

/// Names an installed browser, and passes it to the tests.
const BROWSER_VARIABLE: &str = "CHROMIUM";

pub fn run(workspace: &Workspace, command: Command) -> Result<()> {
    match command {
        Command::Test => test(workspace),
    }
}

fn test(workspace: &Workspace) -> Result<()> {
    let browser = browser(workspace)?;
    bindings::build_javascript(workspace)?;
    let folder = workspace.root.join(FOLDER);
    let shell = shell_in(&folder)?;
    NODE.check(&shell)?;
    let packages = folder.join("node_modules");
    let tools = Stamp::of("Node-RED", &packages, [folder.join("package-lock.json")])?;
    tools.unless_fresh(|| {
        let install = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
        run_quietly(shell.cmd("npm").args(install).quiet())
    })?;
    announce("the nodes in Node-RED");
    let test = cmd!(shell, "npm run --silent test");
    Ok(test.env(BROWSER_VARIABLE, browser).quiet().run()?)
}

/// Chromium: the one that the variable names, or Debian's.
fn browser(workspace: &Workspace) -> Result<PathBuf> {
    let named = env::var_os(BROWSER_VARIABLE).map(PathBuf::from);
    let browser = named.unwrap_or_else(|| Path::new("/usr/bin/chromium").to_owned());
    if !succeeds(cmd!(workspace.shell, "{browser} --version").quiet()) {
        bail!(
            "Chromium is missing at {}: `cargo xtask setup chromium` installs it on Debian, and \
             the variable {BROWSER_VARIABLE} names another one",
            browser.display()
        );
    }
    Ok(browser)
}

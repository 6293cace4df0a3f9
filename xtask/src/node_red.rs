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

/// In it, Node-RED 5 with the Node that it needs, which is newer than the one that the other tools
/// need.
const FOLDER_OF_5: &str = "test/node-red-5";

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
    install("Node-RED 4", &folder)?;
    install("Node-RED 5 and its Node", &folder.join(FOLDER_OF_5))?;
    announce("the nodes in Node-RED 4, and in a browser");
    let test = cmd!(shell, "npm run --silent test");
    test.env(BROWSER_VARIABLE, browser).quiet().run()?;
    announce("the nodes in Node-RED 5");
    Ok(cmd!(shell, "npm run --silent test:5").quiet().run()?)
}

/// Installs what the lock file in `folder` lists.
fn install(name: &str, folder: &Path) -> Result<()> {
    let packages = folder.join("node_modules");
    let tools = Stamp::of(name, &packages, [folder.join("package-lock.json")])?;
    let shell = shell_in(folder)?;
    tools.unless_fresh(|| {
        let install = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
        run_quietly(shell.cmd("npm").args(install).quiet())
    })
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

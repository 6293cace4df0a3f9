//! Tests the nodes for Node-RED in Node-RED itself, and in a browser.

use std::{env, path::PathBuf};

use anyhow::Result;
use clap::Subcommand;
use xshell::cmd;

use crate::{
    bindings::{self, npm},
    process::announce,
    setup::debian::CHROMIUM,
    workspace::{Workspace, shell_in},
};

#[derive(Subcommand)]
pub enum Command {
    /// Run the tests in Node-RED; needs Chromium
    Test,
}

/// The variable that names an installed browser; it is passed to the tests.
const BROWSER_VARIABLE: &str = "CHROMIUM";

pub fn test(workspace: &Workspace) -> Result<()> {
    let browser = match env::var_os(BROWSER_VARIABLE) {
        Some(browser) => PathBuf::from(browser),
        None => {
            CHROMIUM.check(&workspace.shell)?;
            "/usr/bin/chromium".into()
        }
    };
    bindings::build_javascript(workspace)?;
    let folder = workspace.root.join("bindings/node-red");
    npm::install(&folder)?;
    // Node-RED 5 runs on the Node that it needs, which is newer than the one that the other tools
    // need.
    npm::install(&folder.join("test/node-red-5"))?;
    let shell = shell_in(&folder)?;
    announce("the nodes in Node-RED 4, and in a browser");
    let test = cmd!(shell, "npm run --silent test");
    test.env(BROWSER_VARIABLE, browser).quiet().run()?;
    announce("the nodes in Node-RED 5");
    Ok(cmd!(shell, "npm run --silent test:5").quiet().run()?)
}

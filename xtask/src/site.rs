//! The documentation as a site, which `xtask/site.sh` makes.

use std::path::PathBuf;

use anyhow::{Context, Result};
use xshell::cmd;

use crate::{process::announce, setup::What, workspace::Workspace};

/// Builds the site, and returns its folder.
pub(crate) fn build(workspace: &Workspace) -> Result<PathBuf> {
    let mdbook = What::Docs.program(workspace, "mdbook")?;
    announce("the documentation as a site");
    let build = workspace.script("site.sh").env("MDBOOK", mdbook);
    build.run()?;
    let site = workspace.target.join("docs-site");
    println!("{}", workspace.shown(&site.join("index.html")));
    Ok(site)
}

/// Builds the site, and checks its links.
pub(crate) fn test(workspace: &Workspace) -> Result<()> {
    let lychee = What::Docs.program(workspace, "lychee")?;
    let site = &build(workspace)?;
    announce("every link of the site");
    let options = ["--offline", "--no-progress", "--include-fragments"];
    let check = cmd!(workspace.shell, "{lychee} {options...}");
    let check = check.quiet().arg("--root-dir").args([site, site]);
    check.run().context("the site has links that lead nowhere")
}

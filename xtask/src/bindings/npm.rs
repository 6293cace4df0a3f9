//! The npm packages that are built on the package for JavaScript, as they are published: they
//! depend on its released version, where those of the workspace depend on its folder.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use xshell::cmd;

use crate::{
    interpreter::NODE,
    process::{announce, run_quietly},
    workspace::{Workspace, shell_in},
};

pub struct Packed {
    pub tarball: PathBuf,
    pub manifest: Value,
}

/// What `package.json` of the workspace says in place of a version.
const FOLDER_OF_LIBRARY: &str = "\"file:../javascript\"";

/// Packs `package`, a folder from the workspace's root, into the target directory.
pub fn pack(workspace: &Workspace, package: &str) -> Result<Packed> {
    NODE.check(&workspace.shell)?;
    announce(&format!("{package}: packing"));
    let from = workspace.root.join(package);
    let folder = workspace.target.join("npm").join(package);
    let shell = shell_in(&from)?;
    shell.remove_path(&folder)?;
    // npm's own list of what `files` in the manifest means.
    let list = cmd!(shell, "npm pack --dry-run --json --ignore-scripts").quiet();
    let list: Value = serde_json::from_str(&list.ignore_stderr().read()?)?;
    let files = list[0]["files"].as_array().context("npm lists no files")?;
    for file in files {
        let file = Path::new(file["path"].as_str().context("a file has a path")?);
        shell.create_dir(folder.join(file.parent().context("a file is in a folder")?))?;
        shell.copy_file(from.join(file), folder.join(file))?;
    }
    shell.copy_file(workspace.root.join("LICENSE"), folder.join("LICENSE"))?;

    let manifest = shell.read_file(from.join("package.json"))?;
    ensure!(
        manifest.contains(FOLDER_OF_LIBRARY),
        "{package}/package.json does not depend on {FOLDER_OF_LIBRARY}"
    );
    let version = format!("\"{}\"", workspace.version()?);
    let manifest = manifest.replace(FOLDER_OF_LIBRARY, &version);
    shell.write_file(folder.join("package.json"), &manifest)?;
    let destination = workspace.target.join("bindings");
    shell.create_dir(&destination)?;
    let shell = shell_in(&folder)?;
    run_quietly(cmd!(shell, "npm pack --pack-destination {destination}").quiet())?;
    let manifest: Value = serde_json::from_str(&manifest)?;
    let tarball = destination.join(tarball_of(&manifest)?);
    ensure!(tarball.is_file(), "npm did not write {}", tarball.display());
    Ok(Packed { tarball, manifest })
}

/// As npm calls it: `voice-calling-mcp-0.2.0.tgz` for `@voice-calling/mcp`.
fn tarball_of(manifest: &Value) -> Result<String> {
    let text = |key: &str| {
        let text = manifest[key].as_str();
        text.with_context(|| format!("package.json has no `{key}`"))
    };
    let name = text("name")?.trim_start_matches('@').replace('/', "-");
    Ok(format!("{name}-{}.tgz", text("version")?))
}

//! The files of a release.

use std::{collections::BTreeMap, env, fs, path::Path};

use anyhow::{Context, Result, ensure};
use xshell::cmd;

use crate::{
    bindings::{javascript, npm, python},
    component,
    guest::{CLIENT, CLIENT_P3, Guest, PRODUCTS, TOOLS, TOOLS_READ_ONLY},
    obelisk,
    process::announce,
    program::{self, PROGRAMS},
    site, tools, wit,
    workspace::Workspace,
};

pub const COMPONENTS: [&Guest; 4] = [&CLIENT, &CLIENT_P3, &TOOLS_READ_ONLY, &TOOLS];

/// The WIT packages, each after those that it uses: the folders to read, the last of which has the
/// package.
const WIT_PACKAGES: [(&str, &[&str]); 4] = [
    ("types", &["wit/types"]),
    ("client", &["wit/types", "wit"]),
    ("client-async", &["wit/types", "wit/async"]),
    ("tools", &["wit/types", "wit", "wit/tools"]),
];

/// Builds everything and puts it into `folder`.
pub fn make_all(workspace: &Workspace, folder: &Path) -> Result<()> {
    component::build(workspace, &PRODUCTS)?;
    tools::build(workspace)?;
    for guest in COMPONENTS {
        let file = format!("{}.wasm", guest.component);
        workspace
            .shell
            .copy_file(workspace.target.join(file), folder)?;
    }
    wit_packages(workspace, folder)?;
    packages(workspace, folder)?;
    archives(workspace, folder)
}

fn wit_packages(workspace: &Workspace, folder: &Path) -> Result<()> {
    let version = workspace.version()?;
    for (name, folders) in WIT_PACKAGES {
        let mut encoded = encoded_wit(&workspace.root, folders)?;
        let bytes = encoded.remove(&format!("voice-calling:{name}@{version}"));
        let bytes = bytes.with_context(|| {
            format!("no WIT package is voice-calling:{name} of the version {version}")
        })?;
        fs::write(folder.join(format!("wit-{name}-{version}.wasm")), bytes)?;
    }
    Ok(())
}

/// Makes the packages for Python, JavaScript, AI agents and Node-RED.
fn packages(workspace: &Workspace, folder: &Path) -> Result<()> {
    let version = workspace.version()?;
    for path in [
        python::wheel(workspace)?,
        javascript::pack_for_release(workspace)?,
        javascript::pack_platform(workspace)?,
        npm::pack_dependent(workspace, "bindings/mcp")?,
        npm::pack_dependent(workspace, "bindings/node-red")?,
    ] {
        let file = path.file_name().context("a file has a name")?;
        ensure!(
            file.to_string_lossy().contains(&version),
            "{} is not of the workspace's version, {version}",
            path.display()
        );
        fs::copy(&path, folder.join(file))?;
    }
    Ok(())
}

/// Makes the archives of the folder for Obelisk, the programs, and the site.
fn archives(workspace: &Workspace, folder: &Path) -> Result<()> {
    // Files of an earlier version must not be released. The folder is not the one that tests on
    // the engine may be reading.
    let deployment = workspace.target.join("obelisk-release");
    workspace.shell.remove_path(&deployment)?;
    obelisk::build_into(workspace, &deployment)?;

    let version = workspace.version()?;
    let platform = program::platform();
    for (package, program, name) in PROGRAMS {
        let own = workspace.target.join(name);
        workspace.shell.remove_path(&own)?;
        workspace.shell.create_dir(&own)?;
        let program = format!("{program}{}", env::consts::EXE_SUFFIX);
        let built = program::build(workspace, package, &program)?;
        for file in [built, workspace.root.join("LICENSE")] {
            workspace.shell.copy_file(file, &own)?;
        }
        let name = format!("{name}-{version}-{platform}");
        archive(workspace, &name, &own, folder)?;
    }
    let site = site::build(workspace)?;
    for (name, from) in [
        (format!("voice-calling-obelisk-{version}"), deployment),
        (format!("voice-calling-docs-{version}"), site),
    ] {
        archive(workspace, &name, &from, folder)?;
    }
    Ok(())
}

/// Archives everything below a folder as `.tar.gz`. The same files give the same bytes.
fn archive(workspace: &Workspace, name: &str, from: &Path, to: &Path) -> Result<()> {
    let file = format!("{name}.tar.gz");
    announce(&format!("{file}: archiving"));
    // The archive contains neither times nor owners.
    let tar = cmd!(
        workspace.shell,
        "tar --create --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner"
    );
    let tar = tar
        .args(["--mode=u=rwX,go=rX", "--use-compress-program=gzip -9n"])
        .arg(format!("--transform=s,^[.],{name},"))
        .arg("--file")
        .arg(to.join(&file))
        .arg("--directory")
        .args([from, Path::new(".")]);
    Ok(tar.quiet().run()?)
}

/// Returns the packages in these folders by name, in the form of registries.
pub fn encoded_wit(root: &Path, folders: &[&str]) -> Result<BTreeMap<String, Vec<u8>>> {
    let (resolve, _) = wit::read(root, folders)?;
    let packages = resolve.packages.iter().map(|(id, package)| {
        let bytes = wit_component::encode(&resolve, id)?;
        Ok((package.name.to_string(), bytes))
    });
    packages.collect()
}

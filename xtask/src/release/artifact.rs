//! The files of a release, and their contents.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, ensure};
use xshell::cmd;

use crate::{
    bindings::{self, npm, python},
    component::append,
    guest::{self, CLIENT, CLIENT_P3, Guest, SANS_IO, TOOLS, TOOLS_READ_ONLY},
    obelisk,
    process::announce,
    program,
    release::Origin,
    site, tools, wit,
    workspace::Workspace,
};

pub struct Artifact {
    /// The name in the folder of the release.
    pub file: String,
    /// A description for people, in one line.
    pub what: &'static str,
    /// Our packages that are compiled into it.
    pub compiled: Vec<&'static str>,
}

/// The components, and the guests that are compiled into each beside its own.
pub const COMPONENTS: [(&Guest, &[&Guest], &str); 5] = [
    (&CLIENT, &[], "the client, for hosts of WASI 0.2"),
    (&CLIENT_P3, &[], "the client, for hosts of WASI 0.3"),
    (
        &SANS_IO,
        &[],
        "the client without I/O, a core module that speaks JSON",
    ),
    (
        &TOOLS_READ_ONLY,
        &[&CLIENT],
        "tools for AI agents that cannot ring",
    ),
    (&TOOLS, &[&CLIENT], "tools for AI agents"),
];

/// The WIT packages: the folders to read, the last of which has the package.
pub const WIT_PACKAGES: [(&str, &[&str], &str); 3] = [
    ("client", &["wit"], "the WIT of the client"),
    (
        "client-async",
        &["wit", "wit/async"],
        "the WIT of the client for WASI 0.3",
    ),
    ("tools", &["wit", "wit/tools"], "the WIT of the tools"),
];

struct Making<'a> {
    workspace: &'a Workspace,
    folder: &'a Path,
    version: String,
    made: Vec<Artifact>,
}

/// Builds everything and puts it into `folder`.
pub fn make_all(workspace: &Workspace, folder: &Path, origin: &Origin) -> Result<Vec<Artifact>> {
    let mut making = Making {
        workspace,
        folder,
        version: workspace.version()?,
        made: Vec::new(),
    };
    making.components(origin)?;
    making.wit_packages()?;
    making.packages()?;
    making.archives()?;
    Ok(making.made)
}

impl Making<'_> {
    fn add(&mut self, file: &str, what: &'static str, compiled: &[&'static str]) {
        self.made.push(Artifact {
            file: file.to_owned(),
            what,
            compiled: compiled.to_vec(),
        });
    }

    fn components(&mut self, origin: &Origin) -> Result<()> {
        crate::build(self.workspace)?;
        tools::build(self.workspace)?;
        for (guest, plugged, what) in COMPONENTS {
            let file = format!("{}.wasm", guest.component);
            let mut bytes = fs::read(self.workspace.target.join(&file))?;
            for (name, text) in [("source", &origin.source), ("revision", &origin.revision)] {
                if let Some(text) = text {
                    append(&mut bytes, name, text.as_bytes());
                }
            }
            fs::write(self.folder.join(&file), bytes)?;
            let plugged = plugged.iter().map(|guest| guest.package);
            let compiled: Vec<_> = [guest.package].into_iter().chain(plugged).collect();
            self.add(&file, what, &compiled);
        }
        Ok(())
    }

    fn wit_packages(&mut self) -> Result<()> {
        let version = self.version.clone();
        for (name, folders, what) in WIT_PACKAGES {
            let mut encoded = encoded_wit(&self.workspace.root, folders)?;
            let bytes = encoded.remove(&format!("voice-calling:{name}@{version}"));
            let bytes = bytes.with_context(|| {
                format!("no WIT package is voice-calling:{name} of the version {version}")
            })?;
            let file = format!("wit-{name}-{version}.wasm");
            fs::write(self.folder.join(&file), bytes)?;
            self.add(&file, what, &[]);
        }
        Ok(())
    }

    /// Makes the packages for Python, JavaScript, AI agents and Node-RED.
    fn packages(&mut self) -> Result<()> {
        let workspace = self.workspace;
        let built = bindings::build(workspace)?;
        let sdist = python::sdist(workspace)?;
        for (path, what) in [
            (&built.wheel, "the package for Python"),
            (&sdist, "the same as source"),
            (&built.tarball, "the package for JavaScript"),
        ] {
            self.add_package(path, what, &[SANS_IO.package])?;
        }
        for (package, what) in [
            ("bindings/mcp", "the MCP server, for npm"),
            ("bindings/node-red", "the nodes for Node-RED, for npm"),
        ] {
            let tarball = npm::pack_dependent(workspace, package)?;
            self.add_package(&tarball, what, &[])?;
        }
        Ok(())
    }

    fn add_package(
        &mut self,
        path: &Path,
        what: &'static str,
        compiled: &[&'static str],
    ) -> Result<()> {
        let file = path.file_name().context("a file has a name")?;
        let file = file.to_string_lossy();
        ensure!(
            file.contains(&self.version),
            "{file} is not of the workspace's version, {}",
            self.version
        );
        fs::copy(path, self.folder.join(&*file))?;
        self.add(&file, what, compiled);
        Ok(())
    }

    fn archives(&mut self) -> Result<()> {
        let (workspace, version) = (self.workspace, self.version.clone());
        // Files of an earlier version must not be released. The folder is not the one that tests on
        // the engine may be reading.
        let deployment = workspace.target.join("obelisk-release");
        workspace.shell.remove_path(&deployment)?;
        obelisk::build_into(workspace, &deployment)?;
        let compiled = guest::OBELISK.map(|guest| guest.package);
        let what = "the folder for the workflow engine Obelisk";
        let name = format!("voice-calling-obelisk-{version}");
        self.archive(&name, &deployment, what, &compiled)?;

        let mock = workspace.target.join("mock");
        workspace.shell.remove_path(&mock)?;
        workspace.shell.create_dir(&mock)?;
        for file in [program::build(workspace)?, workspace.root.join("LICENSE")] {
            workspace.shell.copy_file(file, &mock)?;
        }
        let what = "the mock service as a program, to try workflows without a phone";
        let name = format!("voice-calling-mock-{version}-{}", program::platform());
        self.archive(&name, &mock, what, &[program::PACKAGE])?;

        let name = format!("voice-calling-docs-{version}");
        let site = site::build(workspace)?;
        self.archive(&name, &site, "the documentation as a site", &[])
    }

    /// Archives everything below a folder as `.tar.gz`. The same files give the same bytes.
    fn archive(
        &mut self,
        name: &str,
        from: &Path,
        what: &'static str,
        compiled: &[&'static str],
    ) -> Result<()> {
        let file = format!("{name}.tar.gz");
        announce(&format!("{file}: archiving"));
        // The archive contains neither times nor owners.
        let tar = cmd!(
            self.workspace.shell,
            "tar --create --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner"
        );
        tar.args(["--mode=u=rwX,go=rX", "--use-compress-program=gzip -9n"])
            .arg(format!("--transform=s,^[.],{name},"))
            .arg("--file")
            .arg(self.folder.join(&file))
            .arg("--directory")
            .args([from, Path::new(".")])
            .quiet()
            .run()?;
        self.add(&file, what, compiled);
        Ok(())
    }
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

//! What a release consists of: each file, and what is in it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use wasm_encoder::{ComponentSection, CustomSection};
use wit_parser::Resolve;
use xshell::cmd;

use crate::{
    bindings::{
        self, npm,
        tarball::tarball,
        wheel::{sdist, wheel},
    },
    guest::{CLIENT, Guest, PRODUCTS, SANS_IO, TOOLS, TOOLS_READ_ONLY},
    obelisk,
    process::announce,
    program,
    release::{archive, crates::Compiled, origin::Origin},
    site, tools,
    workspace::Workspace,
};

pub struct Artifact {
    /// In the folder of the release.
    pub file: String,
    /// For people, in one line.
    pub what: &'static str,
    /// What of ours is in it, compiled.
    pub compiled: Vec<Compiled>,
    /// What is installed with it.
    pub requires: Vec<Requirement>,
}

/// A package that an installer gets, in a version that it chooses.
pub struct Requirement {
    pub purl: String,
    pub name: String,
    /// As the package says it.
    pub range: String,
}

/// The WIT packages: the folders that are read, the last of which has the package.
pub const WIT_PACKAGES: [(&str, &[&str], &str); 3] = [
    ("client", &["wit"], "the WIT of the client"),
    (
        "client-async",
        &["wit", "wit/async"],
        "the WIT of the client for WASI 0.3",
    ),
    ("tools", &["wit", "wit/tools"], "the WIT of the tools"),
];

/// Builds everything and puts it into `folder`.
pub fn make_all(workspace: &Workspace, folder: &Path, origin: &Origin) -> Result<Vec<Artifact>> {
    let mut artifacts = components(workspace, folder, origin)?;
    artifacts.extend(wit_packages(workspace, folder)?);
    artifacts.extend(packages(workspace, folder)?);
    artifacts.extend(archives(workspace, folder)?);
    Ok(artifacts)
}

fn components(workspace: &Workspace, folder: &Path, origin: &Origin) -> Result<Vec<Artifact>> {
    crate::build(workspace)?;
    tools::build(workspace)?;
    let what = |guest: &Guest| match guest.component {
        "voice-calling" => "the client, for hosts of WASI 0.2",
        "voice-calling-p3" => "the client, for hosts of WASI 0.3 (experimental)",
        _ => "the client without I/O, a core module that speaks JSON",
    };
    let of_tools = [
        (&TOOLS_READ_ONLY, "tools for AI agents that cannot ring"),
        (&TOOLS, "tools for AI agents"),
    ];
    let products = PRODUCTS.map(|guest| {
        let file = workspace.component_of(guest);
        (file, what(guest), vec![guest])
    });
    let tools = of_tools.map(|(guest, what)| {
        let file = tools::file_of(workspace, guest);
        (file, what, vec![guest, &CLIENT])
    });
    let mut artifacts = Vec::new();
    for (path, what, guests) in products.into_iter().chain(tools) {
        let mut bytes = workspace.shell.read_binary_file(&path)?;
        for (name, text) in origin.sections() {
            let section = CustomSection {
                name: name.into(),
                data: text.as_bytes().into(),
            };
            section.append_to_component(&mut bytes);
        }
        let file = name_of(&path)?;
        workspace.shell.write_file(folder.join(&file), bytes)?;
        artifacts.push(Artifact {
            file,
            what,
            compiled: of_guests(&guests),
            requires: Vec::new(),
        });
    }
    Ok(artifacts)
}

fn of_guests(guests: &[&'static Guest]) -> Vec<Compiled> {
    guests.iter().map(|guest| Compiled::Guest(guest)).collect()
}

fn wit_packages(workspace: &Workspace, folder: &Path) -> Result<Vec<Artifact>> {
    let version = workspace.version()?;
    let mut artifacts = Vec::new();
    for (name, folders, what) in WIT_PACKAGES {
        let mut encoded = encoded_wit(&workspace.root, folders)?;
        let bytes = encoded.remove(&format!("voice-calling:{name}@{version}"));
        let bytes = bytes.with_context(|| format!("no WIT package is called `{name}`"))?;
        let file = format!("wit-{name}-{version}.wasm");
        workspace.shell.write_file(folder.join(&file), bytes)?;
        artifacts.push(Artifact {
            file,
            what,
            compiled: Vec::new(),
            requires: Vec::new(),
        });
    }
    Ok(artifacts)
}

/// The packages in these folders, in the form in which registries have them, by name.
pub fn encoded_wit(root: &Path, folders: &[&str]) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut resolve = Resolve::new();
    for folder in folders {
        resolve.push_dir(root.join(folder))?;
    }
    let packages = resolve.packages.iter().map(|(id, package)| {
        let bytes = wit_component::encode(&resolve, id)?;
        Ok((package.name.to_string(), bytes))
    });
    packages.collect()
}

/// For Python, JavaScript, AI agents and Node-RED.
fn packages(workspace: &Workspace, folder: &Path) -> Result<Vec<Artifact>> {
    bindings::build(workspace)?;
    let wheel = wheel(workspace)?;
    let of_python = required_by_wheel(workspace, &wheel)?;
    let mut artifacts = Vec::new();
    let mut add = |path: &Path, what, guests: &[&'static Guest], requires| -> Result<()> {
        let file = name_of(path)?;
        workspace.shell.copy_file(path, folder.join(&file))?;
        artifacts.push(Artifact {
            file,
            what,
            compiled: of_guests(guests),
            requires,
        });
        Ok(())
    };
    let sans_io = [&SANS_IO];
    add(&wheel, "the package for Python", &sans_io, of_python)?;
    let of_python = required_by_wheel(workspace, &wheel)?;
    let sdist = sdist(workspace)?;
    add(&sdist, "the same as source", &sans_io, of_python)?;
    let javascript = tarball(workspace)?;
    add(&javascript, "the package for JavaScript", &sans_io, vec![])?;
    for (package, what) in [
        ("bindings/mcp", "the MCP server, for npm"),
        ("bindings/node-red", "the nodes for Node-RED, for npm"),
    ] {
        let packed = npm::pack(workspace, package)?;
        add(&packed.tarball, what, &[], requirements_of_npm(&packed)?)?;
    }
    Ok(artifacts)
}

fn archives(workspace: &Workspace, folder: &Path) -> Result<Vec<Artifact>> {
    let version = workspace.version()?;
    let archived = |name: String, from: &Path, what, compiled| {
        let file = format!("{name}.tar.gz");
        announce(&format!("{file}: archiving"));
        let files = archive::files_of(from)?;
        archive::write(&name, from, &files, &folder.join(&file))?;
        Ok::<_, anyhow::Error>(Artifact {
            file,
            what,
            compiled,
            requires: Vec::new(),
        })
    };
    // What an earlier version had in it is not to be released.
    let deployment = obelisk::folder(workspace);
    workspace.shell.remove_path(&deployment)?;
    obelisk::build(workspace)?;
    let site = site::build(workspace)?;
    let mock = mock_folder(workspace)?;
    Ok(vec![
        archived(
            format!("voice-calling-obelisk-{version}"),
            &deployment,
            "the folder for the workflow engine Obelisk",
            of_guests(&obelisk::GUESTS),
        )?,
        archived(
            mock_name(&version),
            &mock,
            "the mock service as a program, to try workflows without a phone",
            vec![Compiled::Program],
        )?,
        archived(
            format!("voice-calling-docs-{version}"),
            &site,
            "the documentation as a site",
            Vec::new(),
        )?,
    ])
}

/// The folder in its archive, and the archive without its ending.
pub fn mock_name(version: &str) -> String {
    format!("voice-calling-mock-{version}-{}", program::platform())
}

fn mock_folder(workspace: &Workspace) -> Result<PathBuf> {
    let folder = workspace.target.join("mock");
    workspace.shell.remove_path(&folder)?;
    workspace.shell.create_dir(&folder)?;
    for file in [program::build(workspace)?, workspace.root.join("LICENSE")] {
        workspace.shell.copy_file(file, &folder)?;
    }
    Ok(folder)
}

fn required_by_wheel(workspace: &Workspace, wheel: &Path) -> Result<Vec<Requirement>> {
    let code = "import email, sys, zipfile\n\
                wheel = zipfile.ZipFile(sys.argv[1])\n\
                name = [n for n in wheel.namelist() if n.endswith('.dist-info/METADATA')][0]\n\
                message = email.message_from_bytes(wheel.read(name))\n\
                print('\\n'.join(message.get_all('Requires-Dist') or []))";
    let printed = cmd!(workspace.shell, "python3 -c {code} {wheel}").quiet();
    let printed = printed.read().context("cannot read the wheel")?;
    let requirements = printed.lines().map(|line| {
        let end = line.find(|it: char| !it.is_ascii_alphanumeric() && !"-_.".contains(it));
        let (name, range) = line.split_at(end.unwrap_or(line.len()));
        Requirement {
            purl: format!("pkg:pypi/{name}"),
            name: name.to_owned(),
            range: range.to_owned(),
        }
    });
    Ok(requirements.collect())
}

fn requirements_of_npm(packed: &npm::Packed) -> Result<Vec<Requirement>> {
    let dependencies = packed.manifest["dependencies"].as_object();
    let dependencies = dependencies.into_iter().flatten().map(|(name, range)| {
        let range = range.as_str().context("a dependency has a range")?;
        Ok(Requirement {
            purl: format!("pkg:npm/{}", name.replace('@', "%40")),
            name: name.clone(),
            range: range.to_owned(),
        })
    });
    dependencies.collect()
}

fn name_of(path: &Path) -> Result<String> {
    let name = path.file_name().context("a file has a name")?;
    Ok(name.to_string_lossy().into_owned())
}

//! The contents of a release: for each file with compiled crates in it a list of them (an SBOM,
//! CycloneDX 1.6), and the licences of all crates with their texts.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, ensure};
use cargo_metadata::{Metadata, MetadataCommand, Package};
use serde_json::{Value, json};

use crate::{
    inspect::sha256,
    program,
    release::artifact::Artifact,
    toolchain::{TARGET, Toolchain},
    workspace::Workspace,
};

/// Writes both into the folder of a release. They contain neither times nor serial numbers, so that
/// they are reproducible.
pub fn write(workspace: &Workspace, folder: &Path, artifacts: &[Artifact]) -> Result<()> {
    let crates = Crates::load(workspace)?;
    let mut compiled = BTreeMap::new();
    for artifact in artifacts.iter().filter(|it| !it.compiled.is_empty()) {
        let bytes = fs::read(folder.join(&artifact.file))?;
        let packages = crates.of(workspace, artifact)?;
        let document = sbom(workspace, &crates, artifact, &packages, &bytes)?;
        let path = folder.join(format!("{}.cdx.json", artifact.file));
        fs::write(path, serde_json::to_string_pretty(&document)? + "\n")?;
        compiled.extend(packages);
    }
    // Our own packages have the licence of the release.
    compiled.retain(|_, package| package.source.is_some());
    let licenses = licenses(workspace, &crates, &compiled)?;
    Ok(fs::write(
        folder.join("THIRD-PARTY-LICENSES.txt"),
        licenses,
    )?)
}

/// Crates by name and version.
type Packages<'a> = BTreeMap<(String, String), &'a Package>;

struct Crates {
    metadata: Metadata,
    /// The lock file, with the SHA-256 of crates.io's files.
    lock: String,
    /// The version of the compiler, whose standard library is compiled in as well.
    standard_library: String,
    /// The target of programs of this machine.
    host: String,
}

impl Crates {
    fn load(workspace: &Workspace) -> Result<Self> {
        let locked = ["--locked".to_owned()];
        let mut metadata = MetadataCommand::new();
        let metadata = metadata.current_dir(&workspace.root).other_options(locked);
        let toolchain = Toolchain::find(&workspace.shell)?;
        Ok(Self {
            metadata: metadata.exec()?,
            lock: fs::read_to_string(workspace.root.join("Cargo.lock"))?,
            standard_library: toolchain.compiler().release().to_owned(),
            host: toolchain.compiler().host().to_owned(),
        })
    }

    /// Returns the packages in an artifact, without those that only run at build time.
    fn of(&self, workspace: &Workspace, artifact: &Artifact) -> Result<Packages<'_>> {
        let mut packages = Packages::new();
        for package in &artifact.compiled {
            let target = match *package {
                program::PACKAGE => &self.host,
                _ => TARGET,
            };
            let tree = workspace
                .cargo("tree --locked --prefix none --no-dedupe --edges normal,no-proc-macro")
                .args(["--package", package, "--target", target])
                .args(["--format", "{p}"])
                .read()?;
            for line in tree.lines() {
                let mut words = line.split(' ');
                let name = words.next().unwrap_or_default();
                let version = words.next().unwrap_or_default().trim_start_matches('v');
                let mut all = self.metadata.packages.iter();
                let found = all.find(|it| *it.name == name && it.version.to_string() == version);
                let found = found.with_context(|| format!("no package is called `{line}`"))?;
                packages.insert((name.to_owned(), version.to_owned()), found);
            }
            ensure!(!packages.is_empty(), "{package} has no crates");
        }
        Ok(packages)
    }

    fn checksum(&self, name: &str, version: &str) -> Option<&str> {
        let entry = format!("\nname = \"{name}\"\nversion = \"{version}\"\n");
        let (_, entry) = self.lock.split_once(&entry)?;
        let mut lines = entry.lines().take_while(|line| !line.is_empty());
        let checksum = lines.find_map(|line| line.strip_prefix("checksum = \""))?;
        Some(checksum.trim_end_matches('"'))
    }
}

fn sbom(
    workspace: &Workspace,
    crates: &Crates,
    artifact: &Artifact,
    packages: &Packages,
    bytes: &[u8],
) -> Result<Value> {
    let mut components = Vec::new();
    for ((name, version), package) in packages {
        let mut component = library(&format!("pkg:cargo/{name}@{version}"), name);
        component["version"] = json!(version);
        component["licenses"] = json!([{ "expression": license(package)? }]);
        if let Some(checksum) = crates.checksum(name, version) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
        }
        components.push(component);
    }
    // No lock file names it.
    let version = &crates.standard_library;
    let mut component = library(&format!("pkg:generic/rust-std@{version}"), "rust-std");
    component["version"] = json!(version);
    component["description"] = json!("The Rust standard library");
    component["licenses"] = json!([{ "expression": "MIT OR Apache-2.0" }]);
    components.push(component);
    let all: Vec<_> = components.iter().map(|it| it["bom-ref"].clone()).collect();
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": {
            "type": "library",
            "bom-ref": artifact.file,
            "name": artifact.file,
            "version": workspace.version()?,
            "description": artifact.what,
            "licenses": [{ "expression": workspace.license()? }],
            "hashes": [{ "alg": "SHA-256", "content": sha256(bytes) }],
        } },
        "components": components,
        "dependencies": [{ "ref": artifact.file, "dependsOn": all }],
    }))
}

fn library(purl: &str, name: &str) -> Value {
    json!({
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "scope": "required",
        "purl": purl,
    })
}

/// Returns one text for people. A licence text that several crates share occurs once.
fn licenses(workspace: &Workspace, crates: &Crates, packages: &Packages) -> Result<String> {
    let mut text = format!(
        "Compiled into the components and packages of voice-calling {}, beside its own code\n\
         ({}):\n\n",
        workspace.version()?,
        workspace.license()?
    );
    let mut sharing: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for ((name, version), package) in packages {
        text += &format!("{name} {version}: {}\n", license(package)?);
        for license in license_texts(package)? {
            let license = license.trim().replace("\r\n", "\n");
            sharing
                .entry(license)
                .or_default()
                .push(format!("{name} {version}"));
        }
    }
    let standard_library = &crates.standard_library;
    text += &format!("the Rust standard library {standard_library}: MIT OR Apache-2.0\n");
    let mut texts: Vec<_> = sharing.into_iter().collect();
    texts.sort_by(|(_, one), (_, other)| one.cmp(other));
    for (license, names) in texts {
        let line = "-".repeat(80);
        text += &format!("\n{line}\n{}\n{line}\n\n{license}\n", names.join(", "));
    }
    Ok(text)
}

/// Returns the licence as SPDX: old manifests separate alternatives by a slash.
fn license(package: &Package) -> Result<String> {
    let license = package.license.as_deref();
    let license = license.with_context(|| format!("{} names no licence", package.name))?;
    Ok(license.replace('/', " OR "))
}

/// Returns the licence texts in its source, sorted by file name.
fn license_texts(package: &Package) -> Result<Vec<String>> {
    const NAMES: [&str; 6] = [
        "LICENSE",
        "LICENCE",
        "COPYING",
        "COPYRIGHT",
        "NOTICE",
        "UNLICENSE",
    ];
    let folder = package
        .manifest_path
        .parent()
        .context("a manifest is in a folder")?;
    let mut texts = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let upper = name.to_uppercase();
        if NAMES.iter().any(|it| upper.starts_with(it)) && path.is_file() {
            texts.insert(name.into_owned(), fs::read_to_string(&path)?);
        }
    }
    Ok(texts.into_values().collect())
}

//! What is in an artifact, as CycloneDX 1.6: the crates that are compiled into it, and the packages
//! that it is installed with.

use std::collections::BTreeMap;

use anyhow::Result;
use cargo_metadata::Package;
use serde_json::{Map, Value, json};

use crate::{
    inspect::sha256,
    release::{
        artifact::{Artifact, Requirement},
        crates::{self, Crates},
    },
    workspace::Workspace,
};

/// The document for an artifact with these bytes. It has neither a time nor a number of its own, so
/// that it can be made again.
pub fn of(
    artifact: &Artifact,
    bytes: &[u8],
    workspace: &Workspace,
    crates: &Crates,
) -> Result<Value> {
    let mut packages = BTreeMap::new();
    for compiled in &artifact.compiled {
        for package in crates.of(workspace, compiled)? {
            packages.insert((package.name.to_string(), package.version.clone()), package);
        }
    }
    let packages: Vec<_> = packages.into_values().collect();

    let mut components = Vec::new();
    let mut dependencies = Vec::new();
    for package in &packages {
        components.push(component_of(package, crates)?);
        let uses = crates.used_by(package, &packages);
        dependencies.push(depends(&purl(package), uses.into_iter().map(purl)));
    }
    if !packages.is_empty() {
        components.push(standard_library(&crates.standard_library));
    }
    components.extend(artifact.requires.iter().map(required));

    let all: Vec<_> = components.iter().map(|it| it["bom-ref"].clone()).collect();
    dependencies.insert(0, json!({ "ref": artifact.file, "dependsOn": all }));
    let version = workspace.version()?;
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": {
            "type": "library",
            "bom-ref": artifact.file,
            "name": artifact.file,
            "version": version,
            "description": artifact.what,
            "licenses": [{ "expression": workspace.license()? }],
            "hashes": [{ "alg": "SHA-256", "content": sha256(bytes) }],
        } },
        "components": components,
        "dependencies": dependencies,
    }))
}

fn component_of(package: &Package, crates: &Crates) -> Result<Value> {
    let purl = purl(package);
    let mut component = Map::new();
    component.insert("type".into(), "library".into());
    component.insert("bom-ref".into(), purl.as_str().into());
    component.insert("name".into(), package.name.as_str().into());
    component.insert("version".into(), package.version.to_string().into());
    component.insert("scope".into(), "required".into());
    let license = json!([{ "expression": crates::license(package)? }]);
    component.insert("licenses".into(), license);
    component.insert("purl".into(), purl.into());
    if let Some(checksum) = crates.checksum(package) {
        let hashes = json!([{ "alg": "SHA-256", "content": checksum }]);
        component.insert("hashes".into(), hashes);
    }
    Ok(component.into())
}

/// It is compiled into everything, and no lock file names it.
fn standard_library(version: &str) -> Value {
    let purl = format!("pkg:generic/rust-std@{version}");
    json!({
        "type": "library",
        "bom-ref": purl,
        "name": "rust-std",
        "version": version,
        "description": "The Rust standard library",
        "scope": "required",
        "licenses": [{ "expression": "MIT OR Apache-2.0" }],
        "purl": purl,
    })
}

/// What the installer gets, in a version of its choice.
fn required(requirement: &Requirement) -> Value {
    let Requirement { purl, name, range } = requirement;
    json!({
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "scope": "required",
        "purl": purl,
        "properties": [{ "name": "voice-calling:required-version", "value": range }],
    })
}

fn purl(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

fn depends(on: &str, uses: impl Iterator<Item = String>) -> Value {
    json!({ "ref": on, "dependsOn": uses.collect::<Vec<_>>() })
}

//! The licences of everything that is compiled into some artifact, with their texts.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::{
    release::{
        artifact::Artifact,
        crates::{self, Crates},
    },
    workspace::Workspace,
};

/// One text for people. A licence text that several crates share is given once.
pub fn of(artifacts: &[Artifact], workspace: &Workspace, crates: &Crates) -> Result<String> {
    let mut packages = BTreeMap::new();
    for compiled in artifacts.iter().flat_map(|artifact| &artifact.compiled) {
        for package in crates.of(workspace, compiled)? {
            // Those of the registry alone: what is ours has the licence of the release.
            if package.source.is_some() {
                packages.insert((package.name.to_string(), package.version.clone()), package);
            }
        }
    }

    let mut text = format!(
        "Compiled into the components and packages of voice-calling {}, beside its own code\n\
         ({}):\n\n",
        workspace.version()?,
        workspace.license()?
    );
    let mut sharing: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages.values() {
        let name = format!("{} {}", package.name, package.version);
        text += &format!("{name}: {}\n", crates::license(package)?);
        for license in crates::license_texts(package)? {
            let license = license.trim().replace("\r\n", "\n");
            sharing.entry(license).or_default().push(name.clone());
        }
    }
    text += &format!(
        "the Rust standard library {}: MIT OR Apache-2.0\n",
        crates.standard_library
    );
    let mut texts: Vec<_> = sharing.into_iter().collect();
    texts.sort_by(|(_, one), (_, other)| one.cmp(other));
    for (license, names) in texts {
        let line = "-".repeat(80);
        text += &format!("\n{line}\n{}\n{line}\n\n{license}\n", names.join(", "));
    }
    Ok(text)
}

//! The crates that are compiled into a guest or a program: what an SBOM and the list of licences name.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, ensure};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

use crate::{
    guest::Guest,
    program,
    toolchain::{TARGET, Toolchain},
    workspace::Workspace,
};

/// A package of ours that is compiled into an artifact.
pub enum Compiled {
    Guest(&'static Guest),
    /// [`program`], for this machine.
    Program,
}

pub struct Crates {
    metadata: Metadata,
    /// SHA-256 of what crates.io serves, by name and version, from `Cargo.lock`.
    checksums: BTreeMap<(String, String), String>,
    /// Compiled in as well: the version of the compiler that brings it.
    pub standard_library: String,
    /// The target of programs of this machine.
    host: String,
}

impl Crates {
    pub fn load(workspace: &Workspace) -> Result<Self> {
        let metadata = MetadataCommand::new()
            .current_dir(&workspace.root)
            .other_options(["--locked".to_owned()])
            .exec()?;
        let lock = fs::read_to_string(workspace.root.join("Cargo.lock"))?;
        let toolchain = Toolchain::find(&workspace.shell)?;
        Ok(Self {
            metadata,
            checksums: checksums(&lock),
            standard_library: toolchain.compiler().release().to_owned(),
            host: toolchain.compiler().host().to_owned(),
        })
    }

    /// Those in it, without what only runs at build time; sorted.
    pub fn of(&self, workspace: &Workspace, compiled: &Compiled) -> Result<Vec<&Package>> {
        let (package, target) = match compiled {
            Compiled::Guest(guest) => (guest.package, TARGET),
            Compiled::Program => (program::PACKAGE, &*self.host),
        };
        let tree = workspace
            .cargo("tree --locked --prefix none --no-dedupe --edges normal,no-proc-macro")
            .args(["--package", package, "--target", target])
            .args(["--format", "{p}"])
            .read()?;
        let mut packages = Vec::new();
        for line in tree.lines() {
            let mut words = line.split(' ');
            let name = words.next().unwrap_or_default();
            let version = words.next().and_then(|word| word.strip_prefix('v'));
            let version = version.with_context(|| format!("`cargo tree` printed `{line}`"))?;
            let mut all = self.metadata.packages.iter();
            let found = all.find(|it| *it.name == name && it.version.to_string() == version);
            packages.push(found.with_context(|| format!("no package is called `{line}`"))?);
        }
        packages.sort_by_key(|package| (&package.name, &package.version));
        packages.dedup_by_key(|package| &package.id);
        ensure!(!packages.is_empty(), "{package} has no crates");
        Ok(packages)
    }

    /// Which of `packages` this one uses when it runs.
    pub fn used_by<'a>(&self, package: &Package, packages: &[&'a Package]) -> Vec<&'a Package> {
        let nodes = self.metadata.resolve.iter().flat_map(|it| &it.nodes);
        let node = nodes.filter(|node| node.id == package.id);
        let dependencies = node.flat_map(|node| &node.deps).filter(|dependency| {
            let mut kinds = dependency.dep_kinds.iter();
            kinds.any(|it| it.kind == DependencyKind::Normal)
        });
        let ids: Vec<_> = dependencies.map(|dependency| &dependency.pkg).collect();
        let packages = packages.iter().copied();
        packages.filter(|it| ids.contains(&&it.id)).collect()
    }

    pub fn checksum(&self, package: &Package) -> Option<&str> {
        let key = (package.name.to_string(), package.version.to_string());
        self.checksums.get(&key).map(String::as_str)
    }
}

/// As SPDX: old manifests separate alternatives by a slash.
pub fn license(package: &Package) -> Result<String> {
    let license = package.license.as_deref();
    let license = license.with_context(|| format!("{} names no licence", package.name))?;
    Ok(license.replace('/', " OR "))
}

/// The texts of its licences, as its source has them; sorted by name.
pub fn license_texts(package: &Package) -> Result<Vec<String>> {
    let folder = package.manifest_path.parent();
    let folder = folder.context("a manifest is in a folder")?;
    let mut files: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    files.retain(|file| is_license(&file.path()) && file.path().is_file());
    files.sort_by_key(|file| file.file_name());
    let texts = files
        .iter()
        .map(|file| Ok(fs::read_to_string(file.path())?));
    texts.collect()
}

fn is_license(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_uppercase();
    let begins = [
        "LICENSE",
        "LICENCE",
        "COPYING",
        "COPYRIGHT",
        "NOTICE",
        "UNLICENSE",
    ];
    begins.iter().any(|begin| name.starts_with(begin))
}

fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |package: &str, key: &str| {
        let begin = format!("{key} = \"");
        let line = package.lines().find_map(|line| line.strip_prefix(&begin))?;
        Some(line.trim_end_matches('"').to_owned())
    };
    let packages = lock.split("[[package]]").skip(1);
    let entries = packages.filter_map(|package| {
        let key = (value(package, "name")?, value(package, "version")?);
        Some((key, value(package, "checksum")?))
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_is_that_of_the_version() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n\n\
                    [[package]]\nname = \"b\"\nversion = \"1.0.0\"\nchecksum = \"0b\"\n";
        let checksums = checksums(lock);
        assert_eq!(checksums.len(), 1);
        assert_eq!(checksums[&("b".into(), "1.0.0".into())], "0b");
    }

    #[test]
    fn licences_are_known_by_their_names() {
        assert!(is_license(Path::new("/x/LICENSE-MIT")));
        assert!(is_license(Path::new("/x/license.md")));
        assert!(!is_license(Path::new("/x/README.md")));
    }
}

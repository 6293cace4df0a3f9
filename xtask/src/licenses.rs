//! The licences of all crates that are compiled into a release, with their texts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use anyhow::{Context, Result, ensure};
use cargo_metadata::{MetadataCommand, Package};

use crate::{
    toolchain::{TARGET, Toolchain},
    workspace::Workspace,
};

/// The file that has them.
const FILE: &str = "THIRD-PARTY-LICENSES.txt";

/// Writes those of guests, and of packages for this machine, into a folder, as one text for people. A
/// licence text that several crates share occurs once.
pub(crate) fn write(
    workspace: &Workspace,
    guests: &[&str],
    programs: &[&str],
    folder: &Path,
) -> Result<()> {
    let compiler = Toolchain::find(&workspace.shell)?.compiler;
    let mut compiled = crates(workspace, guests, TARGET)?;
    compiled.extend(crates(workspace, programs, &compiler.host)?);
    let metadata = MetadataCommand::new()
        .current_dir(&workspace.root)
        .other_options(["--locked".to_owned()])
        .exec()?;
    let named = metadata.packages.iter();
    let named = named.map(|it| (format!("{} v{}", it.name, it.version), it));
    let mut packages: BTreeMap<_, _> = named.filter(|(it, _)| compiled.remove(it)).collect();
    ensure!(compiled.is_empty(), "unknown packages: {compiled:?}");
    // Our own packages have the licence of the release.
    packages.retain(|_, package| package.source.is_some());

    let mut text = format!(
        "Compiled into what voice-calling {} publishes here, beside its own code\n\
         ({}):\n\n",
        workspace.version()?,
        workspace.license()?
    );
    let mut sharing: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (name, package) in &packages {
        let license = package.license.as_deref();
        let license = license.with_context(|| format!("{name} names no licence"))?;
        // Old manifests separate alternatives by a slash.
        text += &format!("{name}: {}\n", license.replace('/', " OR "));
        for license in license_texts(package)? {
            let license = license.trim().replace("\r\n", "\n");
            sharing.entry(license).or_default().push(name);
        }
    }
    let standard_library = &compiler.release;
    text += &format!("the Rust standard library {standard_library}: MIT OR Apache-2.0\n");
    let mut texts: Vec<_> = sharing.into_iter().collect();
    texts.sort_by(|(_, one), (_, other)| one.cmp(other));
    for (license, names) in texts {
        let line = "-".repeat(80);
        text += &format!("\n{line}\n{}\n{line}\n\n{license}\n", names.join(", "));
    }
    Ok(fs::write(folder.join(FILE), text)?)
}

/// Returns the crates in packages, as `serde v1.0.0`, without those that only run at build time.
fn crates(workspace: &Workspace, packages: &[&str], target: &str) -> Result<BTreeSet<String>> {
    if packages.is_empty() {
        return Ok(BTreeSet::new());
    }
    let tree = workspace
        .cargo("tree --locked --prefix none --edges normal,no-proc-macro --format {p}")
        .args(["--target", target])
        .args(packages.iter().flat_map(|package| ["--package", package]))
        .read()?;
    let lines = tree.lines().filter(|line| !line.is_empty());
    let words = lines.map(|line| line.split(' ').take(2).collect::<Vec<_>>());
    Ok(words.map(|words| words.join(" ")).collect())
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

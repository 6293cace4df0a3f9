//! The packages for other languages: what is generated of them, how they are built, and how they
//! are tried.

mod javascript;
pub mod mcp;
mod model;
mod names;
pub mod npm;
mod python;
mod settings;
pub mod tarball;
pub mod tools;
pub mod wheel;

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use clap::Subcommand;

use crate::{
    bindings::model::Package,
    component,
    guest::{MUTANTS, SANS_IO},
    harness::{JUDGE_VARIABLE, Services},
    process::announce,
    test_run::COMPONENT_VARIABLE,
    workspace::Workspace,
};

#[derive(Subcommand)]
pub enum Command {
    /// Only write what follows from the WIT
    Generate,
    /// Build the packages, and try them as their users install them
    Test,
}

/// A file that is generated from the WIT and committed.
pub struct Generated {
    /// From the workspace's root.
    pub path: PathBuf,
    pub text: String,
}

pub fn run(workspace: &Workspace, command: Option<Command>) -> Result<()> {
    match command {
        None => build(workspace),
        Some(Command::Generate) => generate(workspace),
        Some(Command::Test) => test(workspace),
    }
}

pub fn build(workspace: &Workspace) -> Result<()> {
    crate::build(workspace)?;
    generate(workspace)?;
    wheel::build(workspace)?;
    tarball::build(workspace)
}

/// The package for JavaScript alone, for what is built on it.
pub fn build_javascript(workspace: &Workspace) -> Result<()> {
    component::build(workspace, &[&SANS_IO])?;
    tarball::build(workspace)
}

/// Tries both packages as their users install them. The table of cases is run through the harness
/// and both packages by the same judge, so that the three cannot differ.
fn test(workspace: &Workspace) -> Result<()> {
    build(workspace)?;
    // With them the table proves that it can fail.
    component::build(workspace, &[&MUTANTS])?;
    let services = Services::start(workspace)?;
    announce("the table of cases, by the harness");
    let cases = workspace.cargo("test --locked --package host-test --test cases");
    cases
        .env(COMPONENT_VARIABLE, workspace.component())
        .env(JUDGE_VARIABLE, &services.judge.url)
        .run()?;
    wheel::test(workspace, &services)?;
    tarball::test(workspace, &services)?;
    mcp::test(workspace)
}

/// Writes what follows from the WIT, so that nobody keeps a second list of it.
fn generate(workspace: &Workspace) -> Result<()> {
    announce("the types and methods of the packages, from the WIT");
    for file in generated(&workspace.root)? {
        let path = workspace.root.join(&file.path);
        fs::write(&path, file.text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

fn generated(root: &Path) -> Result<Vec<Generated>> {
    let package = Package::read(&root.join("wit"))?;
    let mut files = python::files(&package)?;
    files.extend(javascript::files(&package)?);
    files.push(tools::file(root)?);
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_committed_is_what_the_wit_says() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for file in generated(&root).unwrap() {
            let committed = fs::read_to_string(root.join(&file.path)).unwrap_or_default();
            assert!(
                committed == file.text,
                "{} is not what the WIT says: run `cargo xtask bindings generate`",
                file.path.display()
            );
        }
    }
}

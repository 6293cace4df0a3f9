//! A program that some check needs, installed by cargo at a version that is known to do.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};

use crate::{
    process::{announce, cargo, run},
    workspace::Workspace,
};

pub struct Tool {
    pub name: &'static str,
    pub version: &'static str,
    /// How long the installation takes, for people.
    pub takes: &'static str,
}

/// Where all tools are installed to.
pub fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("tools")
}

impl Tool {
    /// Installs it into the target directory, unless it is there, and returns where the program
    /// lies.
    pub fn install(&self, workspace: &Workspace) -> Result<PathBuf> {
        self.install_into(&folder(workspace), |_| {})
    }

    /// The same into another folder, in which it may outlive the target directory. `adjust` says
    /// how it is built.
    pub fn install_into(
        &self,
        folder: &Path,
        adjust: impl FnOnce(&mut Command),
    ) -> Result<PathBuf> {
        let Self { name, version, .. } = self;
        let record = fs::read_to_string(folder.join(".crates.toml")).unwrap_or_default();
        let program = folder
            .join("bin")
            .join(format!("{name}{}", env::consts::EXE_SUFFIX));
        if !is_recorded(&record, name, version) || !program.is_file() {
            announce(&format!("installing {name} {version} ({})", self.takes));
            let mut install = cargo();
            install
                .args(["install", "--locked", "--force", "--version", version])
                .arg("--root")
                .arg(folder)
                .arg(name);
            adjust(&mut install);
            run(&mut install).with_context(|| format!("cannot install {name}"))?;
        }
        Ok(program)
    }
}

/// Whether cargo's own record of what it installed has this version:
/// `"cargo-deny 0.20.2 (registry+https://…)" = ["cargo-deny"]`
fn is_recorded(record: &str, name: &str, version: &str) -> bool {
    record.contains(&format!("\"{name} {version} ("))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_version_or_program_is_not_the_one_that_is_needed() {
        let record =
            "[v1]\n\"cargo-deny 0.20.2 (registry+https://a.example/)\" = [\"cargo-deny\"]\n";
        assert!(is_recorded(record, "cargo-deny", "0.20.2"));
        assert!(!is_recorded(record, "cargo-deny", "0.20.1"));
        assert!(!is_recorded(record, "cargo-deny", "0.20"));
        assert!(!is_recorded(record, "deny", "0.20.2"));
        assert!(!is_recorded("", "cargo-deny", "0.20.2"));
    }
}

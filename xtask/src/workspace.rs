//! The workspace: where it lies, where its results go, and what it says of the guest.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;

/// The package that is built for WebAssembly.
pub const GUEST_PACKAGE: &str = "voice-calling-p2";

pub struct Workspace {
    pub root: PathBuf,
    /// Where results go: `target`, or what the user set (`CARGO_TARGET_DIR`).
    pub target: PathBuf,
    pub guest: GuestPackage,
}

/// What the guest's manifest says, for the component's metadata.
pub struct GuestPackage {
    pub folder: PathBuf,
    pub version: String,
    pub license: String,
    pub description: String,
}

impl Workspace {
    /// The workspace around the current directory.
    pub fn load() -> Result<Self> {
        let locate = ["locate-project", "--workspace", "--message-format=plain"];
        let manifest = PathBuf::from(process::output(process::cargo().args(locate))?);
        let root = folder_of(&manifest)?;
        let metadata = metadata(&root)?;
        Ok(Self {
            root,
            target: text(&metadata, "target_directory")?.into(),
            guest: GuestPackage::find(&metadata)?,
        })
    }

    /// The same workspace copied to `root`, with its results in the copy.
    pub fn copied_to(&self, root: &Path) -> Result<Self> {
        let folder = self.guest.folder.strip_prefix(&self.root)?;
        Ok(Self {
            root: root.to_owned(),
            target: root.join("target"),
            guest: GuestPackage {
                folder: root.join(folder),
                version: self.guest.version.clone(),
                license: self.guest.license.clone(),
                description: self.guest.description.clone(),
            },
        })
    }

    /// A cargo for the host's part. It runs in the root, since the guest's folder has settings of
    /// its own.
    pub fn cargo(&self) -> Command {
        let mut cargo = process::cargo();
        cargo.current_dir(&self.root);
        cargo
    }

    /// The one file that all this is for.
    pub fn component(&self) -> PathBuf {
        self.target.join("voice-calling.wasm")
    }

    /// Never the host's: two compilers may be at work, and cargo mixes up what they leave in one
    /// directory.
    pub fn guest_target(&self) -> PathBuf {
        self.target.join("guest")
    }

    /// A path as the user is shown it: relative to the workspace where it lies in it.
    pub fn shown(&self, path: &Path) -> String {
        let path = path.strip_prefix(&self.root).unwrap_or(path);
        path.display().to_string()
    }
}

impl GuestPackage {
    fn find(metadata: &Value) -> Result<Self> {
        let package = metadata["packages"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|package| package["name"] == GUEST_PACKAGE)
            .with_context(|| format!("the workspace has no package `{GUEST_PACKAGE}`"))?;
        Ok(Self {
            folder: folder_of(text(package, "manifest_path")?.as_ref())?,
            version: text(package, "version")?.to_owned(),
            license: text(package, "license")?.to_owned(),
            description: text(package, "description")?.to_owned(),
        })
    }
}

fn metadata(root: &Path) -> Result<Value> {
    let mut cargo = process::cargo();
    cargo
        .args(["metadata", "--format-version=1", "--no-deps"])
        .current_dir(root);
    let json = process::output(&mut cargo)?;
    serde_json::from_str(&json).context("`cargo metadata` did not print JSON")
}

fn folder_of(manifest: &Path) -> Result<PathBuf> {
    let folder = manifest.parent().context("a manifest without folder")?;
    Ok(folder.to_owned())
}

fn text<'json>(object: &'json Value, field: &str) -> Result<&'json str> {
    object[field]
        .as_str()
        .with_context(|| format!("`cargo metadata` gave no `{field}`"))
}

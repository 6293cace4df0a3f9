//! The workspace: where it lies, where its results go, and what it says of the guest.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;

/// The guest that all this is for.
const GUEST: Guest = Guest {
    package: "voice-calling-p2",
    component: "voice-calling",
    file: "voice-calling.wasm",
};

/// The same for hosts of WASI 0.3, where all calls may be on one instance.
const GUEST_P3: Guest = Guest {
    package: "voice-calling-p3",
    component: "voice-calling-p3",
    file: "voice-calling-p3.wasm",
};

/// The guest on a core that misbehaves, with which the check of components proves that it can fail.
const MUTANTS: Guest = Guest {
    package: "voice-calling-mutants-p2",
    component: "voice-calling-mutants",
    file: "mutants.wasm",
};

/// A guest that uses the one for WASI 0.3 and cancels its calls, with which tests prove what
/// becomes of these.
const IMPATIENT: Guest = Guest {
    package: "voice-calling-impatient",
    component: "voice-calling-impatient",
    file: "impatient-guest.wasm",
};

/// What runs beside the guest on the workflow engine Obelisk.
const OBELISK_WORKFLOW: Guest = Guest {
    package: "voice-calling-obelisk-workflow",
    component: "voice-calling-workflow",
    file: "obelisk/workflow.wasm",
};

/// What receives the service's webhook there.
const OBELISK_WEBHOOK: Guest = Guest {
    package: "voice-calling-obelisk-webhook",
    component: "voice-calling-webhook",
    file: "obelisk/webhook.wasm",
};

pub struct Workspace {
    pub root: PathBuf,
    /// Where results go: `target`, or what the user set (`CARGO_TARGET_DIR`).
    pub target: PathBuf,
    pub guest: GuestPackage,
    pub guest_p3: GuestPackage,
    pub mutants: GuestPackage,
    pub impatient: GuestPackage,
    pub obelisk_workflow: GuestPackage,
    pub obelisk_webhook: GuestPackage,
}

/// A package that is built for WebAssembly, and the component that is made of it.
#[derive(Clone, Copy)]
pub struct Guest {
    pub package: &'static str,
    /// What `wasm-tools metadata show` calls the component.
    pub component: &'static str,
    /// Where the component lies in the target directory.
    file: &'static str,
}

/// A guest, and what its manifest says for the component's metadata.
#[derive(Clone)]
pub struct GuestPackage {
    pub guest: Guest,
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
            guest: GuestPackage::find(GUEST, &metadata)?,
            guest_p3: GuestPackage::find(GUEST_P3, &metadata)?,
            mutants: GuestPackage::find(MUTANTS, &metadata)?,
            impatient: GuestPackage::find(IMPATIENT, &metadata)?,
            obelisk_workflow: GuestPackage::find(OBELISK_WORKFLOW, &metadata)?,
            obelisk_webhook: GuestPackage::find(OBELISK_WEBHOOK, &metadata)?,
        })
    }

    /// The same workspace copied to `root`, with its results in the copy.
    pub fn copied_to(&self, root: &Path) -> Result<Self> {
        Ok(Self {
            root: root.to_owned(),
            target: root.join("target"),
            guest: self.guest.moved(&self.root, root)?,
            guest_p3: self.guest_p3.moved(&self.root, root)?,
            mutants: self.mutants.moved(&self.root, root)?,
            impatient: self.impatient.moved(&self.root, root)?,
            obelisk_workflow: self.obelisk_workflow.moved(&self.root, root)?,
            obelisk_webhook: self.obelisk_webhook.moved(&self.root, root)?,
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
        self.component_of(&self.guest)
    }

    pub fn component_of(&self, guest: &GuestPackage) -> PathBuf {
        self.target.join(guest.guest.file)
    }

    /// The impatient guest and the one for WASI 0.3 as one.
    pub fn impatient_composition(&self) -> PathBuf {
        self.target.join("impatient.wasm")
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
    fn find(guest: Guest, metadata: &Value) -> Result<Self> {
        let name = guest.package;
        let package = metadata["packages"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|package| package["name"] == name)
            .with_context(|| format!("the workspace has no package `{name}`"))?;
        Ok(Self {
            guest,
            folder: folder_of(text(package, "manifest_path")?.as_ref())?,
            version: text(package, "version")?.to_owned(),
            license: text(package, "license")?.to_owned(),
            description: text(package, "description")?.to_owned(),
        })
    }

    fn moved(&self, from: &Path, to: &Path) -> Result<Self> {
        Ok(Self {
            folder: to.join(self.folder.strip_prefix(from)?),
            ..self.clone()
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

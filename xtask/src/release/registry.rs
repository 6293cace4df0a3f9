//! The components and WIT packages of a release in an OCI registry, by `wkg`. What is there is
//! never overwritten.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use xshell::{Cmd, Shell, cmd};

use crate::{
    inspect::{self, sha256},
    process::announce,
    release::{artifact::WIT_PACKAGES, signature::SUMS},
    setup::tool::WKG,
    workspace::{Workspace, shell_in},
};

/// The components that are pushed, by file.
pub const IMAGES: [&str; 5] = [
    "voice-calling.wasm",
    "voice-calling-p3.wasm",
    "voice-calling-sans-io.wasm",
    "voice-calling-tools.wasm",
    "voice-calling-tools-read-only.wasm",
];

pub struct Registry<'a> {
    /// `registry.example/acme`
    pub base: &'a str,
    /// Over http; only to loopback.
    pub insecure: bool,
    shell: Shell,
    wkg: PathBuf,
    scratch: PathBuf,
}

impl<'a> Registry<'a> {
    pub fn new(workspace: &Workspace, base: &'a str, insecure: bool) -> Result<Self> {
        let scratch = workspace.target.join("pushing");
        workspace.shell.create_dir(&scratch)?;
        Ok(Self {
            base,
            insecure,
            shell: shell_in(&workspace.root)?,
            wkg: WKG.find()?,
            scratch,
        })
    }

    /// Pushes what is in the folder of a release.
    pub fn push(&self, folder: &Path, version: &str) -> Result<()> {
        let shell = shell_in(folder)?;
        let sums = cmd!(shell, "sha256sum --check --quiet --strict {SUMS}").quiet();
        sums.run()
            .context("the files are not those that were released")?;
        for file in IMAGES {
            self.push_once(&self.component(file, version), &folder.join(file))?;
        }
        for (name, ..) in WIT_PACKAGES {
            let reference = format!("{}/voice-calling/{name}:{version}", self.base);
            let file = folder.join(format!("wit-{name}-{version}.wasm"));
            self.push_once(&reference, &file)?;
        }
        Ok(())
    }

    /// Where a component goes: `voice-calling-p3.wasm` is the package
    /// `voice-calling:component-p3`. Others have the WIT.
    pub fn component(&self, file: &str, version: &str) -> String {
        let name = file.trim_start_matches("voice-calling");
        let name = name.trim_end_matches(".wasm");
        format!("{}/voice-calling/component{name}:{version}", self.base)
    }

    /// Does nothing where these bytes are there already, so that it can be run again after half of
    /// a release has been pushed.
    pub fn push_once(&self, reference: &str, file: &Path) -> Result<()> {
        let bytes = self.shell.read_binary_file(file)?;
        if let Some(there) = self.pull(reference)? {
            ensure!(
                there == bytes,
                "{reference} is already released, with other bytes: SHA-256 {}, and {} has {}. A \
                 released version is never overwritten: release another one",
                sha256(&there),
                file.display(),
                sha256(&bytes)
            );
            announce(&format!("{reference}: already there"));
            return Ok(());
        }
        let mut push = self.wkg("push");
        for (key, value) in annotations(&bytes)? {
            push = push.arg("--annotation").arg(format!("{key}={value}"));
        }
        let push = push.arg(reference).arg(file).ignore_stdout();
        push.run()
            .with_context(|| format!("cannot push {reference}"))?;
        announce(&format!("{reference}: pushed"));
        Ok(())
    }

    /// What is there, if anything is.
    pub fn pull(&self, reference: &str) -> Result<Option<Vec<u8>>> {
        let file = self.scratch.join("pulled.wasm");
        self.shell.remove_path(&file)?;
        let pull = self
            .wkg("pull")
            .args(["--output".as_ref(), file.as_os_str()]);
        let output = pull.arg(reference).ignore_status().output()?;
        if output.status.success() {
            return Ok(Some(self.shell.read_binary_file(&file)?));
        }
        // Only what is certainly not there may be pushed.
        let error = String::from_utf8_lossy(&output.stderr);
        let missing = [
            "manifest unknown",
            "MANIFEST_UNKNOWN",
            "NAME_UNKNOWN",
            "name unknown",
        ];
        match missing.iter().any(|code| error.contains(code)) {
            true => Ok(None),
            false => bail!("cannot find out whether {reference} exists:\n{error}"),
        }
    }

    fn wkg(&self, command: &str) -> Cmd<'_> {
        let wkg = self.shell.cmd(&self.wkg).args(["oci", command]).quiet();
        let wkg = wkg.env("RUST_BACKTRACE", "0");
        match self.insecure {
            true => wkg.arg("--insecure").arg(self.host()),
            false => wkg,
        }
    }

    fn host(&self) -> &str {
        self.base.split('/').next().unwrap_or(self.base)
    }
}

/// What the file says of itself, under the names that registries show.
fn annotations(wasm: &[u8]) -> Result<Vec<(String, String)>> {
    let metadata = inspect::metadata(wasm)?.into_iter();
    let annotations = metadata.map(|(name, value)| {
        let name = match name {
            "name" => "title",
            other => other,
        };
        (format!("org.opencontainers.image.{name}"), value)
    });
    Ok(annotations.collect())
}

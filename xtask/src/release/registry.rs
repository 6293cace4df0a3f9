//! Pushes the components and WIT packages of a release to an OCI registry, with `wkg`. Existing
//! ones are never overwritten.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use xshell::{Cmd, cmd};

use crate::{
    process::announce,
    release::{
        SUMS,
        artifact::{COMPONENTS, WIT_PACKAGES},
    },
    setup::tool::WKG,
    workspace::{Workspace, shell_in},
};

/// Pushes the files in the folder of a release below `base`, registry and namespace
/// (`registry.example/acme`).
pub fn push(workspace: &Workspace, base: &str, release: &Path) -> Result<()> {
    let shell = shell_in(release)?;
    let sums = cmd!(shell, "sha256sum --check --quiet --strict {SUMS}").quiet();
    sums.run()
        .context("the files are not those that were released")?;
    let version = workspace.version()?;
    let registry = Registry {
        host: base.split('/').next().unwrap_or(base),
        workspace,
        wkg: WKG.find()?,
        pulled: workspace.target.join("pulled.wasm"),
    };
    for guest in COMPONENTS {
        // `voice-calling-p3.wasm` is the package `voice-calling:component-p3`. Other packages
        // contain the WIT.
        let name = guest.component.replace("voice-calling", "component");
        let reference = format!("{base}/voice-calling/{name}:{version}");
        let file = format!("{}.wasm", guest.component);
        let description = workspace.package(guest)?.description.clone();
        let description = description.unwrap_or_default();
        registry.push_once(&reference, &release.join(file), &description)?;
    }
    for (name, _) in WIT_PACKAGES {
        let reference = format!("{base}/voice-calling/{name}:{version}");
        let file = format!("wit-{name}-{version}.wasm");
        let description = format!("The WIT package voice-calling:{name}");
        registry.push_once(&reference, &release.join(file), &description)?;
    }
    Ok(())
}

struct Registry<'a> {
    host: &'a str,
    workspace: &'a Workspace,
    wkg: PathBuf,
    pulled: PathBuf,
}

impl Registry<'_> {
    /// Pushes a file, unless the registry has the same bytes, so that it can be run again after a
    /// part of a release has been pushed.
    fn push_once(&self, reference: &str, file: &Path, description: &str) -> Result<()> {
        let bytes = fs::read(file)?;
        if let Some(there) = self.pull(reference)? {
            ensure!(
                there == bytes,
                "{reference} is already released, with other bytes than {}. A released version is \
                 never overwritten: release another one",
                file.display()
            );
            announce(&format!("{reference}: already there"));
            return Ok(());
        }
        let mut push = self.wkg("push");
        let title = file.file_stem().context("a file has a name")?;
        for (name, value) in [
            ("title", &*title.to_string_lossy()),
            ("description", description),
            ("licenses", self.workspace.license()?),
            ("version", &self.workspace.version()?),
        ] {
            let annotation = format!("org.opencontainers.image.{name}={value}");
            push = push.arg("--annotation").arg(annotation);
        }
        let push = push.arg(reference).arg(file).ignore_stdout();
        push.run()
            .with_context(|| format!("cannot push {reference}"))?;
        announce(&format!("{reference}: pushed"));
        Ok(())
    }

    /// Returns the bytes that the registry has, if there are any.
    fn pull(&self, reference: &str) -> Result<Option<Vec<u8>>> {
        self.workspace.shell.remove_path(&self.pulled)?;
        let pull = self.wkg("pull").arg("--output").arg(&self.pulled);
        let output = pull.arg(reference).ignore_status().output()?;
        if output.status.success() {
            return Ok(Some(fs::read(&self.pulled)?));
        }
        // Only a package that is certainly absent may be pushed.
        let error = String::from_utf8_lossy(&output.stderr);
        let said = error.to_lowercase().replace('_', " ");
        match said.contains("manifest unknown") || said.contains("name unknown") {
            true => Ok(None),
            false => bail!("cannot find out whether {reference} exists:\n{error}"),
        }
    }

    fn wkg(&self, command: &str) -> Cmd<'_> {
        let wkg = self
            .workspace
            .shell
            .cmd(&self.wkg)
            .args(["oci", command])
            .quiet();
        let wkg = wkg.env("RUST_BACKTRACE", "0");
        match self.host.starts_with("127.0.0.1:") {
            true => wkg.arg("--insecure").arg(self.host),
            false => wkg,
        }
    }
}

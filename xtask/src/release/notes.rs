//! The text for the page of a release: the files with their sizes, the changes, and how to verify
//! the files.

use std::{env, fs, path::Path};

use anyhow::{Context, Result};

use crate::{program::GLIBC, release::artifact::Artifact, workspace::Workspace};

/// The command that users run in a folder with the files that they downloaded. It does without
/// `--ignore-missing`: a listed file that is missing is an error. The rehearsal reads it here.
const VERIFY: &str = "minisign -V -q -p voice-calling.pub -m SHA256SUMS && sha256sum --check --quiet --strict SHA256SUMS";

pub fn of(artifacts: &[Artifact], workspace: &Workspace, folder: &Path) -> Result<String> {
    let version = workspace.version()?;
    let mut text =
        format!("# voice-calling {version}\n\n| file | what it is | bytes |\n|---|---|---|\n");
    for Artifact { file, what, .. } in artifacts {
        let bytes = fs::metadata(folder.join(file))?.len();
        text += &format!("| `{file}` | {what} | {bytes} |\n");
    }
    let changelog = fs::read_to_string(workspace.root.join("CHANGELOG.md"))?;
    let changes = section(&changelog, &version);
    let changes = changes.with_context(|| format!("CHANGELOG.md has no section `## {version}`"))?;
    text += &format!(
        "\n`<file>.cdx.json` lists what is in a file (CycloneDX), `THIRD-PARTY-LICENSES.txt` the \
         licences of all of it. The mock service needs Linux on {} with glibc {GLIBC} or newer.\n\n\
         ## Verify\n\n\
         If `SHA256SUMS.minisig` is among the files, the release is signed. With \
         `voice-calling.pub` from the repository beside the files, all of them:\n\n\
         ```\n{VERIFY}\n```\n\n\
         Without a signature, the second command finds files that are damaged, not files that \
         someone changed.\n\n\
         ## Changes\n\n{changes}\n",
        env::consts::ARCH
    );
    Ok(text)
}

/// Returns the change log's section about a version, without its heading.
fn section<'a>(changelog: &'a str, version: &str) -> Option<&'a str> {
    let (_, rest) = changelog.split_once(&format!("\n## {version}"))?;
    let (_, rest) = rest.split_once('\n')?;
    Some(rest.split("\n## ").next()?.trim())
}

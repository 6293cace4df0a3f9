//! What the page of a release says: which file is what and how large, what changed, and how the
//! files are verified.

use std::{env, fs, path::Path};

use anyhow::{Context, Result};

use crate::{
    program::GLIBC,
    release::{
        artifact::Artifact,
        history::{LastRelease, sizes_of},
        signature::{CHECK, PUBLIC_KEY, SIGNATURE, VERIFY},
        version,
    },
    workspace::Workspace,
};

pub fn of(
    artifacts: &[Artifact],
    workspace: &Workspace,
    folder: &Path,
    last: &LastRelease,
) -> Result<String> {
    let number = workspace.version()?;
    let (sizes, before) = (sizes_of(folder)?, last.sizes()?);
    let mut text = format!(
        "# voice-calling {number}\n\n| file | what it is | bytes | in {} |\n|---|---|---|---|\n",
        last.version
    );
    for Artifact { file, what, .. } in artifacts {
        let size = sizes.get(file).context("an artifact is in the folder")?;
        let name = |number: &str| file.replace(number, "");
        let last_version = last.version.to_string();
        let before = before
            .iter()
            .find(|(last, _)| last.replace(&last_version, "") == name(&number));
        let before = before.map_or("–".to_owned(), |(_, bytes)| bytes.to_string());
        text += &format!("| `{file}` | {what} | {size} | {before} |\n");
    }
    let changelog = fs::read_to_string(workspace.root.join("CHANGELOG.md"))?;
    text += &format!(
        "\n`<file>.cdx.json` lists what is in a file (CycloneDX), `THIRD-PARTY-LICENSES.txt` the \
         licences of all of it. The mock service needs Linux on {} with glibc {GLIBC} or newer.\n\n\
         ## Verify\n\n\
         If `{SIGNATURE}` is among the files, the release is signed. With `{PUBLIC_KEY}` from the \
         repository beside the files, all of them:\n\n\
         ```\n{VERIFY}\n```\n\n\
         Without a signature, `{CHECK}` finds files that are damaged, not files that someone \
         changed.\n\n\
         ## Changes\n\n{}\n",
        env::consts::ARCH,
        version::section(&changelog, &number)?
    );
    Ok(text)
}

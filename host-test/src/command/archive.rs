//! The file in which exchanges are archived, if requested.

use anyhow::{Context, Result};
use clap::Args;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use voice_calling_host::{PersonalData, Recorder, har};

#[derive(Args)]
pub(crate) struct Archive {
    /// Writes all HTTP exchanges to this file, as an HTTP Archive for the developer tools of
    /// a browser
    ///
    /// It is written also if something goes wrong. The token is masked; phone numbers, call context
    /// and all other possibly personal data are masked too. Only its owner can read the file (mode
    /// 0600), even where it existed with another mode.
    #[arg(long, value_name = "FILE")]
    har: Option<PathBuf>,
    /// Leaves phone numbers and call context in the archive, but not the token
    #[arg(long, requires = "har")]
    har_unmasked: bool,
}

impl Archive {
    /// Opens the file before anything is sent, since a call that cannot be recorded is better not
    /// made. Bodies are recorded only if there is a file.
    pub(crate) fn begin(&self, recorder: Recorder) -> Result<(Recorder, Option<File>)> {
        let Some(path) = &self.har else {
            return Ok((recorder, None));
        };
        let file = open(path).with_context(|| format!("cannot write {}", path.display()))?;
        Ok((recorder.with_bodies(), Some(file)))
    }

    /// Writes the recorded exchanges.
    pub(crate) fn write(&self, file: Option<File>, recorder: &Recorder) -> Result<()> {
        let (Some(file), Some(path)) = (file, &self.har) else {
            return Ok(());
        };
        let personal_data = match self.har_unmasked {
            true => PersonalData::Shown,
            false => PersonalData::Masked,
        };
        let archive = har::archive(&recorder.exchanges(), personal_data);
        let mut file = BufWriter::new(file);
        serde_json::to_writer_pretty(&mut file, &archive)
            .map_err(std::io::Error::from)
            .and_then(|()| file.write_all(b"\n"))
            .and_then(|()| file.flush())
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Opens a file, empty and for its owner alone, whether it exists or not. A link is followed and
/// stays one. A file that is not regular (a pipe, a terminal, `/dev/null`) is only opened.
fn open(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, OWNER_ALONE);
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(OWNER_ALONE))
            .context("its mode cannot be changed, since it belongs to another user")?;
        // Truncated only now: a file that is refused keeps its content.
        file.set_len(0)?;
    }
    Ok(file)
}

/// The mode of a file that its owner may read and write.
const OWNER_ALONE: u32 = 0o600;

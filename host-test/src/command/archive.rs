//! Where exchanges are written, if somebody wants to see them.

use anyhow::{Context, Result};
use clap::Args;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use voice_calling_host::{PersonalData, Recorder, har};

#[derive(Args)]
pub(crate) struct Archive {
    /// Writes all HTTP exchanges to this file, as an HTTP Archive for the developer tools of
    /// a browser
    ///
    /// It is written also if something goes wrong. The token is masked; phone numbers, call
    /// context and all else that may be about people are masked too.
    #[arg(long, value_name = "FILE")]
    har: Option<PathBuf>,
    /// Leaves phone numbers and call context in the archive, but not the token
    #[arg(long, requires = "har")]
    har_unmasked: bool,
}

impl Archive {
    /// Opens the file before anything is sent, since a call whose record cannot be
    /// written is better not made. Bodies are recorded for it alone.
    pub(crate) fn begin(&self, recorder: Recorder) -> Result<(Recorder, Option<File>)> {
        let Some(path) = &self.har else {
            return Ok((recorder, None));
        };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        // Who may read it is for its owner to say.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options
            .open(path)
            .with_context(|| format!("cannot write {}", path.display()))?;
        Ok((recorder.keeping_all().with_bodies(), Some(file)))
    }

    /// Writes what was recorded.
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

//! The package for JavaScript as an npm tarball: built, and tried as its users install it.

use anyhow::Result;

use crate::workspace::Workspace;

pub fn build(_workspace: &Workspace) -> Result<()> {
    Ok(())
}

pub fn test(_workspace: &Workspace) -> Result<()> {
    Ok(())
}

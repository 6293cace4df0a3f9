//! wasmtime's cache of compiled components, in a folder of its user alone.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use wasmtime::{Cache, CacheConfig};

/// Returns wasmtime's cache of compiled components in a folder, an absolute path, which is created
/// with mode 0700 if it does not exist. It may be removed at any time.
///
/// A compiled component is machine code: anyone who can write to the folder can run code in the
/// processes that use it.
///
/// # Errors
///
/// Returns an error if the folder cannot be created, belongs to another user, or is writable by
/// others. On systems other than Unix it is always an error.
pub fn cache_in(folder: &Path) -> Result<Cache> {
    let refused = || format!("no cache of compiled components in {}", folder.display());
    make_private(folder).with_context(refused)?;
    let mut config = CacheConfig::new();
    config.with_directory(folder);
    Ok(Cache::new(config)?)
}

/// Returns the cache of the user: `voice-calling/compiled` in `$XDG_CACHE_HOME`, or in `~/.cache` if
/// that is not set. `None` if the user has no home or [`cache_in`] refuses the folder, which is
/// logged as a warning: components are compiled each time.
pub fn user_cache() -> Option<Cache> {
    let given = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let caches = given
        .filter(|path| path.is_absolute())
        .or_else(|| Some(std::env::home_dir()?.join(".cache")))?;
    cache_in(&caches.join("voice-calling/compiled"))
        .inspect_err(|error| tracing::warn!("components are compiled each time: {error:#}"))
        .ok()
}

#[cfg(unix)]
fn make_private(folder: &Path) -> Result<()> {
    use std::fs::{DirBuilder, metadata};
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};

    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)?;
    let found = metadata(folder)?;
    let (owner, mode) = (found.uid(), found.mode() & 0o7777);
    anyhow::ensure!(
        owner == rustix::process::geteuid().as_raw() && mode & 0o022 == 0,
        "it belongs to the user {owner} and has mode {mode:04o}; allowed: this user's, writable by no one else"
    );
    Ok(())
}

#[cfg(not(unix))]
fn make_private(_: &Path) -> Result<()> {
    anyhow::bail!("not supported: permissions are checked on Unix only")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs::{Permissions, metadata, set_permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    #[test]
    fn a_folder_to_which_others_can_write_is_refused() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("cache");
        cache_in(&folder).unwrap();
        assert_eq!(metadata(&folder).unwrap().mode() & 0o7777, 0o700);
        for (mode, is_allowed) in [(0o755, true), (0o720, false), (0o702, false)] {
            set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
            assert_eq!(cache_in(&folder).is_ok(), is_allowed, "{mode:o}");
        }
    }
}

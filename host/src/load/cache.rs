//! Compiled components in files, so that not every process has to compile them: wasmtime's own
//! cache, in a folder that no one else can enter.

use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use wasmtime::{Cache, CacheConfig};

/// wasmtime's cache of compiled components, in a folder of its user alone.
///
/// A compiled component is machine code: anyone who can write such a file can run code in every
/// process that loads it. wasmtime trusts each file that it can decompress, so that the folder must
/// be private.
///
/// Threads and processes may share a folder: a file appears as a whole, by renaming. When one is
/// written, the oldest are removed if all of them have more than 512 MiB. The folder may be removed
/// at any time.
#[derive(Clone, Debug)]
pub struct CompiledCache(pub(crate) Cache);

impl CompiledCache {
    /// Returns a cache in a folder, which is created with mode 0700 if it does not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be created, or if others could put files into it: it
    /// must belong to the effective user of this process, and its mode must allow no one else to
    /// enter, read or write it. Each folder and symbolic link on the way to it must belong to that
    /// user or to root, and each folder must be writable by no one else unless it has the sticky
    /// bit (as `/tmp` has). On systems other than Unix it is always an error.
    pub fn in_folder(path: &Path) -> Result<Self> {
        let folder = private_folder(path)
            .with_context(|| format!("no cache of compiled components in {}", path.display()))?;
        let mut config = CacheConfig::new();
        config.with_directory(folder);
        Ok(Self(Cache::new(config)?))
    }

    /// Returns the cache of the user: `voice-calling/compiled` in `$XDG_CACHE_HOME`, or in
    /// `~/.cache` if that is not set. `None` if the user has no home or
    /// [`CompiledCache::in_folder`] refuses the folder, which is logged as a warning: components
    /// are compiled each time.
    pub fn for_user() -> Option<Self> {
        let given = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let caches = given
            .filter(|path| path.is_absolute())
            .or_else(|| Some(std::env::home_dir()?.join(".cache")))?;
        Self::in_folder(&caches.join("voice-calling/compiled"))
            .inspect_err(|error| tracing::warn!("components are compiled each time: {error:#}"))
            .ok()
    }
}

/// Creates the folder if need be, and returns its path without symbolic links.
#[cfg(unix)]
fn private_folder(path: &Path) -> Result<PathBuf> {
    use anyhow::ensure;
    use rustix::process::geteuid;
    use std::fs::{DirBuilder, symlink_metadata};
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};

    const ROOT: u32 = 0;
    /// The bits of a mode that let the group and others write.
    const OTHERS_WRITE: u32 = 0o022;
    /// The bits that let them do anything.
    const OTHERS: u32 = 0o077;
    /// The bit of a folder's mode that leaves each entry to its owner.
    const STICKY: u32 = 0o1000;

    let path = std::path::absolute(path)?;
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&path)?;
    let folder = path.canonicalize()?;
    let user = geteuid().as_raw();
    // The given path has the links, the other one the folders that they lead to.
    for entry in path.ancestors().chain(folder.ancestors()) {
        let name = entry.display();
        let found = symlink_metadata(entry).with_context(|| format!("cannot find {name}"))?;
        let (owner, mode) = (found.uid(), found.mode() & 0o7777);
        let (owners, forbidden, unless) = match entry == folder {
            // wasmtime creates folders in it, whose mode is the process's usual one.
            true => (&[user][..], OTHERS, 0),
            false => (&[user, ROOT][..], OTHERS_WRITE, STICKY),
        };
        ensure!(
            owners.contains(&owner),
            "{name} belongs to the user {owner}; allowed: {owners:?}"
        );
        ensure!(
            found.is_symlink() || mode & forbidden == 0 || mode & unless != 0,
            "{name} has mode {mode:04o}; allowed: without the bits {forbidden:04o}"
        );
    }
    Ok(folder)
}

#[cfg(not(unix))]
fn private_folder(_: &Path) -> Result<PathBuf> {
    anyhow::bail!("not supported: permissions are checked on Unix only")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
    use tempfile::tempdir;
    use wasmtime::component::Component;
    use wasmtime::{Config, Engine};

    /// A user other than the one that runs these tests.
    const OTHER_USER: u32 = 12_345;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_component_is_compiled_once_and_again_if_its_file_is_cut() {
        let parent = tempdir().unwrap();
        let folder = parent.path().join("cache");
        let compile = |text: &str, multi_memory| {
            let CompiledCache(cache) = CompiledCache::in_folder(&folder).unwrap();
            let mut config = Config::new();
            config.wasm_multi_memory(multi_memory);
            let engine = Engine::new(config.cache(Some(cache.clone()))).unwrap();
            Component::new(&engine, wat::parse_str(text).unwrap()).unwrap();
            cache.cache_hits() > 0
        };
        let [one, other] = ["(component)", "(component (component))"];
        assert!(!compile(one, true));
        assert!(compile(one, true));
        assert!(!compile(one, false), "by an engine with other settings");
        assert!(!compile(other, true));
        let mut kept = vec![folder.clone()];
        while let Some(path) = kept.pop() {
            match path.is_dir() {
                true => kept.extend(fs::read_dir(path).unwrap().map(|it| it.unwrap().path())),
                false => fs::File::create(path).unwrap().set_len(10).unwrap(),
            }
        }
        assert!(!compile(one, true));
        assert!(compile(one, true));
    }

    /// Asserts that a cache in this folder is refused with an error that contains these parts.
    #[track_caller]
    fn assert_refused(folder: &Path, parts: &[&str]) {
        let error = format!("{:#}", CompiledCache::in_folder(folder).unwrap_err());
        for part in parts {
            assert!(error.contains(part), "no {part:?} in {error:?}");
        }
    }

    /// The folders are the cache's own, those on the way to it, and those behind a symbolic link.
    #[test]
    fn a_folder_to_which_others_have_access_is_refused() {
        let parent = tempdir().unwrap();
        let parent = parent.path();
        let folder = &parent.join("cache");
        CompiledCache::in_folder(folder).unwrap();
        let found = fs::metadata(folder).unwrap();
        assert_eq!(found.permissions().mode() & 0o7777, 0o700);
        let links = &parent.join("links");
        fs::create_dir(links).unwrap();
        symlink("..", links.join("link")).unwrap();
        let through = links.join("link/cache");
        let CompiledCache(cache) = CompiledCache::in_folder(&through).unwrap();
        assert_eq!(cache.directory(), folder);
        for (open, mode) in [
            (folder, 0o710),
            (folder, 0o704),
            // The sticky bit does not help: it lets others create files there.
            (folder, 0o1777),
            (&parent.to_owned(), 0o770),
            (&parent.to_owned(), 0o707),
            (links, 0o777),
        ] {
            let before = fs::metadata(open).unwrap().permissions();
            set_mode(open, mode);
            let found = format!("has mode {mode:04o}");
            assert_refused(&through, &[open.to_str().unwrap(), &found]);
            fs::set_permissions(open, before).unwrap();
        }
        // Here it leaves each folder to its owner.
        set_mode(parent, 0o1777);
        CompiledCache::in_folder(&through).unwrap();
        let file = parent.join("file");
        fs::write(&file, "").unwrap();
        CompiledCache::in_folder(&file).unwrap_err();
    }

    #[test]
    fn a_folder_or_link_of_another_user_is_refused() {
        let parent = tempdir().unwrap();
        let [folder, link] = ["cache", "link"].map(|name| parent.path().join(name));
        symlink("cache", &link).unwrap();
        fs::create_dir(&folder).unwrap();
        set_mode(&folder, 0o700);
        CompiledCache::in_folder(&link).unwrap();
        // Only root can change the owner of a file.
        if lchown(&link, Some(OTHER_USER), None).is_err() {
            return;
        }
        let foreign = "belongs to the user 12345";
        assert_refused(&link, &[link.to_str().unwrap(), foreign]);
        let within = folder.join("within");
        CompiledCache::in_folder(&within).unwrap();
        chown(&folder, Some(OTHER_USER), None).unwrap();
        assert_refused(&folder, &[foreign]);
        assert_refused(&within, &[foreign]);
    }
}

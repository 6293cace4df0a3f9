//! Compiled components in files, so that not every process has to compile them.
//!
//! A compiled component is machine code: anyone who can write such a file can run code in every
//! process that loads it. So a [`CompiledCache`] trusts only files that no one but the user (and
//! root) can have written, and compiles again otherwise.

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use wasmtime::component::Component;
use wasmtime::{Engine, Result as WasmtimeResult};

/// The extension of the files.
const COMPILED: &str = "cwasm";

/// The time after which a file that was neither written nor read is removed.
const UNUSED_LIMIT: Duration = Duration::from_secs(30 * 24 * 3_600);

/// The length of the SHA-256 before the code.
const HASH_BYTES: usize = 32;

/// A folder of compiled components, one file for each component, version of wasmtime, processor
/// and settings of the engine that matter to the code.
///
/// Threads and processes may share a folder: a file appears as a whole, by renaming. When one is
/// written, those that were not used for 30 days are removed. The folder may be removed at any
/// time.
#[derive(Clone, Debug)]
pub struct CompiledCache {
    folder: PathBuf,
}

impl CompiledCache {
    /// Returns a cache in a folder, which is created with mode 0700 if it does not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder cannot be created, or if others could put files into it: it
    /// must belong to the effective user of this process and be writable by no one else. Each
    /// folder and symbolic link on the way to it must belong to that user or to root, and each
    /// folder must be writable by no one else unless it has the sticky bit (as `/tmp` has). On
    /// systems other than Unix it is always an error.
    pub fn in_folder(path: &Path) -> Result<Self> {
        let folder = permissions::private_folder(path)
            .with_context(|| format!("no cache of compiled components in {}", path.display()))?;
        Ok(Self { folder })
    }

    /// Returns the cache of the user: `voice-calling` in `$XDG_CACHE_HOME`, or in `~/.cache` if
    /// that is not set. `None` if the user has no home or [`CompiledCache::in_folder`] refuses the
    /// folder, which is logged as a warning: components are compiled each time.
    pub fn for_user() -> Option<Self> {
        let given = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let caches = given
            .filter(|path| path.is_absolute())
            .or_else(|| Some(std::env::home_dir()?.join(".cache")))?;
        Self::in_folder(&caches.join("voice-calling"))
            .inspect_err(|error| tracing::warn!("components are compiled each time: {error:#}"))
            .ok()
    }

    /// Returns a component for an engine, from its file if that can be trusted; otherwise it is
    /// compiled and the file written.
    pub(crate) fn component(&self, engine: &Engine, wasm: &[u8]) -> WasmtimeResult<Component> {
        // The hasher may change in the next version of the standard library; then components are
        // compiled again.
        let mut settings = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut settings);
        let key = Sha256::new().chain_update(settings.finish().to_le_bytes());
        let name = format!("{:x}", key.chain_update(wasm).finalize());
        let path = self.folder.join(name).with_extension(COMPILED);
        if path.exists() {
            match load(engine, &path) {
                Ok(component) => return Ok(component),
                Err(error) => tracing::warn!("{} is compiled again: {error:#}", path.display()),
            }
        }
        let component = Component::new(engine, wasm)?;
        if let Err(error) = self.store(&component, &path) {
            tracing::warn!("{} cannot be written: {error:#}", path.display());
        }
        Ok(component)
    }

    fn store(&self, component: &Component, path: &Path) -> Result<()> {
        let code = component.serialize()?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(&Sha256::digest(&code))?;
        file.write_all(&code)?;
        file.persist(path)?;
        self.remove_unused()
    }

    fn remove_unused(&self) -> Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let is_unused =
                |used: SystemTime| used.elapsed().is_ok_and(|since| since > UNUSED_LIMIT);
            if path.extension().is_some_and(|it| it == COMPILED)
                && is_unused(path.metadata()?.modified()?)
            {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

/// Reads a component from a file, and marks the file as used.
fn load(engine: &Engine, path: &Path) -> Result<Component> {
    permissions::check_private_file(path)?;
    let contents = fs::read(path)?;
    let (_, code) = contents
        .split_at_checked(HASH_BYTES)
        .filter(|(hash, code)| Sha256::digest(code)[..] == **hash)
        .context("it is corrupt")?;
    // SAFETY: `Component::deserialize` needs bytes that `Component::serialize` returned. No one but
    // the user and root can have written the file (`private_folder`, `check_private_file`), this
    // cache writes nothing else under such a name, and its hash shows that it is whole. wasmtime
    // checks that the code is for this engine.
    #[allow(unsafe_code)]
    let component = unsafe { Component::deserialize(engine, code) }?;
    fs::File::open(path)?.set_modified(SystemTime::now())?;
    Ok(component)
}

/// Checks that files belong to a user and not to others.
#[cfg(unix)]
mod permissions {
    use anyhow::{Context, Result, ensure};
    use rustix::process::geteuid;
    use std::fs::{DirBuilder, symlink_metadata};
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    use std::path::{Path, PathBuf, absolute};

    const ROOT: u32 = 0;

    /// The bits of a mode that let the group and others write.
    const OTHERS_WRITE: u32 = 0o022;

    /// The bit of a folder's mode that leaves each entry to its owner.
    const STICKY: u32 = 0o1000;

    /// Creates the folder if need be, and returns its path without symbolic links.
    pub(super) fn private_folder(path: &Path) -> Result<PathBuf> {
        let path = absolute(path)?;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)?;
        let folder = path.canonicalize()?;
        check(&folder, &[geteuid().as_raw()], 0)?;
        // The given path has the links, the other one the folders that they lead to.
        for entry in path.ancestors().chain(folder.ancestors()) {
            check(entry, &[geteuid().as_raw(), ROOT], STICKY)?;
        }
        Ok(folder)
    }

    pub(super) fn check_private_file(path: &Path) -> Result<()> {
        ensure!(
            symlink_metadata(path)?.is_file(),
            "it is not a regular file"
        );
        check(path, &[geteuid().as_raw()], 0)
    }

    /// Checks that an entry belongs to one of these users, and that others cannot write to it
    /// unless its mode has one of these bits.
    fn check(entry: &Path, owners: &[u32], unless: u32) -> Result<()> {
        let name = entry.display();
        let found = symlink_metadata(entry).with_context(|| format!("cannot find {name}"))?;
        let (owner, mode) = (found.uid(), found.mode() & 0o7777);
        ensure!(
            owners.contains(&owner),
            "{name} belongs to the user {owner}; allowed: {owners:?}"
        );
        ensure!(
            found.is_symlink() || mode & OTHERS_WRITE == 0 || mode & unless != 0,
            "{name} has mode {mode:04o}; allowed: not writable by group and others (without the \
             bits {OTHERS_WRITE:04o})"
        );
        Ok(())
    }
}

#[cfg(not(unix))]
mod permissions {
    use anyhow::{Result, bail};
    use std::path::{Path, PathBuf};

    pub(super) fn private_folder(_: &Path) -> Result<PathBuf> {
        bail!("not supported: permissions are checked on Unix only")
    }

    pub(super) fn check_private_file(_: &Path) -> Result<()> {
        bail!("its permissions are not known")
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
    use tempfile::{TempDir, tempdir};
    use wasmtime::component::Linker;
    use wasmtime::{Config, Store};

    /// A user other than the one that runs these tests.
    const OTHER_USER: u32 = 12_345;

    /// A cache in a test's own folder, and an engine.
    struct Stage {
        parent: TempDir,
        cache: CompiledCache,
        engine: Engine,
    }

    impl Stage {
        fn new() -> Self {
            let parent = tempdir().unwrap();
            Self {
                cache: CompiledCache::in_folder(&parent.path().join("cache")).unwrap(),
                engine: Engine::default(),
                parent,
            }
        }

        /// Returns the result of a component that was built to return this number.
        fn get(&self, number: u32) -> u32 {
            let text = format!(
                r#"(component
                    (core module $module (func (export "number") (result i32) (i32.const {number})))
                    (core instance $instance (instantiate $module))
                    (func (export "number") (result u32)
                        (canon lift (core func $instance "number"))))"#
            );
            let wasm = wat::parse_str(text).unwrap();
            let component = self.cache.component(&self.engine, &wasm).unwrap();
            let mut store = Store::new(&self.engine, ());
            let instance = Linker::new(&self.engine).instantiate(&mut store, &component);
            let number = instance
                .unwrap()
                .get_typed_func::<(), (u32,)>(&mut store, "number");
            number.unwrap().call(&mut store, ()).unwrap().0
        }

        fn files(&self) -> Vec<PathBuf> {
            let files = fs::read_dir(&self.cache.folder).unwrap();
            files.map(|entry| entry.unwrap().path()).collect()
        }

        /// Creates the file of the component that returns 7, with the code of the one for 8.
        fn with_eight_as_seven() -> (Self, PathBuf) {
            let stage = Self::new();
            stage.get(7);
            let [seven] = stage.files().try_into().unwrap();
            stage.get(8);
            let eight = stage.files().into_iter().find(|file| *file != seven);
            fs::rename(eight.unwrap(), &seven).unwrap();
            (stage, seven)
        }
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_component_that_the_same_engine_has_compiled_is_read_from_its_file() {
        let (mut stage, seven) = Stage::with_eight_as_seven();
        assert_eq!(stage.get(7), 8);
        // It does no harm that others can read the file.
        set_mode(&seven, 0o644);
        assert_eq!(stage.get(7), 8);
        assert_eq!(stage.files(), [seven]);
        stage.engine = Engine::new(Config::new().wasm_multi_memory(false)).unwrap();
        assert_eq!(stage.get(7), 7);
        assert_eq!(stage.files().len(), 2);
    }

    #[test]
    fn a_file_that_is_corrupt_or_may_be_written_by_others_is_replaced() {
        let changes: [fn(&Path); 6] = [
            |file| fs::write(file, "").unwrap(),
            |file| {
                let mut contents = fs::read(file).unwrap();
                contents[2_000] ^= 1;
                fs::write(file, contents).unwrap();
            },
            |file| set_mode(file, 0o620),
            |file| set_mode(file, 0o602),
            |file| {
                let elsewhere = file.with_extension("elsewhere");
                fs::rename(file, &elsewhere).unwrap();
                symlink(elsewhere, file).unwrap();
            },
            |file| {
                // Only root can change the owner of a file.
                if chown(file, Some(OTHER_USER), None).is_err() {
                    set_mode(file, 0o602);
                }
            },
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let (stage, seven) = Stage::with_eight_as_seven();
            change(&seven);
            assert_eq!(stage.get(7), 7, "{number}");
            let found = fs::symlink_metadata(&seven).unwrap();
            assert!(found.is_file(), "{number}");
            assert_eq!(found.permissions().mode() & 0o7777, 0o600, "{number}");
        }
    }

    #[test]
    fn a_component_whose_file_cannot_be_written_is_compiled() {
        let stage = Stage::new();
        fs::remove_dir(&stage.cache.folder).unwrap();
        assert_eq!((stage.get(7), stage.get(7)), (7, 7));
    }

    #[test]
    fn a_file_that_was_unused_for_30_days_is_removed_when_another_is_written() {
        let stage = Stage::new();
        stage.get(7);
        let [seven] = stage.files().try_into().unwrap();
        let set_unused_for = |days: u32| {
            let used = SystemTime::now() - Duration::from_secs(24 * 3_600) * days;
            fs::File::open(&seven).unwrap().set_modified(used).unwrap();
        };
        set_unused_for(31);
        // Reading counts as use.
        stage.get(7);
        stage.get(8);
        assert!(seven.exists());
        set_unused_for(31);
        stage.get(9);
        assert!(!seven.exists());
        assert_eq!(stage.files().len(), 2);
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
    fn a_folder_to_which_others_can_write_is_refused() {
        let stage = Stage::new();
        let (parent, folder) = (stage.parent.path(), &stage.cache.folder);
        let found = fs::metadata(folder).unwrap();
        assert_eq!(found.permissions().mode() & 0o7777, 0o700);
        let links = parent.join("links");
        fs::create_dir(&links).unwrap();
        symlink("..", links.join("link")).unwrap();
        let through = links.join("link/cache");
        let cache = CompiledCache::in_folder(&through).unwrap();
        assert_eq!(cache.folder, *folder);
        for (open, mode) in [
            (&**folder, 0o770),
            (folder, 0o707),
            // The sticky bit does not help: it lets others create files there.
            (folder, 0o1777),
            (parent, 0o770),
            (parent, 0o707),
            (&links, 0o777),
        ] {
            set_mode(open, mode);
            let found = format!("has mode {mode:04o}");
            assert_refused(&through, &[open.to_str().unwrap(), &found]);
            set_mode(open, 0o755);
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
        let stage = Stage::new();
        let link = stage.parent.path().join("link");
        symlink(&stage.cache.folder, &link).unwrap();
        CompiledCache::in_folder(&link).unwrap();
        // Only root can change the owner of a file.
        if lchown(&link, Some(OTHER_USER), None).is_err() {
            return;
        }
        let foreign = "belongs to the user 12345";
        assert_refused(&link, &[link.to_str().unwrap(), foreign]);
        let within = stage.cache.folder.join("within");
        CompiledCache::in_folder(&within).unwrap();
        chown(&stage.cache.folder, Some(OTHER_USER), None).unwrap();
        assert_refused(&stage.cache.folder, &[foreign]);
        assert_refused(&within, &[foreign]);
    }
}

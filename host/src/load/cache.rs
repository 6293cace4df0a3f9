//! Compiled components in files, so that a component is compiled once and not by every
//! process anew.
//!
//! A compiled component is machine code: who can write such a file, or put another in its
//! place, runs code in every process that loads it. So a [`CompiledCache`] uses a file only
//! where nobody but the user (and root) can have written it, and compiles anew otherwise.

use anyhow::{Context, Result};
use sha2::digest::Output;
use sha2::{Digest, Sha256};
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use wasmtime::component::Component;
use wasmtime::{Engine, ModuleVersionStrategy, Result as WasmtimeResult};

mod origin;
#[cfg(unix)]
mod unix;
mod unused;

pub use origin::{Origin, Reason};

#[cfg(unix)]
use unix::{guarded_folder, own_file};

/// The folder among those that a user's caches are in.
const USER_FOLDER: &str = "voice-calling";

/// What every file begins with; its number is that of the format.
const MAGIC: &[u8] = b"voice-calling compiled component 1\n";

/// The magic, the two hashes of the key and that of the payload.
const HEADER_BYTES: usize = MAGIC.len() + 3 * 32;

/// A folder of compiled components, one file for each component and each way to compile it:
/// another version of wasmtime, another processor or other settings of the engine that
/// matter to the code make another file.
///
/// Threads and processes may share a folder: a file appears as a whole, by renaming, or not
/// at all. Who comes while another compiles, compiles as well.
///
/// Whenever a file is written, others are removed: those that were neither written nor read for
/// 30 days, and beyond 512 MiB in total those that were not used for the longest time. So are
/// temporary files that a killed process left a day ago. Files whose names the cache does not
/// give are left alone. All of the folder may be removed at any time; what is needed is compiled
/// again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledCache {
    /// Or why there is none.
    folder: Result<PathBuf, Reason>,
}

impl CompiledCache {
    /// A cache in a folder, which is made with its missing parents (all with mode 0700)
    /// where it does not exist.
    ///
    /// # Errors
    ///
    /// If the folder cannot be made, or if others could put files into it:
    ///
    /// - The folder has to belong to the effective user of this process, and neither its
    ///   group nor others may write to it.
    /// - Each folder on the way to it, from the root on, has to belong to that user or to
    ///   root, and neither its group nor others may write to it, unless it has the sticky
    ///   bit (as `/tmp` has), which leaves each entry to its owner.
    /// - Each symbolic link on the way has to belong to that user or to root.
    ///
    /// It is looked at once, here. That lasts: who is not let in now can only be let in
    /// by the user or root, who are trusted. What an access control list of Linux allows counts,
    /// since the group's bits of a mode are then the most that it allows to anybody.
    ///
    /// On systems other than Unix, where none of this can be found out in the same way,
    /// it is always an error.
    pub fn in_folder(path: &Path) -> Result<Self> {
        let folder = guarded_folder(path)
            .with_context(|| format!("no cache of compiled components in {}", path.display()))?;
        Ok(Self { folder: Ok(folder) })
    }

    /// The cache of the user: `voice-calling` in `$XDG_CACHE_HOME`, or in `~/.cache` where
    /// that is not set to an absolute path.
    ///
    /// Where [`CompiledCache::in_folder`] refuses that folder, or the user has no home, this
    /// cache keeps nothing: a warning is logged, once, and every component is compiled, for
    /// [`Reason::NoFolder`].
    ///
    /// That happens with umask 002, where `~/.cache` or the home folder may have mode 0775. The
    /// group often has no other member, but a program cannot establish that: users whose primary
    /// group it is are not listed with the group, and a directory service need not list its users
    /// at all. `chmod g-w` on the folder that the warning names makes the cache work, and so does
    /// `XDG_CACHE_HOME` with another folder.
    pub fn for_user() -> Self {
        Self::in_users_folder().unwrap_or_else(|error| {
            let why = format!("{error:#}");
            tracing::warn!("components are compiled each time: {why}");
            Self {
                folder: Err(Reason::NoFolder(why)),
            }
        })
    }

    fn in_users_folder() -> Result<Self> {
        let absolute = |path: PathBuf| path.is_absolute().then_some(path);
        let given = std::env::var_os("XDG_CACHE_HOME").and_then(|path| absolute(path.into()));
        let usual = || {
            let home = std::env::home_dir().and_then(absolute)?;
            Some(home.join(".cache"))
        };
        let caches = given.or_else(usual).context(
            "no cache of compiled components for this user: neither XDG_CACHE_HOME nor the \
             home folder is an absolute path",
        )?;
        Self::in_folder(&caches.join(USER_FOLDER))
    }

    /// The folder, without symbolic links; none where [`CompiledCache::for_user`] found none.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref().ok()
    }

    /// A component for an engine: from its file if there is one that is sound, or else
    /// compiled and then put there. A file that is not sound is replaced.
    ///
    /// # Errors
    ///
    /// Those of [`Component::new`] alone. That a file cannot be read or written is none:
    /// the component is compiled, and a warning is logged.
    pub fn component(&self, engine: &Engine, wasm: &[u8]) -> WasmtimeResult<(Component, Origin)> {
        let folder = match &self.folder {
            Ok(folder) => folder,
            Err(reason) => {
                let reason = reason.clone();
                let component = Component::new(engine, wasm)?;
                return Ok((component, Origin::Compiled { reason }));
            }
        };
        let key = Key::new(engine, wasm);
        let path = folder.join(key.file_name());
        let reason = match load(engine, &key, &path) {
            Ok(component) => {
                unused::touch(&path);
                return Ok((component, Origin::Cached));
            }
            Err(reason) => reason,
        };
        if reason != Reason::Missing {
            tracing::warn!("{} is ignored and compiled again: {reason}", path.display());
        }
        let component = Component::new(engine, wasm)?;
        match keep(&component, &key, folder, &path) {
            Ok(()) => unused::remove(folder),
            Err(error) => tracing::warn!("{} cannot be written: {error:#}", path.display()),
        }
        Ok((component, Origin::Compiled { reason }))
    }
}

/// Puts a component into its file. Nothing waits until it is on the disk: what a
/// failure of power leaves of it is corrupt or absent, and both are seen.
fn keep(component: &Component, key: &Key, folder: &Path, path: &Path) -> Result<()> {
    let payload = component.serialize()?;
    let [prefix, suffix] = unused::TEMPORARY;
    let mut named = tempfile::Builder::new();
    let mut file = named.prefix(prefix).suffix(suffix).tempfile_in(folder)?;
    file.write_all(&key.header(&payload))?;
    file.write_all(&payload)?;
    file.persist(path)?;
    Ok(())
}

/// What a compiled component depends on.
struct Key {
    component: Output<Sha256>,
    settings: Output<Sha256>,
}

impl Key {
    fn new(engine: &Engine, wasm: &[u8]) -> Self {
        let mut settings = StableHasher::default();
        engine.precompile_compatibility_hash().hash(&mut settings);
        // wasmtime's version. It is among the settings as well, but for engines whose
        // `Config::module_version` says something else.
        ModuleVersionStrategy::WasmtimeVersion.hash(&mut settings);
        Self {
            component: Sha256::digest(wasm),
            settings: settings.0.finalize(),
        }
    }

    fn file_name(&self) -> String {
        format!(
            "{:x}-{:x}{}",
            self.component,
            self.settings,
            unused::COMPILED
        )
    }

    /// What stands before a payload. The key is repeated in it, since a file may be
    /// renamed.
    fn header(&self, payload: &[u8]) -> Vec<u8> {
        let payload = Sha256::digest(payload);
        [MAGIC, &self.component, &self.settings, &payload].concat()
    }

    /// The payload behind the header of this key.
    fn payload<'a>(&self, contents: &'a [u8]) -> Result<&'a [u8], Reason> {
        let corrupt = |found: &str| Err(Reason::Corrupt(found.to_owned()));
        let Some((header, payload)) = contents.split_at_checked(HEADER_BYTES) else {
            return corrupt(&format!(
                "{} bytes, fewer than the {HEADER_BYTES} of its header",
                contents.len()
            ));
        };
        if !header.starts_with(MAGIC) {
            return corrupt("it does not begin like a file of this cache");
        }
        if header != self.header(payload) {
            return corrupt("its header does not match its name and contents");
        }
        Ok(payload)
    }
}

/// SHA-256 of what is hashed. The hashers of the standard library may give something else
/// in another of its versions, and are too short to distinguish what must not be mistaken.
#[derive(Default)]
struct StableHasher(Sha256);

impl Hasher for StableHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let hash = self.0.clone().finalize();
        hash[..8]
            .iter()
            .fold(0, |value, byte| value << 8 | u64::from(*byte))
    }
}

/// A component from a file, if the file is sound.
fn load(engine: &Engine, key: &Key, path: &Path) -> Result<Component, Reason> {
    let contents = own_file(path)?;
    let payload = key.payload(&contents)?;
    // SAFETY: `Component::deserialize` needs bytes that `Component::serialize` gave, as
    // they were. These are:
    //
    // - Nobody else can have made them. `own_file` has looked at the descriptor from which
    //   it read: a regular file of the effective user, under no other name, to which
    //   nobody else may write; and `guarded_folder` has seen that nobody else can put a
    //   file into the folder or another folder in its place. Who is left is the user
    //   and root, who can as well do to this process whatever they like.
    // - Of the user's programs, those with this cache write such a file, and they write
    //   nothing else behind a header with the magic than what `Component::serialize` gave.
    // - They are unchanged, all of them, and of this component and these settings:
    //   the header has the SHA-256 of each. wasmtime's full version is among the settings,
    //   of which wasmtime itself compares no more than the major number.
    // - They cannot change any more: they are in this process's memory and not mapped, and
    //   wasmtime makes a copy.
    #[allow(unsafe_code)]
    let component = unsafe { Component::deserialize(engine, payload) };
    component.map_err(|error| Reason::Refused(format!("{error:#}")))
}

#[cfg(not(unix))]
fn guarded_folder(_: &Path) -> Result<PathBuf> {
    anyhow::bail!("not supported: permissions of folders are checked on Unix only")
}

#[cfg(not(unix))]
fn own_file(_: &Path) -> Result<Vec<u8>, Reason> {
    Err(Reason::Foreign("its permissions are not known".to_owned()))
}

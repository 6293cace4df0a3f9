//! Compiled components in files, so that a component is compiled once and not by every
//! process anew.
//!
//! A compiled component is machine code: who can write such a file, or put another in its
//! place, runs code in every process that loads it. So a [`CompiledCache`] uses a file only
//! where nobody but the user (and root) can have written it, and compiles anew otherwise.

use anyhow::{Context, Result};
use sha2::digest::Output;
use sha2::{Digest, Sha256};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;
use wasmtime::component::Component;
use wasmtime::{Engine, ModuleVersionStrategy, Result as WasmtimeResult};

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
/// Nothing is ever removed but what is replaced. All of the folder may be removed at any
/// time; what is needed is compiled again. (A process that is killed while it writes
/// leaves its temporary file, which has another name and is never read.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompiledCache {
    folder: PathBuf,
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
        Ok(Self { folder })
    }

    /// The cache of the user: `voice-calling` in `$XDG_CACHE_HOME`, or in `~/.cache` where
    /// that is not set to an absolute path.
    ///
    /// # Errors
    ///
    /// As [`CompiledCache::in_folder`], and if the user has no home.
    pub fn for_user() -> Result<Self> {
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

    /// The folder, without symbolic links.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A component for an engine: from its file if there is one that is sound, or else
    /// compiled and then put there. A file that is not sound is replaced.
    ///
    /// # Errors
    ///
    /// Those of [`Component::new`] alone. That a file cannot be read or written is none:
    /// the component is compiled, and a warning is logged.
    pub fn component(&self, engine: &Engine, wasm: &[u8]) -> WasmtimeResult<(Component, Origin)> {
        let key = Key::new(engine, wasm);
        let path = self.folder.join(key.file_name());
        let reason = match load(engine, &key, &path) {
            Ok(component) => return Ok((component, Origin::Cached)),
            Err(reason) => reason,
        };
        if reason != Reason::Missing {
            tracing::warn!("{} is not used and compiled anew: {reason}", path.display());
        }
        let component = Component::new(engine, wasm)?;
        if let Err(error) = self.keep(&component, &key, &path) {
            tracing::warn!("{} cannot be written: {error:#}", path.display());
        }
        Ok((component, Origin::Compiled { reason }))
    }

    /// Puts a component into its file. Nothing waits until it is on the disk: what a
    /// failure of power leaves of it is corrupt or absent, and both are seen.
    fn keep(&self, component: &Component, key: &Key, path: &Path) -> Result<()> {
        let payload = component.serialize()?;
        let mut file = NamedTempFile::new_in(&self.folder)?;
        file.write_all(&key.header(&payload))?;
        file.write_all(&payload)?;
        file.persist(path)?;
        Ok(())
    }
}

/// How a component came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It was read from a cache.
    Cached,
    /// It was compiled.
    Compiled {
        /// Why it was not read.
        reason: Reason,
    },
}

/// Why a component was compiled. The texts are for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There was no cache to read it from.
    NoCache,
    /// There was no file of it.
    Missing,
    /// The file could not be read.
    Unreadable(String),
    /// The file may be from somebody else.
    Foreign(String),
    /// The file is not what was once written.
    Corrupt(String),
    /// The file is what was once written, and wasmtime does not take it.
    Refused(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NoCache => write!(f, "there is no cache"),
            Reason::Missing => write!(f, "there is no such file"),
            Reason::Unreadable(error) => write!(f, "it cannot be read: {error}"),
            Reason::Foreign(found) => write!(f, "it may be from somebody else: {found}"),
            Reason::Corrupt(found) => write!(f, "it is corrupt: {found}"),
            Reason::Refused(error) => write!(f, "wasmtime refuses it: {error}"),
        }
    }
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
        format!("{:x}-{:x}.cwasm", self.component, self.settings)
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
                "of {} bytes, and the header alone has {HEADER_BYTES}",
                contents.len()
            ));
        };
        if !header.starts_with(MAGIC) {
            return corrupt("it does not begin as the files of this cache do");
        }
        if header != self.header(payload) {
            return corrupt("what its header says is not what it is named and what follows");
        }
        Ok(payload)
    }
}

/// SHA-256 of what is hashed. The hashers of the standard library may give something else
/// in another of its versions, and are too short to tell apart what must not be mistaken.
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

#[cfg(unix)]
use unix::{guarded_folder, own_file};

/// What tells a user's own files from those of others.
#[cfg(unix)]
mod unix {
    use super::Reason;
    use anyhow::{Context, Result, bail, ensure};
    use rustix::fs::OFlags;
    use rustix::io::Errno;
    use rustix::process::geteuid;
    use std::fs::{DirBuilder, Metadata, OpenOptions, read_link, symlink_metadata};
    use std::io::{self, Read};
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
    use std::path::{Component as Part, Path, PathBuf, absolute};

    const ROOT: u32 = 0;

    /// The bits of a mode that let the group and others write.
    const OTHERS_WRITE: u32 = 0o022;

    /// The bit of a folder's mode by which only its owner, and that of the entry, may
    /// rename or remove an entry.
    const STICKY: u32 = 0o1000;

    /// As many as Linux follows.
    const MAX_LINKS: u32 = 40;

    /// A folder into which nobody else can put files, by the path on which it is found
    /// without symbolic links. What is missing of it is made.
    ///
    /// The path is followed by hand, since each entry that the system would go through has
    /// to be looked at: a link that somebody else made could lead to the user's downloads,
    /// which are the user's own files, but with contents from anywhere.
    pub(super) fn guarded_folder(path: &Path) -> Result<PathBuf> {
        let mut folder = PathBuf::new();
        let mut ahead = absolute(path)?;
        let mut links = 0;
        loop {
            let mut parts = ahead.components();
            let Some(part) = parts.next() else { break };
            let rest = parts.as_path();
            let mut next = rest.to_path_buf();
            match part {
                Part::Prefix(_) | Part::CurDir => {}
                Part::RootDir => folder = part.as_os_str().into(),
                Part::ParentDir => {
                    folder.pop();
                }
                Part::Normal(name) => {
                    check_way(&folder)?;
                    let entry = folder.join(name);
                    let found = found_or_made(&entry)
                        .with_context(|| format!("cannot find or make {}", entry.display()))?;
                    if found.is_symlink() {
                        check_owner(&entry, &found, &[geteuid().as_raw(), ROOT])?;
                        links += 1;
                        ensure!(
                            links <= MAX_LINKS,
                            "more than {MAX_LINKS} symbolic links are on the way"
                        );
                        next = read_link(&entry)?.join(rest);
                    } else {
                        folder = entry;
                    }
                }
            }
            ahead = next;
        }
        check_folder(&folder)?;
        Ok(folder)
    }

    fn found_or_made(entry: &Path) -> io::Result<Metadata> {
        match symlink_metadata(entry) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            found => return found,
        }
        match DirBuilder::new().mode(0o700).create(entry) {
            // Another process was quicker.
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => symlink_metadata(entry),
        }
    }

    /// Checks a folder on the way to that of the cache.
    fn check_way(folder: &Path) -> Result<()> {
        let found = symlink_metadata(folder)?;
        check_kind(folder, &found)?;
        check_owner(folder, &found, &[geteuid().as_raw(), ROOT])?;
        let mode = found.mode() & 0o7777;
        ensure!(
            mode & OTHERS_WRITE == 0 || mode & STICKY != 0,
            "{} has mode {mode:04o}, and allowed is one in which neither group nor others may \
             write (without the bits {OTHERS_WRITE:04o}), or with the sticky bit ({STICKY:04o})",
            folder.display()
        );
        Ok(())
    }

    /// Checks the folder of the cache.
    fn check_folder(folder: &Path) -> Result<()> {
        let found = symlink_metadata(folder)?;
        check_kind(folder, &found)?;
        check_owner(folder, &found, &[geteuid().as_raw()])?;
        let mode = found.mode() & 0o7777;
        ensure!(
            mode & OTHERS_WRITE == 0,
            "{} has mode {mode:04o}, and allowed is one in which neither group nor others may \
             write (without the bits {OTHERS_WRITE:04o})",
            folder.display()
        );
        Ok(())
    }

    fn check_kind(folder: &Path, found: &Metadata) -> Result<()> {
        ensure!(found.is_dir(), "{} is not a folder", folder.display());
        Ok(())
    }

    fn check_owner(entry: &Path, found: &Metadata, allowed: &[u32]) -> Result<()> {
        if allowed.contains(&found.uid()) {
            return Ok(());
        }
        let mut allowed: Vec<_> = allowed.iter().map(u32::to_string).collect();
        allowed.dedup();
        bail!(
            "{} belongs to the user {}, and allowed is {}",
            entry.display(),
            found.uid(),
            allowed.join(" or ")
        )
    }

    /// The contents of a file that nobody else can have written.
    pub(super) fn own_file(path: &Path) -> Result<Vec<u8>, Reason> {
        // What is not a regular file must neither be followed nor waited for (a pipe);
        // it is seen to be none as soon as it is open.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let mut file = OpenOptions::new()
            .read(true)
            .custom_flags(flags.bits() as i32)
            .open(path)
            .map_err(|error| match Errno::from_io_error(&error) {
                Some(Errno::NOENT) => Reason::Missing,
                // The second is FreeBSD's.
                Some(Errno::LOOP | Errno::MLINK) => {
                    Reason::Foreign("a symbolic link, and allowed is a regular file".to_owned())
                }
                _ => Reason::Unreadable(error.to_string()),
            })?;
        let unreadable = |error: io::Error| Reason::Unreadable(error.to_string());
        let found = file.metadata().map_err(unreadable)?;
        check_file(&found).map_err(Reason::Foreign)?;
        let mut contents = Vec::new();
        file.read_to_end(&mut contents).map_err(unreadable)?;
        Ok(contents)
    }

    /// What is wrong with a file in the folder, and what is allowed.
    fn check_file(found: &Metadata) -> Result<(), String> {
        let user = geteuid().as_raw();
        let mode = found.mode() & 0o7777;
        if !found.is_file() {
            return Err("not a regular file, and allowed is nothing else".to_owned());
        }
        if found.uid() != user {
            return Err(format!(
                "it belongs to the user {}, and allowed is {user}",
                found.uid()
            ));
        }
        if mode & OTHERS_WRITE != 0 {
            return Err(format!(
                "it has mode {mode:04o}, and allowed is one in which neither group nor others \
                 may write (without the bits {OTHERS_WRITE:04o})"
            ));
        }
        if found.nlink() != 1 {
            return Err(format!(
                "it has {} hard links, and allowed is 1",
                found.nlink()
            ));
        }
        Ok(())
    }
}

#[cfg(not(unix))]
fn guarded_folder(_: &Path) -> Result<PathBuf> {
    anyhow::bail!("not supported: whether others may write to a folder is found out on Unix alone")
}

#[cfg(not(unix))]
fn own_file(_: &Path) -> Result<Vec<u8>, Reason> {
    Err(Reason::Foreign(
        "who may write to it is not known".to_owned(),
    ))
}

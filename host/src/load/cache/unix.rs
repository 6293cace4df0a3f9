//! What distinguishes a user's own files from those of others.

use super::origin::Reason;
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
                    .with_context(|| format!("cannot find or create {}", entry.display()))?;
                if found.is_symlink() {
                    check_owner(&entry, &found, &[geteuid().as_raw(), ROOT])?;
                    links += 1;
                    ensure!(
                        links <= MAX_LINKS,
                        "more than {MAX_LINKS} symbolic links in its path"
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
        "{} has mode {mode:04o}; allowed: not writable by group and others (without the bits {OTHERS_WRITE:04o}), or with the sticky bit ({STICKY:04o})",
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
        "{} has mode {mode:04o}; allowed: not writable by group and others (without the bits {OTHERS_WRITE:04o})",
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
        "{} belongs to the user {}; allowed: {}",
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
                Reason::Foreign("a symbolic link; allowed: a regular file".to_owned())
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
        return Err("not a regular file".to_owned());
    }
    if found.uid() != user {
        return Err(format!(
            "it belongs to the user {}; allowed: {user}",
            found.uid()
        ));
    }
    if mode & OTHERS_WRITE != 0 {
        return Err(format!(
            "it has mode {mode:04o}; allowed: not writable by group and others (without the bits {OTHERS_WRITE:04o})"
        ));
    }
    if found.nlink() != 1 {
        return Err(format!("it has {} hard links; allowed: 1", found.nlink()));
    }
    Ok(())
}

//! The files of a cache that are no longer used, and their removal.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// A compiled component that was neither written nor read for so long is removed.
const UNUSED: Duration = DAY.saturating_mul(30);

/// How much all compiled components may take up. Beyond it those are removed that were not
/// used for the longest time. Unit: bytes.
const TOTAL_BYTES: u64 = 512 << 20;

/// A temporary file of this age is from a process that was killed while it wrote.
const ABANDONED: Duration = DAY;

/// What temporary files are named.
pub(super) const TEMPORARY: [&str; 2] = [".compiling-", ".tmp"];

/// How the names of compiled components end.
pub(super) const COMPILED: &str = ".cwasm";

/// Marks a file as used now. Where that fails, the file is compiled again some day.
pub(super) fn touch(path: &Path) {
    let touched = fs::File::open(path).and_then(|file| file.set_modified(SystemTime::now()));
    if let Err(error) = touched {
        tracing::debug!("{} is not marked as used: {error}", path.display());
    }
}

/// Removes what is no longer used. Of other files in the folder none is touched.
///
/// Another process may do the same at the same time, or begin to use what is being removed:
/// it keeps what it has opened, and compiles what it no longer finds.
pub(super) fn remove(folder: &Path) {
    let files = match found(folder) {
        Ok(files) => files,
        Err(error) => {
            tracing::debug!("{} cannot be listed: {error}", folder.display());
            return;
        }
    };
    for path in unused(files) {
        match fs::remove_file(&path) {
            Ok(()) => tracing::debug!("{} was unused and has been removed", path.display()),
            Err(error) => tracing::debug!("{} cannot be removed: {error}", path.display()),
        }
    }
}

/// A file of a cache.
#[derive(Clone, Debug)]
struct Found {
    path: PathBuf,
    kind: Kind,
    age: Duration,
    bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Compiled,
    Temporary,
}

fn found(folder: &Path) -> io::Result<Vec<Found>> {
    let now = SystemTime::now();
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Some(kind) = entry.file_name().to_str().and_then(kind) else {
            continue;
        };
        // It may be gone by now.
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        if metadata.is_file() {
            files.push(Found {
                path: entry.path(),
                kind,
                // A clock that was set back makes files of the future.
                age: now.duration_since(metadata.modified()?).unwrap_or_default(),
                bytes: metadata.len(),
            });
        }
    }
    Ok(files)
}

/// What a file of this name is to a cache; none if it is not the cache's.
fn kind(name: &str) -> Option<Kind> {
    let [prefix, suffix] = TEMPORARY;
    if name.starts_with(prefix) && name.ends_with(suffix) {
        return Some(Kind::Temporary);
    }
    let (component, settings) = name.strip_suffix(COMPILED)?.split_once('-')?;
    let is_hash = |text: &str| {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        text.len() == 64 && text.bytes().all(is_digit)
    };
    (is_hash(component) && is_hash(settings)).then_some(Kind::Compiled)
}

/// Those that are to be removed.
fn unused(mut files: Vec<Found>) -> Vec<PathBuf> {
    files.sort_by_key(|file| file.age);
    let mut kept_bytes = 0_u64;
    files.retain(|file| match file.kind {
        Kind::Temporary => file.age > ABANDONED,
        Kind::Compiled => {
            let with_it = kept_bytes.saturating_add(file.bytes);
            let is_kept = file.age <= UNUSED && with_it <= TOTAL_BYTES;
            if is_kept {
                kept_bytes = with_it;
            }
            !is_kept
        }
    });
    files.into_iter().map(|file| file.path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_a_cache_gives_are_its_files() {
        let hash = "0123456789abcdef".repeat(4);
        let compiled = format!("{hash}-{hash}.cwasm");
        for (name, expected) in [
            (compiled.as_str(), Some(Kind::Compiled)),
            (".compiling-aB3xYz.tmp", Some(Kind::Temporary)),
            (&compiled.to_uppercase(), None),
            (&format!("{hash}.cwasm"), None),
            (&format!("{hash}-{hash}-{hash}.cwasm"), None),
            (&format!("{hash}-{hash}.wasm"), None),
            (&format!("{hash}-{}.cwasm", &hash[1..]), None),
            (&format!("{compiled}.bak"), None),
            ("notes.cwasm", None),
            (".tmpaB3xYz", None),
            ("", None),
        ] {
            assert_eq!(kind(name), expected, "{name}");
        }
    }

    fn file(name: &str, kind: Kind, age: Duration, bytes: u64) -> Found {
        Found {
            path: name.into(),
            kind,
            age,
            bytes,
        }
    }

    fn removed(files: &[Found]) -> Vec<String> {
        let paths = unused(files.to_vec()).into_iter();
        paths
            .map(|path| path.to_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn a_component_goes_after_thirty_days_and_a_temporary_file_after_one() {
        use Kind::{Compiled, Temporary};
        let second = Duration::from_secs(1);
        let files = [
            file("month", Compiled, UNUSED, 1),
            file("longer", Compiled, UNUSED + second, 1),
            file("day", Temporary, ABANDONED, 1),
            file("forgotten", Temporary, ABANDONED + second, 1),
            file("new", Compiled, Duration::ZERO, 1),
        ];
        assert_eq!(removed(&files), ["forgotten", "longer"]);
    }

    #[test]
    fn what_was_used_last_stays_as_far_as_there_is_room() {
        let part = |name, days| file(name, Kind::Compiled, DAY * days, TOTAL_BYTES / 2);
        let files = [
            part("third", 3),
            part("first", 1),
            file("small", Kind::Compiled, DAY * 4, 1),
            part("second", 2),
        ];
        assert_eq!(removed(&files[..2]), [""; 0]);
        assert_eq!(removed(&files), ["third", "small"]);
        // What does not fit leaves its room to what is smaller.
        let files = [
            file("large", Kind::Compiled, Duration::ZERO, TOTAL_BYTES + 1),
            file("small", Kind::Compiled, DAY, 1),
        ];
        assert_eq!(removed(&files), ["large"]);
    }
}

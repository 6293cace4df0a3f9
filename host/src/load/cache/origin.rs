//! How a component came about.

use std::fmt;

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
    /// The cache of the user has no folder, for this reason.
    NoFolder(String),
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
            Reason::NoCache => write!(f, "there is none"),
            Reason::NoFolder(error) => write!(f, "the cache has no folder: {error}"),
            Reason::Missing => write!(f, "not found"),
            Reason::Unreadable(error) => write!(f, "it cannot be read: {error}"),
            Reason::Foreign(found) => write!(f, "another user may have written it: {found}"),
            Reason::Corrupt(found) => write!(f, "it is corrupt: {found}"),
            Reason::Refused(error) => write!(f, "wasmtime rejects it: {error}"),
        }
    }
}

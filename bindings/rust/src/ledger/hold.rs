//! Forks, which must not find a lock of SQLite taken.

use std::fmt;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Held while anything in this process uses SQLite.
static IN_USE: RwLock<()> = RwLock::new(());

/// Keeps all ledgers of this process from using their files: see [`hold`].
#[must_use]
pub struct Hold(#[expect(dead_code, reason = "it is held")] RwLockWriteGuard<'static, ()>);

/// Waits until no ledger of this process uses its file, and keeps all of them from it until the
/// guard is dropped, by the process that forks and by its child. Another ledger of the same file can
/// then be opened in the child. The threads of those that were opened before do not exist there, so
/// that these must neither be used nor dropped.
pub fn hold() -> Hold {
    Hold(IN_USE.write().unwrap_or_else(PoisonError::into_inner))
}

/// Waits while ledgers are held.
pub(super) fn in_use() -> RwLockReadGuard<'static, ()> {
    IN_USE.read().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Hold {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Hold")
    }
}

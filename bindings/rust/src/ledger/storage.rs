//! Your own storage in place of a file.

use std::future::ready;
use std::pin::Pin;
use voice_calling_core::ledger::{Entry, Reply};

/// The number of entries that a ledger's own storages read at a time.
pub(super) const PAGE_ROWS: u16 = 1000;

/// A future of a [`Storage`].
pub type StorageFuture<'a, R> = Pin<Box<dyn Future<Output = R> + Send + 'a>>;

/// A change to the entry of a key: a pure function, which a storage may call again if its
/// transaction has to be repeated. It returns the entry that replaces the current one, and a reply.
pub type Change = Box<dyn FnMut(Option<Entry>) -> (Option<Entry>, Reply) + Send>;

/// Your own storage of a ledger in place of a file, such as a database that several machines use.
/// [`Ledger::on`](crate::Ledger::on) makes a ledger of it. Only [`update`](Self::update) is needed
/// for creates; what the others are for fails without them.
pub trait Storage: Send + Sync + 'static {
    /// Changes the entry of a key in a transaction that no other change of the key is concurrent
    /// with: reads the entry (`None` if there is none), calls `change` with it, stores the entry
    /// that it returns if [`Reply::is_change`], and returns the reply.
    ///
    /// The entry must be durable when the reply is returned: a create is sent after its claim. The
    /// future runs to its end in a task of its own, even if the create is dropped. An error says
    /// why the entry could not be changed; then nothing is sent.
    fn update<'a>(
        &'a self,
        key: &'a str,
        change: Change,
    ) -> StorageFuture<'a, Result<Reply, String>>;

    /// Returns entries in the order of their keys, compared as bytes: some that follow this key, or
    /// none if there are no more. [`Ledger::unknown`](crate::Ledger::unknown) and
    /// [`Ledger::calls_to`](crate::Ledger::calls_to) need it.
    fn entries_after<'a>(
        &'a self,
        key: &'a str,
    ) -> StorageFuture<'a, Result<Vec<(String, Entry)>, String>> {
        let _ = key;
        Box::pin(ready(Err("its storage cannot list entries".to_owned())))
    }

    /// Removes the entries that were done before this time, in milliseconds since 1970, and returns
    /// their number. [`Ledger::prune`](crate::Ledger::prune) needs it.
    fn prune(&self, done_before_ms: u64) -> StorageFuture<'_, Result<usize, String>> {
        let _ = done_before_ms;
        Box::pin(ready(Err("its storage cannot remove entries".to_owned())))
    }

    /// Returns `true` if the id is that of another key's [`Entry::created_id`]. A docket that was
    /// fetched resolves no unknown outcome without it.
    fn is_of_another_key<'a>(
        &'a self,
        created_id: &'a str,
        key: &'a str,
    ) -> StorageFuture<'a, Result<bool, String>> {
        let _ = (created_id, key);
        Box::pin(ready(Ok(true)))
    }
}

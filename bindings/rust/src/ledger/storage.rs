//! Your own storage in place of a file.

use std::pin::Pin;
use voice_calling_core::ledger::{Entry, Reply};

/// A future of a [`Storage`].
pub type StorageFuture<'a, R> = Pin<Box<dyn Future<Output = R> + Send + 'a>>;

/// A change to the entry of a key: a pure function, which a storage may call again if its
/// transaction has to be repeated. It returns the entry that replaces the current one, and a reply.
pub type Change = Box<dyn FnMut(Option<Entry>) -> (Option<Entry>, Reply) + Send>;

/// Your own storage in place of a [`Ledger`](crate::Ledger), such as a database that several
/// machines use. [`Builder::ledger_storage`](crate::Builder::ledger_storage) gives it to a client.
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
}

//! Where a ledger's entries are: in a file, or in a storage that answers asynchronously.

use super::digest::{DigestKey, NUMBER};
use super::storage::Storage;
use super::writer::Writer;
use super::{Change, now_ms};
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tracing::Instrument;
use voice_calling_core::ledger::{Entry, Event, ObservedDocket, Reply, transition};

/// Says why a change has no reply.
pub(super) const LOST: &str = "its thread or runtime has ended";

#[derive(Clone)]
pub(super) enum Store {
    File(Writer),
    Own(Arc<dyn Storage>, DigestKey),
}

/// Takes the reply to a change, once the entry is durable.
pub(super) type Done = Box<dyn FnOnce(Result<Reply, String>) + Send>;

/// Reports that a change was lost with its runtime, unless it has ended.
struct Pending(Option<Done>);

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(done) = self.0.take() {
            done(Err(LOST.to_owned()));
        }
    }
}

impl Store {
    pub(super) fn digest_key(&self) -> &DigestKey {
        match self {
            Self::File(writer) => writer.digest_key(),
            Self::Own(_, digest_key) => digest_key,
        }
    }

    /// Changes the entry of a key in the background. Nothing has to wait for it.
    pub(super) fn update(&self, key: String, change: Change, done: Done) {
        match (self, Handle::try_current()) {
            (Self::File(writer), _) => writer.update(key, change, done),
            (Self::Own(storage, _), Ok(runtime)) => {
                let (storage, mut pending) = (storage.clone(), Pending(Some(done)));
                let update = async move {
                    let reply = storage.update(&key, change).await;
                    if let Some(done) = pending.0.take() {
                        done(reply);
                    }
                };
                runtime.spawn(update.in_current_span());
            }
            (Self::Own(..), Err(error)) => done(Err(error.to_string())),
        }
    }

    /// Changes the entry of a key, even if the future is dropped, and returns it with the reply.
    pub(super) async fn change(
        &self,
        key: &str,
        mut change: impl FnMut(Option<Entry>) -> (Option<Entry>, Reply) + Send + 'static,
    ) -> Result<(Option<Entry>, Reply), String> {
        let (seen, entries) = std::sync::mpsc::channel();
        let change: Change = Box::new(move |entry| {
            let (entry, reply) = change(entry);
            let _ = seen.send(entry.clone());
            (entry, reply)
        });
        let (sender, receiver) = oneshot::channel();
        let done: Done = Box::new(move |reply| drop(sender.send(reply)));
        self.update(key.to_owned(), change, done);
        let reply = receiver.await.unwrap_or_else(|_| Err(LOST.to_owned()))?;
        // A change may be repeated: the last one counts.
        Ok((entries.try_iter().last().flatten(), reply))
    }

    /// Returns some entries whose keys follow this one, in their order.
    pub(super) async fn entries_after(&self, key: &str) -> Result<Vec<(String, Entry)>, String> {
        match self {
            Self::File(writer) => {
                let key = key.to_owned();
                writer.commit(move |rows| rows.page(&key)).await
            }
            Self::Own(storage, _) => storage.entries_after(key).await,
        }
    }

    pub(super) async fn prune(&self, done_before_ms: u64) -> Result<usize, String> {
        match self {
            Self::File(writer) => writer.commit(move |rows| rows.prune(done_before_ms)).await,
            Self::Own(storage, _) => storage.prune(done_before_ms).await,
        }
    }

    /// Resolves unknown outcomes by a docket, in the background.
    pub(super) fn observe(&self, docket: ObservedDocket) {
        match (self, Handle::try_current()) {
            (Self::File(writer), _) => writer.observe(docket),
            (Self::Own(..), Ok(runtime)) => {
                let store = self.clone();
                let observe = async move {
                    if let Err(error) = store.observe_in_own(&docket).await {
                        log_unobserved(&docket, &error);
                    }
                };
                runtime.spawn(observe.in_current_span());
            }
            (Self::Own(..), Err(error)) => log_unobserved(&docket, &error.to_string()),
        }
    }

    async fn observe_in_own(&self, docket: &ObservedDocket) -> Result<(), String> {
        let Self::Own(storage, digest_key) = self else {
            return Ok(());
        };
        for key in &docket.keys {
            let is_of_another_key = storage.is_of_another_key(&docket.docket_id, key).await?;
            let (docket, digest_key) = (docket.clone(), digest_key.clone());
            let observe =
                move |entry: Option<Entry>| observe(entry, &docket, &digest_key, is_of_another_key);
            self.change(key, observe).await?;
        }
        Ok(())
    }
}

/// Applies a docket to the entry of one of its keys.
pub(super) fn observe(
    entry: Option<Entry>,
    docket: &ObservedDocket,
    digest_key: &DigestKey,
    is_of_another_key: bool,
) -> (Option<Entry>, Reply) {
    let function = entry.as_ref().map_or("", |entry| &entry.function);
    let number = digest_key.of_argument(function, NUMBER, &docket.to_phone_number);
    let event = Event::Observe {
        docket,
        to_phone_number: &number,
        is_of_another_key,
    };
    transition(entry, event, now_ms())
}

/// Logs a docket that may resolve an outcome, and could not be recorded.
pub(super) fn log_unobserved(docket: &ObservedDocket, error: &str) {
    let id = &docket.docket_id;
    tracing::error!("that docket {id} was seen could not be recorded in the ledger {error}");
}

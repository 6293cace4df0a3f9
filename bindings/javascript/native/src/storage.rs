//! The user's own storage of a ledger.

use crate::question::Asked;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError};
use voice_calling::ledger::{Change, Reply, Storage, StorageFuture, StoredEntry};

impl Storage for Asked {
    fn update<'a>(
        &'a self,
        key: &'a str,
        mut change: Change,
    ) -> StorageFuture<'a, Result<Reply, String>> {
        let latest: Arc<Mutex<Option<Reply>>> = Arc::default();
        let lock = |latest: &Mutex<Option<Reply>>, reply| {
            let mut latest = latest.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::replace(&mut *latest, reply)
        };
        let replied = latest.clone();
        let change: Change = Box::new(move |entry| {
            let (entry, reply) = change(entry);
            lock(&replied, Some(reply.clone()));
            (entry, reply)
        });
        Box::pin(async move {
            let argument = json!([key]).to_string();
            self.ask("update", argument, Some(change)).await?;
            let uncalled = || "update has not called change".to_owned();
            lock(&latest, None).ok_or_else(uncalled)
        })
    }

    fn entries_after<'a>(
        &'a self,
        key: &'a str,
    ) -> StorageFuture<'a, Result<Vec<(String, StoredEntry)>, String>> {
        Box::pin(async move {
            let argument = json!([key]).to_string();
            let entries = self.ask("entriesAfter", argument, None).await?;
            let entries: Vec<(String, String)> = read("entriesAfter", &entries)?;
            let entries = entries.into_iter();
            entries
                .map(|(key, entry)| Ok((key, read("entriesAfter", &entry)?)))
                .collect()
        })
    }

    fn prune(&self, done_before_ms: u64) -> StorageFuture<'_, Result<usize, String>> {
        Box::pin(async move {
            let argument = json!([done_before_ms]).to_string();
            read("prune", &self.ask("prune", argument, None).await?)
        })
    }

    fn is_of_another_key<'a>(
        &'a self,
        created_id: &'a str,
        key: &'a str,
    ) -> StorageFuture<'a, Result<bool, String>> {
        Box::pin(async move {
            let argument = json!([created_id, key]).to_string();
            let answer = self.ask("isOfAnotherKey", argument, None).await?;
            read("isOfAnotherKey", &answer)
        })
    }
}

/// Reads what a method has returned.
fn read<T: DeserializeOwned>(method: &str, json: &str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|error| format!("what {method} returns: {error}"))
}

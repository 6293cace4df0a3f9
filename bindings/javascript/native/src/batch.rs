//! A batch, whose requests come from JavaScript, and whose results go there.

use crate::outcome::Outcome;
use crate::question::{Answering, Asked};
use crate::records::{read_json, write_created};
use crate::runtime::Threads;
use futures_core::Stream;
use napi::bindgen_prelude::Object;
use napi::{Env, Result};
use napi_derive::napi;
use serde::Deserialize;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::Mutex;
use tracing::instrument::WithSubscriber;
use tracing::{Dispatch, dispatcher};
use voice_calling::{Batch, BatchRequest, Client, DocketRequestV2, Error};

/// A batch that is read.
pub struct Reading {
    batch: Batch,
    /// The first result, if it has arrived before it is read.
    first: Option<Outcome>,
    open: Arc<Open>,
    log: Dispatch,
}

/// What is left of a batch, until it is closed.
pub(crate) type Unread = Mutex<Option<Reading>>;

impl Reading {
    /// Logs what was not read.
    pub fn log(self) {
        dispatcher::with_default(&self.log, || drop((self.first, self.batch)));
    }

    /// Waits for the next result with the index of its request, or for `null`.
    async fn next(&mut self) -> Outcome {
        if let Some(first) = self.first.take() {
            return first;
        }
        let Some((index, result)) = self.batch.next().await else {
            return "null".to_owned().into();
        };
        let outcome = write_created(result);
        let json = format!(r#"{{"index":{index},{}"#, &outcome[1..]);
        let request = lock(&self.open).remove(&index).unwrap_or_default();
        Outcome::of_create(json, self.log.clone(), request)
    }

    async fn close(self) {
        drop(self.first);
        let closed = self.batch.close();
        closed.with_subscriber(self.log).await;
    }
}

/// A batch that has begun.
#[napi]
pub struct NativeBatch {
    unread: Arc<Unread>,
    threads: Threads,
}

/// The requests whose results are not there, as JSON, by index.
type Open = std::sync::Mutex<HashMap<usize, String>>;

fn lock(open: &Open) -> MutexGuard<'_, HashMap<usize, String>> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

impl NativeBatch {
    /// Begins a batch, whose requests a function supplies: as JSON with their keys, or `null`.
    pub fn begin(
        client: &Client,
        timeout: Duration,
        supply: Asked,
        threads: Threads,
    ) -> std::result::Result<Self, Error> {
        let open: Arc<Open> = Arc::default();
        let source = Supplied {
            supply: Arc::new(supply),
            asked: None,
            index: 0,
            open: open.clone(),
        };
        let mut batch = client.create_dockets_v2_from(source, timeout)?;
        batch.start();
        let unread = Arc::new(Mutex::new(Some(Reading {
            batch,
            first: None,
            open,
            log: dispatcher::get_default(Clone::clone),
        })));
        threads.log_at_end(Arc::downgrade(&unread));
        Ok(Self { unread, threads })
    }
}

#[napi]
impl NativeBatch {
    /// Returns the promise of `null` once a result can be read, or none ever can.
    #[napi]
    pub fn arrived<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let unread = self.unread.clone();
        self.threads.promise(env, async move {
            if let Some(reading) = unread.lock().await.as_mut() {
                reading.first = Some(reading.next().await);
            }
            "null".to_owned()
        })
    }

    /// Returns the promise of the next result with the index of its request, or of `null`.
    #[napi]
    pub fn next<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let unread = self.unread.clone();
        self.threads.promise(env, async move {
            match unread.lock().await.as_mut() {
                Some(reading) => reading.next().await,
                None => "null".to_owned().into(),
            }
        })
    }

    /// Begins nothing more, and returns a promise for the end of the open requests. Results that
    /// were not read are logged.
    #[napi]
    pub fn close<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        self.threads.promise(env, close(self.unread.clone()))
    }
}

async fn close(unread: Arc<Unread>) -> String {
    if let Some(reading) = unread.lock().await.take() {
        reading.close().await;
    }
    "null".to_owned()
}

/// Results that no one reads any more are logged.
impl Drop for NativeBatch {
    fn drop(&mut self) {
        self.threads.handle.spawn(close(self.unread.clone()));
    }
}

/// Requests that JavaScript is asked for when they can be sent.
struct Supplied {
    supply: Arc<Asked>,
    asked: Option<Answering>,
    index: usize,
    open: Arc<Open>,
}

/// A request and its key.
#[derive(Deserialize)]
struct Keyed {
    key: Option<String>,
    #[serde(flatten)]
    request: DocketRequestV2,
}

impl Stream for Supplied {
    type Item = BatchRequest;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<BatchRequest>> {
        let supply = self.supply.clone();
        let asked = self.asked.get_or_insert_with(|| {
            Box::pin(async move { supply.ask("supply", String::new(), None).await })
        });
        let supplied = ready!(asked.as_mut().poll(context));
        self.asked = None;
        // Without an answer JavaScript is gone.
        let json = supplied.unwrap_or_else(|_| "null".to_owned());
        let Some(Keyed { key, request }) = read_json(&json) else {
            return Poll::Ready(None);
        };
        lock(&self.open).insert(self.index, json);
        self.index += 1;
        Poll::Ready(Some(BatchRequest { key, request }))
    }
}

//! A batch, whose requests come from JavaScript, and whose results go there.

use crate::outcome::Outcome;
use crate::records::{read_json, write_created};
use crate::runtime::Threads;
use futures_core::Stream;
use napi::bindgen_prelude::Object;
use napi::{Env, Result};
use napi_derive::napi;
use std::cell::RefCell;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tracing::instrument::WithSubscriber;
use tracing::{Dispatch, dispatcher};
use voice_calling::{Batch, BatchRequest, Client, Error};

/// A batch that is read.
pub struct Reading {
    batch: Batch,
    /// The first result, if it has arrived before it is read.
    first: Option<Outcome>,
    open: Arc<Open>,
    log: Dispatch,
}

/// What is left of a batch, until it is closed.
pub type Unread = Mutex<Option<Reading>>;

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
        let request = lock(&self.open).1.remove(&index).unwrap_or_default();
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
    /// The requests that are wanted, one at a time.
    wants: Arc<Mutex<UnboundedReceiver<()>>>,
    /// Takes the requests, until they have ended.
    requests: RefCell<Option<UnboundedSender<BatchRequest>>>,
    open: Arc<Open>,
    threads: Threads,
}

/// The requests whose results are not there, by index, and the next index.
type Open = std::sync::Mutex<(usize, HashMap<usize, String>)>;

fn lock(open: &Open) -> MutexGuard<'_, (usize, HashMap<usize, String>)> {
    open.lock().unwrap_or_else(PoisonError::into_inner)
}

impl NativeBatch {
    pub fn begin(
        client: &Client,
        timeout: Duration,
        threads: Threads,
    ) -> std::result::Result<Self, Error> {
        let (want, wants) = unbounded_channel();
        let (requests, supplied) = unbounded_channel();
        let source = Supplied {
            want,
            is_wanted: false,
            supplied,
        };
        let mut batch = client.create_dockets_v2_from(source, timeout)?;
        batch.start();
        let open: Arc<Open> = Arc::default();
        let unread = Arc::new(Mutex::new(Some(Reading {
            batch,
            first: None,
            open: open.clone(),
            log: dispatcher::get_default(Clone::clone),
        })));
        threads.log_at_end(Arc::downgrade(&unread));
        Ok(Self {
            unread,
            wants: Arc::new(Mutex::new(wants)),
            requests: RefCell::new(Some(requests)),
            open,
            threads,
        })
    }
}

#[napi]
impl NativeBatch {
    /// Returns the promise of `true` once a request is wanted, of `false` once none ever is.
    #[napi]
    pub fn wanted<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let wants = self.wants.clone();
        self.threads.promise(env, async move {
            let want = wants.lock().await.recv().await;
            want.is_some().to_string()
        })
    }

    /// Supplies the request that is wanted, as JSON, with its key.
    #[napi]
    pub fn supply(&self, json: String, key: Option<String>) {
        if let Some(requests) = &*self.requests.borrow() {
            let request = read_json(&json);
            let (index, open) = &mut *lock(&self.open);
            open.insert(*index, json);
            *index += 1;
            // If the batch has ended, it was not begun.
            let _ = requests.send(BatchRequest { key, request });
        }
    }

    /// Says that there are no more requests.
    #[napi]
    pub fn end(&self) {
        self.requests.take();
    }

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
        self.end();
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

/// Requests that JavaScript supplies when they are wanted.
struct Supplied {
    want: UnboundedSender<()>,
    is_wanted: bool,
    supplied: UnboundedReceiver<BatchRequest>,
}

impl Stream for Supplied {
    type Item = BatchRequest;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<BatchRequest>> {
        if !self.is_wanted {
            // If no one listens, the requests have ended too.
            let _ = self.want.send(());
            self.is_wanted = true;
        }
        let supplied = self.supplied.poll_recv(context);
        self.is_wanted = supplied.is_pending();
        supplied
    }
}

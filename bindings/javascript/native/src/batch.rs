//! A batch, whose requests come from JavaScript, and whose results go there.

use crate::records::{read_json, write_created};
use crate::runtime::Threads;
use futures_core::Stream;
use napi::bindgen_prelude::Object;
use napi::{Env, Result};
use napi_derive::napi;
use std::cell::RefCell;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tracing::instrument::WithSubscriber;
use tracing::{Dispatch, dispatcher};
use voice_calling::{Batch, BatchRequest, Client, Error};

/// A batch that has begun.
#[napi]
pub struct NativeBatch {
    /// The results, until it is closed.
    batch: Arc<Mutex<Option<Batch>>>,
    /// The requests that are wanted, one at a time.
    wants: Arc<Mutex<UnboundedReceiver<()>>>,
    /// Takes the requests, until they have ended.
    requests: RefCell<Option<UnboundedSender<BatchRequest>>>,
    threads: Threads,
    log: Dispatch,
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
        Ok(Self {
            batch: Arc::new(Mutex::new(Some(batch))),
            wants: Arc::new(Mutex::new(wants)),
            requests: RefCell::new(Some(requests)),
            threads,
            log: dispatcher::get_default(Clone::clone),
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
    pub fn supply(&self, request: String, key: Option<String>) -> Result<()> {
        let request = read_json(&request)?;
        if let Some(requests) = &*self.requests.borrow() {
            // If the batch has ended, it was not begun.
            let _ = requests.send(BatchRequest { key, request });
        }
        Ok(())
    }

    /// Says that there are no more requests.
    #[napi]
    pub fn end(&self) {
        self.requests.take();
    }

    /// Returns the promise of the next result with the index of its request, or of `null`.
    #[napi]
    pub fn next<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        let batch = self.batch.clone();
        self.threads.promise(env, async move {
            let next = match batch.lock().await.as_mut() {
                Some(batch) => batch.next().await,
                None => None,
            };
            match next {
                None => "null".to_owned(),
                Some((index, result)) => {
                    let outcome = write_created(result);
                    format!(r#"{{"index":{index},{}"#, &outcome[1..])
                }
            }
        })
    }

    /// Begins nothing more, and returns a promise for the end of the open requests. Results that
    /// were not read are logged.
    #[napi]
    pub fn close<'env>(&self, env: &'env Env) -> Result<Object<'env>> {
        self.end();
        let batch = self.batch.clone();
        let closed = async move {
            if let Some(batch) = batch.lock().await.take() {
                batch.close().await;
            }
            "null".to_owned()
        };
        let closed = closed.with_subscriber(self.log.clone());
        self.threads.promise(env, closed)
    }
}

/// Results that no one reads any more are logged.
impl Drop for NativeBatch {
    fn drop(&mut self) {
        let batch = self.batch.clone();
        let closed = async move {
            if let Some(batch) = batch.lock().await.take() {
                batch.close().await;
            }
        };
        let closed = closed.with_subscriber(self.log.clone());
        self.threads.handle.spawn(closed);
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

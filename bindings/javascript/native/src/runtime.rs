//! The threads that run the operations of a JavaScript environment: the main program, or a worker.

use crate::batch::Unread;
use crate::outcome::Outcome;
use napi::bindgen_prelude::Object;
use napi::{Env, JsDeferred, Result};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, mpsc};
use std::thread;
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};

/// How long the end of an environment waits for its operations to be dropped, and logged.
const SHUTDOWN: Duration = Duration::from_secs(2);

/// The runtime of an environment. It ends with it: what is open is dropped then, and each create
/// that may have been sent is logged.
#[derive(Clone)]
pub struct Threads {
    pub handle: Handle,
    /// Whether JavaScript can no longer be called.
    pub is_over: Arc<AtomicBool>,
    /// The outcomes on their way to JavaScript.
    outcomes: Arc<Mutex<(u64, HashMap<u64, Outcome>)>>,
    batches: Arc<Mutex<Vec<Weak<Unread>>>>,
}

/// The environment that a thread runs.
struct Current {
    threads: Threads,
    runtime: Option<Runtime>,
}

/// Is dropped when the environment of a worker ends, or else with its thread: `process.exit` does
/// not end the environment.
impl Drop for Current {
    fn drop(&mut self) {
        self.threads.is_over.store(true, Relaxed);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(SHUTDOWN);
        }
        let threads = self.threads.clone();
        let (ended, end) = mpsc::channel::<()>();
        let log = move || {
            threads.log_unread();
            drop(ended);
        };
        // What logs needs values of its thread, of which those of this one may be gone. A thread may
        // not start any more while a process ends.
        if thread::Builder::new().spawn(log).is_ok() {
            let _ = end.recv_timeout(SHUTDOWN);
        }
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Current>> = const { RefCell::new(None) };
}

impl Threads {
    /// Returns those of this environment, and starts them if there are none.
    pub fn of(env: &Env) -> Result<Self> {
        let current = CURRENT.with_borrow(|it| it.as_ref().map(|it| it.threads.clone()));
        if let Some(threads) = current {
            return Ok(threads);
        }
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("voice-calling")
            .enable_all()
            .build()
            .map_err(|error| napi::Error::from_reason(error.to_string()))?;
        let threads = Self {
            handle: runtime.handle().clone(),
            is_over: Arc::default(),
            outcomes: Arc::default(),
            batches: Arc::default(),
        };
        CURRENT.set(Some(Current {
            threads: threads.clone(),
            runtime: Some(runtime),
        }));
        env.add_env_cleanup_hook((), |()| drop(CURRENT.take()))?;
        Ok(threads)
    }

    /// Runs an operation, and returns a promise of its outcome. The environment does not end by
    /// itself before the promise is settled.
    pub fn promise<'env, O: Into<Outcome> + Send>(
        &self,
        env: &'env Env,
        operation: impl Future<Output = O> + Send + 'static,
    ) -> Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred()?;
        let mut settling = Settling(Some(deferred));
        let outcomes = self.outcomes.clone();
        self.handle.spawn(async move {
            let outcome = operation.await.into();
            let id = {
                let (next, outcomes) = &mut *lock(&outcomes);
                *next += 1;
                outcomes.insert(*next, outcome);
                *next
            };
            if let Some(deferred) = settling.0.take() {
                deferred.resolve(Box::new(move |_| {
                    let outcome = lock(&outcomes).1.remove(&id);
                    Ok(outcome.map_or_else(String::new, Outcome::read))
                }));
            }
        });
        Ok(promise)
    }

    /// Has what is left of a batch logged when the environment ends.
    pub fn log_at_end(&self, batch: Weak<Unread>) {
        let mut batches = lock(&self.batches);
        batches.retain(|batch| batch.strong_count() > 0);
        batches.push(batch);
    }

    /// Logs what JavaScript has not got.
    fn log_unread(&self) {
        lock(&self.outcomes).1.clear();
        for batch in lock(&self.batches).iter().filter_map(Weak::upgrade) {
            if let Some(reading) = batch.try_lock().ok().and_then(|mut it| it.take()) {
                reading.log();
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes the value of a promise.
type Resolver = Box<dyn FnOnce(Env) -> Result<String> + Send>;

/// A promise that is rejected if its operation panics.
struct Settling(Option<JsDeferred<String, Resolver>>);

impl Drop for Settling {
    fn drop(&mut self) {
        if let Some(deferred) = self.0.take()
            && thread::panicking()
        {
            let message = "the client has panicked, a create may have been carried out";
            deferred.reject(napi::Error::from_reason(message));
        }
    }
}

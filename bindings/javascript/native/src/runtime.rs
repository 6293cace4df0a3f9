//! The threads that run the operations of a JavaScript environment: the main program, or a worker.

use napi::bindgen_prelude::Object;
use napi::{Env, JsDeferred, Result};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
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
}

thread_local! {
    /// Those of the environment that this thread runs.
    static CURRENT: RefCell<Option<(Threads, Runtime)>> = const { RefCell::new(None) };
}

impl Threads {
    /// Returns those of this environment, and starts them if there are none.
    pub fn of(env: &Env) -> Result<Self> {
        if let Some(threads) = CURRENT.with_borrow(|it| it.as_ref().map(|(it, _)| it.clone())) {
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
        };
        CURRENT.set(Some((threads.clone(), runtime)));
        env.add_env_cleanup_hook((), |()| {
            if let Some((threads, runtime)) = CURRENT.take() {
                threads.is_over.store(true, Relaxed);
                runtime.shutdown_timeout(SHUTDOWN);
            }
        })?;
        Ok(threads)
    }

    /// Runs an operation, and returns a promise of the text that it returns. The environment does
    /// not end by itself before the promise is settled.
    pub fn promise<'env>(
        &self,
        env: &'env Env,
        operation: impl Future<Output = String> + Send + 'static,
    ) -> Result<Object<'env>> {
        let (deferred, promise) = env.create_deferred()?;
        let mut settling = Settling(Some(deferred));
        self.handle.spawn(async move {
            let text = operation.await;
            if let Some(deferred) = settling.0.take() {
                deferred.resolve(Box::new(move |_| Ok(text)));
            }
        });
        Ok(promise)
    }
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

//! A call in flight, which its caller may drop before it has heard what came of it.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::SetOnce;

/// A call in flight, which may be abandoned.
#[derive(Debug)]
pub(crate) struct InFlight {
    function: Cow<'static, str>,
    progress: Mutex<Progress>,
    /// Set once the caller has gone.
    abandoned: SetOnce<()>,
}

#[derive(Debug, Default)]
struct Progress {
    /// How many requests it has begun that create something.
    creates: usize,
    is_abandoned: bool,
}

impl InFlight {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it may send a request, which is counted then.
    pub(super) fn begin_request(&self, is_create: bool) -> bool {
        let mut progress = self.progress();
        if !progress.is_abandoned && is_create {
            progress.creates += 1;
        }
        !progress.is_abandoned
    }

    /// Whether its caller has gone.
    #[cfg(feature = "wasi-0-3")]
    pub(super) fn is_abandoned(&self) -> bool {
        self.abandoned.initialized()
    }

    /// Waits until its caller has gone.
    #[cfg(feature = "wasi-0-3")]
    pub(super) async fn abandoned(&self) {
        self.abandoned.wait().await;
    }

    /// The caller has gone and hears nothing of the creates that the call has begun. It begins
    /// no other, so that this line of the log counts them all.
    fn abandon(&self) {
        let mut progress = self.progress();
        progress.is_abandoned = true;
        let creates = progress.creates;
        drop(progress);
        let _only_once = self.abandoned.set(());
        if creates > 0 {
            tracing::warn!(
                function = %self.function,
                creates,
                "a call was dropped that had begun creates: its caller does not know whether \
                 they were processed"
            );
        }
    }
}

/// The caller of a function. If it is dropped before it has heard what came of the call, the
/// call is abandoned at that moment.
pub(crate) struct Caller {
    call: Arc<InFlight>,
    has_heard: bool,
}

impl Caller {
    /// Of a function of the WIT.
    pub(crate) fn of(function: impl Into<Cow<'static, str>>) -> Self {
        Self {
            call: Arc::new(InFlight {
                function: function.into(),
                progress: Mutex::default(),
                abandoned: SetOnce::new(),
            }),
            has_heard: false,
        }
    }

    pub(crate) fn call(&self) -> &Arc<InFlight> {
        &self.call
    }

    pub(crate) fn has_heard(mut self) {
        self.has_heard = true;
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        if !self.has_heard {
            self.call.abandon();
        }
    }
}

//! A call in flight, which its caller may drop before it has heard what came of it.

use super::capabilities::Guest;
use anyhow::{Context, Result};
use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::SetOnce;
use wasmtime::Store;

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
    pub(crate) fn begin_request(&self, is_create: bool) -> bool {
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

    /// Something was created, and the caller has gone without hearing of it.
    pub(crate) fn tell_created(&self, id: &str) {
        tracing::warn!(
            function = %self.function,
            id,
            "a call was dropped that had created something"
        );
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

pub(crate) const ENDED: &str = "the instance has ended: one of its calls trapped or was dropped";

/// The store of an instance that has not ended.
pub(crate) fn alive(place: &mut Option<Store<Guest>>) -> Result<&mut Store<Guest>> {
    place.as_mut().context(ENDED)
}

/// A call on an instance that has one at a time. Unless it returns, the instance goes with it,
/// and with the instance all that the call has open: nothing else would end that before the
/// instance is dropped, and on WASI 0.3 the call would go on at the next one.
pub(crate) struct LoneCall<'a> {
    pub(crate) store: Store<Guest>,
    place: &'a mut Option<Store<Guest>>,
    caller: Caller,
}

impl<'a> LoneCall<'a> {
    /// Of a function of the instance in this place.
    pub(crate) fn begin(
        place: &'a mut Option<Store<Guest>>,
        function: impl Into<Cow<'static, str>>,
    ) -> Result<Self> {
        let mut store = place.take().context(ENDED)?;
        let caller = store.data_mut().begin_lone_call(function);
        Ok(Self {
            store,
            place,
            caller,
        })
    }

    /// The caller hears what came of it.
    pub(crate) fn end<T>(self, returned: wasmtime::Result<T>) -> wasmtime::Result<T> {
        self.caller.has_heard();
        if returned.is_ok() {
            *self.place = Some(self.store);
        }
        returned
    }
}

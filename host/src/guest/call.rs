//! A call in flight, which its caller may drop before it has its outcome.

use super::capabilities::Guest;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wasmtime::Store;

/// The number of creates that the current call has begun.
pub(crate) type Creates = Arc<AtomicUsize>;

/// The caller of a function. If it is dropped before the outcome of the call, a line of the log
/// reports the creates that the call had begun.
pub(crate) struct Caller<'a> {
    function: &'a str,
    creates: Creates,
    has_heard: bool,
}

impl<'a> Caller<'a> {
    /// Begins a call of this function; there is no other at the same time.
    pub(crate) fn begin(function: &'a str, store: &mut Store<Guest>) -> Self {
        Self {
            function,
            creates: store.data_mut().begin_call(),
            has_heard: false,
        }
    }

    pub(crate) fn has_heard(mut self) {
        self.has_heard = true;
    }
}

impl Drop for Caller<'_> {
    fn drop(&mut self) {
        let creates = self.creates.load(Ordering::Relaxed);
        if !self.has_heard && creates > 0 {
            tracing::warn!(
                function = %self.function,
                creates,
                "a call was dropped that had begun creates: its caller does not know whether \
                 they were processed"
            );
        }
    }
}

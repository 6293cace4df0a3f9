//! A call in flight, which its caller may drop, or which may trap, before it has an outcome.

use super::capabilities::Guest;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use wasmtime::Store;

/// The number of creates that the current call has begun.
pub(crate) type Creates = Arc<AtomicUsize>;

/// A call in flight. If it is dropped before it is complete, a line of the log reports the creates
/// that the call had begun.
pub(crate) struct CallGuard<'a> {
    function: &'a str,
    creates: Creates,
    is_complete: bool,
}

impl<'a> CallGuard<'a> {
    /// Begins a call of this function; there is no other at the same time.
    pub(crate) fn begin(function: &'a str, store: &mut Store<Guest>) -> Self {
        Self {
            function,
            creates: store.data_mut().begin_call(),
            is_complete: false,
        }
    }

    pub(crate) fn complete(mut self) {
        self.is_complete = true;
    }
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        let creates = self.creates.load(Ordering::Relaxed);
        if !self.is_complete && creates > 0 {
            tracing::warn!(
                function = %self.function,
                creates,
                "a call was dropped or trapped that had begun creates: its caller does not know \
                 whether they were processed"
            );
        }
    }
}

//! A call in flight, which its caller may drop before it has heard what came of it.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A call in flight.
#[derive(Debug)]
pub(crate) struct InFlight {
    function: Cow<'static, str>,
    /// How many requests it has begun that create something.
    creates: AtomicUsize,
}

impl InFlight {
    /// Counts a request that it sends.
    pub(crate) fn begin_request(&self, is_create: bool) {
        self.creates
            .fetch_add(usize::from(is_create), Ordering::Relaxed);
    }
}

/// The caller of a function. If it is dropped before it has heard what came of the call, a line
/// of the log says so of the creates that the call has begun.
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
                creates: AtomicUsize::new(0),
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
        let creates = self.call.creates.load(Ordering::Relaxed);
        if !self.has_heard && creates > 0 {
            tracing::warn!(
                function = %self.call.function,
                creates,
                "a call was dropped that had begun creates: its caller does not know whether \
                 they were processed"
            );
        }
    }
}

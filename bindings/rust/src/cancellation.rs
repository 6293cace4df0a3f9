//! Operations that are cancelled, but whose outcome is still wanted.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tokio::sync::Notify;

/// Cancels operations, and has them return at once what is known of them: see
/// [`Client::with_cancellation`](crate::Client::with_cancellation). Clones cancel the same
/// operations.
#[derive(Debug, Clone, Default)]
pub struct Cancellation(Arc<State>);

#[derive(Debug, Default)]
struct State {
    is_cancelled: AtomicBool,
    cancelled: Notify,
}

impl Cancellation {
    /// Creates one that cancels nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels the operations, those that have yet to begin included.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Relaxed);
        self.0.cancelled.notify_waiters();
    }

    /// Returns `true` if they are cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Relaxed)
    }

    /// Waits until they are cancelled.
    pub(crate) async fn cancelled(&self) {
        let mut cancelled = pin!(self.0.cancelled.notified());
        // From here on no notification is missed.
        cancelled.as_mut().enable();
        if !self.is_cancelled() {
            cancelled.await;
        }
    }
}

//! The duration of a wait for a completion, and the receiver of its progress.

use std::fmt;
use std::time::Duration;
use voice_calling_core::types::WaitOptions;

/// A function that is called with the progress of a wait.
pub(crate) type OnProgress = Box<dyn Fn(Progress) + Send + Sync>;

/// A wait: its timeout, and the progress that its caller receives.
pub struct Wait {
    pub(crate) options: WaitOptions,
    pub(crate) on_progress: Option<OnProgress>,
}

/// The progress of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The number of answers so far, including those to retries of a poll.
    pub answers: u32,
    /// The HTTP status of the latest answer.
    pub status: u16,
    /// The time since the wait began.
    pub elapsed: Duration,
}

impl Wait {
    /// Creates a wait that ends after this time, 1 ms to 2^32 - 1 ms, if nothing is completed
    /// before.
    pub fn within(timeout: Duration) -> Self {
        Self {
            options: WaitOptions {
                timeout_ms: timeout.as_millis().try_into().unwrap_or(u32::MAX),
                not_found_is_pending: None,
            },
            on_progress: None,
        }
    }

    /// Sets whether an answer of 404 means "not yet". By default, 404 is pending for a call and an
    /// error for a docket.
    #[must_use]
    pub fn not_found_is_pending(mut self, is_pending: bool) -> Self {
        self.options.not_found_is_pending = Some(is_pending);
        self
    }

    /// Calls this function after each answer of the service.
    #[must_use]
    pub fn on_progress(mut self, on_progress: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(Box::new(on_progress));
        self
    }
}

impl fmt::Debug for Wait {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Wait")
            .field("options", &self.options)
            .field("on_progress", &self.on_progress.is_some())
            .finish()
    }
}

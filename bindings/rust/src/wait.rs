//! The duration of a wait for a completion.

use std::time::Duration;
use voice_calling_core::types::WaitOptions;

/// A wait: its timeout, and what an answer of 404 means.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// use voice_calling::Wait;
///
/// let wait = Wait::within(Duration::from_secs(3600)).not_found_is_pending(true);
/// ```
#[derive(Debug)]
pub struct Wait {
    pub(crate) options: WaitOptions,
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
        }
    }

    /// Sets whether an answer of 404 means "not yet". By default, 404 is pending for a call and an
    /// error for a docket.
    #[must_use]
    pub fn not_found_is_pending(mut self, is_pending: bool) -> Self {
        self.options.not_found_is_pending = Some(is_pending);
        self
    }
}

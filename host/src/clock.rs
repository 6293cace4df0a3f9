//! The clocks of guests, which are tokio's: a test that pauses tokio's time pauses the guest's time
//! with it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock};

/// A clock that counts from its creation.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    began: Instant,
    began_unix: Duration,
}

impl Clock {
    /// Creates a clock with the machine's date.
    pub fn start() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        Self::start_at(since_1970.unwrap_or_default())
    }

    /// Creates a clock whose date is `unix` after the beginning of 1970.
    pub fn start_at(unix: Duration) -> Self {
        Self {
            began: Instant::now(),
            began_unix: unix,
        }
    }

    /// Returns the time since its creation.
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }
}

impl HostMonotonicClock for Clock {
    fn resolution(&self) -> u64 {
        1
    }

    fn now(&self) -> u64 {
        u64::try_from(self.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

impl HostWallClock for Clock {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(1)
    }

    fn now(&self) -> Duration {
        self.began_unix + self.elapsed()
    }
}

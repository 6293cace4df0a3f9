//! The clocks that guests see: tokio's, so that a test which pauses tokio's time
//! has the guest's time with it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock};

/// Counts from the moment it was made.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    began: Instant,
    began_unix: Duration,
}

impl Clock {
    /// A clock whose date is the machine's.
    pub fn start() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        Self::start_at(since_1970.unwrap_or_default())
    }

    /// A clock whose date is `unix` since 1970.
    pub fn start_at(unix: Duration) -> Self {
        Self {
            began: Instant::now(),
            began_unix: unix,
        }
    }

    /// The time since it was made.
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

//! The time of a client.

#[cfg(feature = "testing")]
use crate::testing::{Time, watched};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tokio::time::Instant;

/// How much longer than its time a sleep lasts. A runtime that was blocked wakes the sleeper before
/// the tasks of its connections: what has arrived counts before time does.
const GRACE: Duration = Duration::from_millis(1);

/// The clock of a client, and its chance.
#[derive(Clone)]
pub(crate) enum Clock {
    /// Tokio's clock, since some moment.
    Tokio(Instant),
    /// The clock of a scripted service.
    #[cfg(feature = "testing")]
    Scripted(Time),
}

impl Default for Clock {
    fn default() -> Self {
        Self::Tokio(Instant::now())
    }
}

impl Clock {
    pub(crate) fn now_ms(&self) -> u64 {
        let now = match self {
            Self::Tokio(began) => began.elapsed(),
            #[cfg(feature = "testing")]
            Self::Scripted(time) => time.now(),
        };
        now.as_millis() as u64
    }

    pub(crate) fn unix_time_s(&self) -> u64 {
        let date = match self {
            Self::Tokio(_) => SystemTime::now(),
            #[cfg(feature = "testing")]
            Self::Scripted(time) => time.date(),
        };
        date.duration_since(UNIX_EPOCH)
            .map_or(0, |since_1970| since_1970.as_secs())
    }

    pub(crate) async fn sleep(&self, duration: Duration) {
        match self {
            Self::Tokio(_) => {
                tokio::time::sleep(duration).await;
                tokio::time::sleep(GRACE).await;
            }
            #[cfg(feature = "testing")]
            Self::Scripted(time) => time.sleep(duration).await,
        }
    }

    /// Returns a random number. In a scripted time all pauses are the shortest.
    pub(crate) fn random(&self) -> u64 {
        match self {
            Self::Tokio(_) => RandomState::new().build_hasher().finish(),
            #[cfg(feature = "testing")]
            Self::Scripted(_) => 0,
        }
    }

    /// Runs an operation. A scripted time stands still during its steps.
    pub(crate) async fn watch<F: Future>(self, operation: F) -> F::Output {
        match self {
            Self::Tokio(_) => operation.await,
            #[cfg(feature = "testing")]
            Self::Scripted(time) => watched(time, operation).await,
        }
    }
}

/// Waits for something that is not in the client's time, such as a file: a scripted time stands
/// still meanwhile.
#[cfg(any(feature = "ledger", feature = "testing"))]
pub(crate) async fn out_of_time<F: Future>(future: F) -> F::Output {
    #[cfg(feature = "testing")]
    let _busy = Time::of_operation().map(|time| time.busy());
    future.await
}

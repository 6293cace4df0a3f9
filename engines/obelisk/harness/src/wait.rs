//! Waiting for what becomes true by itself.

use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How often to look: a moment at which the engine is to be killed is short.
const LOOK: Duration = Duration::from_millis(5);

/// Waits until `look` returns something; an error after `limit`.
pub async fn until<T, F>(what: &str, limit: Duration, mut look: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    let begin = Instant::now();
    while begin.elapsed() < limit {
        if let Some(found) = look().await? {
            return Ok(found);
        }
        tokio::time::sleep(LOOK).await;
    }
    bail!("{what}: not within {limit:?}")
}

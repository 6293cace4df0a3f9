//! Rate limits, which every endpoint has (specification, "Limits"). Their values and the answer are
//! invented.

use std::str::FromStr;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Error, Result};

/// A number of requests within some seconds, for each token. As text: `REQUESTS/SECONDS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    requests: u32,
    seconds: u32,
}

impl FromStr for RateLimit {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let read = || {
            let (requests, seconds) = text.split_once('/')?;
            let (requests, seconds) = (requests.parse().ok()?, seconds.parse().ok()?);
            (requests > 0 && seconds > 0).then_some(Self { requests, seconds })
        };
        read().with_context(|| {
            format!("the rate limit is {text:?}; allowed: REQUESTS/SECONDS, such as 100/60")
        })
    }
}

/// The use of a token: a bucket that holds as many requests as the limit allows, and drains evenly.
#[derive(Clone, Default)]
pub(super) struct Usage {
    /// The time at which the bucket is empty.
    empty_at: Option<SystemTime>,
}

impl Usage {
    /// Counts a request. If it exceeds the limit, it does not count, and the error is the whole
    /// seconds after which one is allowed.
    pub(super) fn count(&mut self, limit: RateLimit, now: SystemTime) -> Result<(), u64> {
        let window = Duration::from_secs(limit.seconds.into());
        let empty_at = self.empty_at.unwrap_or(now).max(now) + window / limit.requests;
        let full_for = empty_at.duration_since(now).unwrap_or_default();
        match full_for.checked_sub(window) {
            Some(excess) if !excess.is_zero() => Err(excess.as_secs_f64().ceil() as u64),
            _ => {
                self.empty_at = Some(empty_at);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_the_limit_and_drains_evenly() {
        let limit = "2/60".parse().unwrap();
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let mut usage = Usage::default();
        assert_eq!(usage.count(limit, at(0)), Ok(()));
        assert_eq!(usage.count(limit, at(0)), Ok(()));
        assert_eq!(usage.count(limit, at(10)), Err(20));
        assert_eq!(usage.count(limit, at(30)), Ok(()));
        assert_eq!(usage.count(limit, at(30)), Err(30));
        assert_eq!(usage.count(limit, at(1000)), Ok(()));
        assert_eq!(usage.count(limit, at(1000)), Ok(()));
    }

    #[test]
    fn a_rate_limit_that_cannot_be_read_is_named() {
        for text in ["", "5", "0/1", "1/0", "a/b", "-1/1"] {
            let error = text.parse::<RateLimit>().unwrap_err().to_string();
            assert!(error.contains("REQUESTS/SECONDS"), "{error}");
        }
    }
}

//! A rate limit that one request meets holds back the requests of all other calls that are
//! in flight on one account.

use crate::transport::Transport;
use std::cell::Cell;

/// Closed until some moment.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    closed_at_ms: Cell<u64>,
    closed_until_ms: Cell<u64>,
}

impl Gate {
    /// Holds everybody back until then.
    pub(crate) fn close(&self, now_ms: u64, until_ms: u64) {
        self.closed_at_ms.set(now_ms);
        self.closed_until_ms
            .set(self.closed_until_ms.get().max(until_ms));
    }

    /// Takes note of an answer that is no rate limit: one to a request that began after the gate
    /// was closed shows that the service serves again.
    pub(crate) fn served(&self, started_ms: u64, now_ms: u64) {
        if started_ms > self.closed_at_ms.get() {
            self.closed_until_ms
                .set(self.closed_until_ms.get().min(now_ms));
        }
    }

    /// Whether it holds nobody back who can wait until `patience_ms`.
    pub(crate) fn is_open(&self, now_ms: u64, patience_ms: u64) -> bool {
        self.closed_until_ms.get().min(patience_ms) <= now_ms
    }

    /// Waits until the gate is open or `patience_ms` has come: a rate limit of others delays a
    /// request, and never prevents it. Returns for how long it waited.
    pub(crate) async fn pass<T: Transport>(&self, transport: &T, patience_ms: u64) -> u64 {
        let came_ms = transport.now_ms();
        loop {
            let now_ms = transport.now_ms();
            // Read again after every sleep: others may have closed it for longer, or opened it.
            let opens_ms = self.closed_until_ms.get().min(patience_ms);
            if opens_ms <= now_ms {
                return now_ms - came_ms;
            }
            transport.sleep(opens_ms - now_ms).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::simulation::{Step, World};
    use crate::transport::Transport;
    use crate::types::RequestError;
    use futures_util::future::{join, join4};

    fn limited(seconds: &str) -> Step {
        Step::status(429).with_header("retry-after", seconds)
    }

    fn details() -> Step {
        Step::ok("[]")
    }

    #[test]
    fn a_rate_limit_that_one_call_meets_holds_back_the_others() {
        let world = World::with_script([limited("7").after(5), details()]);
        let client = world.client(&[]);
        let other = async {
            world.sleep(10).await;
            client.get_call_details("other").await
        };
        let (first, other) = world.run(join(client.get_call_details("first"), other));
        assert!(first.is_ok() && other.is_ok());
        assert_eq!(world.sent_at_ms(), [0, 7_005, 7_005]);
    }

    #[test]
    fn a_rate_limit_does_not_touch_what_is_under_way() {
        let steps = [limited("7").after(5), details().after(10), details()];
        let world = World::with_script(steps);
        let client = world.client(&[]);
        let other = async {
            let result = client.get_call_details("other").await;
            (result.is_ok(), world.now_ms())
        };
        let (_, other) = world.run(join(client.get_call_details("first"), other));
        assert_eq!(other, (true, 10));
    }

    #[test]
    fn a_rate_limit_is_forgotten_when_no_call_is_in_flight() {
        let world = World::with_script([limited("60"), details()]);
        let client = world.client(&[]);
        let error = world.run(client.get_call_details("first")).unwrap_err();
        assert!(matches!(error, RequestError::RateLimited(_)), "{error:?}");
        world.run(client.get_call_details("next")).unwrap();
        assert_eq!(world.sent_at_ms(), [0, 0]);
    }

    #[test]
    fn a_call_that_a_rate_limit_holds_back_beyond_its_deadline_is_timed_out_at_once() {
        let steps = [details().after(100), limited("60"), details()];
        let world = World::with_script(steps);
        let client = world.client(&[]);
        let held = async {
            world.sleep(10).await;
            let result = client.get_call_details("held").await;
            (result, world.now_ms())
        };
        let after_all = async {
            world.sleep(200).await;
            client.get_call_details("after all").await
        };
        let (slow, limited, held, after_all) = world.run(join4(
            client.get_call_details("slow"),
            client.get_call_details("limited"),
            held,
            after_all,
        ));
        assert!(slow.is_ok() && after_all.is_ok());
        assert!(matches!(limited, Err(RequestError::RateLimited(_))));
        let (Err(RequestError::TimedOut(failure)), 10) = held else {
            panic!("{held:?}")
        };
        assert!(failure.attempts.is_empty());
        assert!(
            failure.message.contains("rate limit"),
            "{}",
            failure.message
        );
        assert_eq!(world.sent_at_ms(), [0, 0, 200]);
    }

    #[test]
    fn of_two_rate_limits_the_longer_one_counts() {
        let steps = [limited("9").after(5), limited("4").after(10), details()];
        let world = World::with_script(steps);
        let client = world.client(&[]);
        let first = client.get_call_details("first");
        let other = client.get_call_details("other");
        let (first, other) = world.run(join(first, other));
        assert!(first.is_ok() && other.is_ok());
        assert_eq!(world.sent_at_ms(), [0, 0, 9_005, 9_005]);
    }
}

//! A rate limit that one request meets holds back all requests of all calls that are
//! in flight on one client.

use crate::failure::Stop;
use crate::transport::Transport;
use std::cell::Cell;

/// Closed until some moment.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    closed_until_ms: Cell<u64>,
}

impl Gate {
    /// Holds everybody back until then.
    pub(crate) fn close_until(&self, moment_ms: u64) {
        self.closed_until_ms
            .set(self.closed_until_ms.get().max(moment_ms));
    }

    /// Whether it holds nobody back.
    pub(crate) fn is_open(&self, now_ms: u64) -> bool {
        self.closed_until_ms.get() <= now_ms
    }

    /// Waits until the gate is open and `not_before_ms` has come. An error at once
    /// where that would not be before `deadline_ms`.
    pub(crate) async fn pass<T: Transport>(
        &self,
        transport: &T,
        not_before_ms: u64,
        deadline_ms: u64,
    ) -> Result<(), Stop> {
        loop {
            let now_ms = transport.now_ms();
            // Asked again after every sleep: others may have closed it for longer.
            let opens_ms = self.closed_until_ms.get();
            if opens_ms >= deadline_ms {
                return Err(Stop::RateLimit);
            }
            let begin_ms = opens_ms.max(not_before_ms).max(now_ms);
            if begin_ms >= deadline_ms {
                return Err(Stop::TimeUp);
            }
            if begin_ms == now_ms {
                return Ok(());
            }
            transport.sleep(begin_ms - now_ms).await;
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

//! A rate limit that one request meets holds back the requests of all other operations on the
//! account, also of those that begin later.

use crate::transport::Transport;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A gate that is closed until some moment.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    closed_at_ms: AtomicU64,
    closed_until_ms: AtomicU64,
}

impl Gate {
    /// Closes the gate until `until_ms`.
    pub(crate) fn close(&self, now_ms: u64, until_ms: u64) {
        self.closed_at_ms.store(now_ms, Relaxed);
        self.closed_until_ms.fetch_max(until_ms, Relaxed);
    }

    /// Records a response that is not a rate limit. If its request began after the gate was closed,
    /// the service accepts requests again, and the gate opens.
    pub(crate) fn on_response(&self, started_ms: u64, now_ms: u64) {
        if started_ms > self.closed_at_ms.load(Relaxed) {
            self.closed_until_ms.fetch_min(now_ms, Relaxed);
        }
    }

    /// Returns `true` if the gate is open, or `latest_hold_ms` has passed.
    pub(crate) fn is_open(&self, now_ms: u64, latest_hold_ms: u64) -> bool {
        self.closed_until_ms.load(Relaxed).min(latest_hold_ms) <= now_ms
    }

    /// Waits until the gate is open, `latest_hold_ms` has passed or the caller has cancelled the
    /// operation: a rate limit of others delays a request and never prevents it. Returns the time
    /// then.
    pub(crate) async fn wait<T: Transport>(
        &self,
        transport: &T,
        mut now_ms: u64,
        latest_hold_ms: u64,
    ) -> u64 {
        loop {
            // Read again after every sleep: others may have extended or lifted the limit.
            let opens_ms = self.closed_until_ms.load(Relaxed).min(latest_hold_ms);
            if opens_ms <= now_ms || transport.is_cancelled() {
                return now_ms;
            }
            transport.sleep(opens_ms - now_ms).await;
            now_ms = transport.now_ms();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Step, World};
    use crate::transport::Delivery;
    use crate::types::FailureKind;
    use futures_util::future::{join, join4, join5};

    const FOREVER_MS: u64 = u64::MAX;

    fn details() -> Step {
        Step::ok("[]")
    }

    #[test]
    fn a_gate_is_closed_until_the_latest_moment_set_or_until_a_later_request_is_served() {
        let gate = Gate::default();
        assert!(gate.is_open(0, FOREVER_MS));
        gate.close(90, 5_000);
        gate.close(100, 300);
        assert!(!gate.is_open(4_999, FOREVER_MS) && gate.is_open(5_000, FOREVER_MS));
        // Only a response to a request that began after the limit opens the gate.
        for started_ms in [0, 100] {
            gate.on_response(started_ms, 200);
            assert!(!gate.is_open(200, FOREVER_MS), "{started_ms}");
        }
        gate.on_response(101, 300);
        assert!(gate.is_open(300, FOREVER_MS));
        gate.on_response(6_000, 6_000);
        gate.close(7_000, 8_000);
        assert!(!gate.is_open(7_999, FOREVER_MS), "it closes again");
    }

    #[test]
    fn a_rate_limit_delays_requests_that_are_not_in_flight_and_the_longer_of_two_counts() {
        for (steps, other_ms, sent_at_ms) in [
            (
                vec![Step::limited("7").after(5), details()],
                10,
                vec![0, 7_005, 7_005],
            ),
            (
                vec![
                    Step::limited("9").after(5),
                    Step::limited("4").after(10),
                    details(),
                ],
                0,
                vec![0, 0, 9_005, 9_005],
            ),
            // Requests in flight are answered in their time.
            (
                vec![Step::limited("7").after(5), details().after(10), details()],
                0,
                vec![0, 0, 7_005],
            ),
        ] {
            let world = World::with_script(steps);
            let client = world.client(&[]);
            let other = async {
                world.sleep(other_ms).await;
                client.get_call_details("other", None).await.unwrap();
                world.now_ms()
            };
            let first = client.get_call_details("first", None);
            let (first, ended_ms) = world.run(join(first, other));
            assert!(first.is_ok());
            assert_eq!(world.sent_at_ms(), sent_at_ms);
            let is_under_way = sent_at_ms.len() == 3 && other_ms == 0;
            assert_eq!(ended_ms == 10, is_under_way);
        }
    }

    #[test]
    fn a_rate_limit_of_others_delays_an_operation_within_its_time_and_never_ends_it() {
        let limited = Step::limited("60");
        let world = World::with_script([details().after(100), limited, details().after(20)]);
        let client = world.client(&[]);
        let begun_at = |ms, task| {
            let (world, client) = (&world, &client);
            async move {
                world.sleep(ms).await;
                client.get_call_details(task, None).await
            }
        };
        let (slow, limited, held, held_too, after_it) = world.run(join5(
            begun_at(0, "slow"),
            begun_at(0, "limited"),
            begun_at(10, "held"),
            begun_at(200, "held, too"),
            begun_at(15_040, "after it was served"),
        ));
        assert_eq!(limited.unwrap_err().kind, FailureKind::RateLimited);
        assert!(slow.is_ok() && held.is_ok() && held_too.is_ok() && after_it.is_ok());
        // The first request that was held back was answered at 15,030, which opens the gate.
        assert_eq!(world.sent_at_ms(), [0, 0, 15_010, 15_040, 15_200]);
    }

    #[test]
    fn a_rate_limit_holds_back_an_operation_that_begins_after_the_limited_one_has_ended() {
        let world = World::with_script([Step::limited("60"), details()]);
        let client = world.client(&[]);
        let limited = world.run(client.get_call_details("limited", None));
        assert_eq!(limited.unwrap_err().kind, FailureKind::RateLimited);
        world.run(world.sleep(50_000));
        let held = world.run(client.get_call_details("held", None));
        assert!(held.is_ok());
        assert_eq!(world.sent_at_ms(), [0, 60_000]);
    }

    #[test]
    fn a_request_that_gets_no_answer_lifts_no_rate_limit() {
        let (slow, limited) = (details().after(100), Step::limited("60"));
        let failed = Step::fail(Delivery::NotSent);
        let world = World::with_script([slow, limited, failed, details(), details()]);
        let client = world.client(&[]);
        let begun_at = async |ms| {
            world.sleep(ms).await;
            client.get_call_details("task", None).await.is_ok()
        };
        let (first, limited) = (begun_at(0), begun_at(0));
        let others = join4(first, limited, begun_at(10), begun_at(15_040));
        assert_eq!(world.run(others), (true, false, true, true));
        // The third fails, and succeeds after a pause; the fourth is held back all the time.
        assert_eq!(world.sent_at_ms(), [0, 0, 15_010, 16_010, 30_040]);
    }
}

//! A limit on the requests in flight on an account, whichever operations they belong to.

use crate::transport::Transport;
use futures_util::future::{Either, select};
use std::pin::pin;
use tokio::sync::{Semaphore, SemaphorePermit};

/// Permits for requests in flight, which are acquired in the order in which they are asked for.
#[derive(Debug)]
pub(crate) struct Permits(Semaphore);

/// The admission of an attempt.
pub(crate) struct Admission<'a> {
    /// It is released when it is dropped.
    pub(crate) _permit: SemaphorePermit<'a>,
    /// The time at which the attempt begins.
    pub(crate) at_ms: u64,
}

impl Permits {
    pub(crate) fn new(count: usize) -> Self {
        Self(Semaphore::new(count))
    }

    /// Waits for a permit. Returns `None` if there is none before `deadline_ms`.
    pub(crate) async fn acquire<T: Transport>(
        &self,
        transport: &T,
        now_ms: u64,
        deadline_ms: u64,
    ) -> Option<Admission<'_>> {
        if let Ok(permit) = self.0.try_acquire() {
            return Some(Admission {
                _permit: permit,
                at_ms: now_ms,
            });
        }
        let time_is_up = pin!(transport.sleep(deadline_ms.saturating_sub(now_ms)));
        match select(time_is_up, pin!(self.0.acquire())).await {
            Either::Left(((), _)) => None,
            Either::Right((permit, _)) => Some(Admission {
                _permit: permit.ok()?,
                at_ms: transport.now_ms(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Piece, Step, World};
    use crate::types::{CallDetailsList, Failure};
    use futures_util::future::{join_all, join3};

    type Details = Result<CallDetailsList, Failure>;

    fn details() -> Step {
        Step::ok("[]")
    }

    /// Runs so many operations at once on one client.
    fn calls(world: &World, count: usize, variables: &[(&str, &str)]) -> Vec<Details> {
        let client = world.client(variables);
        let tasks: Vec<_> = (0..count).map(|index| format!("t-{index}")).collect();
        world.run(join_all(
            tasks.iter().map(|t| client.get_call_details(t, None)),
        ))
    }

    /// Returns the task that each request asked for.
    fn asked(world: &World) -> Vec<String> {
        let task = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let sent = world.sent();
        sent.iter()
            .map(|sent| task(&sent.request.path_and_query))
            .collect()
    }

    #[test]
    fn calls_beyond_max_in_flight_wait_in_order_and_each_is_sent_once() {
        let body = vec![Piece::Bytes(50, b"[".into()), Piece::Bytes(40, b"]".into())];
        // A request keeps its permit until its response is read, and has none in a pause.
        let slow = Step::status(200).with_body(body).after(10);
        let unavailable = Step::status(503).with_header("retry-after", "1");
        let limited = Step::limited("5").after(100);
        let after = |ms| details().after(ms);
        for (steps, permits, sent_at_ms, tasks) in [
            (
                vec![after(100)],
                "2",
                vec![0, 0, 100, 100, 200],
                "t-0 t-1 t-2 t-3 t-4",
            ),
            (
                vec![slow],
                "1",
                vec![0, 100, 200, 300, 400],
                "t-0 t-1 t-2 t-3 t-4",
            ),
            (
                vec![unavailable, after(20)],
                "1",
                vec![0, 0, 20, 40, 60, 1_000],
                "t-0 t-1 t-2 t-3 t-4 t-0",
            ),
            // Requests whose gate closed while they waited for a permit wait again.
            (
                vec![limited, after(100)],
                "1",
                vec![0, 5_100, 5_200, 5_300, 5_400, 5_500],
                "",
            ),
        ] {
            let world = World::with_script(steps);
            let results = calls(&world, 5, &[("MAX_IN_FLIGHT", permits)]);
            assert!(results.iter().all(Result::is_ok));
            assert_eq!(world.sent_at_ms(), sent_at_ms);
            assert_eq!(world.max_in_flight().to_string(), permits);
            assert!(tasks.is_empty() || asked(&world).join(" ") == tasks);
        }
    }

    #[test]
    fn a_call_that_is_dropped_in_mid_attempt_or_while_it_waits_holds_up_no_other() {
        for (steps, first, sent_at_ms) in [
            (vec![Step::silence(), details()], "dropped", [0, 50]),
            (vec![details().after(100)], "first", [0, 100]),
        ] {
            let world = World::with_script(steps);
            let client = world.client(&[("MAX_IN_FLIGHT", "1")]);
            let first_of_all = async {
                if first == "first" {
                    client.get_call_details(first, None).await.unwrap();
                }
            };
            let dropped = async {
                let call = pin!(client.get_call_details("dropped", None));
                let slept = pin!(world.sleep(50));
                assert!(matches!(select(call, slept).await, Either::Right(_)));
            };
            let last = client.get_call_details("last", None);
            let ((), (), last) = world.run(join3(first_of_all, dropped, last));
            assert!(last.is_ok());
            assert_eq!(asked(&world), [first, "last"]);
            assert_eq!(world.sent_at_ms(), sent_at_ms);
        }
    }
}

//! Asking again and again until something is ready or time runs out.

use crate::failure::{problem, to_u32};
use crate::json::Value;
use crate::operation::{Operation, Sent};
use crate::request::ApiRequest;
use crate::transport::Transport;
use crate::types::{Failure, Problem, RequestError};

/// What a poll has seen.
pub(crate) struct Seen<R> {
    pub(crate) record: R,
    pub(crate) is_ready: bool,
}

/// How a wait ended.
pub(crate) struct Waited<R> {
    /// The last that was seen; what is ready ends the wait.
    pub(crate) seen: Option<Seen<R>>,
    pub(crate) polls: u32,
    pub(crate) failed_polls: u32,
    pub(crate) waited_ms: u32,
    pub(crate) held_back_ms: u32,
}

/// What came of a poll.
struct Poll<R> {
    outcome: Result<Seen<R>, RequestError>,
    was_sent: bool,
    /// How long the service asks to wait before the next one.
    asked_ms: u64,
}

impl<T: Transport> Operation<'_, T> {
    /// Sends a reading request until its answer is ready.
    pub(crate) async fn wait<R>(
        &self,
        request: &ApiRequest,
        timeout_ms: u32,
        not_found_is_pending: bool,
        decode: impl Fn(Value<'_>, Sent) -> Result<Seen<R>, String>,
    ) -> Result<Waited<R>, RequestError> {
        check_timeout("wait.timeout-ms", timeout_ms)?;
        let began_ms = self.transport.now_ms();
        let end_ms = began_ms.saturating_add(timeout_ms.into());
        let mut pause_ms = self.settings.backoff_ms;
        let mut seen = None;
        let mut was_pending = false;
        let (mut polls, mut failed_polls) = (0, 0);
        let mut failure = None;
        loop {
            let left_ms = end_ms.saturating_sub(self.transport.now_ms());
            let poll = self.poll(request, left_ms, &decode).await;
            polls += u32::from(poll.was_sent);
            match poll.outcome {
                Ok(found) => seen = Some(found),
                Err(error) if not_found_is_pending && is_not_found(&error) => was_pending = true,
                Err(error) if may_pass(&error) => {
                    failed_polls += u32::from(poll.was_sent);
                    // One that was not sent says less than any before.
                    if poll.was_sent || failure.is_none() {
                        failure = Some(error);
                    }
                }
                Err(error) => return Err(error),
            }
            let now_ms = self.transport.now_ms();
            let next_ms = now_ms.saturating_add(pause_ms.max(poll.asked_ms));
            let is_ready = seen.as_ref().is_some_and(|seen| seen.is_ready);
            if is_ready || next_ms >= end_ms {
                return match failure {
                    // Nothing was ever seen: the failure is all there is to tell.
                    Some(failure) if seen.is_none() && !was_pending => Err(failure),
                    _ => Ok(Waited {
                        seen,
                        polls,
                        failed_polls,
                        waited_ms: to_u32(now_ms - began_ms),
                        held_back_ms: to_u32(self.held_back_ms()),
                    }),
                };
            }
            self.transport.sleep(next_ms - now_ms).await;
            pause_ms = pause_ms.saturating_mul(2).min(self.settings.max_backoff_ms);
        }
    }

    /// Asks once, with a deadline of its own.
    async fn poll<R>(
        &self,
        request: &ApiRequest,
        left_ms: u64,
        decode: impl Fn(Value<'_>, Sent) -> Result<Seen<R>, String>,
    ) -> Poll<R> {
        let duration_ms = self.settings.deadline_ms.min(left_ms);
        let (asked_ms, outcome) = match self.send_within(duration_ms, request).await {
            Ok(success) => (success.retry_after_ms(), success.decode(decode)),
            Err(error) => (None, Err(error)),
        };
        let failure = outcome.as_ref().err().and_then(failure);
        let asked_in_failure = failure.and_then(|failure| {
            let response = failure.response.as_ref()?;
            response.retry_after_ms.map(u64::from)
        });
        Poll {
            was_sent: failure.is_none_or(|failure| !failure.attempts.is_empty()),
            asked_ms: asked_ms.or(asked_in_failure).unwrap_or(0),
            outcome,
        }
    }
}

/// A timeout of 0 would ask nothing and answer nothing.
pub(crate) fn check_timeout(argument: &str, timeout_ms: u32) -> Result<(), Problem> {
    match timeout_ms {
        0 => {
            let allowed = format!("1 to {} milliseconds", u32::MAX);
            Err(problem(argument, "0", allowed))
        }
        _ => Ok(()),
    }
}

/// Whether a failed poll says nothing about the next one.
fn may_pass(error: &RequestError) -> bool {
    matches!(
        error,
        RequestError::RateLimited(_)
            | RequestError::Unavailable(_)
            | RequestError::Unreachable(_)
            | RequestError::TimedOut(_)
    )
}

/// Whether the service may come to know it: 410 says that it will not.
fn is_not_found(error: &RequestError) -> bool {
    let status = |failure: &Failure| Some(failure.response.as_ref()?.status);
    matches!(error, RequestError::PermanentNotFound(failure) if status(failure) == Some(404))
}

fn failure(error: &RequestError) -> Option<&Failure> {
    match error {
        RequestError::RateLimited(failure)
        | RequestError::Unavailable(failure)
        | RequestError::Unreachable(failure)
        | RequestError::TimedOut(failure)
        | RequestError::PermanentNotFound(failure) => Some(failure),
        // A wait ends with these.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Step, World};
    use crate::types::{CallDetailsWait, DocketStatus, DocketWait};
    use futures_util::future::join;

    const DOCKET_ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";

    fn docket(status: &str) -> Step {
        Step::ok(&format!(
            r#"{{"docket_id":"{DOCKET_ID}","status":"{status}"}}"#
        ))
    }

    fn options(timeout_ms: u32) -> WaitOptions {
        WaitOptions {
            timeout_ms,
            not_found_is_pending: false,
        }
    }

    fn wait_for_docket(
        world: &World,
        options: WaitOptions,
        variables: &[(&str, &str)],
    ) -> Result<DocketWait, RequestError> {
        let client = world.client(variables);
        world.run(client.wait_for_docket(DOCKET_ID, options))
    }

    fn wait_for_details(world: &World, options: WaitOptions) -> CallDetailsWait {
        let client = world.client(&[]);
        world
            .run(client.wait_for_call_details("t-1", options))
            .unwrap()
    }

    #[test]
    fn pauses_between_polls_double_up_to_the_cap() {
        let world = World::with_script(
            (0..8)
                .map(|_| docket("IN_PROGRESS"))
                .chain([docket("COMPLETED")]),
        );
        let variables = [("BACKOFF_MS", "100"), ("MAX_BACKOFF_MS", "1000")];
        let waited = wait_for_docket(&world, options(60_000), &variables).unwrap();
        assert!(waited.completed);
        assert_eq!(
            (waited.polls, waited.failed_polls, waited.waited_ms),
            (9, 0, 5_500)
        );
        assert_eq!(
            world.sent_at_ms(),
            [0, 100, 300, 700, 1_500, 2_500, 3_500, 4_500, 5_500]
        );
        assert_eq!(
            waited.docket.and_then(|docket| docket.status),
            Some(DocketStatus::Completed)
        );
    }

    #[test]
    fn when_time_runs_out_the_last_answer_is_returned() {
        let world = World::with_script([docket("OPEN"), docket("IN_PROGRESS")]);
        let waited = wait_for_docket(&world, options(1_000), &[]).unwrap();
        assert!(!waited.completed);
        assert_eq!(world.sent_at_ms(), [0, 250, 750]);
        assert_eq!(
            waited.docket.and_then(|docket| docket.status),
            Some(DocketStatus::InProgress)
        );
        assert!(world.now_ms() <= 1_000);
    }

    #[test]
    fn failures_that_may_pass_do_not_end_a_wait() {
        let steps = [docket("OPEN"), Step::status(503), docket("COMPLETED")];
        let world = World::with_script(steps);
        let waited = wait_for_docket(&world, options(9_000), &[("MAX_ATTEMPTS", "1")]).unwrap();
        assert!(waited.completed);
        assert_eq!((waited.polls, waited.failed_polls), (3, 1));
    }

    #[test]
    fn where_every_poll_failed_the_failure_is_returned() {
        let world = World::with_script([Step::status(503)]);
        let error = wait_for_docket(&world, options(2_000), &[("MAX_ATTEMPTS", "1")]).unwrap_err();
        assert!(matches!(error, RequestError::Unavailable(_)), "{error:?}");
        assert_eq!(world.sent_at_ms(), [0, 250, 750, 1_750]);
    }

    #[test]
    fn a_rate_limit_holds_back_the_next_poll() {
        let limited = Step::status(429).with_header("retry-after", "40");
        let world = World::with_script([limited, docket("COMPLETED")]);
        let waited = wait_for_docket(&world, options(60_000), &[]).unwrap();
        assert!(waited.completed);
        assert_eq!(world.sent_at_ms(), [0, 40_000]);
    }

    /// A wait that begins while another one is under way, which was told at once to come
    /// again in 40 seconds.
    fn wait_behind_a_rate_limit(timeout_ms: u32) -> (World, Result<DocketWait, RequestError>) {
        let limited = Step::status(429).with_header("retry-after", "40");
        let world = World::with_script([limited, docket("COMPLETED")]);
        let client = world.client(&[]);
        let wait = async {
            world.sleep(10).await;
            client.wait_for_docket(DOCKET_ID, options(timeout_ms)).await
        };
        let other = client.wait_for_docket(DOCKET_ID, options(60_000));
        let (other, waited) = world.run(join(other, wait));
        assert!(other.unwrap().completed);
        (world, waited)
    }

    #[test]
    fn a_poll_that_another_calls_rate_limit_holds_back_has_failed_and_passes() {
        let (world, waited) = wait_behind_a_rate_limit(60_000);
        let waited = waited.unwrap();
        assert!(waited.completed);
        assert_eq!((waited.polls, waited.failed_polls), (2, 1));
        assert_eq!(waited.waited_ms, 39_990);
        assert_eq!(world.sent_at_ms(), [0, 40_000, 40_000]);
    }

    #[test]
    fn a_rate_limit_of_another_call_that_outlasts_a_wait_is_told_at_once() {
        let (world, waited) = wait_behind_a_rate_limit(35_000);
        let Err(RequestError::TimedOut(failure)) = waited else {
            panic!("{waited:?}")
        };
        assert!(failure.attempts.is_empty());
        assert!(failure.message.contains("rate limit"), "{failure:?}");
        assert_eq!(world.sent_at_ms(), [0, 40_000]);
    }

    #[test]
    fn a_rate_limit_of_another_call_lengthens_the_pause_between_polls() {
        let limited = Step::status(429).with_header("retry-after", "7");
        let steps = [docket("OPEN"), limited.after(5), docket("COMPLETED")];
        let world = World::with_script(steps);
        let client = world.client(&[]);
        let wait = client.wait_for_docket(DOCKET_ID, options(60_000));
        let (waited, other) = world.run(join(wait, client.get_docket(DOCKET_ID)));
        let waited = waited.unwrap();
        assert!(waited.completed && other.is_ok());
        assert_eq!((waited.polls, waited.failed_polls), (2, 0));
        assert_eq!(world.sent_at_ms(), [0, 0, 7_005, 7_005]);
    }

    #[test]
    fn a_poll_that_finds_no_place_has_failed_and_passes() {
        let world = World::with_script([Step::Silence, docket("COMPLETED")]);
        let client = world.client(&[
            ("MAX_IN_FLIGHT", "1"),
            ("ATTEMPT_TIMEOUT_MS", "1000"),
            ("DEADLINE_MS", "1000"),
        ]);
        let other = client.get_docket(DOCKET_ID);
        let wait = client.wait_for_docket(DOCKET_ID, options(9_000));
        let (other, waited) = world.run(join(other, wait));
        let waited = waited.unwrap();
        assert!(other.is_err() && waited.completed);
        assert_eq!((waited.polls, waited.failed_polls), (2, 1));
        assert_eq!(world.sent_at_ms(), [0, 1_000]);
    }

    #[test]
    fn a_wait_that_pauses_has_no_place() {
        let world = World::with_script([docket("OPEN"), docket("OPEN"), docket("COMPLETED")]);
        let client = world.client(&[("MAX_IN_FLIGHT", "1")]);
        let wait = client.wait_for_docket(DOCKET_ID, options(9_000));
        let (waited, other) = world.run(join(wait, client.get_docket(DOCKET_ID)));
        assert!(waited.unwrap().completed && other.is_ok());
        assert_eq!(world.sent_at_ms(), [0, 0, 250]);
    }

    #[test]
    fn permanent_errors_end_a_wait_at_once() {
        let world = World::with_script([Step::status(401), docket("COMPLETED")]);
        let error = wait_for_docket(&world, options(60_000), &[]).unwrap_err();
        assert!(matches!(error, RequestError::PermanentUnauthorized(_)));
        assert_eq!(world.sent().len(), 1);
    }

    #[test]
    fn not_found_means_not_yet_only_where_the_caller_says_so() {
        let script = || World::with_script([Step::status(404), docket("COMPLETED")]);
        let error = wait_for_docket(&script(), options(60_000), &[]).unwrap_err();
        assert!(matches!(error, RequestError::PermanentNotFound(_)));
        let pending = WaitOptions {
            timeout_ms: 60_000,
            not_found_is_pending: true,
        };
        let waited = wait_for_docket(&script(), pending, &[]).unwrap();
        assert_eq!((waited.completed, waited.polls), (true, 2));

        let never = World::with_script([Step::status(404)]);
        let waited = wait_for_docket(&never, pending, &[]).unwrap();
        assert_eq!((waited.completed, waited.docket), (false, None));
    }

    #[test]
    fn a_time_out_of_zero_is_refused() {
        let world = World::with_script([docket("COMPLETED")]);
        let error = wait_for_docket(&world, options(0), &[]).unwrap_err();
        let RequestError::PermanentInvalidInput(input) = error else {
            panic!("{error:?}")
        };
        assert_eq!(input.field, "options.timeout-ms");
        assert!(world.sent().is_empty());
    }

    #[test]
    fn details_are_ready_with_insights_or_when_the_call_was_not_answered() {
        for (record, ready) in [
            (
                r#"{"call_insights":{"metadata":{}},"call_status":"ANSWERED"}"#,
                true,
            ),
            (r#"{"call_insights":{"metadata":{}}}"#, true),
            (r#"{"call_insights":null,"call_status":"NO_ANSWER"}"#, true),
            (r#"{"call_status":"BUSY"}"#, true),
            (r#"{"call_insights":{},"call_status":"ANSWERED"}"#, false),
            (r#"{"call_insights":null,"call_status":"ANSWERED"}"#, false),
            (
                r#"{"call_insights":"soon","call_status":"ANSWERED"}"#,
                false,
            ),
            (r#"{"call_status":"RINGING"}"#, false),
            (r#"{"call_status":null}"#, false),
        ] {
            let world = World::with_script([Step::ok(&format!("[{record}]"))]);
            assert_eq!(
                wait_for_details(&world, options(1_000)).completed,
                ready,
                "{record}"
            );
        }
        let busy = r#"{"call_status":"BUSY"}"#;
        for (answer, ready) in [
            ("[]".to_owned(), false),
            (busy.to_owned(), true),
            (format!("[{busy},{busy}]"), true),
            (format!(r#"[{busy},{{"call_status":"RINGING"}}]"#), false),
        ] {
            let world = World::with_script([Step::ok(&answer)]);
            let waited = wait_for_details(&world, options(1_000));
            assert_eq!(waited.completed, ready, "{answer}");
        }
    }
}

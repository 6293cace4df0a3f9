//! Polling until something is ready or time runs out.

use crate::failure::to_u32;
use crate::ledger::Ledger;
use crate::operation::{Operation, Success};
use crate::problem::problem;
use crate::request::ApiRequest;
use crate::time_frame::TimeFrame;
use crate::transport::Transport;
use crate::types::{Failure, FailureKind, Problem};

/// Examines the response to a poll, and returns `true` if the wait is over.
pub(crate) type Check<'a> = dyn FnMut(Success<'_>) -> Result<bool, Failure> + Send + 'a;

/// The result of a wait.
pub(crate) struct WaitResult {
    /// Whether the response became ready.
    pub(crate) is_ready: bool,
    pub(crate) polls: u32,
    pub(crate) failed_polls: u32,
    pub(crate) waited_ms: u32,
    pub(crate) held_back_ms: u32,
}

/// The result of a poll.
struct Poll {
    outcome: Result<bool, Failure>,
    was_sent: bool,
    /// How long the service asks to wait before the next poll, in milliseconds.
    retry_after_ms: u64,
}

impl<T: Transport, L: Ledger> Operation<'_, T, L> {
    /// Sends a read again and again until its response is ready.
    pub(crate) async fn wait(
        &self,
        request: &ApiRequest,
        timeout_ms: u32,
        not_found_is_pending: bool,
        check: &mut Check<'_>,
    ) -> Result<WaitResult, Failure> {
        check_timeout("wait.timeout-ms", timeout_ms)?;
        let began_ms = self.transport.now_ms();
        let end_ms = began_ms.saturating_add(timeout_ms.into());
        let mut pause_ms = self.settings.backoff_ms;
        // Whether the latest response was ready; `None` without a response.
        let mut latest = None;
        let mut was_pending = false;
        let (mut polls, mut failed_polls) = (0, 0);
        let mut failure = None;
        let mut now_ms = began_ms;
        loop {
            let poll = self.poll(request, now_ms, end_ms, check).await;
            polls += u32::from(poll.was_sent);
            match poll.outcome {
                Ok(is_ready) => latest = Some(is_ready),
                Err(error) if not_found_is_pending && is_not_found(&error) => was_pending = true,
                Err(error) if !error.kind.is_permanent() => {
                    failed_polls += u32::from(poll.was_sent);
                    // A poll that was not sent says less than any before it.
                    if poll.was_sent || failure.is_none() {
                        failure = Some(error);
                    }
                }
                Err(error) => return Err(error),
            }
            now_ms = self.transport.now_ms();
            let next_ms = now_ms.saturating_add(pause_ms.max(poll.retry_after_ms));
            let is_ready = latest == Some(true);
            if is_ready || next_ms >= end_ms || self.transport.is_cancelled() {
                return match failure {
                    // Without any response the failure is all that can be reported.
                    Some(failure) if latest.is_none() && !was_pending => Err(failure),
                    _ => Ok(WaitResult {
                        is_ready,
                        polls,
                        failed_polls,
                        waited_ms: to_u32(now_ms.saturating_sub(began_ms)),
                        held_back_ms: to_u32(self.held_back_ms()),
                    }),
                };
            }
            self.transport.sleep(next_ms - now_ms).await;
            now_ms = self.transport.now_ms();
            pause_ms = pause_ms.saturating_mul(2).min(self.settings.max_backoff_ms);
        }
    }

    /// Polls once, with its own deadline.
    async fn poll(
        &self,
        request: &ApiRequest,
        now_ms: u64,
        end_ms: u64,
        check: &mut Check<'_>,
    ) -> Poll {
        let duration_ms = self.settings.deadline_ms.min(end_ms.saturating_sub(now_ms));
        let time = TimeFrame::new(&self.settings, now_ms, duration_ms);
        let (retry_after_ms, outcome) = match self.send_within(time, request).await {
            Ok(success) => (success.retry_after_ms(), check(success)),
            Err(error) => (None, Err(error)),
        };
        let failure = outcome.as_ref().err();
        let after_failure_ms = failure.and_then(|failure| {
            let response = failure.response.as_ref()?;
            response.retry_after_ms.map(u64::from)
        });
        Poll {
            was_sent: failure.is_none_or(|failure| !failure.attempts.is_empty()),
            retry_after_ms: retry_after_ms.or(after_failure_ms).unwrap_or(0),
            outcome,
        }
    }
}

/// Rejects a timeout of 0, which would leave no time for a request.
pub(crate) fn check_timeout(argument: &str, timeout_ms: u32) -> Result<(), Problem> {
    match timeout_ms {
        0 => {
            let allowed = format!("1 to {} milliseconds", u32::MAX);
            Err(problem(argument, "0", allowed))
        }
        _ => Ok(()),
    }
}

/// Returns `true` if the service may find it later; 410 says that it will not.
fn is_not_found(failure: &Failure) -> bool {
    let status = failure.response.as_ref().map(|response| response.status);
    failure.kind == FailureKind::NotFound && status == Some(404)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{DOCKET_ID, Step, World, rows};
    use crate::types::{DocketOutcome, DocketStatus, DocketWait, WaitOptions};
    use futures_util::future::join;

    fn within(timeout_ms: u32) -> WaitOptions {
        WaitOptions {
            timeout_ms,
            not_found_is_pending: None,
        }
    }

    fn wait_for_docket(
        world: &World,
        wait: WaitOptions,
        variables: &[(&str, &str)],
    ) -> Result<DocketWait, Failure> {
        let client = world.client(variables);
        world.run(client.wait_for_docket(DOCKET_ID, wait, None))
    }

    /// Returns the last status that a wait saw; after how many polls, and how many failed; and how
    /// long it took and was held back.
    fn latest(waited: &DocketWait) -> (DocketStatus, [u32; 4]) {
        let docket = match &waited.outcome {
            DocketOutcome::Completed(docket) => docket,
            DocketOutcome::Pending(docket) => docket.as_ref().unwrap(),
        };
        let status = docket.status.clone().unwrap();
        let is_completed = matches!(waited.outcome, DocketOutcome::Completed(_));
        assert_eq!(is_completed, status == DocketStatus::Completed);
        let times = (waited.waited_ms, waited.held_back_ms);
        (
            status,
            [waited.polls, waited.failed_polls, times.0, times.1],
        )
    }

    /// One wait per line: the service's responses before the docket is completed (`+13` adds a
    /// `retry-after` of so many seconds); the wait's timeout and its variables; the outcome; the
    /// numbers of polls and of failed polls, and the time that it took; the times of the requests.
    const POLLS: &str = "
        OPEN OPEN OPEN OPEN OPEN | 60000 | BACKOFF_MS=100 MAX_BACKOFF_MS=400 | Completed | 6 0 1500 | 0 100 300 700 1100 1500

        It asks once, however short it is.
        | 1 | | Completed | 1 0 0 | 0

        The pause after the third is 8 seconds: it does not fit.
        OPEN IN_PROGRESS IN_PROGRESS | 10000 | | InProgress | 3 0 6000 | 0 2000 6000

        A poll has no more time than is left.
        OPEN silence | 5000 | | Open | 2 1 5000 | 0 2000

        Failures that may pass do not end it, and retries within a poll are not polls.
        OPEN 503 | 9000 | MAX_ATTEMPTS=1 | Completed | 3 1 6000 | 0 2000 6000
        503 | 9000 | | Completed | 1 0 1077 | 0 1077

        The next poll comes when the service asks for it, whatever it answered.
        OPEN+13 | 60000 | MAX_ATTEMPTS=1 | Completed | 2 0 13000 | 0 13000
        503+13 | 60000 | MAX_ATTEMPTS=1 | Completed | 2 1 13000 | 0 13000
        429+40 | 60000 | | Completed | 2 1 40000 | 0 40000";

    #[test]
    fn a_wait_polls_with_pauses_that_double_up_to_the_cap_until_it_is_ready_or_time_is_up() {
        let step = |word: &str| {
            let (word, asked) = word.split_once('+').unwrap_or((word, ""));
            let step = match word.chars().all(|c| c == '_' || c.is_ascii_uppercase()) {
                true => Step::docket(word),
                false => Step::parse(word),
            };
            match asked {
                "" => step,
                seconds => step.with_header("retry-after", seconds),
            }
        };
        for [before, timeout_ms, variables, status, counts, sent_at_ms] in rows(POLLS) {
            let steps = before.split_whitespace().map(step);
            let world = World::with_script(steps.chain([Step::docket("COMPLETED")]));
            world.set_random(77);
            let variables = variables.split_whitespace();
            let variables: Vec<_> = variables.filter_map(|it| it.split_once('=')).collect();
            let wait = within(timeout_ms.parse().unwrap());
            let (latest, numbers) = latest(&wait_for_docket(&world, wait, &variables).unwrap());
            assert_eq!(format!("{latest:?}"), format!("{status}"));
            assert_eq!(
                numbers.map(|it| it.to_string()).join(" "),
                format!("{counts} 0")
            );
            let sent = world.sent_at_ms().into_iter().map(|ms| ms.to_string());
            assert_eq!(sent.collect::<Vec<_>>().join(" "), sent_at_ms, "{before}");
        }
    }

    #[test]
    fn a_wait_without_time_is_refused_and_polls_nothing() {
        let world = World::default();
        let failure = wait_for_docket(&world, within(0), &[]).unwrap_err();
        let problem = failure.problem.unwrap();
        let said = (&*problem.subject, &*problem.found);
        assert_eq!(said, ("wait.timeout-ms", "0"));
        assert!(world.sent().is_empty());
    }

    #[test]
    fn a_pausing_wait_holds_no_permit_and_a_rate_limit_of_another_operation_extends_its_pause() {
        for (steps, permits, expected, sent_at_ms) in [
            (
                [
                    Step::docket("OPEN"),
                    Step::docket("OPEN"),
                    Step::docket("COMPLETED"),
                ],
                "1",
                [2, 0, 2_000, 0],
                vec![0, 0, 2_000],
            ),
            (
                [
                    Step::docket("OPEN"),
                    Step::limited("7").after(5),
                    Step::docket("COMPLETED"),
                ],
                "2",
                [2, 0, 7_005, 5_005],
                vec![0, 0, 7_005, 7_005],
            ),
        ] {
            let world = World::with_script(steps);
            let client = world.client(&[("MAX_IN_FLIGHT", permits)]);
            let wait = client.wait_for_docket(DOCKET_ID, within(60_000), None);
            let (waited, other) = world.run(join(wait, client.get_docket(DOCKET_ID, None)));
            assert_eq!(
                latest(&waited.unwrap()),
                (DocketStatus::Completed, expected)
            );
            assert!(other.is_ok());
            assert_eq!(world.sent_at_ms(), sent_at_ms);
        }
    }

    #[test]
    fn a_poll_without_a_permit_is_not_counted() {
        let world = World::with_script([Step::silence(), Step::docket("COMPLETED")]);
        let client = world.client(&[
            ("MAX_IN_FLIGHT", "1"),
            ("ATTEMPT_TIMEOUT_MS", "1000"),
            ("DEADLINE_MS", "1000"),
        ]);
        let other = client.get_docket(DOCKET_ID, None);
        let wait = client.wait_for_docket(DOCKET_ID, within(9_000), None);
        let (other, waited) = world.run(join(other, wait));
        assert!(other.is_err());
        // It gave up after half of its deadline, and paused.
        let expected = (DocketStatus::Completed, [1, 0, 2_500, 0]);
        assert_eq!(latest(&waited.unwrap()), expected);
        assert_eq!(world.sent_at_ms(), [0, 2_500]);
    }
}

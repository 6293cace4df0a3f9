//! Whether a series of creates goes on, or begins nothing further because too many failed.
//!
//! A service that fails for a second must not turn a list of ten thousand people into ten thousand
//! questions, nor a wrong token into ten thousand refusals.

use crate::types::{Failure, NextStep};
use serde::{Deserialize, Serialize};

/// The number of failures in a row after which nothing further begins, if they are not about the
/// contacts: the next contact would meet the same.
const SERVICE_FAILURES: usize = 5;

/// The number of failures in a row of whatever kind. Single contacts may be refused one after the
/// other, but so many point to a setting or to the list.
const ALL_FAILURES: usize = 25;

/// Decides whether the next create of a series may begin: pure, whatever sends them.
///
/// Creates in flight count as failures that may come, so that at most `SERVICE_FAILURES` outcomes
/// are unknown when a service fails from the beginning, and at most `ALL_FAILURES` contacts are
/// refused when all are. Each success permits one more in flight.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Breaker {
    in_flight: usize,
    /// The number of creates that succeeded since the latest failure of the service.
    succeeded: usize,
    /// The failures since the latest success, and those among them that are not about a contact.
    failed: usize,
    service_failed: usize,
    /// The message of the latest failure.
    latest: String,
}

/// The answer of a [`Breaker`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The next create may begin. It is in flight from now on.
    Begin,
    /// A create in flight has to end first.
    Wait,
    /// Nothing further may begin, for this reason.
    Stop(String),
}

impl Breaker {
    /// Decides on the next create.
    pub fn decide(&mut self) -> Decision {
        if self.service_failed >= SERVICE_FAILURES || self.failed >= ALL_FAILURES {
            return Decision::Stop(format!(
                "not begun, since {} requests in a row had failed; the last one: {}",
                self.failed, self.latest
            ));
        }
        let is_at_risk = |failed, most| self.in_flight + failed >= most + self.succeeded;
        if is_at_risk(self.service_failed, SERVICE_FAILURES)
            || is_at_risk(self.failed, ALL_FAILURES)
        {
            return Decision::Wait;
        }
        self.in_flight += 1;
        Decision::Begin
    }

    /// Records that a create in flight has succeeded.
    pub fn on_success(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.succeeded += 1;
        self.failed = 0;
        self.service_failed = 0;
    }

    /// Records how a create in flight has failed. One that was not sent says nothing about the
    /// service, unless a setting kept it from being sent: its arguments were not allowed, its key
    /// is in doubt, or there was no time for it.
    pub fn on_failure(&mut self, failure: &Failure) {
        let sent = !failure.attempts.is_empty();
        self.on_error(sent, failure.next_step, &failure.message);
    }

    /// As [`on_failure`](Self::on_failure), for a caller that has another form of the failure.
    pub fn on_error(&mut self, sent: bool, next_step: NextStep, message: &str) {
        if !sent && next_step != NextStep::FixSetting {
            return self.on_nothing_sent();
        }
        self.in_flight = self.in_flight.saturating_sub(1);
        self.failed += 1;
        if next_step != NextStep::Refused {
            self.service_failed += 1;
            self.succeeded = 0;
        }
        message.clone_into(&mut self.latest);
    }

    /// Forgets what has failed, after a person has looked at it. Creates in flight stay in flight.
    pub fn forgive(&mut self) {
        *self = Self {
            in_flight: self.in_flight,
            ..Self::default()
        };
    }

    /// Records that a create in flight was not sent, such as one whose answer was in the ledger.
    pub fn on_nothing_sent(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
    }

    /// Lets one more create begin after a stop, as soon as none is in flight: the service may have
    /// recovered. If that one fails too, nothing further begins; a success ends the row of failures.
    pub fn resume(&mut self) {
        self.failed = self.failed.min(ALL_FAILURES - 1);
        self.service_failed = SERVICE_FAILURES - 1;
        self.succeeded = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Attempt, FailureKind};

    fn unsent(next_step: NextStep) -> Failure {
        Failure::unsent(FailureKind::Rejected, next_step, "the reason".to_owned())
    }

    fn failure(next_step: NextStep) -> Failure {
        let attempt = Attempt {
            status: None,
            transport_error: None,
            started_ms: 0,
            duration_ms: 0,
        };
        Failure {
            attempts: vec![attempt],
            ..unsent(next_step)
        }
    }

    /// Begins as many creates as may begin at once.
    fn begin_all(breaker: &mut Breaker) -> (usize, Decision) {
        let mut begun = 0;
        loop {
            match breaker.decide() {
                Decision::Begin => begun += 1,
                decision => return (begun, decision),
            }
        }
    }

    #[test]
    fn a_service_that_fails_from_the_beginning_gets_five_creates_and_no_more() {
        for next_step in [
            NextStep::Unknown,
            NextStep::FixSetting,
            NextStep::RetryLater,
        ] {
            let mut breaker = Breaker::default();
            assert_eq!(begin_all(&mut breaker), (5, Decision::Wait));
            for _ in 0..4 {
                breaker.on_failure(&failure(next_step));
                assert_eq!(breaker.decide(), Decision::Wait);
            }
            breaker.on_failure(&failure(next_step));
            let reason =
                "not begun, since 5 requests in a row had failed; the last one: the reason";
            assert_eq!(breaker.decide(), Decision::Stop(reason.to_owned()));
        }
    }

    #[test]
    fn each_success_permits_one_more_in_flight_and_ends_a_row_of_failures() {
        let mut breaker = Breaker::default();
        for allowed in 5..50 {
            let (_, decision) = begin_all(&mut breaker);
            assert_eq!((breaker.in_flight, decision), (allowed, Decision::Wait));
            breaker.on_success();
        }
        for _ in 0..4 {
            breaker.on_failure(&failure(NextStep::Unknown));
        }
        assert_eq!(breaker.decide(), Decision::Wait, "44 are in flight");
        breaker.on_success();
        assert_eq!((breaker.service_failed, breaker.in_flight), (0, 43));
    }

    #[test]
    fn a_list_whose_contacts_are_all_refused_gets_25_creates_and_no_more() {
        let mut breaker = Breaker::default();
        let mut begun = 0;
        loop {
            let (more, decision) = begin_all(&mut breaker);
            begun += more;
            if decision != Decision::Wait {
                break;
            }
            breaker.on_failure(&failure(NextStep::Refused));
        }
        assert_eq!((begun, breaker.in_flight), (25, 0));
    }

    #[test]
    fn refused_contacts_stop_a_series_only_if_there_are_many_in_a_row() {
        let mut breaker = Breaker::default();
        for _ in 0..24 {
            assert_eq!(breaker.decide(), Decision::Begin);
            breaker.on_failure(&failure(NextStep::Refused));
        }
        let mut other = breaker.clone();
        assert_eq!(other.decide(), Decision::Begin);
        other.on_success();
        assert_eq!(other.decide(), Decision::Begin);
        breaker.decide();
        breaker.on_failure(&failure(NextStep::Refused));
        assert!(matches!(breaker.decide(), Decision::Stop(_)));
    }

    #[test]
    fn a_series_that_is_resumed_begins_one_create_and_goes_on_if_that_succeeds() {
        for next_step in [NextStep::Unknown, NextStep::Refused] {
            let mut breaker = Breaker::default();
            for _ in 0..25 {
                breaker.decide();
                breaker.on_failure(&failure(next_step));
            }
            for _ in 0..3 {
                assert!(matches!(breaker.decide(), Decision::Stop(_)));
                breaker.resume();
                assert_eq!(begin_all(&mut breaker), (1, Decision::Wait));
                breaker.on_failure(&failure(next_step));
            }
            breaker.resume();
            begin_all(&mut breaker);
            breaker.on_success();
            assert_eq!(begin_all(&mut breaker), (6, Decision::Wait));
        }
    }

    #[test]
    fn what_was_not_sent_neither_counts_as_a_failure_nor_ends_a_row_of_them() {
        let mut breaker = Breaker::default();
        for _ in 0..4 {
            breaker.decide();
            breaker.on_failure(&failure(NextStep::Unknown));
        }
        for next_step in [NextStep::Refused, NextStep::RetryLater, NextStep::Unknown] {
            assert_eq!(breaker.decide(), Decision::Begin);
            breaker.on_failure(&unsent(next_step));
            assert_eq!(breaker.decide(), Decision::Begin);
            breaker.on_nothing_sent();
        }
        breaker.decide();
        breaker.on_failure(&unsent(NextStep::FixSetting));
        assert!(matches!(breaker.decide(), Decision::Stop(_)));
        breaker.forgive();
        assert_eq!(begin_all(&mut breaker), (5, Decision::Wait));
    }
}

//! The situations that are measured: the number of calls in flight, and the delay of the service.

use super::load::{Calls, Measurement};
use super::report::median;
use super::subject::Subject::{self, *};
use std::time::Duration;

/// A kind of calls, and the subjects that make them.
#[derive(Clone, Copy)]
pub(super) struct Situation {
    pub(super) name: &'static str,
    pub(super) in_flight: usize,
    /// The time that the service takes for each call.
    pub(super) delay: Duration,
    pub(super) calls: Calls,
    pub(super) rounds: usize,
    /// The subjects, the baseline first.
    pub(super) subjects: &'static [Subject],
}

pub(super) const ONE_BY_ONE: &str = "one call after another";
pub(super) const MANY: &str = "64 in flight";
pub(super) const MANY_20_MS: &str = "64 in flight, 20 ms";
pub(super) const VERY_MANY: &str = "10,000 in flight, 1 s";
pub(super) const ALL_OPEN: &str = "10,000 open at once";
pub(super) const BATCH: &str = "batch of 1000 dockets, 64 in flight, 50 ms";

/// The values that most situations share.
const USUAL: Situation = Situation {
    name: MANY,
    in_flight: 64,
    delay: Duration::ZERO,
    calls: Calls::Many(10_000),
    rounds: 5,
    subjects: &[Native, Rust, Reused, Fresh, ReusedP3, PeerReused, PeerFresh],
};

/// All situations. Longer delays and more calls take longer, so these have fewer rounds.
pub(super) const ALL: [Situation; 6] = [
    Situation {
        name: ONE_BY_ONE,
        in_flight: 1,
        calls: Calls::Many(2_000),
        ..USUAL
    },
    USUAL,
    Situation {
        name: MANY_20_MS,
        delay: Duration::from_millis(20),
        calls: Calls::Many(3_200),
        ..USUAL
    },
    Situation {
        name: VERY_MANY,
        in_flight: 10_000,
        delay: Duration::from_secs(1),
        calls: Calls::Many(30_000),
        rounds: 3,
        subjects: &[Native, Rust, Reused],
    },
    Situation {
        name: ALL_OPEN,
        in_flight: 10_000,
        delay: Duration::from_secs(5),
        calls: Calls::AllOpen,
        rounds: 1,
        subjects: &[Native, Rust, Reused, PeerReused],
    },
    Situation {
        name: BATCH,
        delay: Duration::from_millis(50),
        calls: Calls::Batch(1_000),
        subjects: &[Rust, Reused],
        ..USUAL
    },
];

impl Situation {
    /// Returns a situation with few calls, to see that the bench works.
    pub(super) fn shortened(self) -> Self {
        let few = |count: usize| count.min(100);
        Self {
            in_flight: few(self.in_flight),
            delay: self.delay.min(Duration::from_millis(20)),
            calls: match self.calls {
                Calls::Many(calls) => Calls::Many(few(calls)),
                Calls::AllOpen => Calls::AllOpen,
                Calls::Batch(size) => Calls::Batch(few(size)),
            },
            rounds: 1,
            ..self
        }
    }
}

/// The results of a situation.
pub(super) struct Results {
    pub(super) situation: Situation,
    /// The measurement of each round of each subject.
    pub(super) subjects: Vec<(Subject, Vec<Measurement>)>,
}

/// A value of a measurement; NaN if it could not be measured.
pub(super) type Value = fn(&Measurement) -> f64;

impl Results {
    /// Returns the value of each round.
    pub(super) fn values(&self, subject: Subject, value: Value) -> Vec<f64> {
        let mut subjects = self.subjects.iter();
        let rounds = subjects.find(|(other, _)| *other == subject);
        rounds.map_or_else(Vec::new, |(_, rounds)| rounds.iter().map(value).collect())
    }

    pub(super) fn median(&self, subject: Subject, value: Value) -> f64 {
        median(&self.values(subject, value))
    }

    /// Returns the ratio to the other subject in the same round, for each round.
    pub(super) fn ratios(&self, subject: Subject, other: Subject, value: Value) -> Vec<f64> {
        let (of, to) = (self.values(subject, value), self.values(other, value));
        of.iter().zip(to).map(|(of, to)| of / to).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_compare_results_of_the_same_round() {
        let measurement = |calls_per_s| Measurement {
            calls_per_s,
            cpu_us_per_call: 1.0,
            latency_us_p50: 1.0,
            latency_us_p99: 1.0,
            wall_ms: 1.0,
            memory_kib_per_call: None,
        };
        let results = Results {
            situation: USUAL,
            subjects: vec![
                (Native, [100.0, 1000.0, 10.0].map(measurement).into()),
                (Rust, [50.0, 500.0, 6.0].map(measurement).into()),
            ],
        };
        assert_eq!(results.median(Native, |it| it.calls_per_s), 100.0);
        let ratios = results.ratios(Rust, Native, |it| it.calls_per_s);
        assert_eq!(ratios, [0.5, 0.5, 0.6]);
    }
}

//! The situations that are measured: the number of calls in flight, and the delay of the service.

use super::crowd::{Crowd, What};
use super::report::{median, shown, table};
use super::subject::Subject::{self, *};
use comfy_table::Table;

/// A kind of calls, and the subjects that make them.
#[derive(Clone, Copy, Debug)]
pub struct Situation {
    /// The name.
    pub name: &'static str,
    /// The number of calls in flight.
    pub in_flight: usize,
    /// The time that the service takes for each.
    pub delay_ms: u64,
    /// Whether the service is reached over TLS, with HTTP/2.
    pub is_over_tls: bool,
    /// The measurement.
    pub what: What,
    /// The number of rounds.
    pub rounds: usize,
    /// The subjects, the baseline first.
    pub subjects: &'static [Subject],
}

pub(super) const ONE_BY_ONE: &str = "one call after another";
pub(super) const MANY: &str = "64 in flight";
pub(super) const MANY_20_MS: &str = "64 in flight, 20 ms";
pub(super) const CROWD: &str = "10,000 in flight, 1 s";
pub(super) const ALL_OPEN: &str = "10,000 open at once";
pub(super) const BATCH: &str = "batch of 1000 dockets, 64 in flight, 50 ms";

/// The values that most situations share.
const USUAL: Situation = Situation {
    name: MANY,
    in_flight: 64,
    delay_ms: 0,
    is_over_tls: false,
    what: What::Calls(10_000),
    rounds: 5,
    subjects: &[
        Native, Rust, Reused, Fresh, ReusedP3, PeerReused, PeerFresh, Engine,
    ],
};

const BUT_ENGINE: &[Subject] = &[Native, Rust, Reused, Fresh, ReusedP3, PeerReused, PeerFresh];

/// All situations. Longer delays and more calls take longer, so these have fewer rounds.
pub(super) const ALL: [Situation; 8] = [
    Situation {
        name: ONE_BY_ONE,
        in_flight: 1,
        what: What::Calls(2_000),
        subjects: BUT_ENGINE,
        ..USUAL
    },
    USUAL,
    Situation {
        name: MANY_20_MS,
        delay_ms: 20,
        what: What::Calls(3_200),
        subjects: BUT_ENGINE,
        ..USUAL
    },
    Situation {
        name: "64 in flight, TLS",
        is_over_tls: true,
        what: What::Calls(3_000),
        subjects: &[Native, Rust, Fresh, Engine],
        ..USUAL
    },
    Situation {
        name: CROWD,
        in_flight: 10_000,
        delay_ms: 1_000,
        what: What::Calls(30_000),
        rounds: 3,
        subjects: &[Native, Rust, Reused],
        ..USUAL
    },
    Situation {
        name: ALL_OPEN,
        in_flight: 10_000,
        delay_ms: 5_000,
        what: What::AllOpen,
        rounds: 1,
        subjects: &[Native, Rust, Reused, PeerReused],
        ..USUAL
    },
    Situation {
        name: "10,000 open at once, HTTP/2",
        in_flight: 10_000,
        delay_ms: 5_000,
        is_over_tls: true,
        what: What::AllOpen,
        rounds: 1,
        subjects: &[Native, Rust],
    },
    Situation {
        name: BATCH,
        delay_ms: 50,
        what: What::Batch(1_000),
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
            delay_ms: self.delay_ms.min(20),
            what: match self.what {
                What::Calls(calls) => What::Calls(few(calls)),
                What::AllOpen => What::AllOpen,
                What::Batch(size) => What::Batch(few(size)),
            },
            rounds: 1,
            ..self
        }
    }
}

/// A situation with its results.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The situation.
    pub situation: Situation,
    /// A crowd for each round of each subject; none if the situation was left out.
    pub crowds: Vec<(Subject, Vec<Crowd>)>,
    /// The reason why the situation was left out, if it was.
    pub left_out: Option<String>,
}

/// A value of a crowd.
pub(super) type Value = fn(&Crowd) -> Option<f64>;

pub(super) const CALLS_PER_S: Value = |crowd| Some(crowd.calls_per_s);
pub(super) const CPU_US: Value = |crowd| Some(crowd.cpu_us_per_call);
pub(super) const WALL_MS: Value = |crowd| Some(crowd.wall_ms);
pub(super) const MEMORY_KIB: Value = |crowd| crowd.memory_kib_per_call;

impl Measured {
    /// Returns the value of each round in which it was measured.
    pub(super) fn values(&self, subject: Subject, value: Value) -> Vec<f64> {
        let crowds = self.crowds.iter().find(|(other, _)| *other == subject);
        let crowds = crowds.map_or(&[][..], |(_, crowds)| crowds);
        crowds.iter().filter_map(value).collect()
    }

    fn median(&self, subject: Subject, value: Value) -> String {
        match &self.values(subject, value)[..] {
            [] => String::new(),
            values => shown(median(values)),
        }
    }

    /// Returns the ratio to the other subject in the same round, for each round.
    pub(super) fn ratios(&self, subject: Subject, other: Subject, value: Value) -> Vec<f64> {
        let (of, to) = (self.values(subject, value), self.values(other, value));
        of.iter().zip(to).map(|(of, to)| of / to).collect()
    }

    /// Returns the median ratio to the first subject.
    fn times(&self, subject: Subject, value: Value) -> String {
        let first = self.situation.subjects[0];
        let ratios = self.ratios(subject, first, value);
        match subject == first || ratios.is_empty() {
            true => String::new(),
            false => format!("×{}", shown(median(&ratios))),
        }
    }

    /// Returns a table with a line for each subject.
    pub(super) fn table(&self) -> Table {
        let mut table = table([
            self.situation.name,
            "calls/s",
            "",
            "CPU µs a call",
            "",
            "p50 µs",
            "p99 µs",
            "KiB a call",
        ]);
        if let Some(reason) = &self.left_out {
            table.add_row([reason]);
        }
        for (subject, _) in &self.crowds {
            let memory = match self.situation.what {
                What::AllOpen => self.median(*subject, MEMORY_KIB),
                What::Calls(_) | What::Batch(_) => String::new(),
            };
            table.add_row([
                subject.to_string(),
                self.median(*subject, CALLS_PER_S),
                self.times(*subject, CALLS_PER_S),
                self.median(*subject, CPU_US),
                self.times(*subject, CPU_US),
                self.median(*subject, |crowd| Some(crowd.latency_us_p50)),
                self.median(*subject, |crowd| Some(crowd.latency_us_p99)),
                memory,
            ]);
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_made_of_what_belongs_to_the_same_round() {
        let crowd = |calls_per_s| Crowd {
            calls_per_s,
            cpu_us_per_call: 1.0,
            latency_us_p50: 1.0,
            latency_us_p99: 1.0,
            wall_ms: 1.0,
            memory_kib_per_call: None,
        };
        let measured = Measured {
            situation: USUAL,
            crowds: vec![
                (Native, [100.0, 1000.0, 10.0].map(crowd).into()),
                (Rust, [50.0, 500.0, 6.0].map(crowd).into()),
            ],
            left_out: None,
        };
        assert_eq!(measured.median(Native, CALLS_PER_S), "100");
        assert_eq!(measured.times(Rust, CALLS_PER_S), "×0.500");
        assert_eq!(measured.median(Rust, MEMORY_KIB), "");
    }
}

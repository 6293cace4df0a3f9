//! What is claimed of the measurements: how one subject compares with another.

use super::number::{median, shown};
use super::situation::{
    ALL_OPEN, BATCH, CALLS_PER_S, CPU_US, CROWD, MANY, MANY_20_MS, MEMORY_KIB, Measured,
    ONE_BY_ONE, Value, WALL_MS,
};
use super::subject::Subject::{self, *};
use serde::Serialize;
use std::fmt;

/// What a figure should be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// So much or more.
    AtLeast(f64),
    /// So much or less.
    AtMost(f64),
}

impl Goal {
    fn is_met(self, value: f64) -> bool {
        match self {
            Goal::AtLeast(limit) => value >= limit,
            Goal::AtMost(limit) => value <= limit,
        }
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Goal::AtLeast(limit) => write!(formatter, "≥ {}", shown(*limit)),
            Goal::AtMost(limit) => write!(formatter, "≤ {}", shown(*limit)),
        }
    }
}

/// A claim, before it is measured.
pub(super) struct Claim {
    title: &'static str,
    situation: &'static str,
    value: Value,
    subject: Subject,
    baseline: Baseline,
    goal: Goal,
}

/// What a subject is compared with, in the same round.
#[derive(Clone, Copy)]
enum Baseline {
    /// How many times the other's.
    Times(Subject),
    /// How much more than the other's.
    Beyond(Subject),
    /// How many times a number with a name.
    TimesThat(f64, &'static str),
}

/// What the delay of the service alone takes of a batch: 1000 dockets, 64 at a time, 50 ms each.
const BATCH_FLOOR: Baseline = Baseline::TimesThat(16.0 * 50.0, "the service's delay alone");

/// All that is claimed.
pub(super) const CLAIMS: [Claim; 9] = [
    Claim {
        title: "rust: calls/s, 64 in flight",
        situation: MANY,
        value: CALLS_PER_S,
        subject: Rust,
        baseline: Baseline::Times(Native),
        goal: Goal::AtLeast(0.9),
    },
    Claim {
        title: "rust: CPU per call, 64 in flight",
        situation: MANY,
        value: CPU_US,
        subject: Rust,
        baseline: Baseline::Times(Native),
        goal: Goal::AtMost(1.3),
    },
    Claim {
        title: "rust: CPU per call, one call after another",
        situation: ONE_BY_ONE,
        value: CPU_US,
        subject: Rust,
        baseline: Baseline::Times(Native),
        goal: Goal::AtMost(1.3),
    },
    Claim {
        title: "rust: calls/s, 64 in flight, 20 ms",
        situation: MANY_20_MS,
        value: CALLS_PER_S,
        subject: Rust,
        baseline: Baseline::Times(Native),
        goal: Goal::AtLeast(0.99),
    },
    Claim {
        title: "rust: calls/s, 10,000 in flight, 1 s",
        situation: CROWD,
        value: CALLS_PER_S,
        subject: Rust,
        baseline: Baseline::Times(Native),
        goal: Goal::AtLeast(0.97),
    },
    Claim {
        title: "rust: KiB a call, 10,000 open at once",
        situation: ALL_OPEN,
        value: MEMORY_KIB,
        subject: Rust,
        baseline: Baseline::Beyond(Native),
        goal: Goal::AtMost(2.0),
    },
    Claim {
        title: "rust: time of a batch of 1000 dockets, 50 ms",
        situation: BATCH,
        value: WALL_MS,
        subject: Rust,
        baseline: BATCH_FLOOR,
        goal: Goal::AtMost(1.05),
    },
    Claim {
        title: "0.2, fresh: CPU per call, 64 in flight",
        situation: MANY,
        value: CPU_US,
        subject: Fresh,
        baseline: Baseline::Times(PeerFresh),
        goal: Goal::AtMost(0.7),
    },
    Claim {
        title: "0.2, reused: CPU per call, 64 in flight",
        situation: MANY,
        value: CPU_US,
        subject: Reused,
        baseline: Baseline::Times(PeerReused),
        goal: Goal::AtMost(1.0),
    },
];

impl Claim {
    /// What came of it; none where it could not be measured.
    pub(super) fn figure(&self, measured: &[Measured]) -> Option<Figure> {
        let measured = measured
            .iter()
            .find(|measured| measured.situation.name == self.situation)?;
        let values = measured.values(self.subject, self.value);
        let others = |other| measured.values(other, self.value);
        let pairs = |other| values.iter().copied().zip(others(other));
        let (rounds, baseline): (Vec<f64>, _) = match self.baseline {
            Baseline::Times(other) => (
                pairs(other).map(|(of, to)| of / to).collect(),
                format!("× {other}"),
            ),
            Baseline::Beyond(other) => (
                pairs(other).map(|(of, to)| of - to).collect(),
                format!("beyond {other}"),
            ),
            Baseline::TimesThat(that, name) => {
                let times = values.iter().map(|of| of / that);
                (times.collect(), format!("× {name}"))
            }
        };
        (!rounds.is_empty()).then(|| Figure::new(self.title, baseline, self.goal, rounds))
    }

    pub(super) fn title(&self) -> &'static str {
        self.title
    }
}

/// A claim that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    /// What was measured.
    pub title: &'static str,
    /// What it is compared to, measured in the same round.
    pub baseline: String,
    /// What it should be.
    pub goal: Goal,
    /// One value for each round.
    pub rounds: Vec<f64>,
    /// The one in the middle.
    pub median: f64,
    /// The lowest.
    pub lowest: f64,
    /// The highest.
    pub highest: f64,
}

impl Figure {
    fn new(title: &'static str, baseline: String, goal: Goal, rounds: Vec<f64>) -> Self {
        let mut sorted = rounds.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
        Self {
            title,
            baseline,
            goal,
            median: median(&rounds),
            lowest: at(0),
            highest: at(sorted.len().saturating_sub(1)),
            rounds,
        }
    }

    /// Whether the median is what it should be.
    pub fn is_met(&self) -> bool {
        self.goal.is_met(self.median)
    }

    pub(super) fn cells(&self) -> [String; 6] {
        let mark = match self.is_met() {
            true => "✓",
            false => "✗",
        };
        [
            mark.to_owned(),
            self.title.to_owned(),
            self.baseline.clone(),
            shown(self.median),
            match self.rounds.len() {
                1 => String::new(),
                _ => format!("{} … {}", shown(self.lowest), shown(self.highest)),
            },
            self.goal.to_string(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::situation;

    #[test]
    fn a_goal_is_met_on_its_side_of_the_limit() {
        let is_met = |value, goal| Figure::new("", String::new(), goal, vec![value]).is_met();
        assert!(is_met(0.8, Goal::AtLeast(0.8)));
        assert!(!is_met(0.79, Goal::AtLeast(0.8)));
        assert!(is_met(5.0, Goal::AtMost(5.0)));
        assert!(!is_met(5.1, Goal::AtMost(5.0)));
        assert!(!is_met(f64::NAN, Goal::AtMost(5.0)));
    }

    #[test]
    fn who_is_in_a_claim_is_measured_in_its_situation() {
        for claim in CLAIMS {
            let measured = situation::ALL.iter().find(|it| it.name == claim.situation);
            let subjects = measured.expect(claim.title).subjects;
            assert!(subjects.contains(&claim.subject), "{}", claim.title);
            if let Baseline::Times(other) | Baseline::Beyond(other) = claim.baseline {
                assert!(subjects.contains(&other), "{}", claim.title);
            }
        }
    }

    #[test]
    fn figures_are_shown_with_three_digits() {
        for (value, text) in [
            (0.0349, "0.035"),
            (1.0, "1.00"),
            (12.34, "12.3"),
            (45_678.9, "45679"),
        ] {
            assert_eq!(shown(value), text);
        }
    }
}

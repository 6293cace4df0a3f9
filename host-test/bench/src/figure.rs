//! Claims about the measurements: how one subject compares with another.

use super::report::{median, shown};
use super::situation::{
    ALL_OPEN, BATCH, CALLS_PER_S, CPU_US, CROWD, MANY, MANY_20_MS, MEMORY_KIB, Measured,
    ONE_BY_ONE, Value, WALL_MS,
};
use super::subject::Subject::{self, *};

/// The goal of a figure.
#[derive(Clone, Copy)]
enum Goal {
    /// This value or more.
    AtLeast(f64),
    /// This value or less.
    AtMost(f64),
}

use Goal::{AtLeast, AtMost};

/// The baseline of a comparison, from the same round.
#[derive(Clone, Copy)]
enum Baseline {
    /// The ratio to the other's value.
    Times(Subject),
    /// The difference to the other's value.
    Beyond(Subject),
    /// The ratio to the time that the service's delay alone takes for a batch.
    TimesTheDelay,
}

use Baseline::{Beyond, Times, TimesTheDelay};

/// 1000 dockets, 64 at a time, 50 ms each.
const BATCH_DELAY_MS: f64 = 16.0 * 50.0;

/// A claim, before it is measured.
pub(super) struct Claim {
    subject: Subject,
    value: (&'static str, Value),
    situation: &'static str,
    baseline: Baseline,
    goal: Goal,
}

const CALLS: (&str, Value) = ("calls/s", CALLS_PER_S);
const CPU: (&str, Value) = ("CPU per call", CPU_US);
const MEMORY: (&str, Value) = ("KiB a call", MEMORY_KIB);
const TIME: (&str, Value) = ("time", WALL_MS);

/// All claims.
pub(super) const CLAIMS: [Claim; 9] = [
    claim(Rust, CALLS, MANY, Times(Native), AtLeast(0.9)),
    claim(Rust, CPU, MANY, Times(Native), AtMost(1.3)),
    claim(Rust, CPU, ONE_BY_ONE, Times(Native), AtMost(1.3)),
    claim(Rust, CALLS, MANY_20_MS, Times(Native), AtLeast(0.99)),
    claim(Rust, CALLS, CROWD, Times(Native), AtLeast(0.97)),
    claim(Rust, MEMORY, ALL_OPEN, Beyond(Native), AtMost(2.0)),
    claim(Rust, TIME, BATCH, TimesTheDelay, AtMost(1.05)),
    claim(Fresh, CPU, MANY, Times(PeerFresh), AtMost(0.7)),
    claim(Reused, CPU, MANY, Times(PeerReused), AtMost(1.0)),
];

const fn claim(
    subject: Subject,
    value: (&'static str, Value),
    situation: &'static str,
    baseline: Baseline,
    goal: Goal,
) -> Claim {
    Claim {
        subject,
        value,
        situation,
        baseline,
        goal,
    }
}

impl Claim {
    pub(super) fn title(&self) -> String {
        format!("{}: {}, {}", self.subject, self.value.0, self.situation)
    }

    /// Returns the claim's line in the table: whether the median of the rounds meets the goal, and
    /// its value. Returns `None` if it could not be measured.
    pub(super) fn cells(&self, measured: &[Measured]) -> Option<[String; 6]> {
        let measured = measured
            .iter()
            .find(|measured| measured.situation.name == self.situation)?;
        let value = self.value.1;
        let values = measured.values(self.subject, value);
        let (mut rounds, baseline): (Vec<f64>, _) = match self.baseline {
            Times(other) => (
                measured.ratios(self.subject, other, value),
                format!("× {other}"),
            ),
            Beyond(other) => {
                let pairs = values.iter().zip(measured.values(other, value));
                let beyond = pairs.map(|(of, to)| of - to).collect();
                (beyond, format!("beyond {other}"))
            }
            TimesTheDelay => (
                values.iter().map(|of| of / BATCH_DELAY_MS).collect(),
                "× the service's delay alone".to_owned(),
            ),
        };
        rounds.sort_by(f64::total_cmp);
        let (lowest, highest) = (rounds.first()?, rounds.last()?);
        let median = median(&rounds);
        let (is_met, goal) = match self.goal {
            AtLeast(limit) => (median >= limit, format!("≥ {}", shown(limit))),
            AtMost(limit) => (median <= limit, format!("≤ {}", shown(limit))),
        };
        let spread = match rounds.len() {
            1 => String::new(),
            _ => format!("{} … {}", shown(*lowest), shown(*highest)),
        };
        let mark = if is_met { "✓" } else { "✗" };
        Some([
            mark.to_owned(),
            self.title(),
            baseline,
            shown(median),
            spread,
            goal,
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::situation;

    #[test]
    fn who_is_in_a_claim_is_measured_in_its_situation() {
        for claim in CLAIMS {
            let measured = situation::ALL.iter().find(|it| it.name == claim.situation);
            let subjects = measured.expect(claim.situation).subjects;
            assert!(subjects.contains(&claim.subject), "{}", claim.title());
            if let Times(other) | Beyond(other) = claim.baseline {
                assert!(subjects.contains(&other), "{}", claim.title());
            }
        }
    }
}

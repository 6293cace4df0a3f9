//! Every subject with so many calls in flight and a service that takes so long, and what came
//! of it.

use super::crowd::{Crowd, Who};
use super::figure::{median, shown};
use super::report::table;
use comfy_table::Table;
use serde::Serialize;

/// How long a load should take that waits for the service most of the time. Unit: ms.
const WAITING_MS: u64 = 2_000;

/// No less than this where the machine is what one waits for.
const CALLS: usize = 20_000;

/// How often each place in flight is taken at least, so that beginning and end are not all
/// there is.
const TURNS: usize = 3;

/// So many calls in flight, each of which the service answers after such a delay.
#[derive(Clone, Debug, Serialize)]
pub struct Situation {
    /// How long the service takes.
    pub delay_ms: u64,
    /// How many calls are open at once.
    pub in_flight: usize,
    /// What came of it for each subject.
    pub outcomes: Vec<(Who, Outcome)>,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// A crowd for each round.
    Measured(Vec<Crowd>),
    /// It cannot be had on this machine, and why.
    LeftOut(String),
}

/// Something of a crowd that is looked at.
type Value = fn(&Crowd) -> f64;

/// How many calls tell how many there are in a second.
pub(super) fn calls(in_flight: usize, delay_ms: u64) -> usize {
    let most = CALLS.max(TURNS * in_flight);
    let Some(turns) = WAITING_MS.checked_div(delay_ms) else {
        return most;
    };
    most.min(in_flight * TURNS.max(turns as usize))
}

impl Situation {
    fn crowds(&self, who: Who) -> &[Crowd] {
        self.outcomes
            .iter()
            .find_map(|(other, outcome)| match outcome {
                Outcome::Measured(crowds) if *other == who => Some(crowds.as_slice()),
                _ => None,
            })
            .unwrap_or_default()
    }

    /// One for each round.
    pub(super) fn values(&self, who: Who, value: Value) -> Vec<f64> {
        self.crowds(who).iter().map(value).collect()
    }

    /// The median, where there is one.
    pub(super) fn median(&self, who: Who, value: Value) -> Option<f64> {
        let values = self.values(who, value);
        (!values.is_empty()).then(|| median(&values))
    }

    /// To the native client in the same round; the median.
    fn ratio(&self, who: Who, value: Value) -> Option<f64> {
        let pairs = self.crowds(who).iter().zip(self.crowds(Who::Native));
        let ratios: Vec<_> = pairs.map(|(of, to)| value(of) / value(to)).collect();
        (!ratios.is_empty()).then(|| median(&ratios))
    }

    fn name(&self) -> String {
        let delay = match self.delay_ms {
            0 => "no delay".to_owned(),
            delay_ms => format!("{delay_ms} ms"),
        };
        format!("{delay}, {} in flight", self.in_flight)
    }

    /// A value, and beside it how many times that of the native client it is.
    fn cell(&self, who: Who, value: Value) -> String {
        match self.outcomes.iter().find(|(other, _)| *other == who) {
            Some((_, Outcome::LeftOut(reason))) => reason.clone(),
            _ => match (self.median(who, value), self.ratio(who, value)) {
                (None, _) => String::new(),
                (Some(median), Some(ratio)) if who != Who::Native => {
                    format!("{} (×{})", shown(median), shown(ratio))
                }
                (Some(median), _) => shown(median),
            },
        }
    }
}

/// Calls per second and CPU of all subjects, a table for each.
pub(super) fn tables(situations: &[Situation]) -> Vec<Table> {
    let values: [(&str, Value); 2] = [
        ("calls/s", |crowd| crowd.calls_per_s),
        ("CPU µs per call", |crowd| crowd.cpu_us_per_call),
    ];
    let of_value = |(title, value): (&str, Value)| {
        let names = Who::ALL.map(|who| who.to_string());
        let mut table = table(std::iter::once(title.to_owned()).chain(names));
        for situation in situations {
            let cells = Who::ALL.map(|who| situation.cell(who, value));
            table.add_row(std::iter::once(situation.name()).chain(cells));
        }
        table
    };
    match situations {
        [] => Vec::new(),
        _ => values.map(of_value).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crowd(calls_per_s: f64) -> Crowd {
        Crowd {
            memory_bytes_per_call: Some(2048.0),
            linear_memory_bytes_per_call: None,
            opening_s: 1.0,
            calls_per_s,
            cpu_us_per_call: 1.0,
        }
    }

    fn situation(outcomes: Vec<(Who, Outcome)>) -> Situation {
        Situation {
            delay_ms: 1_000,
            in_flight: 10_000,
            outcomes,
        }
    }

    const RATE: Value = |crowd| crowd.calls_per_s;

    #[test]
    fn loads_take_seconds_and_every_place_is_taken_three_times() {
        for (in_flight, delay_ms, expected) in [
            (64, 0, 20_000),
            (10_000, 0, 30_000),
            (64, 20, 6_400),
            (1_000, 20, 20_000),
            (64, 1_000, 192),
            (10_000, 1_000, 30_000),
        ] {
            assert_eq!(
                calls(in_flight, delay_ms),
                expected,
                "{in_flight}, {delay_ms} ms"
            );
        }
    }

    #[test]
    fn a_ratio_is_made_of_what_belongs_to_the_same_round() {
        let situation = situation(vec![
            (
                Who::Native,
                Outcome::Measured([100.0, 1000.0, 10.0].map(crowd).into()),
            ),
            (
                Who::Shared,
                Outcome::Measured([50.0, 500.0, 6.0].map(crowd).into()),
            ),
        ]);
        assert_eq!(situation.cell(Who::Native, RATE), "100");
        assert_eq!(situation.cell(Who::Shared, RATE), "50.0 (×0.500)");
    }

    #[test]
    fn what_is_left_out_stands_in_the_table_with_its_reason() {
        let situation = situation(vec![
            (Who::Native, Outcome::Measured(vec![crowd(100.0)])),
            (Who::Fresh, Outcome::LeftOut("left out: no room".to_owned())),
        ]);
        let tables = tables(&[situation]);
        assert_eq!(tables.len(), 2);
        for table in tables {
            assert!(table.to_string().contains("left out: no room"), "{table}");
        }
    }
}

//! The figures, as a table of docs/speed.md.

use super::load::Measurement;
use super::subject::Subject;

/// The measurement of each round of each subject in a situation, the baseline first.
pub(super) struct Results {
    pub(super) situation: &'static str,
    pub(super) rounds: Vec<(Subject, Vec<Measurement>)>,
}

/// A value of a measurement.
pub(super) type Value = fn(&Measurement) -> f64;

pub(super) const CALLS: Value = |it| it.calls_per_s;
pub(super) const CPU: Value = |it| it.cpu_us_per_call;

impl Results {
    fn of(&self, subject: Subject) -> &[Measurement] {
        let found = self.rounds.iter().find(|(of, _)| *of == subject);
        found.map_or(&[], |(_, rounds)| rounds)
    }

    /// Returns the median of the ratios to another subject in the same round.
    pub(super) fn ratio(&self, of: Subject, to: Subject, value: Value) -> f64 {
        let rounds = self.of(of).iter().zip(self.of(to));
        median(rounds.map(|(of, to)| value(of) / value(to)).collect())
    }
}

/// Returns what a call of each subject costs in each situation, in Markdown.
pub(super) fn table(measured: &[Results]) -> String {
    let (mut head, mut line) = ("| CPU µs a call |".to_owned(), "|---|".to_owned());
    let baseline = measured[0].rounds[0].0;
    for Results { situation, .. } in measured {
        head += &format!(" {situation} | × {baseline} |");
        line += "---|---|";
    }
    let mut table = format!("{head}\n{line}\n");
    for (subject, _) in &measured[0].rounds {
        table += &format!("| {subject} |");
        for results in measured {
            let cpu = median(results.of(*subject).iter().map(CPU).collect());
            let times = match *subject == baseline {
                true => String::new(),
                false => shown(results.ratio(*subject, baseline, CPU)),
            };
            table += &format!(" {} | {times} |", shown(cpu));
        }
        table += "\n";
    }
    table + "\n"
}

/// Returns the median of an odd number of values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Formats three significant digits, and all digits before the point.
pub(super) fn shown(value: f64) -> String {
    let digits = match value.abs() {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_medians_and_ratios_compare_results_of_the_same_round() {
        let measurement = |cpu_us_per_call| Measurement {
            calls_per_s: 1.0,
            cpu_us_per_call,
        };
        let rounds = |values: [f64; 3]| values.map(measurement).into();
        let results = Results {
            situation: "64 in flight",
            rounds: vec![
                (Subject::Native, rounds([100.0, 1000.0, 10.0])),
                (Subject::Rust, rounds([50.0, 500.0, 6.0])),
            ],
        };
        let table = table(&[results]);
        let expected = [
            "| CPU µs a call | 64 in flight | × native |",
            "|---|---|---|",
            "| native | 100 |  |",
            "| rust | 50.0 | 0.500 |",
            "",
        ];
        assert_eq!(table.lines().collect::<Vec<_>>(), expected);
    }
}

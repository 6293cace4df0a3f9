//! The tables of docs/speed.md.

use super::load::Measurement;
use super::subject::Subject;

/// The measurement of each round of each subject, the baseline first.
pub(super) struct Results(pub(super) Vec<(Subject, Vec<Measurement>)>);

/// A value of a measurement.
pub(super) type Value = fn(&Measurement) -> f64;

pub(super) const CALLS: Value = |it| it.calls_per_s;
pub(super) const CPU: Value = |it| it.cpu_us_per_call;
const P50: Value = |it| it.latency_us_p50;
const P99: Value = |it| it.latency_us_p99;

impl Results {
    fn rounds(&self, of: Subject) -> &[Measurement] {
        let found = self.0.iter().find(|(subject, _)| *subject == of);
        found.map_or(&[], |(_, rounds)| rounds)
    }

    /// Returns the median over the rounds.
    fn median(&self, of: Subject, value: Value) -> f64 {
        median(self.rounds(of).iter().map(value).collect())
    }

    /// Returns the median of the ratios to another subject in the same round.
    pub(super) fn ratio(&self, of: Subject, to: Subject, value: Value) -> f64 {
        let rounds = self.rounds(of).iter().zip(self.rounds(to));
        median(rounds.map(|(of, to)| value(of) / value(to)).collect())
    }
}

/// Returns a situation's table in Markdown.
pub(super) fn table(situation: &str, results: &Results) -> String {
    let baseline = results.0[0].0;
    let mut table = format!(
        "| {situation} | calls/s | × {baseline} | CPU µs a call | × {baseline} | p50 µs | p99 µs |\n\
         |---|---|---|---|---|---|---|\n"
    );
    for (subject, _) in &results.0 {
        let value = |value| shown(results.median(*subject, value));
        let times = |value| match *subject == baseline {
            true => String::new(),
            false => shown(results.ratio(*subject, baseline, value)),
        };
        table.push_str(&format!(
            "| {subject} | {} | {} | {} | {} | {} | {} |\n",
            value(CALLS),
            times(CALLS),
            value(CPU),
            times(CPU),
            value(P50),
            value(P99),
        ));
    }
    table + "\n"
}

/// Returns the median; NaN if there are no values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let (below, above) = (values.len().saturating_sub(1) / 2, values.len() / 2);
    match (values.get(below), values.get(above)) {
        (Some(below), Some(above)) => (below + above) / 2.0,
        _ => f64::NAN,
    }
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
        let measurement = |calls_per_s| Measurement {
            calls_per_s,
            cpu_us_per_call: 1.0,
            latency_us_p50: 1.0,
            latency_us_p99: 1.0,
        };
        let results = Results(vec![
            (
                Subject::Native,
                [100.0, 1000.0, 10.0].map(measurement).into(),
            ),
            (Subject::Rust, [50.0, 500.0, 6.0].map(measurement).into()),
        ]);
        let table = table("64 in flight", &results);
        let rows: Vec<_> = table.lines().skip(2).collect();
        let expected = [
            "| native | 100 |  | 1.00 |  | 1.00 | 1.00 |",
            "| rust | 50.0 | 0.500 | 1.00 | 1.00 | 1.00 | 1.00 |",
            "",
        ];
        assert_eq!(rows, expected);
    }
}

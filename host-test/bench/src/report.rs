//! The report of a bench, in the tables of docs/speed.md.

use super::load::Calls;
use super::situation::{ALL_OPEN, BATCH, MANY, MANY_20_MS, ONE_BY_ONE, Results, VERY_MANY, Value};
use super::subject::Subject::{self, *};
use rustix::system::uname;
use std::env::consts::{ARCH, OS};
use std::fmt::{self, Display, Formatter};
use std::thread::available_parallelism;

/// The results of all measurements.
pub(super) struct Report {
    pub(super) is_short: bool,
    pub(super) results: Vec<Results>,
}

/// How a subject's value in a situation is to compare with a baseline of the same rounds.
struct Goal(Subject, Named, &'static str, Baseline, Limit);

type Named = (&'static str, Value);

enum Baseline {
    /// The ratio to the other's value.
    Times(Subject),
    /// The difference to the other's value.
    Beyond(Subject),
    /// The ratio to the time that the service's delay alone takes for a batch.
    TimesTheDelay,
}

enum Limit {
    AtLeast(f64),
    AtMost(f64),
}

use Baseline::{Beyond, Times, TimesTheDelay};
use Limit::{AtLeast, AtMost};

/// 1000 dockets, 64 at a time, 50 ms each.
const BATCH_DELAY_MS: f64 = 16.0 * 50.0;

const CALLS: Named = ("calls/s", |it| it.calls_per_s);
const CPU: Named = ("CPU per call", |it| it.cpu_us_per_call);
const MEMORY: Named = ("KiB a call", |it| {
    it.memory_kib_per_call.unwrap_or(f64::NAN)
});
const TIME: Named = ("time", |it| it.wall_ms);

const GOALS: [Goal; 9] = [
    Goal(Rust, CALLS, MANY, Times(Native), AtLeast(0.9)),
    Goal(Rust, CPU, MANY, Times(Native), AtMost(1.3)),
    Goal(Rust, CPU, ONE_BY_ONE, Times(Native), AtMost(1.3)),
    Goal(Rust, CALLS, MANY_20_MS, Times(Native), AtLeast(0.99)),
    Goal(Rust, CALLS, VERY_MANY, Times(Native), AtLeast(0.97)),
    Goal(Rust, MEMORY, ALL_OPEN, Beyond(Native), AtMost(2.0)),
    Goal(Rust, TIME, BATCH, TimesTheDelay, AtMost(1.05)),
    Goal(Fresh, CPU, MANY, Times(PeerFresh), AtMost(0.7)),
    Goal(Reused, CPU, MANY, Times(PeerReused), AtMost(1.0)),
];

impl Goal {
    /// Returns the goal's line: whether the median of the rounds meets it, and its value.
    fn row(&self, results: &[Results]) -> [String; 6] {
        let Self(subject, (name, value), situation, baseline, limit) = self;
        let mut of_situation = results.iter();
        let results = of_situation.find(|it| it.situation.name == *situation);
        let results = results.expect("every situation is measured");
        let values = results.values(*subject, *value);
        let (mut rounds, baseline): (Vec<f64>, _) = match baseline {
            Times(other) => (
                results.ratios(*subject, *other, *value),
                format!("× {other}"),
            ),
            Beyond(other) => {
                let pairs = values.iter().zip(results.values(*other, *value));
                let beyond = pairs.map(|(of, to)| of - to).collect();
                (beyond, format!("beyond {other}"))
            }
            TimesTheDelay => (
                values.iter().map(|of| of / BATCH_DELAY_MS).collect(),
                "× the service's delay alone".to_owned(),
            ),
        };
        rounds.sort_by(f64::total_cmp);
        let median = median(&rounds);
        let (is_met, limit) = match limit {
            AtLeast(limit) => (median >= *limit, format!("≥ {}", shown(*limit))),
            AtMost(limit) => (median <= *limit, format!("≤ {}", shown(*limit))),
        };
        let spread = match &rounds[..] {
            [lowest, .., highest] => format!("{} … {}", shown(*lowest), shown(*highest)),
            _ => String::new(),
        };
        [
            if is_met { "met" } else { "missed" }.to_owned(),
            format!("{subject}: {name}, {situation}"),
            baseline,
            shown(median),
            spread,
            limit,
        ]
    }
}

impl Results {
    /// Returns the lines of the subjects. Ratios are those to the first one.
    fn rows(&self) -> Vec<[String; 8]> {
        let first = self.situation.subjects[0];
        let row = |subject: Subject| {
            let value = |(_, value): Named| shown(self.median(subject, value));
            let times = |(_, value): Named| match subject == first {
                true => String::new(),
                false => shown(median(&self.ratios(subject, first, value))),
            };
            let memory = match self.situation.calls {
                Calls::AllOpen => value(MEMORY),
                Calls::Many(_) | Calls::Batch(_) => String::new(),
            };
            [
                subject.to_string(),
                value(CALLS),
                times(CALLS),
                value(CPU),
                times(CPU),
                value(("p50 µs", |it| it.latency_us_p50)),
                value(("p99 µs", |it| it.latency_us_p99)),
                memory,
            ]
        };
        self.situation.subjects.iter().map(|it| row(*it)).collect()
    }
}

impl Display for Report {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}\n", machine())?;
        let goals = GOALS.iter().map(|goal| goal.row(&self.results));
        let header = ["", "goal", "compared with", "median", "spread", "wanted"];
        table(formatter, header, goals)?;
        for results in &self.results {
            let times = format!("× {}", results.situation.subjects[0]);
            let header = [
                results.situation.name,
                "calls/s",
                &times,
                "CPU µs a call",
                &times,
                "p50 µs",
                "p99 µs",
                "KiB a call",
            ];
            table(formatter, header, results.rows())?;
        }
        match self.is_short {
            true => writeln!(formatter, "short form: these figures are not meaningful"),
            false => Ok(()),
        }
    }
}

/// Writes a table in Markdown.
fn table<const COLUMNS: usize>(
    formatter: &mut Formatter<'_>,
    header: [&str; COLUMNS],
    rows: impl IntoIterator<Item = [String; COLUMNS]>,
) -> fmt::Result {
    writeln!(formatter, "| {} |", header.join(" | "))?;
    writeln!(formatter, "|{}", "---|".repeat(COLUMNS))?;
    for row in rows {
        writeln!(formatter, "| {} |", row.join(" | "))?;
    }
    writeln!(formatter)
}

/// Describes the machine, as far as it matters.
fn machine() -> String {
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut named = processors.lines().filter_map(|line| line.split_once(':'));
    let model = named.find(|(name, _)| name.trim() == "model name");
    let processor = model.map_or(ARCH, |(_, model)| model.trim());
    let cores = available_parallelism().map_or(1, usize::from);
    let kernel = uname().release().to_string_lossy().into_owned();
    let without = match cfg!(debug_assertions) {
        true => ", WITHOUT OPTIMIZATIONS",
        false => "",
    };
    format!("{processor}, {cores} cores, {OS} {kernel}{without}")
}

/// Returns the median; NaN if there are no values.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (below, above) = (sorted.len().saturating_sub(1) / 2, sorted.len() / 2);
    match (sorted.get(below), sorted.get(above)) {
        (Some(below), Some(above)) => (below + above) / 2.0,
        _ => f64::NAN,
    }
}

/// Formats three significant digits, and all digits before the point.
fn shown(value: f64) -> String {
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
    fn the_median_is_in_the_middle_whatever_the_order() {
        let values = [4.0, 1.0, 2.0, 3.0];
        assert_eq!((median(&values[1..]), median(&values)), (2.0, 2.5));
    }

    #[test]
    fn figures_are_shown_with_three_digits() {
        let values = [0.0349, 1.0, 12.34, 45_678.9].map(shown);
        assert_eq!(values, ["0.035", "1.00", "12.3", "45679"]);
    }
}

//! What a bench found, for people and for machines.

use super::figure::{Figure, shown};
use super::load::Taken;
use super::machine::Machine;
use super::plot;
use super::situation::{self, Situation};
use anyhow::Result;
use comfy_table::{Cell, ContentArrangement, Table, presets::UTF8_FULL_CONDENSED};
use serde::Serialize;
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// All that was measured.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Where.
    pub machine: Machine,
    /// Whether it was the short form, whose figures say nothing.
    pub is_short: bool,
    /// Ratios and sizes.
    pub figures: Vec<Figure>,
    /// Figures that were not measured, and why.
    pub left_out: Vec<String>,
    /// What they were made of.
    pub measures: Vec<Measure>,
    /// What a call costs, by how many are in flight.
    pub in_flight: Vec<Growth>,
    /// What a docket of a batch costs, by the size of the batch.
    pub batches: Vec<Growth>,
    /// All subjects, by calls in flight and the service's delay.
    pub situations: Vec<Situation>,
    /// That for WASI 0.2, and that for WASI 0.3.
    pub components: Vec<Built>,
}

/// One subject under one load, over all rounds.
#[derive(Debug, Serialize)]
pub struct Measure {
    /// Who called, and how.
    pub subject: String,
    /// Calls in each second; the median of the rounds.
    pub calls_per_s: f64,
    /// Of the calling process, in the kernel too; the median of the rounds.
    pub cpu_us_per_call: f64,
    /// Half of the calls took so long or less. Unit: microseconds.
    pub latency_us_p50: f64,
    /// 99 of 100 calls.
    pub latency_us_p99: f64,
    /// All of them, in order, of all rounds.
    #[serde(skip)]
    pub latencies: Vec<Duration>,
}

impl Measure {
    pub(super) fn new(subject: impl Into<String>, rounds: &[Taken]) -> Self {
        let of = |value: fn(&Taken) -> f64| {
            super::figure::median(&rounds.iter().map(value).collect::<Vec<_>>())
        };
        let taken = rounds.iter().flat_map(|taken| &taken.latencies);
        let mut latencies: Vec<Duration> = taken.copied().collect();
        latencies.sort();
        Self {
            subject: subject.into(),
            calls_per_s: of(Taken::calls_per_s),
            cpu_us_per_call: of(Taken::cpu_us_per_call),
            latency_us_p50: percentile_us(&latencies, 50),
            latency_us_p99: percentile_us(&latencies, 99),
            latencies,
        }
    }
}

/// Of latencies in order. Unit: microseconds.
pub(super) fn percentile_us(sorted: &[Duration], percent: usize) -> f64 {
    let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
    sorted
        .get(index)
        .map_or(f64::NAN, |it| it.as_secs_f64() * 1e6)
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Growth {
    /// How many at once.
    pub size: usize,
    /// Of the component. Unit: microseconds of CPU.
    pub cpu_us: f64,
    /// Of the native client, where there is one to compare with.
    pub native_cpu_us: Option<f64>,
    /// How long it took, as a multiple of what the service's delay alone would take.
    pub times_the_floor: f64,
}

/// A component: its size, and what comes before its first answer.
#[derive(Clone, Debug, Serialize)]
pub struct Built {
    /// Which WASI it is for.
    pub wasi: String,
    /// Its size.
    pub kb: f64,
    /// The same, compressed.
    pub gzip_kb: f64,
    /// How long it takes to compile it.
    pub compile_ms: f64,
    /// How long it takes to read what was compiled.
    pub load_ms: f64,
    /// From there to the first answer: an instance, a connection, a call.
    pub answer_ms: f64,
}

impl Report {
    /// Draws the distribution of latencies, the growth of costs, and the calls per second of
    /// all subjects by calls in flight, as SVG, into a folder.
    pub fn draw(&self, folder: &Path) -> Result<()> {
        plot::draw(self, folder)
    }

    /// Adds a figure, or why it has no values.
    pub(super) fn add_or_leave_out(&mut self, figure: Figure, reason: &str) {
        match figure.rounds.is_empty() {
            true => self.left_out.push(format!("{}: {reason}", figure.title)),
            false => self.figures.push(figure),
        }
    }
}

pub(super) fn table(header: impl IntoIterator<Item = impl Into<Cell>>) -> Table {
    let mut table = Table::new();
    table
        .load_preset(UTF8_FULL_CONDENSED)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header);
    table
}

fn growth(title: &'static str, points: &[Growth]) -> Table {
    let mut growth = table([title, "CPU µs each", "native", "time ÷ floor"]);
    for point in points {
        growth.add_row([
            point.size.to_string(),
            shown(point.cpu_us),
            point.native_cpu_us.map_or_else(String::new, shown),
            shown(point.times_the_floor),
        ]);
    }
    growth
}

fn components(components: &[Built]) -> Table {
    let mut built = table([
        "component for",
        "KB",
        "KB, gzip",
        "compiled in ms",
        "read in ms",
        "first answer after ms",
    ]);
    for component in components {
        built.add_row([
            component.wasi.clone(),
            shown(component.kb),
            shown(component.gzip_kb),
            shown(component.compile_ms),
            shown(component.load_ms),
            shown(component.answer_ms),
        ]);
    }
    built
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut figures = table(["", "figure", "median", "spread", "goal", "baseline"]);
        for figure in &self.figures {
            figures.add_row(figure.cells());
        }
        writeln!(formatter, "{}\n{figures}\n", self.machine)?;
        for figure in &self.left_out {
            writeln!(formatter, "{figure}\n")?;
        }
        let mut measures = table(["subject", "calls/s", "CPU µs", "p50 µs", "p99 µs"]);
        for measure in &self.measures {
            measures.add_row([
                measure.subject.clone(),
                shown(measure.calls_per_s),
                shown(measure.cpu_us_per_call),
                shown(measure.latency_us_p50),
                shown(measure.latency_us_p99),
            ]);
        }
        writeln!(formatter, "{measures}\n")?;
        writeln!(
            formatter,
            "{}\n",
            growth("calls in flight", &self.in_flight)
        )?;
        write!(formatter, "{}", growth("dockets in a batch", &self.batches))?;
        for situations in situation::tables(&self.situations) {
            write!(formatter, "\n\n{situations}")?;
        }
        write!(formatter, "\n\n{}", components(&self.components))?;
        if self.is_short {
            write!(formatter, "\n\nthe short form: its figures say nothing")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crowd::NO_MEMORY;

    #[test]
    fn a_figure_that_is_not_measured_on_a_system_is_reported_as_such() {
        let mut report = Report {
            machine: Machine::here(),
            is_short: false,
            figures: Vec::new(),
            left_out: Vec::new(),
            measures: Vec::new(),
            in_flight: Vec::new(),
            batches: Vec::new(),
            situations: Vec::new(),
            components: Vec::new(),
        };
        let figure = |title, rounds| Figure::new(title, "KiB", rounds);
        report.add_or_leave_out(figure("linear memory", vec![1.0]), NO_MEMORY);
        report.add_or_leave_out(figure("memory per call", Vec::new()), NO_MEMORY);
        assert_eq!(report.figures.len(), 1);
        let shown = report.to_string();
        let line = format!("\nmemory per call: {NO_MEMORY}\n");
        assert!(shown.contains(&line), "{shown}");
        assert!(!shown.contains("NaN"), "{shown}");
    }
}

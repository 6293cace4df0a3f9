//! The report of a bench.

use super::figure::CLAIMS;
use super::situation::Measured;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell, ContentArrangement, Table};
use rustix::system::uname;
use std::env::consts::{ARCH, OS};
use std::fmt;
use std::thread::available_parallelism;

/// The results of all measurements.
#[derive(Debug)]
pub struct Report {
    /// The machine: processor, cores, kernel.
    pub machine: String,
    /// Whether it was the short form, whose figures mean nothing.
    pub is_short: bool,
    /// The measured situations.
    pub situations: Vec<Measured>,
    /// The files that hosts load.
    pub files: Vec<Built>,
}

/// A file that hosts load: its size, and the times to compile and to load it.
#[derive(Clone, Debug)]
pub struct Built {
    /// The file's name.
    pub name: String,
    /// The size, in kilobytes.
    pub kb: f64,
    /// The compressed size, in kilobytes.
    pub gzip_kb: f64,
    /// The time to compile it, if it is a component.
    pub compile_ms: Option<f64>,
    /// The time to load the compiled form.
    pub load_ms: Option<f64>,
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut figures = table(["", "figure", "compared", "median", "spread", "goal"]);
        let mut not_measured = String::new();
        for claim in CLAIMS {
            match claim.cells(&self.situations) {
                Some(cells) => drop(figures.add_row(cells)),
                None => {
                    let title = claim.title();
                    not_measured += &format!("not measured on this machine: {title}\n");
                }
            }
        }
        write!(formatter, "{}\n{figures}\n{not_measured}", self.machine)?;
        for measured in &self.situations {
            writeln!(formatter, "\n{}", measured.table())?;
        }
        let mut files = table(["file", "KB", "KB, gzip", "compiled in ms", "read in ms"]);
        for file in &self.files {
            let ms = |ms: Option<f64>| ms.map_or_else(String::new, shown);
            files.add_row([
                file.name.clone(),
                shown(file.kb),
                shown(file.gzip_kb),
                ms(file.compile_ms),
                ms(file.load_ms),
            ]);
        }
        write!(formatter, "\n{files}")?;
        match self.is_short {
            true => write!(
                formatter,
                "\n\nshort form: these figures are not meaningful"
            ),
            false => Ok(()),
        }
    }
}

/// Describes the machine, as far as it matters.
pub(super) fn machine() -> String {
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

/// Returns an empty table for the terminal, with these titles.
pub(super) fn table(header: impl IntoIterator<Item = impl Into<Cell>>) -> Table {
    let mut table = Table::new();
    table
        .load_preset(UTF8_FULL_CONDENSED)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header);
    table
}

/// Returns the median.
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

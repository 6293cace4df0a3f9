//! What a bench found.

use super::figure::CLAIMS;
use super::situation::Measured;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use comfy_table::{Cell, ContentArrangement, Table};
use rustix::system::uname;
use std::env::consts::{ARCH, OS};
use std::fmt;
use std::thread::available_parallelism;

/// All that was measured.
#[derive(Debug)]
pub struct Report {
    /// Where: processor, cores, kernel.
    pub machine: String,
    /// Whether it was the short form, whose figures say nothing.
    pub is_short: bool,
    /// All that was measured.
    pub situations: Vec<Measured>,
    /// What hosts load.
    pub files: Vec<Built>,
}

/// A file that hosts load: its size, and how long it takes until there is code.
#[derive(Clone, Debug)]
pub struct Built {
    /// Its name.
    pub name: String,
    /// Its size.
    pub kb: f64,
    /// The same, compressed.
    pub gzip_kb: f64,
    /// How long it takes to compile it, where it is a component.
    pub compile_ms: Option<f64>,
    /// How long it takes to read what was compiled.
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

/// The machine, as far as it matters.
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

/// An empty table for the terminal with these titles.
pub(super) fn table(header: impl IntoIterator<Item = impl Into<Cell>>) -> Table {
    let mut table = Table::new();
    table
        .load_preset(UTF8_FULL_CONDENSED)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_header(header);
    table
}

/// The value in the middle, or between the two in the middle.
pub(super) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (below, above) = (sorted.len().saturating_sub(1) / 2, sorted.len() / 2);
    match (sorted.get(below), sorted.get(above)) {
        (Some(below), Some(above)) => (below + above) / 2.0,
        _ => f64::NAN,
    }
}

/// Three significant digits, and all before the point.
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

//! The report of a check, for people and for machines.

use super::checks::Check;
use super::scenario::Scenario;
use anyhow::Result;
use comfy_table::{Attribute, Cell, ContentArrangement, Table, presets::UTF8_FULL_CONDENSED};
use serde::Serialize;
use std::fmt;

/// The results of all checks.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// A row for each check.
    pub rows: Vec<Row>,
    /// Whether the check ended early, since the host had to end too many calls.
    pub gave_up: bool,
    /// The largest memory of the guest, in bytes.
    pub memory_bytes: usize,
}

/// A check and its result.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The check.
    pub check: Check,
    /// The behaviour that the check expects of the component.
    pub expected: &'static str,
    /// The number of scenarios to which the check applied.
    pub runs: u64,
    /// The number of these in which the component failed.
    pub failed: u64,
    /// Some of the failures: the scenario, and what was found.
    pub examples: Vec<String>,
    /// The first random history that failed.
    pub seed: Option<u64>,
    /// The simplest history derived from that one.
    pub simplest: Option<String>,
}

impl Row {
    /// Returns the row of a check that was not tried yet.
    pub(super) fn of(check: Check) -> Self {
        Self {
            check,
            expected: check.expectation(),
            runs: 0,
            failed: 0,
            examples: Vec::new(),
            seed: None,
            simplest: None,
        }
    }

    /// Returns `true` if the component behaves as expected. A check that was never tried does not
    /// pass.
    pub fn passed(&self) -> bool {
        self.runs > 0 && self.failed == 0
    }

    fn happened(&self) -> String {
        match (self.runs, self.failed) {
            (0, _) => "not tried".to_owned(),
            (runs, 0) => format!("in {runs} runs"),
            (runs, failed) => format!("not in {failed} of {runs} runs"),
        }
    }
}

impl Report {
    /// Returns `true` if the component passed all checks.
    pub fn passed(&self) -> bool {
        !self.gave_up && self.rows.iter().all(Row::passed)
    }

    /// Returns the names of the checks that the component did not pass.
    pub fn failed_checks(&self) -> Vec<Check> {
        let failed = self.rows.iter().filter(|row| !row.passed());
        failed.map(|row| row.check).collect()
    }

    /// Looks for the simplest history for each check with a failed one.
    pub(super) fn simplify(&mut self, simplest: impl Fn(Check, u64) -> Result<Scenario>) {
        for row in &mut self.rows {
            let seed = row.seed.filter(|_| row.check != Check::Returns);
            let simplest = seed.and_then(|seed| simplest(row.check, seed).ok());
            row.simplest = simplest.map(|simplest| format!("{simplest:#?}"));
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new();
        table
            .load_preset(UTF8_FULL_CONDENSED)
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_header(["", "check", "expected", "happened"]);
        for row in &self.rows {
            let (mark, happened) = match row.passed() {
                true => ("✓", Cell::new(row.happened())),
                false => (
                    "✗",
                    Cell::new(row.happened()).add_attribute(Attribute::Bold),
                ),
            };
            table.add_row([
                Cell::new(mark),
                Cell::new(row.check.name()),
                Cell::new(row.expected),
                happened,
            ]);
        }
        writeln!(formatter, "{table}")?;
        for row in self.rows.iter().filter(|row| row.failed > 0) {
            writeln!(formatter, "\n{}:", row.check.name())?;
            for example in &row.examples {
                writeln!(formatter, "  {example}")?;
            }
            if let Some(simplest) = &row.simplest {
                writeln!(formatter, "  the simplest history that fails:\n{simplest}")?;
            }
        }
        let failed = self.failed_checks().len();
        let passed = self.rows.len() - failed;
        if self.gave_up {
            writeln!(formatter, "\ngiven up: the host had to end too many calls")?;
        }
        writeln!(
            formatter,
            "\nthe guest used {} MiB of memory at the most",
            self.memory_bytes >> 20
        )?;
        write!(formatter, "{passed} checks passed, {failed} failed")
    }
}

//! The report of a check, for people and for machines.

use super::checks::Check;
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
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in &self.rows {
            let mark = if row.passed() { "✓" } else { "✗" };
            let (name, happened) = (row.check.name(), row.happened());
            writeln!(formatter, "{mark} {name:<24}{happened}: {}", row.expected)?;
            for example in &row.examples {
                writeln!(formatter, "    {example}")?;
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

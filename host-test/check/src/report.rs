//! The report of a check, for people and for machines.

use super::checks::Check;
use serde::Serialize;
use std::fmt;

/// The results of all checks.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// A row for each check.
    pub rows: Vec<Row>,
    /// The reason why the check ended before it had played everything, if it did.
    pub given_up: Option<String>,
    /// The largest memory of the guest, in bytes.
    pub memory_bytes: usize,
}

/// A check and its result.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The check.
    pub check: Check,
    /// The verdict.
    pub result: Verdict,
    /// The behaviour that the check expects of the component.
    pub expected: &'static str,
    /// The number of scenarios to which the check applied.
    pub runs: u64,
    /// The number of these in which the component failed.
    pub failed: u64,
    /// Some of the failures.
    pub examples: Vec<Example>,
}

/// The verdict of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The component did what is expected in each scenario.
    Passed,
    /// The component did something else in some scenario.
    Failed,
    /// The check applied to no scenario.
    NotTried,
}

/// A failure.
#[derive(Clone, Debug, Serialize)]
pub struct Example {
    /// The scenario.
    pub scenario: String,
    /// How the component did not do what is expected.
    pub found: String,
    /// The result of the call.
    pub returned: String,
    /// The requests that the service received, each with what came of it.
    pub requests: Vec<String>,
}

impl Row {
    /// Returns the row of a check that was not tried yet.
    pub(super) fn of(check: Check) -> Self {
        Self {
            check,
            result: Verdict::NotTried,
            expected: check.expectation(),
            runs: 0,
            failed: 0,
            examples: Vec::new(),
        }
    }

    /// Adds a scenario to which the check applied.
    pub(super) fn add(&mut self, has_failed: bool) {
        self.runs += 1;
        self.failed += u64::from(has_failed);
        self.result = match self.failed {
            0 => Verdict::Passed,
            _ => Verdict::Failed,
        };
    }
}

impl Report {
    /// Returns `true` if the component passed all checks. One that was not tried is not passed.
    pub fn passed(&self) -> bool {
        self.given_up.is_none() && self.count(Verdict::Passed) == self.rows.len()
    }

    /// Returns the checks that the component failed.
    pub fn failed_checks(&self) -> Vec<Check> {
        let rows = self.rows.iter();
        let failed = rows.filter(|row| row.result == Verdict::Failed);
        failed.map(|row| row.check).collect()
    }

    fn count(&self, result: Verdict) -> usize {
        let rows = self.rows.iter();
        rows.filter(|row| row.result == result).count()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tried, not_tried): (Vec<_>, Vec<_>) = self.rows.iter().partition(|row| row.runs > 0);
        for row in tried {
            let Row { runs, failed, .. } = row;
            let (mark, happened) = match failed {
                0 => ('✓', format!("in {runs} scenarios")),
                _ => ('✗', format!("not in {failed} of {runs} scenarios")),
            };
            let (name, expected) = (row.check.name(), row.expected);
            writeln!(formatter, "{mark} {name:<24}{happened}: {expected}")?;
            for example in &row.examples {
                writeln!(formatter, "    {}", example.scenario)?;
                writeln!(formatter, "      found:    {}", example.found)?;
                if !example.returned.is_empty() {
                    writeln!(formatter, "      returned: {}", example.returned)?;
                    let requests = match &*example.requests {
                        [] => "none".to_owned(),
                        requests => requests.join(", "),
                    };
                    writeln!(formatter, "      requests: {requests}")?;
                }
            }
        }
        if !not_tried.is_empty() {
            let names: Vec<_> = not_tried.iter().map(|row| row.check.name()).collect();
            writeln!(formatter, "- not tried: {}", names.join(", "))?;
        }
        if let Some(reason) = &self.given_up {
            writeln!(formatter, "\ngiven up: {reason}")?;
        }
        if self.memory_bytes > 0 {
            let used = self.memory_bytes >> 20;
            writeln!(
                formatter,
                "\nthe guest used {used} MiB of memory at the most"
            )?;
        }
        let [passed, failed] = [Verdict::Passed, Verdict::Failed].map(|it| self.count(it));
        let not_tried = not_tried.len();
        write!(
            formatter,
            "\n{passed} checks passed, {failed} failed, {not_tried} not tried"
        )
    }
}

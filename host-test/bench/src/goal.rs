//! The goals, as a table of docs/speed.md.

use super::report::{CALLS, CPU, Results, shown};
use super::subject::Subject::{self, *};
use super::{MANY, MANY_SLOW, ONE};

/// A limit for the ratio of two subjects in a situation.
struct Goal {
    subject: Subject,
    compared_with: Subject,
    situation: &'static str,
    limit: Limit,
}

enum Limit {
    /// At most this ratio of CPU time.
    Cpu(f64),
    /// At least this ratio of calls per second.
    Calls(f64),
}
use Limit::{Calls, Cpu};

const fn goal(
    subject: Subject,
    compared_with: Subject,
    situation: &'static str,
    limit: Limit,
) -> Goal {
    Goal {
        subject,
        compared_with,
        situation,
        limit,
    }
}

const GOALS: [Goal; 12] = [
    goal(Rust, Native, ONE, Cpu(1.25)),
    goal(Rust, Native, MANY, Cpu(1.3)),
    goal(Rust, Native, MANY, Calls(0.9)),
    goal(Rust, Native, MANY_SLOW, Calls(0.99)),
    goal(Rust, Reqwest, ONE, Cpu(0.9)),
    goal(Rust, Reqwest, MANY, Cpu(0.9)),
    goal(Rust, Reqwest, MANY_SLOW, Cpu(0.9)),
    goal(RustKeyed, Rust, MANY_SLOW, Calls(0.9)),
    goal(Reused, WstdReused, ONE, Cpu(0.9)),
    goal(Reused, WstdReused, MANY, Cpu(0.9)),
    goal(Fresh, WstdFresh, ONE, Cpu(0.65)),
    goal(Fresh, WstdFresh, MANY, Cpu(0.65)),
];

/// Returns the goals and what was measured, in Markdown.
pub(super) fn table(measured: &[(&str, Results)]) -> String {
    let mut table =
        "| | compared with | | goal | measured | |\n|---|---|---|---|---|---|\n".to_owned();
    for goal in &GOALS {
        let results = measured.iter().filter(|(name, _)| *name == goal.situation);
        for (name, results) in results {
            let ratio = |value| results.ratio(goal.subject, goal.compared_with, value);
            let (figure, limit, ratio, is_met) = match goal.limit {
                Cpu(limit) => (
                    "CPU",
                    format!("≤ {limit:.2}"),
                    ratio(CPU),
                    ratio(CPU) <= limit,
                ),
                Calls(limit) => (
                    "calls/s",
                    format!("≥ {limit:.2}"),
                    ratio(CALLS),
                    ratio(CALLS) >= limit,
                ),
            };
            table.push_str(&format!(
                "| **{}** | {} | {figure}, {name} | {limit} | {} | {} |\n",
                goal.subject,
                goal.compared_with,
                shown(ratio),
                if is_met { "met" } else { "missed" },
            ));
        }
    }
    table
}

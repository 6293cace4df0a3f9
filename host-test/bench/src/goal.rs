//! The goals, as a table of docs/speed.md.

use super::report::{CALLS, CPU, Results, shown};
use super::subject::Subject::{self, *};
use super::{MANY, MANY_SLOW, ONE};

/// A limit for the ratio of two subjects in a situation.
enum Limit {
    /// At most this ratio of CPU time.
    Cpu(f64),
    /// At least this ratio of calls per second.
    Calls(f64),
}
use Limit::{Calls, Cpu};

/// A subject, the one that it is compared with, the situation, and the limit.
const GOALS: [(Subject, Subject, &str, Limit); 12] = [
    (Rust, Native, ONE, Cpu(1.25)),
    (Rust, Native, MANY, Cpu(1.3)),
    (Rust, Native, MANY, Calls(0.9)),
    (Rust, Native, MANY_SLOW, Calls(0.99)),
    (Rust, Reqwest, ONE, Cpu(0.9)),
    (Rust, Reqwest, MANY, Cpu(0.9)),
    (Rust, Reqwest, MANY_SLOW, Cpu(0.9)),
    (RustKeyed, Rust, MANY_SLOW, Calls(0.9)),
    (Reused, WstdReused, ONE, Cpu(0.9)),
    (Reused, WstdReused, MANY, Cpu(0.9)),
    (Fresh, WstdFresh, ONE, Cpu(0.65)),
    (Fresh, WstdFresh, MANY, Cpu(0.65)),
];

/// Returns the goals and what was measured, in Markdown.
pub(super) fn table(measured: &[Results]) -> String {
    let mut table =
        "| | compared with | | goal | measured | |\n|---|---|---|---|---|---|\n".to_owned();
    for (subject, other, situation, limit) in GOALS {
        let results = measured.iter().find(|it| it.situation == situation);
        let (figure, value, sign, limit) = match limit {
            Cpu(most) => ("CPU", CPU, '≤', most),
            Calls(least) => ("calls/s", CALLS, '≥', least),
        };
        let ratio = results.map_or(f64::NAN, |it| it.ratio(subject, other, value));
        let met = match sign {
            '≤' if ratio <= limit => "met",
            '≥' if ratio >= limit => "met",
            _ => "missed",
        };
        let measured = shown(ratio);
        table += &format!(
            "| **{subject}** | {other} | {figure}, {situation} | {sign} {limit:.2} | {measured} | {met} |\n"
        );
    }
    table
}

//! Every error code of wasi:http, at every moment, for every operation: what the
//! component answers, how many requests it sends, and when. The report is made by
//! running the component, and each cell is judged like every other scenario.

use super::properties::judge;
use super::scenario::{Run, Scenario, Subject, Turn};
use super::{Check, paused_runtime};
use crate::error_codes::{all, meaning, name};
use crate::operation::{Operation, outcome};
use crate::script::{Piece, Step};
use anyhow::Result;
use comfy_table::{ContentArrangement, Table, presets::UTF8_FULL_CONDENSED};
use std::fmt::{self, Write};
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

/// When the error comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    BeforeTaken,
    NoHead,
    NoBody,
    MidBody,
}

impl Moment {
    const ALL: [Moment; 4] = [
        Moment::BeforeTaken,
        Moment::NoHead,
        Moment::NoBody,
        Moment::MidBody,
    ];

    fn title(self) -> &'static str {
        match self {
            Moment::BeforeTaken => "Before the request is taken",
            Moment::NoHead => "After the request, instead of an answer",
            Moment::NoBody => "After the head of a 200, instead of its body",
            Moment::MidBody => "In the middle of the body of a 200",
        }
    }

    fn turn(self, code: ErrorCode, operation: Operation) -> Turn {
        let broken = |begun: &str| {
            let begun = Piece::Bytes(begun.as_bytes().to_vec().into());
            Step::status(200).pieces([begun, Piece::Break(code.clone())])
        };
        let step = match self {
            Moment::BeforeTaken => Step::fail(code).before_reading(),
            Moment::NoHead => Step::fail(code),
            Moment::NoBody => broken(""),
            Moment::MidBody => broken(&operation.satisfying()[..1]),
        };
        step.into()
    }
}

/// Those of an operation: each code at each moment.
pub fn scenarios(operation: Operation) -> Vec<Scenario> {
    let moments = Moment::ALL.into_iter();
    moments
        .flat_map(|moment| {
            all()
                .into_iter()
                .map(move |code| scenario(moment, code, operation))
        })
        .collect()
}

fn scenario(moment: Moment, code: ErrorCode, operation: Operation) -> Scenario {
    let name = format!("{}: {}", moment.title(), name(&code));
    let mut scenario = Scenario::new(name, operation, [moment.turn(code, operation)]);
    // Time for one attempt of one poll of a wait.
    scenario.arguments.timeout_ms = 2_000;
    scenario
}

/// What became of every fault.
pub struct FaultTable {
    sections: Vec<Section>,
    /// What was found against the component.
    pub findings: Vec<String>,
    runs: usize,
}

struct Section {
    title: &'static str,
    /// Operations with the same column, together.
    columns: Vec<(Vec<Operation>, Vec<String>)>,
}

/// Plays every fault.
pub fn play(subject: &Subject) -> Result<FaultTable> {
    let runtime = paused_runtime()?;
    let mut table = FaultTable {
        sections: Vec::new(),
        findings: Vec::new(),
        runs: 0,
    };
    for moment in Moment::ALL {
        let mut columns: Vec<(Vec<Operation>, Vec<String>)> = Vec::new();
        for operation in Operation::ALL {
            let mut cells = Vec::new();
            for code in all() {
                let run = runtime.block_on(scenario(moment, code, operation).run(subject));
                table.runs += 1;
                table.findings.extend(findings(&run));
                cells.push(cell(&run));
            }
            match columns.iter_mut().find(|(_, same)| *same == cells) {
                Some((operations, _)) => operations.push(operation),
                None => columns.push((vec![operation], cells)),
            }
        }
        table.sections.push(Section {
            title: moment.title(),
            columns,
        });
    }
    Ok(table)
}

fn findings(run: &Run) -> Vec<String> {
    let mut found = Vec::new();
    for (check, findings) in judge(run) {
        let Scenario {
            operation, name, ..
        } = &run.scenario;
        let told =
            |finding: &String| format!("{}: {operation}, {name}: {finding}", Check::name(check));
        found.extend(findings.iter().map(told));
    }
    found
}

/// The case that was returned, and when requests were sent.
fn cell(run: &Run) -> String {
    let case = match &run.returned {
        Ok(returned) => returned.first().map_or("nothing", outcome),
        Err(_) => "failure of the host",
    };
    let moments: Vec<_> = run.sent.iter().map(|sent| sent.at_ms.to_string()).collect();
    format!("{case} · {}", moments.join(", "))
}

impl FaultTable {
    /// The report as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "# What becomes of every transport error\n\n\
             Made by `host-test faults --markdown` from {} runs of the component: each of the {} \
             error codes of wasi:http, at each of {} moments, for each of the {} functions that \
             send requests. A cell says what the function returns (`ok`, or the case of \
             `request-error`), and when requests are sent, in milliseconds, at the default \
             settings and with the longest jitter. Waits have a `timeout-ms` of 2000, which is \
             time for one attempt; a batch has one item.\n\n\
             What a code says about the request decides. *Not sent*: it never left, and may be \
             retried. *Denied* by the host, or *rejected* for what is in it: it is not retried. \
             *Unknown*: only reads are retried. `connection-timeout` says that the request was \
             not sent; for a create that is believed only with `TRUST_CONNECTION_TIMEOUT=true`, \
             and here it is `false`, the default.\n",
            self.runs,
            all().len(),
            Moment::ALL.len(),
            Operation::ALL.len(),
        );
        for section in &self.sections {
            section.write(&mut text);
        }
        text.push_str("\n## What each code says\n\n| error code | says |\n|---|---|\n");
        for code in all() {
            text.push_str(&format!("| {} | {} |\n", name(&code), meaning(&code)));
        }
        text
    }
}

impl fmt::Display for FaultTable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for section in &self.sections {
            let mut table = Table::new();
            table
                .load_preset(UTF8_FULL_CONDENSED)
                .set_content_arrangement(ContentArrangement::Dynamic);
            let names = |operations: &[Operation]| {
                let names: Vec<_> = operations.iter().map(Operation::to_string).collect();
                names.join("\n")
            };
            let columns = section.columns.iter().map(|(of, _)| names(of));
            table.set_header(
                ["error code".to_owned(), "says".to_owned()]
                    .into_iter()
                    .chain(columns),
            );
            for (index, code) in all().iter().enumerate() {
                let cells = section
                    .columns
                    .iter()
                    .map(|(_, cells)| cells[index].clone());
                let code = [name(code).to_owned(), meaning(code).to_string()];
                table.add_row(code.into_iter().chain(cells));
            }
            writeln!(formatter, "{}\n{table}\n", section.title)?;
        }
        let found = self.findings.len();
        write!(formatter, "{} runs, {found} findings", self.runs)
    }
}

impl Section {
    /// Codes that end in the same way share a row.
    fn write(&self, text: &mut String) {
        let mut line = |line: String| {
            // Writing to a text does not fail.
            let _ = writeln!(text, "{line}");
        };
        line(format!("\n## {}\n", self.title));
        let mut head = "| a code that says |".to_owned();
        for (operations, _) in &self.columns {
            let names: Vec<_> = operations
                .iter()
                .map(|operation| format!("`{operation}`"))
                .collect();
            head.push_str(&format!(" {} |", names.join(", ")));
        }
        line(head);
        line(format!("|{}", "---|".repeat(self.columns.len() + 1)));
        for (codes, cells) in self.rows() {
            line(format!("| {} | {} |", classes(&codes), cells.join(" | ")));
        }
    }

    /// The indices of the codes with the same cells, and these cells.
    fn rows(&self) -> Vec<(Vec<usize>, Vec<&str>)> {
        let mut rows: Vec<(Vec<usize>, Vec<&str>)> = Vec::new();
        for index in 0..all().len() {
            let columns = self.columns.iter();
            let cells: Vec<_> = columns.map(|(_, cells)| &*cells[index]).collect();
            match rows.iter_mut().find(|(_, same)| *same == cells) {
                Some((codes, _)) => codes.push(index),
                None => rows.push((vec![index], cells)),
            }
        }
        rows
    }
}

/// The classes that the codes make up; single codes where they are not all of their class.
fn classes(codes: &[usize]) -> String {
    let every = all();
    let mut words = Vec::new();
    for &index in codes {
        let class = meaning(&every[index]);
        let of_class = (0..every.len()).filter(|&other| meaning(&every[other]) == class);
        let word = match of_class.into_iter().all(|other| codes.contains(&other)) {
            true => class.to_string(),
            false => format!("`{}`", name(&every[index])),
        };
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words.join("; ")
}

//! Every error code of wasi:http, at every moment, for every operation: the component's answer, and
//! the number and times of its requests. The report comes from running the component.

use super::paused_runtime;
use super::scenario::{Run, Scenario, Subject, Turn};
use crate::error_codes::{all, meaning, name};
use crate::operation::{Operation, outcome};
use crate::script::{Piece, Step};
use anyhow::Result;
use strum::VariantArray;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

/// The moment of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray)]
enum Moment {
    BeforeTaken,
    NoHead,
    NoBody,
    MidBody,
}

impl Moment {
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

/// Returns the scenarios of an operation: each code at each moment.
pub fn scenarios(operation: Operation) -> Vec<Scenario> {
    let of_moment = |moment: &Moment| {
        let moment = *moment;
        let codes = all().into_iter();
        codes.map(move |code| scenario(moment, code, operation))
    };
    Moment::VARIANTS.iter().flat_map(of_moment).collect()
}

fn scenario(moment: Moment, code: ErrorCode, operation: Operation) -> Scenario {
    let name = format!("{}: {}", moment.title(), name(&code));
    let mut scenario = Scenario::new(name, operation, [moment.turn(code, operation)]);
    // Time for one attempt of one poll of a wait.
    scenario.arguments.timeout_ms = 2_000;
    scenario
}

/// Operations with the same cells, one for each code.
type Columns = Vec<(Vec<Operation>, Vec<String>)>;

/// Plays every fault, and returns the report in Markdown.
pub fn report(subject: &Subject) -> Result<String> {
    let runtime = paused_runtime()?;
    let mut sections = String::new();
    for &moment in Moment::VARIANTS {
        let mut columns = Columns::new();
        for &operation in Operation::ALL {
            let mut cells = Vec::new();
            for code in all() {
                let run = runtime.block_on(scenario(moment, code, operation).run(subject));
                cells.push(cell(&run));
            }
            match columns.iter_mut().find(|(_, same)| *same == cells) {
                Some((operations, _)) => operations.push(operation),
                None => columns.push((vec![operation], cells)),
            }
        }
        sections.push_str(&section(moment, &columns));
    }
    let (codes, moments, operations) = (all().len(), Moment::VARIANTS.len(), Operation::ALL.len());
    let runs = codes * moments * operations;
    let mut markdown = format!(
        "# What becomes of every transport error\n\n\
         For authors of hosts, and for reviewers: the result of every transport error that a host \
         can report, and the requests that are sent.\n\n\
         Made by `HOST_TEST_WRITE_REPORTS=1 cargo test --test check` from {runs} runs of the component: each of the {codes} \
         error codes of wasi:http, at each of {moments} moments, for each of the {operations} \
         functions that send requests. A cell says what the function returns (`ok`, or the case of \
         `request-error`), and when requests are sent, in milliseconds, at the default \
         settings and with the longest jitter. Waits have a `timeout-ms` of 2000, which is \
         time for one attempt; a batch has one item.\n\n\
         What a code says about the request decides. *Not sent*: it never left, and may be \
         retried. *Denied* by the host, or *rejected* for what is in it: it is not retried. \
         *Unknown*: only reads are retried. `connection-timeout` says that the request was \
         not sent; for a create that is believed only with `TRUST_CONNECTION_TIMEOUT=true`, \
         and here it is `false`, the default.\n{sections}\n\
         ## What each code says\n\n| error code | says |\n|---|---|\n"
    );
    for code in all() {
        markdown.push_str(&format!("| {} | {} |\n", name(&code), meaning(&code)));
    }
    Ok(markdown)
}

/// Returns the case that was returned, and the times of requests.
fn cell(run: &Run) -> String {
    let case = match &run.returned {
        Ok(returned) => returned.first().map_or("nothing", outcome),
        Err(_) => "failure of the host",
    };
    let moments: Vec<_> = run.sent.iter().map(|sent| sent.at_ms.to_string()).collect();
    format!("{case} · {}", moments.join(", "))
}

/// Returns the section on a moment. Codes with the same results share a row.
fn section(moment: Moment, columns: &Columns) -> String {
    let mut rows: Vec<(Vec<String>, Vec<&str>)> = Vec::new();
    for (index, code) in all().iter().enumerate() {
        let cells: Vec<_> = columns.iter().map(|(_, cells)| &*cells[index]).collect();
        let says = meaning(code).to_string();
        match rows.iter_mut().find(|(_, same)| *same == cells) {
            Some((classes, _)) if classes.contains(&says) => {}
            Some((classes, _)) => classes.push(says),
            None => rows.push((vec![says], cells)),
        }
    }
    let mut text = format!("\n## {}\n\n| a code that says |", moment.title());
    for (operations, _) in columns {
        let names: Vec<_> = operations.iter().map(|it| format!("`{it}`")).collect();
        text.push_str(&format!(" {} |", names.join(", ")));
    }
    text.push_str(&format!("\n|{}\n", "---|".repeat(columns.len() + 1)));
    for (classes, cells) in rows {
        text.push_str(&format!(
            "| {} | {} |\n",
            classes.join("; "),
            cells.join(" | ")
        ));
    }
    text
}

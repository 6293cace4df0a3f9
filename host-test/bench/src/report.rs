//! What a bench found, for people and for machines.

use super::figure::Figure;
use super::machine::Machine;
use super::number::shown;
use super::situation::Measured;
use super::table::table;
use comfy_table::Table;
use serde::Serialize;
use std::fmt;

/// All that was measured.
#[derive(Debug, Serialize)]
pub struct Report {
    /// Where.
    pub machine: Machine,
    /// Whether it was the short form, whose figures say nothing.
    pub is_short: bool,
    /// What is claimed, with what it should be.
    pub figures: Vec<Figure>,
    /// Claims that were not measured.
    pub left_out: Vec<&'static str>,
    /// All that was measured.
    pub situations: Vec<Measured>,
    /// What hosts load.
    pub files: Vec<Built>,
}

/// A file that hosts load: its size, and how long it takes until there is code.
#[derive(Clone, Debug, Serialize)]
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

fn files(files: &[Built]) -> Table {
    let mut built = table(["file", "KB", "KB, gzip", "compiled in ms", "read in ms"]);
    for file in files {
        let ms = |ms: Option<f64>| ms.map_or_else(String::new, shown);
        built.add_row([
            file.name.clone(),
            shown(file.kb),
            shown(file.gzip_kb),
            ms(file.compile_ms),
            ms(file.load_ms),
        ]);
    }
    built
}

impl fmt::Display for Report {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut figures = table(["", "figure", "compared", "median", "spread", "goal"]);
        for figure in &self.figures {
            figures.add_row(figure.cells());
        }
        writeln!(formatter, "{}\n{figures}", self.machine)?;
        for title in &self.left_out {
            writeln!(formatter, "not measured on this machine: {title}")?;
        }
        for measured in &self.situations {
            writeln!(formatter, "\n{}", measured.table())?;
        }
        write!(formatter, "\n{}", files(&self.files))?;
        if self.is_short {
            write!(
                formatter,
                "\n\nshort form: these figures are not meaningful"
            )?;
        }
        Ok(())
    }
}

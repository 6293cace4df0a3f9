//! The WIT package in Python: the modules of `bindings/python` that follow from it.

mod clients;
mod docs;
mod errors;
mod names;
mod options;
mod records;
mod tables;

use anyhow::Result;

use crate::bindings::{
    Generated,
    model::Package,
    python::{
        clients::{Flavour, client},
        docs::Words,
        errors::errors,
        options::options,
        records::types,
        tables::interface,
    },
};

const FOLDER: &str = "bindings/python/src/voice_calling";

const HEADER: &str = "# Written by `cargo xtask bindings generate` from the WIT. Do not edit.\n\n\
                      from __future__ import annotations\n\n";

/// The parameter that every function with a time of its own has.
const TIMEOUT: &str = "timeout-ms";

/// Times of which users give or get seconds; all others are milliseconds, as their names say.
const IN_SECONDS: [&str; 3] = [TIMEOUT, "deadline-ms", "retry-after-ms"];

pub fn files(package: &Package) -> Result<Vec<Generated>> {
    let words = Words::new(package)?;
    let files = [
        ("_types.py", types(package, &words)?),
        ("_errors.py", errors(package, &words)?),
        ("_options.py", options(&words)?),
        ("_interface.py", interface(package)?),
        ("_client.py", client(package, &words, Flavour::Sync)?),
        ("_aio.py", client(package, &words, Flavour::Async)?),
    ];
    let generated = files.into_iter().map(|(name, text)| Generated {
        path: format!("{FOLDER}/{name}").into(),
        text,
    });
    Ok(generated.collect())
}

//! The WIT package in Python: the modules of `bindings/python` that follow from it. The clients are
//! written by hand.

mod docs;
mod errors;
mod names;
mod options;
mod records;

use anyhow::Result;

use crate::bindings::{
    Generated,
    model::Package,
    python::{docs::Words, errors::errors, options::options, records::types},
};

const FOLDER: &str = "bindings/python/src/voice_calling";

pub fn files(package: &Package) -> Result<Vec<Generated>> {
    let words = Words::new(package)?;
    let files = [
        ("_types.py", types(package, &words)?),
        ("_errors.py", errors(package, &words)?),
        ("_options.py", options(&words)?),
    ];
    let generated = files.into_iter().map(|(name, text)| Generated {
        path: format!("{FOLDER}/{name}").into(),
        text,
    });
    Ok(generated.collect())
}

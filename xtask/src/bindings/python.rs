//! The WIT package in Python.

use anyhow::Result;

use crate::bindings::{Generated, model::Package};

pub fn files(_package: &Package) -> Result<Vec<Generated>> {
    Ok(Vec::new())
}

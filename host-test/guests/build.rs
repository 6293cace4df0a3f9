//! Builds the guests of tests as `cargo xtask` builds those of users, whenever their sources change:
//! no test can load one that is out of date.

use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::env;
use std::path::PathBuf;
use xtask::component::build_into;
use xtask::core_module::sources;
use xtask::guest::{CANCELLER, CLIENT, CLIENT_P3, FAULTY, WSTD};
use xtask::workspace::Workspace;

fn main() -> Result<()> {
    let workspace = Workspace::load()?;
    let folder = PathBuf::from(env::var_os("OUT_DIR").context("cargo sets OUT_DIR")?);
    let mut watched = BTreeSet::from(["../../Cargo.lock".to_owned()]);
    let mut paths = Vec::new();
    for guest in [&CLIENT, &CLIENT_P3, &FAULTY, &CANCELLER, &WSTD] {
        paths.push(build_into(&folder, &workspace, guest)?);
        watched.extend(sources(&workspace.guest_target(), guest)?);
    }
    plug::plug(&paths[1], &paths[3], &folder.join("canceller.wasm"))?;
    for path in watched {
        println!("cargo::rerun-if-changed={path}");
    }
    Ok(())
}

//! The command `cases`: the judge of the table of cases, as a process.

use anyhow::{Context, Result};
use clap::Args;
use std::path::PathBuf;
use voice_calling_cases::{Judge, Table};

#[derive(Args)]
pub(crate) struct Cases {
    /// Port on 127.0.0.1; 0 picks a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Where the table is: every file in it that ends in .json
    #[arg(long, value_name = "FOLDER", default_value = "host-test/cases/table")]
    folder: PathBuf,
}

pub(crate) async fn serve_cases(cases: Cases) -> Result<()> {
    let table = Table::read(&cases.folder)?;
    let judge = Judge::start(table, cases.port).await?;
    // Listens for Ctrl-C first: a reader of the address may interrupt at once.
    let announced = async { println!("{}", judge.base_url()) };
    let (interrupted, ()) = tokio::join!(biased; tokio::signal::ctrl_c(), announced);
    interrupted.context("cannot wait for Ctrl-C")
}

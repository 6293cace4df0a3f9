//! voice-calling on the workflow engine Obelisk, shown and measured. `cargo xtask obelisk` says by
//! variables where the engine and the folder are that is deployed.

use std::env;

use anyhow::{Context, Result, bail};
use obelisk_harness::measure::{self, Database};
use obelisk_harness::story;

const USAGE: &str = "obelisk-harness [measure CONTACTS [sqlite|postgres]]";

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let (contacts, database) = match arguments[..] {
        [] => return story::tell().await,
        ["measure", contacts] | ["measure", contacts, "sqlite"] => (contacts, Database::Sqlite),
        ["measure", contacts, "postgres"] => (contacts, Database::Postgres),
        _ => bail!("usage: {USAGE}"),
    };
    let contacts = contacts.parse().context(USAGE)?;
    measure::campaign(contacts, database).await
}

//! voice-calling on the workflow engine Obelisk, shown. `cargo xtask obelisk` says by variables
//! where the engine and the folder are that is deployed.

use anyhow::Result;
use obelisk_harness::story;

#[tokio::main]
async fn main() -> Result<()> {
    story::tell().await
}

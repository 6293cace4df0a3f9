// Places one call, however often it is run: the program of the project's front page.

use std::collections::BTreeMap;
use voice_calling::{Builder, DocketRequestV2, Error, Ledger};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let ledger = Ledger::open("calls.db")?;
    let client = Builder::from_env().ledger(ledger).build()?;
    let request = DocketRequestV2::new(7, "910000000000") // your own number
        .with_call_context(&BTreeMap::from([("name", "Asha")]))?
        .with_external_id("crm-1001");
    let docket = client
        .with_key("crm-1001")
        .create_docket_v2(&request)
        .await?;
    println!("{} {}", docket.docket_id, docket.from_ledger);
    Ok(())
}

// Places one call, however often it is run: the program of the project's front page.

use voice_calling::{Builder, DocketRequestV2, Error, Ledger};

#[tokio::main]
async fn main() -> Result<(), Error> {
    let ledger = Ledger::open("calls.db")?;
    let client = Builder::from_env().ledger(ledger).build()?;
    let request = DocketRequestV2 {
        agent_id: 7,
        to_phone_number: "910000000000".to_owned(), // your own number
        call_context: r#"{"name":"Asha"}"#.to_owned(),
        external_id: Some("crm-1001".to_owned()),
        extra: None,
    };
    let docket = client
        .with_key("crm-1001")
        .create_docket_v2(&request)
        .await?;
    println!("{} {}", docket.docket_id, docket.from_ledger);
    Ok(())
}

// Calls each person of a list once, however often it is run: the program of the README.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::time::Duration;
use voice_calling::{Builder, DocketRequestV2, Ledger};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Lines such as `crm-1001,910000000000`.
    let lines = BufReader::new(File::open("people.csv")?).lines();
    let requests = lines.map_while(Result::ok).filter_map(|line| {
        let (customer, number) = line.split_once(',')?;
        let key = format!("renewals-2026-11/{customer}"); // the occasion and the customer
        let request = DocketRequestV2 {
            agent_id: 7,
            to_phone_number: number.to_owned(),
            call_context: "{}".to_owned(),
            external_id: Some(key.clone()),
            extra: None,
        };
        Some((key, request))
    });
    let ledger = Ledger::open("calls.db")?;
    let client = Builder::from_env().ledger(ledger.clone()).build()?;
    let mut dockets = client.create_dockets_v2_once(requests, Duration::from_secs(3600))?;
    while let Some((index, result)) = dockets.next().await {
        match result {
            Ok(docket) if docket.from_ledger => println!("person {index}: called before"),
            Ok(docket) => println!("person {index}: docket {}", docket.answer.docket_id),
            Err(error) => println!("person {index}: {error}"),
        }
    }
    for entry in ledger.unknown().await? {
        println!("{}: the outcome is not known", entry.key);
    }
    Ok(())
}

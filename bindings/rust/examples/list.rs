// Calls each person of a list once, however often it is run: the program of the README.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::time::Duration;
use voice_calling::{Builder, DocketRequestV2, Ledger};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (mut keys, mut requests) = (Vec::new(), Vec::new());
    // Lines such as `crm-1001,910000000000`.
    let lines = BufReader::new(File::open("people.csv")?).lines();
    for (line, number) in lines.zip(1..) {
        let line = line.map_err(|error| format!("people.csv, line {number}: {error}"))?;
        let Some((customer, phone)) = line.split_once(',') else {
            return Err(format!("people.csv, line {number}: no comma").into());
        };
        let key = format!("renewals-2026-11/{customer}"); // the occasion and the customer
        keys.push(key.clone());
        requests.push(DocketRequestV2::new(7, phone).with_external_id(key));
    }
    let ledger = Ledger::open("calls.db")?;
    let client = Builder::from_env().ledger(ledger).build()?;
    let requests = keys.clone().into_iter().zip(requests);
    let mut dockets = client.create_dockets_v2(requests, Duration::from_secs(3600))?;
    let mut errors = 0;
    while let Some((index, result)) = dockets.next().await {
        let key = &keys[index];
        errors += usize::from(result.is_err());
        match result {
            Ok(docket) if docket.from_ledger => println!("{key}: called before"),
            Ok(docket) => println!("{key}: docket {}", docket.docket_id),
            Err(error) if error.may_have_created() => println!("{key}: outcome unknown: {error}"),
            Err(error) => println!("{key}: not called by this run: {error}"),
        }
    }
    if errors > 0 {
        return Err(format!("{errors} of {} ended in errors", keys.len()).into());
    }
    Ok(())
}

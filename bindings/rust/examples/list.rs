//! Calls each person of a list once, however often it is run: `list calls.db people.csv`. A line of
//! the list is a key and a phone number. The settings are those of the environment.

use std::env;
use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::time::Duration;
use voice_calling::{Builder, DocketRequestV2, Ledger};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    match (arguments.next(), arguments.next()) {
        (Some(ledger), Some(people)) => call_each(&ledger, &people).await,
        _ => Err("usage: list <ledger> <people>".into()),
    }
}

/// Calls each person of a file who was not called before.
pub async fn call_each(ledger: &str, people: &str) -> Result<(), Box<dyn Error>> {
    let lines = BufReader::new(File::open(people)?).lines();
    let requests = lines.map_while(Result::ok).filter_map(|line| {
        let (key, number) = line.split_once(',')?;
        let request = DocketRequestV2 {
            agent_id: 7,
            to_phone_number: number.to_owned(),
            call_context: "{}".to_owned(),
            external_id: Some(key.to_owned()),
            extra: None,
        };
        Some((key.to_owned(), request))
    });
    let ledger = Ledger::open(ledger)?;
    let client = Builder::from_env().ledger(ledger.clone()).build()?;
    let mut results = client.create_dockets_v2_once(requests, Duration::from_secs(3600))?;
    while let Some((index, result)) = results.next().await {
        match result {
            Ok(docket) if docket.from_ledger => println!("person {index}: called before"),
            Ok(docket) => println!("person {index}: docket {}", docket.answer.docket_id),
            Err(error) => println!("person {index}: {error}"),
        }
    }
    for entry in ledger.unknown().await? {
        println!(
            "{}: begun at {:?}, outcome unknown",
            entry.key, entry.begun_at
        );
    }
    Ok(())
}

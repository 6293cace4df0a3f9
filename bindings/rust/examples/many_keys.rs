//! Measures a ledger with many keys, a million unless the argument says otherwise, in the current
//! folder. No service is asked: the answers are made here.

use http_body::Body;
use std::error::Error;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{env, fs};
use voice_calling::transport::{Limits, RequestBody, ResponseBody, Sending, Transport, http};
use voice_calling::{Client, DocketRequestV2, Ledger};

const FILE: &str = "many-keys.db";

/// Answers each create with another docket.
struct Answers(AtomicU64);

impl Transport for Answers {
    fn send(&self, request: http::Request<RequestBody>, _: Limits) -> Sending {
        let index = self.0.fetch_add(1, Relaxed);
        let answer = format!(r#"{{"docket_id":"00000000-0000-4000-8000-{index:012x}"}}"#);
        let mut body = request.into_body();
        Box::pin(async move {
            // A create that was not read was not sent.
            poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await;
            Ok(http::Response::new(ResponseBody::new(answer)))
        })
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let keys: u64 = env::args().nth(1).map_or(Ok(1_000_000), |it| it.parse())?;
    let ledger = Ledger::open(FILE)?;
    let client = Client::builder()
        .base_url("http://127.0.0.1:9")
        .api_token("t");
    let client = client
        .setting("MAX_IN_FLIGHT", 64)
        .transport(Answers(AtomicU64::new(0)));
    let client = client.ledger(ledger.clone()).build()?;
    let requests = (0..keys).map(|index| {
        let mut request = DocketRequestV2::new(7, format!("91{index:010}"));
        request.call_context = r#"{"name":"Asha"}"#.to_owned();
        (format!("renewals-2026-11/crm-{index}"), request)
    });
    let began = Instant::now();
    let mut dockets = client.create_dockets_v2(requests, Duration::from_secs(24 * 3600))?;
    while let Some((_, result)) = dockets.next().await {
        result?;
    }
    let rate = keys as f64 / began.elapsed().as_secs_f64();
    drop((client, ledger));
    let bytes = fs::metadata(FILE)?.len() / keys;
    let began = Instant::now();
    let ledger = Ledger::open(FILE)?;
    let opened = began.elapsed();
    let began = Instant::now();
    let unknown = ledger.unknown().await?.len();
    let read = began.elapsed();
    println!(
        "{keys} keys: {rate:.0} creates/s, {bytes} bytes each, opened in {opened:.2?}, {unknown} unknown in {read:.2?}"
    );
    Ok(())
}

//! The mock service as a process.

use anyhow::{Context, Result};
use clap::Args;
use host_test::mock::{
    CallStatus, FaultOrder, Meanings, MockService, Options, Pace, WebhookOptions,
};
use std::time::Duration;

#[derive(Args)]
pub(crate) struct Mock {
    /// Port on 127.0.0.1; 0 picks a free one
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// The token that is accepted
    #[arg(long, default_value = "mock-token-0001")]
    pub(crate) token: String,
    /// Where completed dockets are reported: an http URL on loopback
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// Reports each call as well, in an invented shape
    #[arg(long, requires = "webhook")]
    call_events: bool,
    /// How often each completed docket is reported
    #[arg(long, value_name = "COUNT", default_value_t = 1, requires = "webhook")]
    webhook_copies: u32,
    /// How long after the last call a completed docket is reported
    #[arg(long, value_name = "MS", default_value_t = 0, requires = "webhook")]
    webhook_delay_ms: u64,
    /// How long a call takes, and the time before a docket's next one
    #[arg(long, value_name = "MS", default_value_t = 2_000)]
    call_ms: u64,
    /// How long every answer is held back
    #[arg(long, value_name = "MS", default_value_t = 0)]
    delay_ms: u64,
    /// How the calls of a docket end, until one is answered; a direct call ends as the first
    /// [default: no-answer,answered; a direct call is answered]
    #[arg(long, value_enum, value_name = "STATUSES", value_delimiter = ',')]
    calls: Vec<CallStatus>,
    /// Draws how calls end from this seed and the phone number
    #[arg(long, conflicts_with = "calls")]
    seed: Option<u64>,
    /// Faults on order: ENDPOINT[@NTH]:FAULT[:OPTION], separated by commas
    ///
    /// ENDPOINT: create-agent, list-agents, make-call, get-call-details, create-docket,
    /// create-docket-v2, get-docket. NTH: which request to it, from 1. FAULT: a status,
    /// created-then-STATUS, or slow. OPTION: retry-after=SECONDS, delay-ms=MS. For example:
    /// create-docket-v2:503,make-call@2:429:retry-after=1,create-docket:created-then-503
    #[arg(long, value_name = "ORDERS", value_delimiter = ',')]
    faults: Vec<FaultOrder>,
    #[command(flatten)]
    meanings: Meanings,
}

pub(crate) async fn serve_mock(mock: Mock) -> Result<()> {
    let mut options = Options {
        port: mock.port,
        token: mock.token,
        pace: Pace::Every(Duration::from_millis(mock.call_ms)),
        faults: mock.faults,
        answer_delay: Duration::from_millis(mock.delay_ms),
        meanings: mock.meanings,
        ..Options::default()
    };
    options.scripts.seed = mock.seed;
    if let Some(first) = mock.calls.first() {
        options.scripts.direct_call = *first;
        options.scripts.docket = mock.calls;
    }
    options.webhook = mock.webhook.map(|url| WebhookOptions {
        call_events: mock.call_events,
        copies: mock.webhook_copies,
        delay: Duration::from_millis(mock.webhook_delay_ms),
        ..WebhookOptions::to(url)
    });
    let service = MockService::start(options).await?;
    println!("The mock service is ready. No phone rings. Ctrl-C stops it.");
    println!("export VOICE_CALLING_BASE_URL={}", service.base_url());
    println!("export VOICE_CALLING_API_TOKEN={}", service.token());
    tokio::signal::ctrl_c()
        .await
        .context("cannot wait for Ctrl-C")?;
    service.stop().await;
    println!("The mock service has stopped.");
    Ok(())
}

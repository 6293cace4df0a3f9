//! The mock service as a command: its arguments and its output, which `voice-calling-mock` and
//! `host-test` share.

#![forbid(unsafe_code)]

use anyhow::{Context, Result};
use clap::Args;
use std::sync::Arc;
use std::time::Duration;
use voice_calling_mock::{CallStatus, FaultOrder, MockService, Options, Pace, RepeatedExternalId};
use voice_calling_page::Page;

/// The arguments.
#[derive(Args)]
pub struct Mock {
    /// Port on 127.0.0.1; 0 picks a free one
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// The token that is accepted
    #[arg(long, default_value = "mock-token-0001")]
    pub token: String,
    /// Where completed dockets are reported: an http URL on loopback
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// Serves a page on which the calls ring, at this port of 127.0.0.1 [default: a free one]
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0")]
    page: Option<u16>,
    /// Lets every call ring until it is ended on the page
    #[arg(long, requires = "page")]
    manual: bool,
    /// How long a call takes
    #[arg(
        long,
        value_name = "MS",
        default_value_t = 2_000,
        conflicts_with = "manual"
    )]
    call_ms: u64,
    /// How long every answer is held back
    #[arg(long, value_name = "MS", default_value_t = 0)]
    delay_ms: u64,
    /// How the calls of a docket end, separated by commas, until one is answered; a direct call ends
    /// as the last
    #[arg(
        long,
        value_enum,
        value_name = "STATUSES",
        value_delimiter = ',',
        default_values_t = [CallStatus::NoAnswer, CallStatus::Answered]
    )]
    calls: Vec<CallStatus>,
    /// Faults to inject: `ENDPOINT:FAULT[:OPTION]`, separated by commas
    ///
    /// Each is for the next request to its endpoint that has none yet. ENDPOINT: create-agent,
    /// list-agents, make-call, get-call-details, create-docket, create-docket-v2, get-docket.
    /// FAULT: a status, created-then-STATUS, created-then-unanswered, hang, completed-first (its
    /// webhook comes before the answer), or slow. OPTION: retry-after=SECONDS, delay-ms=MS. Of the
    /// next webhook: webhook:lost, webhook:twice. For example:
    /// create-docket-v2:503,make-call:429:retry-after=1,create-docket:created-then-503
    #[arg(long, value_name = "ORDERS", value_delimiter = ',')]
    faults: Vec<FaultOrder>,
    /// Answer to a version 2 creation whose external id was seen before
    #[arg(long, value_enum, default_value_t)]
    repeated_external_id: RepeatedExternalId,
}

impl From<Mock> for Options {
    fn from(mock: Mock) -> Self {
        let mut options = Options {
            port: mock.port,
            token: mock.token,
            pace: match mock.manual {
                true => Pace::Manual,
                false => Pace::Every(Duration::from_millis(mock.call_ms)),
            },
            faults: mock.faults,
            answer_delay: Duration::from_millis(mock.delay_ms),
            repeated_external_id: mock.repeated_external_id,
            webhook: mock.webhook,
            ..Options::default()
        };
        options.scripts.docket = mock.calls;
        options
    }
}

/// Serves until Ctrl-C.
///
/// # Errors
/// Fails if a port is not available or an argument is invalid.
pub async fn serve_mock(mock: Mock) -> Result<()> {
    let page_port = mock.page;
    let service = Arc::new(MockService::start(mock.into()).await?);
    let page = match page_port {
        Some(port) => Some(Page::start(service.clone(), port).await?),
        None => None,
    };
    let announced = async {
        println!("The mock service is ready. No real phone rings. Ctrl-C stops it.");
        println!("export VOICE_CALLING_BASE_URL={}", service.base_url());
        println!("export VOICE_CALLING_API_TOKEN={}", service.token());
        if let Some(page) = &page {
            println!("The page: {}", page.url());
        }
    };
    // Listens for Ctrl-C first: a reader of the address may interrupt at once.
    let (stopped, ()) = tokio::join!(biased; tokio::signal::ctrl_c(), announced);
    stopped.context("cannot wait for Ctrl-C")?;
    drop((page, service));
    println!("The mock service has stopped.");
    Ok(())
}

//! `voice-calling-mock`: the mock service as a program.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Parser;
use serde_json::json;
use tokio::signal::ctrl_c;
#[cfg(unix)]
use tokio::signal::unix;
use tokio::sync::oneshot;
use voice_calling_mock::{
    CallStatus, Control, FaultOrder, MockService, Options, Pace, RateLimit, RepeatedExternalId,
};

/// The voice-calling service on your own machine: no real phone rings
#[derive(Parser)]
#[command(name = "voice-calling-mock", version)]
struct CommandLine {
    /// Port of the service, 8080 unless it is given; 0 picks a free one
    #[arg(long)]
    port: Option<u16>,
    /// Port of the page and the control API; 0 picks a free one
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    control_port: u16,
    /// Address to listen on; 0.0.0.0 in a container
    #[arg(long, value_name = "IP", default_value_t = Ipv4Addr::LOCALHOST.into())]
    bind: IpAddr,
    /// Tokens that are accepted, separated by commas: of org-1, org-2 and so on
    #[arg(
        long,
        value_name = "TOKENS",
        value_delimiter = ',',
        default_value = "mock-token-0001"
    )]
    token: Vec<String>,
    /// Lets every call ring until it is ended on the page or by the control API
    #[arg(long)]
    manual: bool,
    /// How long a call takes; a docket's next one then rings at once
    #[arg(
        long,
        value_name = "MS",
        default_value_t = 2_000,
        conflicts_with = "manual"
    )]
    call_ms: u64,
    /// How the calls of a docket end, until one is answered; a direct call ends as the last
    #[arg(
        long,
        value_enum,
        value_name = "STATUSES",
        value_delimiter = ',',
        default_values_t = [CallStatus::NoAnswer, CallStatus::Answered]
    )]
    calls: Vec<CallStatus>,
    /// Where completed dockets are reported: an http URL on this machine or in a private network
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// How often a webhook that is not answered with 2xx is sent again, after 1 s, 2 s, 4 s …
    #[arg(long, value_name = "TIMES", default_value_t = 0)]
    webhook_retries: u32,
    /// Faults of the next requests or webhooks: ENDPOINT:FAULT[:OPTION], separated by commas
    ///
    /// docs/mock.md lists the faults. For example:
    /// create-docket-v2:503,make-call:429:retry-after=1,webhook:twice
    #[arg(long, value_name = "ORDERS", value_delimiter = ',')]
    faults: Vec<FaultOrder>,
    /// How many requests each token may make: REQUESTS/SECONDS; others are answered with 429
    #[arg(long, value_name = "LIMIT")]
    rate_limit: Option<RateLimit>,
    /// How long every answer is held back
    #[arg(long, value_name = "MS", default_value_t = 0)]
    delay_ms: u64,
    /// Answer to a version 2 creation whose external id was seen before
    #[arg(long, value_enum, value_name = "ANSWER", default_value_t)]
    repeated_external_id: RepeatedExternalId,
    /// For tests: picks a free port, prints one line of JSON, and ends with its standard input
    #[arg(long)]
    child: bool,
}

impl CommandLine {
    fn options(self) -> Options {
        let port = self.port.unwrap_or(if self.child { 0 } else { 8080 });
        let mut options = Options {
            address: (self.bind, port).into(),
            tokens: self.token,
            pace: match self.manual {
                true => Pace::Manual,
                false => Pace::Every(Duration::from_millis(self.call_ms)),
            },
            webhook: self.webhook,
            webhook_retries: self.webhook_retries,
            faults: self.faults,
            rate_limit: self.rate_limit,
            answer_delay: Duration::from_millis(self.delay_ms),
            repeated_external_id: self.repeated_external_id,
            ..Options::default()
        };
        options.scripts.docket = self.calls;
        options
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match serve(CommandLine::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Serves until Ctrl-C or SIGTERM, or as a child until the end of its input.
async fn serve(command_line: CommandLine) -> Result<()> {
    let is_child = command_line.child;
    let control = (command_line.bind, command_line.control_port).into();
    let mock = Arc::new(MockService::start(command_line.options()).await?);
    let control = Control::start(mock.clone(), control).await?;
    let (base_url, token, control_url) = (mock.base_url(), mock.token(), control.url());
    let announced = async {
        let text = match is_child {
            true => json!({"base_url": base_url, "token": token, "control_url": control_url})
                .to_string(),
            false => format!(
                "The mock service is ready. No real phone rings. Ctrl-C stops it.\n\
                 export VOICE_CALLING_BASE_URL={base_url}\n\
                 export VOICE_CALLING_API_TOKEN={token}\n\
                 The page: {control_url}"
            ),
        };
        writeln!(io::stdout(), "{text}").context("cannot print where it listens")
    };
    let stopped = async {
        tokio::select! {
            stopped = ctrl_c() => stopped.context("cannot wait for Ctrl-C"),
            () = terminated() => Ok(()),
            () = end_of_input(), if is_child => Ok(()),
        }
    };
    // Listens for signals first: a reader of the address may interrupt at once.
    tokio::try_join!(biased; stopped, announced)?;
    if !is_child {
        // The reader of its address may have ended first.
        let _ = writeln!(io::stdout(), "The mock service has stopped.");
    }
    Ok(())
}

/// Waits for SIGTERM, which ends containers.
async fn terminated() {
    #[cfg(unix)]
    if let Ok(mut signal) = unix::signal(unix::SignalKind::terminate()) {
        signal.recv().await;
        return;
    }
    std::future::pending().await
}

/// Waits until the parent closes the input, or ends.
async fn end_of_input() {
    let (ended, end) = oneshot::channel();
    // A thread of its own, which does not keep the runtime from ending.
    thread::spawn(move || {
        _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        ended.send(())
    });
    _ = end.await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Arg, CommandFactory};
    use voice_calling_mock::{REQUEST_FAULTS, TEST_NUMBERS, WEBHOOK_FAULTS};

    const PAGE: &str = include_str!("../../docs/mock.md");

    #[test]
    fn the_page_names_only_flags_that_there_are() {
        let command = CommandLine::command();
        let flags: Vec<_> = command.get_arguments().filter_map(Arg::get_long).collect();
        // Those of `docker` and `cargo` are in lines of commands, with others.
        let named = PAGE.split('`').filter_map(|text| text.strip_prefix("--"));
        let named: Vec<_> = named.filter(|name| *name != "help").collect();
        assert!(!named.is_empty());
        for name in named {
            assert!(flags.contains(&name), "docs/mock.md names --{name}");
        }
    }

    #[test]
    fn the_page_has_every_fault_and_every_number() {
        let requests = REQUEST_FAULTS.map(|(fault, meaning)| format!("| `{fault}` | {meaning} |"));
        let webhooks =
            WEBHOOK_FAULTS.map(|(fault, meaning)| format!("| `webhook:{fault}` | {meaning} |"));
        let numbers = TEST_NUMBERS.iter();
        let numbers = numbers.map(|(number, outcome, _)| format!("| {number} | {outcome} |"));
        let expected: Vec<_> = requests
            .into_iter()
            .chain(webhooks)
            .chain(numbers)
            .collect();
        for row in &expected {
            assert!(PAGE.contains(row), "docs/mock.md lacks {row}");
        }
        let of_tables = |line: &&str| line.starts_with("| `webhook:") || line.starts_with("| 4477");
        let found = PAGE.lines().filter(of_tables).count();
        assert_eq!(found, WEBHOOK_FAULTS.len() + TEST_NUMBERS.len());
    }
}

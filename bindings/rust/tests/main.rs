//! The client as a program meets it.

mod client;
mod creates;
mod dropped;
mod ledger;
mod log;
mod network;
mod scripted;
mod telemetry;

use std::io;
use std::sync::Once;
use tracing::Level;
use voice_calling::{Builder, Client, DocketRequestV2};

const DOCKET_ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";

/// The answer to a create.
const CREATED: &str = r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11","status":"OPEN"}"#;

/// Returns a request to call the person of a number.
fn request(number: u32) -> DocketRequestV2 {
    DocketRequestV2::new(7, format!("91{number:010}")).with_external_id(format!("crm-{number}"))
}

fn builder(base_url: &str) -> Builder {
    listen();
    let builder = Client::builder()
        .base_url(base_url)
        .api_token("token-of-a-test");
    builder
        .setting("BACKOFF_MS", 1)
        .setting("MAX_BACKOFF_MS", 1)
        .setting("ATTEMPT_TIMEOUT_MS", 30_000)
}

/// Has each place that logs ask for the subscriber of its thread. One that is met for the first time
/// in the moment in which another thread sets its subscriber would else be silent from then on.
fn listen() {
    static LISTENS: Once = Once::new();
    LISTENS.call_once(|| {
        let all = tracing_subscriber::fmt().with_max_level(Level::TRACE);
        let all = all.with_writer(io::sink).finish();
        tracing::subscriber::set_global_default(all).expect("the first subscriber");
    });
}

#[test]
fn the_readme_has_the_program_that_is_killed() {
    let (_, program) = include_str!("../examples/list.rs")
        .split_once("\n\n")
        .unwrap();
    assert!(include_str!("../README.md").contains(program));
}

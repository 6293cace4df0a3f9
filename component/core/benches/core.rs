//! Measures the core's share of the time of an operation: a bench, not a test.
//!
//! ```text
//! cargo bench -p voice-calling-core --bench core
//! cargo bench -p voice-calling-core --bench core -- decode
//! cargo bench -p voice-calling-core --bench core -- --save-baseline before
//! cargo bench -p voice-calling-core --bench core -- --baseline before
//! ```
//!
//! Operations go through [`Client`] to a service in memory that answers at once and whose
//! sleeps only move its clock. Sizes grow by factors, so that a throughput that falls shows what is
//! not linear. This is native code, optimized for speed; the guest is WebAssembly, optimized for
//! size. Figures compare with each other, not with those of the component.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::cell::Cell;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use voice_calling_core::types::DocketRequestV2;
use voice_calling_core::{Client, Limits, Request, Response, SendError, Settings, Transport};

/// Bytes of what a caller or the service attaches to a docket. The largest fits into the default of
/// `VOICE_CALLING_MAX_REQUEST_BYTES`.
const CONTEXT_BYTES: [usize; 3] = [100, 10_000, 1_000_000];

/// How many records, refusals or dockets there are.
const COUNTS: [usize; 3] = [1, 10, 99];

const DOCKET_ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";

criterion_group!(benches, create, decode, retry, batch, settings);
criterion_main!(benches);

/// Encodes and sends a docket with a growing call context.
fn create(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("create, context bytes");
    let service = Service::answering(0, docket("{}"));
    let client = Client::new(read_settings("4"), &service);
    for bytes in CONTEXT_BYTES {
        let request = request(bytes);
        group.throughput(Throughput::Bytes(bytes as u64));
        group.bench_function(BenchmarkId::from_parameter(bytes), |bencher| {
            bencher.iter(|| run(client.create_docket_v2(&request, None)).expect("a docket"));
        });
    }
}

/// Decodes dockets and details of calls that grow.
fn decode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode");
    for bytes in CONTEXT_BYTES {
        let service = Service::answering(0, docket(&context(bytes)));
        let client = Client::new(read_settings("4"), &service);
        group.throughput(Throughput::Bytes(bytes as u64));
        group.bench_function(
            BenchmarkId::new("docket, context bytes", bytes),
            |bencher| {
                bencher.iter(|| run(client.get_docket(DOCKET_ID, None)).expect("a docket"));
            },
        );
    }
    for count in COUNTS {
        let records = vec![CALL_DETAILS; count].join(",");
        let service = Service::answering(0, format!("[{records}]"));
        let client = Client::new(read_settings("4"), &service);
        group.throughput(Throughput::Bytes(records.len() as u64));
        group.bench_function(
            BenchmarkId::new("call details, records", count),
            |bencher| {
                bencher.iter(|| run(client.get_call_details("t-1", None)).expect("details"));
            },
        );
    }
}

/// Judges, records and waits out 503s. A large request must not make them dearer.
fn retry(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("retry");
    for (bytes, refusals) in [(100, 9), (100, 99), (1_000_000, 99)] {
        let service = Service::answering(refusals, docket("{}"));
        let client = Client::new(read_settings(&(refusals + 1).to_string()), &service);
        let request = request(bytes);
        group.throughput(Throughput::Elements(refusals.into()));
        group.bench_function(
            BenchmarkId::new(format!("{refusals} refusals"), bytes),
            |bencher| {
                bencher.iter(|| run(client.create_docket_v2(&request, None)).expect("a docket"));
            },
        );
    }
}

fn batch(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("batch, dockets");
    let service = Service::answering(0, docket("{}"));
    let client = Client::new(read_settings("4"), &service);
    for count in COUNTS {
        let requests = vec![request(100); count];
        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(BenchmarkId::from_parameter(count), |bencher| {
            bencher.iter(|| run(client.create_dockets_v2(&requests, 60_000, None)).expect("all"));
        });
    }
}

fn settings(criterion: &mut Criterion) {
    criterion.bench_function("settings", |bencher| bencher.iter(|| read_settings("4")));
}

fn read_settings(max_attempts: &str) -> Settings {
    let environment = [
        ("BASE_URL", "https://api.example/voice"),
        (
            "API_TOKEN",
            "a-token-as-long-as-they-usually-are-0123456789",
        ),
        ("MAX_ATTEMPTS", max_attempts),
        ("DEADLINE_MS", "86400000"),
    ];
    let variable =
        |(name, value): (&str, &str)| (format!("VOICE_CALLING_{name}"), value.to_owned());
    Settings::from_environment(environment.map(variable)).expect("settings")
}

fn request(context_bytes: usize) -> DocketRequestV2 {
    DocketRequestV2 {
        agent_id: 7,
        to_phone_number: "919876543210".to_owned(),
        call_context: context(context_bytes),
        external_id: Some("crm-7".to_owned()),
        extra: None,
    }
}

/// A JSON object of about so many bytes.
fn context(bytes: usize) -> String {
    let note = "the \\\"gold\\\" policy of आशा";
    let members = (0..bytes / 45).map(|index| format!(r#""{index}":"{note}""#));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

fn docket(context: &str) -> String {
    format!(
        r#"{{"docket_id":"{DOCKET_ID}","status":"COMPLETED","call_context":{context},"external_id":"crm-7","outbound_call_count":2,"closed_at":"2026-01-02T03:14:05.678901"}}"#
    )
}

const CALL_DETAILS: &str = r#"{"agent_name":"renewals","call_context":{"name":"आशा","policy":"gold"},"call_insights":{"metadata":{"language":"hi"},"user_interest":{"status":"INTERESTED","confidence_score":0.87,"reasoning":"asked \"how much\" it would be"},"next_action":{"value":"CALL_BACK","reason":"wants to ask at home"}},"call_status":"ANSWERED","call_duration":61.5}"#;

/// A service in memory that refuses every operation so many times, and the clock beside it.
struct Service {
    refusals: u32,
    body: String,
    sent: Cell<u32>,
    now_ms: Cell<u64>,
}

impl Service {
    fn answering(refusals: u32, body: String) -> Self {
        Self {
            refusals,
            body,
            sent: Cell::default(),
            now_ms: Cell::default(),
        }
    }
}

impl Transport for &Service {
    type Response = Answer;

    async fn send(&self, _: &Request, _: Limits) -> Result<Answer, SendError> {
        let is_refused = self.sent.get() % (self.refusals + 1) < self.refusals;
        self.sent.set(self.sent.get() + 1);
        Ok(match is_refused {
            true => Answer(503, None),
            false => Answer(200, Some(self.body.clone().into())),
        })
    }

    async fn sleep(&self, duration_ms: u64) {
        self.now_ms.set(self.now_ms.get() + duration_ms);
    }

    fn now_ms(&self) -> u64 {
        self.now_ms.get()
    }

    fn unix_time_s(&self) -> u64 {
        0
    }

    fn random(&self) -> u64 {
        u64::MAX
    }

    async fn log(&self, _: &str) {}
}

/// A status, and a body in one piece.
struct Answer(u16, Option<Vec<u8>>);

impl Response for Answer {
    fn status(&self) -> u16 {
        self.0
    }

    fn header(&self, _: &str) -> Option<Vec<u8>> {
        None
    }

    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, String> {
        Ok(self.1.take())
    }
}

/// The result of what never has to wait.
fn run<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a service in memory made somebody wait"),
    }
}

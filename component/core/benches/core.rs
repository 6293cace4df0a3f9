//! What the core takes of the time of an operation: a bench, not a test. Every operation is
//! asserted once to do what its name says before it is measured, so that no figure is that of
//! an error path; whether the core is right is for its tests to say.
//!
//! ```text
//! cargo bench -p voice-calling-core --bench core                   # all of it, 2 to 4 minutes
//! cargo bench -p voice-calling-core --bench core -- decode         # what has this in its name
//! cargo bench -p voice-calling-core --bench core -- --test         # each once, unmeasured
//! cargo bench -p voice-calling-core --bench core -- --save-baseline before
//! cargo bench -p voice-calling-core --bench core -- --baseline before
//! ```
//!
//! Operations go through [`Client`] to a service in memory that answers at once and whose
//! sleeps only move its clock. What it costs is one copy of the body that it answers. Each
//! group is named after what dominates it:
//!
//! - `encode`: `create_docket_v2` of a growing call context, which the transport denies, so
//!   that there is nothing to decode. Bytes are those of the context.
//! - `decode`: answers that grow in each of the ways in which they can, and webhooks. Bytes
//!   are those of the body.
//! - `retry`: an operation that is refused with 503 and retried, up to the most attempts that
//!   the settings allow; the last attempt succeeds. Elements are the refusals: each is judged,
//!   recorded with what it said, and waited out. A large request must not make them dearer.
//! - `settings`: the environment into settings.
//! - `whole`: encode, send, judge and decode, for one docket and for batches. Bytes are those
//!   of the context, elements are dockets.
//!
//! Sizes grow by factors, so that the throughput of a group shows what is not linear: it
//! rises until the fixed costs no longer count, and must not fall from then on by more than
//! caches explain. This is native code, optimized for speed; the guest is WebAssembly,
//! optimized for size. Figures compare with each other, not with those of the component.

use criterion::measurement::WallTime;
use criterion::{
    BatchSize, BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
};
use std::cell::Cell;
use std::hint::black_box;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use voice_calling_core::settings::DEFAULT_MAX_DELIVERY_BYTES;
use voice_calling_core::types::{CreatedDocketV2, DocketRequestV2, DocketStatus, RequestError};
use voice_calling_core::webhooks::parse_docket_completed;
use voice_calling_core::{
    Client, Delivery, Limits, Request, Response, SendError, Settings, Transport,
};

/// The sizes of what a caller or the service attaches to a docket. The largest fits into
/// the default of `VOICE_CALLING_MAX_REQUEST_BYTES`.
const CONTEXT_BYTES: [usize; 3] = [100, 10_000, 1_000_000];

/// How many records, attempts or dockets there are.
const COUNTS: [usize; 3] = [1, 100, 1_000];

const DOCKET_ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";

const CREATED_DOCKET: &str =
    r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11","status":"OPEN","created":true}"#;

criterion_group! {
    name = benches;
    config = Criterion::default()
        .without_plots()
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));
    targets = encode, decode, retry, settings, whole
}
criterion_main!(benches);

// ---------------------------------------------------------------- what is measured

fn encode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("encode");
    for bytes in CONTEXT_BYTES {
        let service = Service::denied();
        let client = Client::new(client_settings(&[]), &service);
        let request = docket_request(bytes);

        assert!(matches!(
            run(client.create_docket_v2(&request, None)),
            Err(RequestError::PermanentConfiguration(_))
        ));
        assert_eq!(service.latest_body_bytes.get(), encoded_bytes(&request));

        group.throughput(Throughput::Bytes(bytes as u64));
        group.bench_function(
            BenchmarkId::new("docket, context bytes", bytes),
            |bencher| {
                bencher.iter(|| run(client.create_docket_v2(black_box(&request), None)));
            },
        );
    }
}

fn decode(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decode");
    for bytes in CONTEXT_BYTES {
        let body = docket(&call_context(bytes), 0);
        decode_docket(&mut group, "docket, context bytes", bytes, &body);
    }
    for count in [100, 1_000, 10_000] {
        let body = docket("{}", count);
        decode_docket(&mut group, "docket, unknown members", count, &body);
    }
    for count in COUNTS {
        decode_call_details(&mut group, count);
    }
    for count in COUNTS {
        decode_webhook(&mut group, count);
    }
}

fn decode_docket(group: &mut BenchmarkGroup<'_, WallTime>, grows: &str, size: usize, body: &str) {
    let service = Service::answering(body);
    let client = Client::new(client_settings(&[]), &service);

    let docket = run(client.get_docket(DOCKET_ID, None)).expect("a docket");
    assert_eq!(docket.status, Some(DocketStatus::Completed));
    assert!(docket.call_context.is_some());
    assert_eq!(docket.raw_json, body);

    group.throughput(Throughput::Bytes(body.len() as u64));
    group.bench_function(BenchmarkId::new(grows, size), |bencher| {
        bencher.iter(|| run(client.get_docket(black_box(DOCKET_ID), None)));
    });
}

fn decode_call_details(group: &mut BenchmarkGroup<'_, WallTime>, count: usize) {
    let body = format!("[{}]", vec![CALL_DETAILS; count].join(","));
    let service = Service::answering(&body);
    let client = Client::new(client_settings(&[]), &service);

    let details = run(client.get_call_details("task-1", None)).expect("details");
    assert_eq!(details.raw_json, body);
    assert_eq!(details.calls.len(), count);
    for record in &details.calls {
        let insights = record.call_insights.as_ref().expect("insights");
        assert!(insights.user_interest.is_some() && insights.next_action.is_some());
    }

    group.throughput(Throughput::Bytes(body.len() as u64));
    group.bench_function(
        BenchmarkId::new("call details, records", count),
        |bencher| {
            bencher.iter(|| run(client.get_call_details(black_box("task-1"), None)));
        },
    );
}

fn decode_webhook(group: &mut BenchmarkGroup<'_, WallTime>, count: usize) {
    let attempts = vec![CALL_DETAILS; count].join(",");
    let context = call_context(100);
    let body = format!(
        r#"{{"docket_id":"{DOCKET_ID}","call_insights":{{"call_disposition":"INTERESTED","call_metadata":{{"amount":0.10}}}},"call_context":{context},"attempts":[{attempts}],"dashboard_url":"https://dashboard.example/1"}}"#
    );

    let completed = parse_docket_completed(&body, DEFAULT_MAX_DELIVERY_BYTES)
        .expect("a webhook")
        .expect("a completion");
    assert_eq!(completed.docket_id, DOCKET_ID);
    assert_eq!(completed.attempts, Some(format!("[{attempts}]")));
    assert!(completed.call_insights.is_some() && completed.dashboard_url.is_some());

    group.throughput(Throughput::Bytes(body.len() as u64));
    group.bench_function(BenchmarkId::new("webhook, attempts", count), |bencher| {
        bencher.iter(|| parse_docket_completed(black_box(&body), DEFAULT_MAX_DELIVERY_BYTES));
    });
}

fn retry(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("retry");
    for refusals in [9, 99] {
        refused(&mut group, "refusals", refusals, 100, "");
    }
    // Of the body of an error no more than this is read.
    let error_page = "x".repeat(65_536);
    refused(
        &mut group,
        "refusals with 64 KiB each",
        99,
        100,
        &error_page,
    );
    refused(&mut group, "refusals of a 1 MB request", 99, 1_000_000, "");
}

fn refused(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    refusals: u32,
    context_bytes: usize,
    refusal_body: &str,
) {
    let service = Service::refusing(refusals, refusal_body);
    // No attempt may be lost to the deadline: all pauses are within it.
    let max_attempts = (refusals + 1).to_string();
    let variables = [
        ("MAX_ATTEMPTS", &*max_attempts),
        ("DEADLINE_MS", "86400000"),
    ];
    let client = Client::new(client_settings(&variables), &service);
    let request = docket_request(context_bytes);

    assert_created(&run(client.create_docket_v2(&request, None)));
    assert_eq!(service.sent.get(), refusals + 1);
    assert!(service.now_ms.get() > 0, "pauses are waited out");

    group.throughput(Throughput::Elements(refusals.into()));
    group.bench_function(BenchmarkId::new(name, refusals), |bencher| {
        bencher.iter(|| run(client.create_docket_v2(black_box(&request), None)));
    });
}

fn settings(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("settings");
    let all = [
        ("MAX_ATTEMPTS", "5"),
        ("BACKOFF_MS", "200"),
        ("MAX_BACKOFF_MS", "4000"),
        ("CONNECT_TIMEOUT_MS", "2000"),
        ("ATTEMPT_TIMEOUT_MS", "8000"),
        ("DEADLINE_MS", "20000"),
        ("CREATE_RETRY", "not-sent"),
        ("TRUST_CONNECTION_TIMEOUT", "false"),
        ("MAX_IN_FLIGHT", "8"),
        ("MAX_REQUEST_BYTES", "65536"),
        ("MAX_RESPONSE_BYTES", "1048576"),
        ("ALLOW_INSECURE_HTTP", "false"),
        ("LOG", "attempts"),
    ];
    let defaults = client_settings(&[]);
    for (name, variables) in [("required alone", &all[..0]), ("all", &all[..])] {
        let environment = environment(variables);

        let settings = Settings::from_environment(environment.clone()).expect("settings");
        assert_eq!(settings == defaults, variables.is_empty());

        read_settings(&mut group, name, environment);
    }

    let names: Vec<_> = (0..100).map(|index| format!("a{index}")).collect();
    let mut accounts = environment(&[("ACCOUNTS", &names.join(","))]);
    for name in names {
        let variable = format!("VOICE_CALLING_{}_API_TOKEN", name.to_uppercase());
        accounts.push((variable, format!("token-of-{name}")));
    }
    assert!(Settings::from_environment(accounts.clone()).is_ok());
    read_settings(&mut group, "100 accounts", accounts);
}

fn read_settings(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    environment: Vec<(String, String)>,
) {
    group.bench_function(name, |bencher| {
        bencher.iter_batched(
            || environment.clone(),
            Settings::from_environment,
            BatchSize::SmallInput,
        );
    });
}

fn whole(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("whole");
    let service = Service::answering(CREATED_DOCKET);
    let client = Client::new(client_settings(&[]), &service);
    for bytes in CONTEXT_BYTES {
        let request = docket_request(bytes);

        assert_created(&run(client.create_docket_v2(&request, None)));
        assert_eq!(service.latest_body_bytes.get(), encoded_bytes(&request));

        group.throughput(Throughput::Bytes(bytes as u64));
        group.bench_function(
            BenchmarkId::new("docket, context bytes", bytes),
            |bencher| {
                bencher.iter(|| run(client.create_docket_v2(black_box(&request), None)));
            },
        );
    }
    for count in COUNTS {
        let requests = vec![docket_request(100); count];
        let batch = || run(client.create_dockets_v2(black_box(&requests), 60_000, None));

        let created = batch().expect("a batch");
        assert_eq!(created.len(), count);
        created.iter().for_each(assert_created);

        group.throughput(Throughput::Elements(count as u64));
        group.bench_function(BenchmarkId::new("batch, dockets", count), |bencher| {
            bencher.iter(batch);
        });
    }
}

fn assert_created(docket: &Result<CreatedDocketV2, RequestError>) {
    let docket = docket.as_ref().expect("a docket");
    assert_eq!(docket.docket_id, DOCKET_ID);
    assert_eq!(docket.created, Some(true));
}

// ---------------------------------------------------------------- what goes in

/// The environment with what is required and these variables.
fn environment(variables: &[(&str, &str)]) -> Vec<(String, String)> {
    [
        ("BASE_URL", "https://api.example/voice"),
        (
            "API_TOKEN",
            "a-token-as-long-as-they-usually-are-0123456789",
        ),
    ]
    .iter()
    .chain(variables)
    .map(|(name, value)| (format!("VOICE_CALLING_{name}"), (*value).to_owned()))
    .collect()
}

fn client_settings(variables: &[(&str, &str)]) -> Settings {
    Settings::from_environment(environment(variables)).expect("settings")
}

fn docket_request(context_bytes: usize) -> DocketRequestV2 {
    DocketRequestV2 {
        agent_id: 7,
        to_phone_number: "919876543210".to_owned(),
        call_context: call_context(context_bytes),
        external_id: Some("crm-7".to_owned()),
        extra: None,
    }
}

/// How long the body of a request by [`docket_request`] is.
fn encoded_bytes(request: &DocketRequestV2) -> usize {
    let context = &request.call_context;
    format!(
        r#"{{"agent_id":7,"to_phone_number":"919876543210","extra_config":{{"call_context":{context}}},"external_id":"crm-7"}}"#
    )
    .len()
}

/// A JSON object of exactly so many bytes: the more, the more members, some of which are
/// not ASCII.
fn call_context(bytes: usize) -> String {
    let mut json = r#"{"name":"आशा""#.to_owned();
    for index in 0.. {
        let member = format!(r#","note_{index}":"the \"gold\" policy, due in June""#);
        if json.len() + member.len() + "}".len() > bytes {
            break;
        }
        json.push_str(&member);
    }
    let padding = bytes - json.len() - "}".len();
    json.push_str(&" ".repeat(padding));
    json.push('}');
    json
}

/// A docket that the service answers, with so many members that this package does not know.
fn docket(context: &str, unknown_members: usize) -> String {
    let unknown: String = (0..unknown_members)
        .map(|index| format!(r#","unknown_{index}":{{"kept":{index}}}"#))
        .collect();
    format!(
        r#"{{"docket_id":"{DOCKET_ID}","agent_name":"renewals","status":"COMPLETED","call_type":"OUTBOUND","from_number":"911140000000","to_phone_number":"919876543210","call_context":{context},"external_id":"crm-7","closed_call_id":"c-2","latest_call_id":"c-2","closure_reason":"GOAL_MET","outbound_call_count":2,"notification_status":"SENT","first_called_at":"2026-01-02T03:04:05.678901","closed_at":"2026-01-02T03:14:05.678901","created_at":"2026-01-02T03:00:00.000000","updated_at":"2026-01-02T03:14:05.678901"{unknown}}}"#
    )
}

/// A record of the details of a call.
const CALL_DETAILS: &str = r#"{"agent_name":"renewals","call_context":{"name":"आशा","policy":"gold"},"call_insights":{"metadata":{"language":"hi"},"user_interest":{"status":"INTERESTED","confidence_score":0.87,"reasoning":"asked \"how much\" it would be"},"next_action":{"value":"CALL_BACK","reason":"wants to ask at home"}},"call_recording_url":"https://recordings.example/0d51","from_number":"911140000000","to_number":"919876543210","call_status":"ANSWERED","call_duration":61.5}"#;

// ---------------------------------------------------------------- the service

/// A service in memory, and the clock beside it.
struct Service {
    conduct: Conduct,
    now_ms: Cell<u64>,
    sent: Cell<u32>,
    latest_body_bytes: Cell<usize>,
}

enum Conduct {
    /// The host's policy lets no request out.
    Denied,
    /// Every operation is refused so many times before it is answered.
    Answering {
        body: Vec<u8>,
        refusals: u32,
        refusal_body: Vec<u8>,
    },
}

impl Service {
    fn denied() -> Self {
        Self::with(Conduct::Denied)
    }

    fn answering(body: &str) -> Self {
        Self::with(Conduct::Answering {
            body: body.into(),
            refusals: 0,
            refusal_body: Vec::new(),
        })
    }

    fn refusing(refusals: u32, refusal_body: &str) -> Self {
        Self::with(Conduct::Answering {
            body: CREATED_DOCKET.into(),
            refusals,
            refusal_body: refusal_body.into(),
        })
    }

    fn with(conduct: Conduct) -> Self {
        Self {
            conduct,
            now_ms: Cell::new(0),
            sent: Cell::new(0),
            latest_body_bytes: Cell::new(0),
        }
    }
}

impl Transport for &Service {
    type Response = Answer;

    async fn send(&self, request: &Request, _: Limits) -> Result<Answer, SendError> {
        let sent_before = self.sent.get();
        self.sent.set(sent_before + 1);
        self.latest_body_bytes.set(request.body.len());
        match &self.conduct {
            Conduct::Denied => Err(SendError {
                delivery: Delivery::Denied,
                message: String::new(),
            }),
            Conduct::Answering {
                refusals,
                refusal_body,
                ..
            } if sent_before % (refusals + 1) < *refusals => Ok(Answer {
                status: 503,
                body: Some(refusal_body.clone()),
            }),
            Conduct::Answering { body, .. } => Ok(Answer {
                status: 200,
                body: Some(body.clone()),
            }),
        }
    }

    /// Time passes at once, for those who wait for it.
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

/// An answer whose body comes in one piece.
struct Answer {
    status: u16,
    body: Option<Vec<u8>>,
}

impl Response for Answer {
    fn status(&self) -> u16 {
        self.status
    }

    fn header(&self, _: &str) -> Option<Vec<u8>> {
        None
    }

    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, String> {
        Ok(self.body.take())
    }
}

/// The result of what never has to wait.
fn run<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a service in memory made somebody wait"),
    }
}

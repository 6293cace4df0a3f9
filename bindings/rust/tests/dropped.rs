//! Operations that are dropped, and batches that are stopped or end before their requests.

use crate::log::Log;
use crate::{CREATED, listen, request};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use tokio::runtime::Builder;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use voice_calling::ledger::State;
use voice_calling::testing::{Answer, ScriptedService};
use voice_calling::{
    AgentConfig, Batch, CallRequest, Client, DocketRequest, Error, FailureKind, Ledger,
};

const AN_HOUR: Duration = Duration::from_secs(3600);

/// Makes an operation, and drops it after some time of the service.
async fn drop_after<R>(
    service: &ScriptedService,
    after_ms: u64,
    operation: impl Future<Output = Result<R, Error>>,
) {
    listen();
    let _hold = service.hold_time();
    tokio::select! {
        biased;
        ended = operation => panic!("it ended before: {:?}", ended.err()),
        () = service.advance(Duration::from_millis(after_ms)) => {}
    }
}

const CREATES: [&str; 4] = [
    "make_call",
    "create_docket",
    "create_docket_v2",
    "create_agent",
];

async fn create(client: &Client, function: &str) -> Result<(), Error> {
    let call = CallRequest::new("renewals", "919876543210");
    let docket = DocketRequest::new(7, "919876543210");
    let config = AgentConfig::new("new");
    match function {
        "make_call" => client.make_call(&call).await.map(drop),
        "create_docket" => client.create_docket(&docket).await.map(drop),
        "create_docket_v2" => client.create_docket_v2(&request(1)).await.map(drop),
        _ => client.create_agent(&config).await.map(drop),
    }
}

#[tokio::test]
async fn the_warning_of_a_dropped_create_has_its_function_account_and_key() {
    let log = Log::default();
    let _guard = tracing::subscriber::set_default(log.subscriber());
    let folder = tempfile::tempdir().unwrap();
    let ledger = Ledger::open(folder.path().join("calls.db")).unwrap();
    let connecting = || Answer::unreachable().after(Duration::from_secs(2));
    for (answers, after_ms, is_unknown) in [
        (vec![Answer::silence()], 500, true),
        // In the pause after an answer, and while it connects again.
        (vec![Answer::status(503)], 500, true),
        (vec![Answer::status(503), connecting()], 1_500, true),
        (vec![Answer::status(503), Answer::silence()], 1_500, true),
        (vec![connecting()], 500, false),
        (vec![Answer::status(429)], 500, false),
        (vec![Answer::status(429), connecting()], 1_500, false),
    ] {
        for function in CREATES {
            // With a key, no attempt follows one that may have created.
            let key = (!is_unknown).then(|| format!("{function} {answers:?} {after_ms}"));
            for key in [None, key] {
                let service = ScriptedService::new();
                answers.iter().for_each(|it| service.answer(it.clone()));
                let client = service.builder().setting("ACCOUNTS", "alpha");
                let client = client.setting("ALPHA_API_TOKEN", "token-of-alpha");
                let client = client.ledger(ledger.clone()).build().unwrap();
                let client = client.with_account("alpha");
                let client = match &key {
                    Some(key) => client.with_key(&**key),
                    None => client,
                };
                drop_after(&service, after_ms, create(&client, function)).await;
                let lines = log.take_lines();
                let case = format!("{function}, {answers:?}: {lines:?}");
                assert_eq!(lines.len(), usize::from(is_unknown), "{case}");
                for line in lines {
                    assert!(line.contains("may exist"), "{case}");
                    let fields = format!("function={function:?} account=\"alpha\"");
                    assert!(line.contains(&fields), "{case}");
                    let has_id = line.contains("external_id=\"crm-1\"");
                    assert_eq!(has_id, function == "create_docket_v2", "{case}");
                }
                if let Some(key) = &key {
                    assert_eq!(ledger.get(key).await.unwrap().unwrap().state, State::Free);
                }
            }
        }
    }
    for function in CREATES {
        let service = ScriptedService::new();
        service.answer(Answer::silence());
        let client = service.builder().ledger(ledger.clone()).build().unwrap();
        let client = client.with_key(function);
        drop_after(&service, 500, create(&client, function)).await;
        let lines = log.take_lines();
        let key = format!("key={function:?}");
        assert!(lines.len() == 1 && lines[0].contains(&key), "{lines:?}");
    }
    assert_eq!(ledger.unknown().await.unwrap().len(), 4);
}

/// Returns a batch of ten requests that counts those that were taken.
fn counted_batch(client: &Client) -> (Batch, Arc<AtomicUsize>) {
    listen();
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = taken.clone();
    let requests = (0..10).map(move |number| {
        counted.fetch_add(1, SeqCst);
        request(number)
    });
    (client.create_dockets_v2(requests, AN_HOUR).unwrap(), taken)
}

#[tokio::test]
async fn a_batch_sends_nothing_before_it_is_started_or_read() {
    let service = ScriptedService::new();
    let (batch, taken) = counted_batch(&service.client());
    service.advance(AN_HOUR).await;
    drop(batch);
    service.advance(AN_HOUR).await;
    assert_eq!((taken.load(SeqCst), service.requests().len()), (0, 0));

    // Its time begins when it is started.
    let (mut batch, _) = counted_batch(&service.client());
    service.advance(2 * AN_HOUR).await;
    batch.start();
    service.advance(Duration::from_secs(1)).await;
    assert_eq!(service.requests().len(), 10);
    while let Some((_, result)) = batch.next().await {
        assert!(result.is_ok());
    }
    assert!(batch.next().await.is_none());
}

#[tokio::test]
async fn a_batch_that_is_stopped_finishes_what_is_open_and_reports_the_rest() {
    let service = ScriptedService::new();
    let late = Answer::status(200)
        .text(CREATED)
        .after(Duration::from_secs(5));
    service.answer(late.repeated());
    let (mut batch, _) = counted_batch(&service.client());
    let hold = service.hold_time();
    batch.start();
    service.advance(Duration::from_secs(1)).await;
    let open = service.requests().len();
    assert_eq!(open, 5);
    batch.stop();
    drop(hold);
    let (mut created, mut not_begun) = (0, 0);
    while let Some((_, result)) = batch.next().await {
        match result {
            Ok(_) => created += 1,
            Err(error) if error.kind() == FailureKind::NotBegun => not_begun += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!((created, not_begun), (open, 5));
    assert_eq!(service.requests().len(), open);

    let (mut batch, _) = counted_batch(&service.client());
    batch.stop();
    while let Some((_, result)) = batch.next().await {
        assert_eq!(result.unwrap_err().kind(), FailureKind::NotBegun);
    }
    assert_eq!(service.requests().len(), open);

    // What waits for a rate limit has not begun either.
    let service = ScriptedService::new();
    service.answer(Answer::status(429).header("retry-after", "20"));
    let (mut batch, _) = counted_batch(&service.client());
    let hold = service.hold_time();
    batch.start();
    service.advance(Duration::from_secs(1)).await;
    let open = service.requests().len();
    batch.stop();
    drop(hold);
    let mut not_begun = 0;
    while let Some((_, result)) = batch.next().await {
        let is_not_begun = |error: Error| error.kind() == FailureKind::NotBegun;
        not_begun += usize::from(result.is_err_and(is_not_begun));
    }
    assert_eq!(not_begun, 10 - open);
    // The one that was limited has begun, and is sent again.
    assert_eq!(service.requests().len(), open + 1);
}

/// A subscriber that panics at each event and each span.
struct Panicking;

impl Subscriber for Panicking {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        match attributes.metadata().name() {
            "attempt" => panic!("the subscriber fails"),
            _ => Id::from_u64(1),
        }
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        panic!("the subscriber fails")
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn a_subscriber_that_panics_ends_a_batch_by_its_panic() {
    listen();
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let service = ScriptedService::new();
    let read = tracing::subscriber::with_default(Panicking, || {
        catch_unwind(AssertUnwindSafe(|| {
            runtime.block_on(async {
                let (mut batch, _) = counted_batch(&service.client());
                while batch.next().await.is_some() {}
            });
        }))
    });
    let panic = read.expect_err("the batch did not send all of its requests");
    assert_eq!(panic.downcast_ref(), Some(&"the subscriber fails"));
}

#[test]
fn a_batch_whose_runtime_ends_does_not_look_finished() {
    let runtime = Builder::new_multi_thread().enable_all().build().unwrap();
    let service = ScriptedService::new();
    service.answer(Answer::silence().repeated());
    let hold = service.hold_time();
    let mut batch = runtime.block_on(async {
        let (mut batch, _) = counted_batch(&service.client());
        batch.start();
        while service.requests().len() < 5 {
            tokio::task::yield_now().await;
        }
        batch
    });
    drop((runtime, hold));
    let other = Builder::new_current_thread().enable_all().build().unwrap();
    let read = AssertUnwindSafe(|| other.block_on(async { while batch.next().await.is_some() {} }));
    let panic = catch_unwind(read).expect_err("the batch has not ended by itself");
    let said = panic.downcast_ref::<String>().unwrap();
    assert!(said.contains("before its requests"), "{said}");
}

//! Creates with keys, and what is the same whatever stores them.

use futures_util::future::select;
use serde_json::json;
use std::fmt::Debug;
use std::future::ready;
use std::pin::pin;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::time::sleep;
use voice_calling::ledger::State;
use voice_calling::{
    AgentConfig, Client, CreatedDocketV2, DocketRequestV2, Error, FailureKind, Ledger, Recorded,
};
use voice_calling_mock::{Endpoint, Fault, MockService, Options};

const A_MOMENT: Duration = Duration::from_millis(1);

const A_MINUTE: Duration = Duration::from_secs(60);

pub(crate) const NUMBER: &str = "919876543210";
const DOCKET_ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";

pub(crate) fn request(number: &str, key: &str) -> DocketRequestV2 {
    let context = json!({"name": "Asha", "order": format!("of {key}")});
    let request = DocketRequestV2::new(7, number).with_external_id(key);
    request.with_call_context(&context).unwrap()
}

/// Starts a service that answers after this time.
pub(crate) async fn service(answer_delay_ms: u64) -> MockService {
    let options = Options {
        answer_delay: Duration::from_millis(answer_delay_ms),
        ..Options::default()
    };
    MockService::start(options).await.unwrap()
}

pub(crate) fn client(service: &MockService, ledger: &Ledger) -> Client {
    let builder = Client::builder().base_url(service.base_url());
    let builder = builder.api_token(service.token()).max_attempts(1);
    let builder = builder.attempt_timeout(A_MINUTE / 2);
    builder.ledger(ledger.clone()).build().unwrap()
}

pub(crate) async fn create(client: &Client, key: &str) -> Result<Recorded<CreatedDocketV2>, Error> {
    let request = request(NUMBER, key);
    client.with_key(key).create_docket_v2(&request).await
}

pub(crate) async fn state(ledger: &Ledger, key: &str) -> Option<State> {
    Some(ledger.get(key).await.unwrap()?.state)
}

/// Has the answer to the next create wait for [`release`].
pub(crate) fn hold_next(service: &MockService) {
    service.on_next(Endpoint::CreateDocketV2, Fault::slow(A_MINUTE));
}

/// Sends the answer that was held, once its request has come.
pub(crate) async fn release(service: &MockService) {
    while !service.changes(0).orders.is_empty() {
        sleep(A_MOMENT).await;
    }
    service.advance(A_MINUTE).unwrap();
}

/// Sends the answers of a service that takes a minute for each, until so many phones have rung and
/// a request waits for its answer.
pub(crate) async fn answer_until_rung(
    phones: usize,
    service: &MockService,
    mut is_running: impl FnMut() -> bool,
) {
    let before = service.requests().len();
    let has_open_request = || {
        let requests = &service.changes(0).requests[before..];
        requests.iter().any(|it| it.status.is_none())
    };
    while service.phones_rung().len() < phones || !has_open_request() {
        assert!(is_running(), "it has ended");
        service.advance(A_MINUTE).unwrap();
        sleep(2 * A_MOMENT).await;
    }
}

/// Waits for a state.
pub(crate) async fn reach(ledger: &Ledger, key: &str, expected: State) {
    while state(ledger, key).await != Some(expected) {
        sleep(A_MOMENT).await;
    }
}

/// Returns the subject of an error, and what was found.
pub(crate) fn problem<T: Debug>(refused: Result<T, Error>) -> String {
    let error = refused.unwrap_err();
    let problem = error.problem().expect("a problem");
    format!("{}: {}", problem.subject, problem.found)
}

pub(crate) async fn two_clients_with_one_key_send_it_once(ledgers: [Ledger; 2]) {
    let service = service(0).await;
    hold_next(&service);
    let clients = ledgers.each_ref().map(|ledger| client(&service, ledger));
    let [one, other] = clients.each_ref().map(|client| create(client, "k"));
    let (one, other) = (pin!(one), pin!(other));
    let (refused, sent) = select(one, other).await.factor_first();
    let error = refused.unwrap_err();
    let (created, ()) = tokio::join!(sent, release(&service));
    let created = created.unwrap();
    assert_eq!(error.kind(), FailureKind::OutcomeUnknown);
    let found = problem::<()>(Err(error));
    assert!(found.starts_with("key: ") && found.contains("in progress"));
    for client in &clients {
        let again = create(client, "k").await.unwrap();
        assert!(again.from_ledger && again.docket_id == created.docket_id);
    }
    assert_eq!(service.requests().len(), 1);
}

pub(crate) async fn an_unknown_one_is_resolved_or_released_and_a_done_one_is_pruned(
    ledger: Ledger,
) {
    let service = service(0).await;
    let client = client(&service, &ledger);
    for key in ["a", "b", "c"] {
        service.on_next(Endpoint::CreateDocketV2, Fault::status(503));
        create(&client, key).await.unwrap_err();
    }
    let unknown = ledger.unknown().await.unwrap();
    let keys: Vec<_> = unknown.iter().map(|entry| &*entry.key).collect();
    assert_eq!(keys, ["a", "b", "c"]);
    let found = problem(ledger.resolve("none", DOCKET_ID, "Asha").await);
    assert_eq!(found, "key: no entry");
    let found = problem(ledger.resolve("a", 7, "Asha").await);
    assert_eq!(found, "created_id: \"7\"");
    let found = problem(ledger.release("a", "").await);
    assert_eq!(found, "by: an empty text");
    let entry = ledger.resolve("a", DOCKET_ID, "Asha").await.unwrap();
    assert_eq!(entry.function, "create_docket_v2");
    assert_eq!(entry.resolved_by.as_deref(), Some("Asha"));
    let created = create(&client, "a").await.unwrap();
    assert!(created.from_ledger && created.docket_id == DOCKET_ID);
    let entry = ledger.release("b", "Asha").await.unwrap();
    assert_eq!((entry.state, entry.created_id), (State::Free, None));
    assert_eq!(called(&ledger, "").await, ["a", "c"]);
    assert!(!create(&client, "b").await.unwrap().from_ledger);
    let found = problem(ledger.release("b", "Asha").await);
    assert_eq!(found, "key: an entry that is done");
    let config = AgentConfig::new("new");
    let agent = client.with_key("d").create_agent(&config).await.unwrap();
    let entry = ledger.get("d").await.unwrap().unwrap();
    let agent_id = agent.answer.agent_id.map(|it| it.to_string());
    assert_eq!(entry.created_id, agent_id);
    assert_eq!(called(&ledger, "").await, ["a", "b", "c"]);
    assert_eq!(called(&ledger, "b").await, ["b"]);
    assert_eq!(ledger.prune(UNIX_EPOCH).await.unwrap(), 0);
    let later = SystemTime::now() + Duration::from_secs(1);
    assert_eq!(ledger.prune(later).await.unwrap(), 3);
    assert_eq!(state(&ledger, "a").await, None);
}

/// Returns the keys with this prefix that have called the number.
async fn called(ledger: &Ledger, key_prefix: &str) -> Vec<String> {
    let numbers = ["910000000000", NUMBER];
    let called = ledger.calls_to(&numbers, key_prefix).await.unwrap();
    assert!(called.iter().all(|(number, _)| number == NUMBER));
    called.into_iter().map(|(_, entry)| entry.key).collect()
}

pub(crate) async fn a_docket_that_is_fetched_resolves_an_unknown_one(ledger: Ledger) {
    let service = service(0).await;
    let client = client(&service, &ledger);
    service.on_next(Endpoint::CreateDocketV2, Fault::created_then(503));
    create(&client, "lost").await.unwrap_err();
    let docket_id = service.docket_with_context("of lost").unwrap();
    client.get_docket(&docket_id).await.unwrap();
    reach(&ledger, "lost", State::Done).await;
    let entry = ledger.get("lost").await.unwrap().unwrap();
    assert_eq!(entry.resolved_by.as_deref(), Some("docket"));
    let created = create(&client, "lost").await.unwrap();
    assert!(created.from_ledger && created.docket_id == docket_id);
}

/// `lock` keeps the ledger from storing anything.
pub(crate) async fn a_dropped_one_is_free_before_its_claim_and_unknown_once_it_is_sent<L>(
    ledger: Ledger,
    lock: impl AsyncFnOnce() -> L,
) {
    let service = service(0).await;
    let client = client(&service, &ledger);
    let locked = lock().await;
    tokio::select! {
        biased;
        _ = create(&client, "dropped") => panic!("it is not claimed yet"),
        () = ready(()) => drop(locked),
    }
    reach(&ledger, "dropped", State::Free).await;
    assert!(service.requests().is_empty());
    service.on_next(Endpoint::CreateDocketV2, Fault::hang());
    tokio::select! {
        _ = create(&client, "dropped") => panic!("it has no answer"),
        () = async { while service.requests().is_empty() { sleep(A_MOMENT).await } } => {}
    }
    reach(&ledger, "dropped", State::Unknown).await;
    let again = create(&client, "dropped").await.unwrap_err();
    assert!(again.may_have_created(), "{again}");
    assert_eq!(service.requests().len(), 1);
}

/// `lock` keeps the ledger from storing anything.
pub(crate) async fn an_outcome_that_is_recorded_late_is_returned_in_time<L>(
    ledger: Ledger,
    lock: impl AsyncFnOnce() -> L,
) {
    const DEADLINE: Duration = Duration::from_secs(5);
    let service = service(0).await;
    hold_next(&service);
    let client = client(&service, &ledger).with_deadline(DEADLINE);
    let created = tokio::spawn(async move { create(&client, "slow").await });
    reach(&ledger, "slow", State::Begun).await;
    let locked = lock().await;
    let began = Instant::now();
    release(&service).await;
    let created = created.await.unwrap().unwrap();
    // A ledger waits for a lock for half a minute.
    assert!(began.elapsed() < 5 * DEADLINE, "{:?}", began.elapsed());
    drop(locked);
    reach(&ledger, "slow", State::Done).await;
    let entry = ledger.get("slow").await.unwrap().unwrap();
    assert_eq!(entry.created_id, Some(created.answer.docket_id));
    assert_eq!(service.requests().len(), 1);
}

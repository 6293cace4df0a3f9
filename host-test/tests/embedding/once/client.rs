//! The client on the component for steps: many calls at once, what is dropped, what traps.

use crate::log::Log;
use crate::stage::{
    CREATED, LARGE_BYTES, TOKEN, WASI_0_2, client, client_with_places, creating_after_ms, large,
    naming_each_docket_after_ms, plugin_steps, settings, with_places,
};
use futures_util::future::{FutureExt, join_all};
use futures_util::stream::StreamExt;
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use voice_calling_check::operation::{DOCKET_ID, call, external_id, item};
use voice_calling_check::script::{Piece, Script, Step};
use voice_calling_host::network::answer;
use voice_calling_host::types::{CallOptions, DocketRequestV2, RequestError};
use voice_calling_host::{
    Batch, BatchResult, Client, InMemoryNetwork, InstanceSettings, Outgoing, Plugin,
};
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

const AN_HOUR: Duration = Duration::from_secs(3_600);

fn items(count: usize) -> Vec<DocketRequestV2> {
    (0..count).map(item).collect()
}

/// Creates so many dockets at once.
async fn create_all(
    client: &Client,
    numbers: std::ops::Range<usize>,
) -> Vec<anyhow::Result<Result<String, RequestError>>> {
    let creates = numbers.map(async |number| {
        let created = client.create_docket_v2(&item(number), None).await?;
        Ok(created.map(|created| created.docket_id))
    });
    join_all(creates).await
}

/// Creates a docket for so long, and then nobody waits for it any more.
async fn drop_create_after_ms(client: &Client, dropped_ms: u64) {
    let docket = item(0);
    let call = client.create_docket_v2(&docket, None);
    let dropped = timeout(Duration::from_millis(dropped_ms), call).await;
    assert!(dropped.is_err(), "the service is slower");
}

fn ended_ms(script: &Script) -> Vec<Option<u64>> {
    script.sent().iter().map(|sent| sent.ended_ms).collect()
}

// ---------------------------------------------------------------------- many calls

#[tokio::test(start_paused = true)]
async fn ten_thousand_calls_are_in_flight_at_once_and_each_gets_its_own_answer() {
    let script = naming_each_docket_after_ms(50);
    let client = client_with_places(&script, 1_000);
    let began = Instant::now();
    let created = create_all(&client, 0..10_000).await;
    assert_eq!(began.elapsed(), Duration::from_millis(500));
    for (number, created) in created.into_iter().enumerate() {
        assert_eq!(created.unwrap().unwrap(), external_id(number));
    }
    assert_eq!((script.sent().len(), script.most_open()), (10_000, 1_000));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_from_many_threads_get_their_own_answers() {
    let network = InMemoryNetwork(|request: http::Request<_>, _| async move {
        tokio::task::yield_now().await;
        let agent = request.uri().query().unwrap_or_default().to_owned();
        let agent = agent.replace("organizationId=", "");
        let body = format!(r#"[{{"agent_id":{agent}}}]"#);
        Ok(answer(http::StatusCode::OK, body))
    });
    let settings = with_places(Outgoing::loopback(network), 1_000);
    let client = plugin_steps().client(settings).unwrap();
    let tasks = (0..8).map(|task| {
        let client = client.clone();
        tokio::spawn(async move {
            for number in 0..200 {
                let agent = task * 1_000 + number;
                let agents = client.list_agents(&agent.to_string(), None).await;
                let agents = agents.unwrap().unwrap().agents;
                assert_eq!(agents[0].agent_id, Some(agent));
            }
        })
    });
    for task in join_all(tasks).await {
        task.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn calls_beyond_the_limit_wait_outside_and_their_time_does_not_run() {
    let script = naming_each_docket_after_ms(20_000);
    let mut settings = with_places(script.outgoing(), 1_000);
    settings.limits.calls = NonZeroUsize::new(2).unwrap();
    // Four attempts one after the other would take longer than a deadline.
    let name = "VOICE_CALLING_ATTEMPT_TIMEOUT_MS".to_owned();
    settings.environment.push((name, "25000".to_owned()));
    let client = plugin_steps().client(settings).unwrap();
    for (number, created) in create_all(&client, 0..8).await.into_iter().enumerate() {
        assert_eq!(created.unwrap().unwrap(), external_id(number));
    }
    assert_eq!(script.most_open(), 2);
}

/// A caller that is slow to look again does not hold up its request.
#[tokio::test(start_paused = true)]
async fn a_call_goes_on_while_nobody_looks_at_it() {
    let script = Script::new([Step::status(503), Step::ok(CREATED).after_ms(50)]);
    let client = client(&script);
    let docket = item(0);
    let mut call = pin!(client.create_docket_v2(&docket, None));
    assert!(futures_util::poll!(call.as_mut()).is_pending());
    sleep(AN_HOUR).await;
    assert_eq!(script.sent().len(), 2);
    assert_eq!(ended_ms(&script)[1], Some(script.sent()[1].at_ms + 50));
    call.await.unwrap().unwrap();
}

#[tokio::test]
async fn another_component_is_no_client_and_the_error_names_the_file() {
    let plugin = Plugin::load_with(WASI_0_2.as_ref(), &crate::compiled::loading()).unwrap();
    let refused = plugin.client(settings(Script::new([]).outgoing()));
    let error = refused.err().expect("an error").to_string();
    assert!(error.contains("WASI 0.2"), "{error}");
    assert!(error.contains("voice-calling-steps.wasm"), "{error}");
}

#[tokio::test]
async fn what_is_wrong_with_the_settings_each_call_says() {
    let script = Script::new([]);
    let settings = InstanceSettings::new([("VOICE_CALLING_API_TOKEN", TOKEN)], script.outgoing());
    let client = plugin_steps().client(settings).unwrap();
    for created in create_all(&client, 0..3).await {
        match created.unwrap() {
            Err(RequestError::PermanentConfiguration(failure)) => {
                let subject = failure.problem.unwrap().subject;
                assert_eq!(subject, "VOICE_CALLING_BASE_URL");
            }
            other => panic!("{other:?}"),
        }
    }
    let delivery = format!(r#"{{"docket_id":"{DOCKET_ID}","status":"COMPLETED"}}"#);
    let parsed = client.parse_docket_completed(&delivery).await;
    assert!(parsed.unwrap().unwrap().is_some(), "it needs no settings");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_of_the_connection_is_believed_by_the_accounts_that_say_so() {
    let script = Script::new([Step::fail(ErrorCode::ConnectionTimeout)]);
    let environment = [
        ("VOICE_CALLING_ACCOUNTS", "alpha-one,beta"),
        ("VOICE_CALLING_BASE_URL", "http://127.0.0.1"),
        ("VOICE_CALLING_API_TOKEN", TOKEN),
        ("VOICE_CALLING_ALPHA_ONE_API_TOKEN", "token-of-alpha"),
        ("VOICE_CALLING_BETA_API_TOKEN", "token-of-beta"),
        ("VOICE_CALLING_ALPHA_ONE_TRUST_CONNECTION_TIMEOUT", "true"),
        ("VOICE_CALLING_MAX_ATTEMPTS", "2"),
    ];
    let settings = InstanceSettings::new(environment, script.outgoing());
    let client = plugin_steps().client(settings).unwrap();
    for (account, expected) in [
        (None, "permanent-outcome-unknown"),
        (Some("alpha-one"), "unreachable"),
        (Some("beta"), "permanent-outcome-unknown"),
    ] {
        let options = CallOptions {
            account: account.map(str::to_owned),
            deadline_ms: None,
            max_attempts: None,
        };
        let created = client.create_docket_v2(&item(0), Some(options)).await;
        assert_eq!(
            created.unwrap().unwrap_err().case(),
            expected,
            "{account:?}"
        );
    }
}

/// The last client takes everything with it, also what sleeps.
#[tokio::test(start_paused = true)]
async fn a_client_that_is_dropped_leaves_no_task() {
    let script = Script::new([Step::silence()]);
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    {
        let client = client(&script);
        drop_create_after_ms(&client, 100).await;
        client.list_agents("org-1", None).now_or_never();
    }
    tokio::task::yield_now().await;
    assert_eq!(metrics.num_alive_tasks(), before);
}

/// A runtime takes with it what is under way, and nothing else.
#[test]
fn a_client_outlives_the_runtime_of_its_first_call() {
    let script = Script::new([
        Step::status(503),
        Step::ok(CREATED),
        Step::status(503),
        Step::ok(CREATED),
    ]);
    let client = client(&script);
    for _ in 0..2 {
        let runtime = voice_calling_check::paused_runtime().unwrap();
        let docket = item(0);
        // The pause before the second attempt takes an alarm.
        let created = runtime.block_on(client.create_docket_v2(&docket, None));
        created.unwrap().unwrap();
    }
    assert_eq!(script.sent().len(), 4);
}

#[test]
fn when_the_runtime_of_the_client_ends_callers_on_another_one_are_told() {
    let script = Script::new([
        Step::ok(CREATED),
        Step::silence(),
        Step::silence(),
        Step::ok(CREATED),
    ]);
    let client = client(&script);
    let first = voice_calling_check::paused_runtime().unwrap();
    let second = voice_calling_check::paused_runtime().unwrap();
    first
        .block_on(client.create_docket_v2(&item(0), None))
        .unwrap()
        .unwrap();
    let (docket, agents) = (item(1), "org-1");
    let mut created = Box::pin(client.create_docket_v2(&docket, None));
    let mut listed = Box::pin(client.list_agents(agents, None));
    second.block_on(async {
        assert!(futures_util::poll!(&mut created).is_pending());
        assert!(futures_util::poll!(&mut listed).is_pending());
    });
    first.block_on(async { sleep(Duration::from_millis(10)).await });
    assert_eq!(script.sent().len(), 3);
    drop(first);
    second.block_on(async {
        let unknown = created.await.unwrap().unwrap_err();
        let RequestError::PermanentOutcomeUnknown(failure) = unknown else {
            panic!("{unknown:?}");
        };
        assert!(failure.may_have_created);
        let listed = format!("{:?}", listed.await);
        assert!(listed.contains("runtime"), "{listed}");
        let next = client.create_docket_v2(&item(2), None).await;
        next.unwrap().unwrap();
    });
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_the_component_cannot_read_ends_no_call() {
    let script = creating_after_ms(1_000);
    let mut settings = with_places(script.outgoing(), 1_000);
    settings.limits.memory_bytes = 2 << 20;
    let client = plugin_steps().client(settings).unwrap();
    let docket = item(0);
    let reading = async {
        sleep(Duration::from_millis(100)).await;
        let body = format!(r#"{{"docket_id":"{}"}}"#, "x".repeat(4 << 20));
        client.parse_docket_completed(&body).await
    };
    let (created, read) = tokio::join!(client.create_docket_v2(&docket, None), reading);
    created.unwrap().unwrap();
    let error = format!("{:#}", read.unwrap_err());
    assert!(error.contains("the limit is 2097152"), "{error}");
}

// -------------------------------------------------------------------- what is dropped

#[tokio::test(start_paused = true)]
async fn a_dropped_call_ends_its_request_and_the_others_go_on() {
    let log = Log::keep();
    let script = Script::new([Step::silence(), Step::ok(CREATED).after_ms(500)]);
    let client = client(&script);
    let other = async {
        sleep(Duration::from_millis(10)).await;
        client.create_docket_v2(&item(1), None).await
    };
    let ((), other) = tokio::join!(drop_create_after_ms(&client, 100), other);
    other.unwrap().unwrap();
    assert_eq!(ended_ms(&script), [Some(100), Some(510)]);
    log.reports("dockets.create-docket-v2", 1);
}

/// What the test before this one notices.
#[tokio::test(start_paused = true)]
async fn a_driver_that_does_not_tell_of_dropped_calls_leaves_their_requests_open() {
    let script = Script::new([Step::silence()]);
    let mut settings = with_places(script.outgoing(), 1_000);
    let fault = ("DRIVER_FAULT".to_owned(), "keeps-operations".to_owned());
    settings.environment.push(fault);
    let client = plugin_steps().client(settings).unwrap();
    drop_create_after_ms(&client, 100).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(ended_ms(&script), [None]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_while_its_answer_is_read_ends_its_request_and_is_reported() {
    let log = Log::keep();
    let slowly = [
        Piece::Bytes(CREATED[..10].to_owned().into()),
        Piece::Pause(Duration::from_secs(5)),
        Piece::Bytes(CREATED[10..].to_owned().into()),
    ];
    let script = Script::new([Step::status(200).pieces(slowly)]);
    let client = client(&script);
    drop_create_after_ms(&client, 100).await;
    sleep(AN_HOUR).await;
    assert_eq!(ended_ms(&script), [Some(100)]);
    log.reports("dockets.create-docket-v2", 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_in_a_pause_sends_nothing_more_and_reports_all_it_sent() {
    let log = Log::keep();
    let script = Script::new([Step::status(503).header("retry-after", "5")]);
    let client = client(&script);
    drop_create_after_ms(&client, 7_000).await;
    sleep(AN_HOUR).await;
    assert_eq!(script.sent().len(), 2);
    log.reports("dockets.create-docket-v2", 2);
}

#[tokio::test(start_paused = true)]
async fn a_read_that_is_dropped_ends_its_request_and_there_is_nothing_to_report() {
    let log = Log::keep();
    let script = Script::new([Step::silence()]);
    let client = client(&script);
    let dropped = timeout(
        Duration::from_millis(100),
        client.list_agents("org-1", None),
    );
    assert!(dropped.await.is_err(), "the service never answers");
    sleep(AN_HOUR).await;
    assert_eq!(ended_ms(&script), [Some(100)]);
    assert_eq!(log.warnings(), [""; 0]);
}

/// Those that wait for a place are not let in by the end of those before them.
#[tokio::test(start_paused = true)]
async fn of_a_thousand_calls_that_are_dropped_at_once_none_sends_anything_more() {
    let log = Log::keep();
    let script = Script::new([Step::silence()]);
    let client = client_with_places(&script, 16);
    let dropped = timeout(Duration::from_millis(100), create_all(&client, 0..1_000)).await;
    assert!(dropped.is_err(), "the service never answers");
    sleep(AN_HOUR).await;
    assert_eq!(ended_ms(&script), [Some(100); 16]);
    assert_eq!(log.warnings().len(), 16);
    // Their places are free.
    drop_create_after_ms(&client, 10).await;
    assert_eq!(script.sent().len(), 17);
}

#[tokio::test(start_paused = true)]
async fn dropped_calls_leave_nothing_in_the_guest() {
    let script = Script::new([Step::silence()]);
    let client = client(&script);
    let mut memory_bytes = 0;
    for round in 1..=20 {
        let dropped = timeout(Duration::from_millis(10), create_all(&client, 0..500)).await;
        assert!(dropped.is_err(), "the service never answers");
        sleep(Duration::from_millis(10)).await;
        let sent = script.sent();
        assert_eq!(sent.len(), 500 * round);
        assert!(sent.iter().all(|sent| sent.ended_ms.is_some()));
        if round == 2 {
            memory_bytes = client.memory_bytes();
        }
    }
    assert_eq!(client.memory_bytes(), memory_bytes);
}

/// The answer was there, and the caller went without looking.
#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_takes_is_reported_with_its_id() {
    let log = Log::keep();
    let client = client(&creating_after_ms(50));
    let docket = item(0);
    {
        let mut call = pin!(client.create_docket_v2(&docket, None));
        assert!(futures_util::poll!(call.as_mut()).is_pending());
        sleep(Duration::from_millis(100)).await;
        assert_eq!(log.warnings(), [""; 0], "the caller could still take it");
    }
    let lines = log.warnings();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[0].contains("creates=1"), "{lines:?}");
    assert!(lines[1].contains(DOCKET_ID), "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_has_looked_at_does_nothing() {
    let log = Log::keep();
    let script = Script::new([]);
    let client = client(&script);
    let docket = item(0);
    drop(client.create_docket_v2(&docket, None));
    sleep(AN_HOUR).await;
    assert!(script.sent().is_empty());
    assert_eq!(log.warnings(), [""; 0]);
}

// --------------------------------------------------------------------- what is late

/// The id of what was created may be in what came.
#[tokio::test(start_paused = true)]
async fn what_came_of_a_late_body_is_in_the_error() {
    let slowly = [
        Piece::Bytes(CREATED[..50].to_owned().into()),
        Piece::Pause(Duration::from_secs(60)),
        Piece::Bytes(CREATED[50..].to_owned().into()),
    ];
    let script = Script::new([Step::status(201)
        .header("x-request-id", "r-1")
        .pieces(slowly)]);
    let client = client(&script);
    let created = client.create_docket_v2(&item(0), None).await.unwrap();
    let error = created.unwrap_err();
    assert_eq!(error.case(), "permanent-unexpected-response");
    let response = error.response().unwrap();
    assert_eq!((response.status, &*response.body), (201, &CREATED[..50]));
    assert_eq!(response.request_id.as_deref(), Some("r-1"));
    assert!(error.failure().unwrap().may_have_created);
    assert_eq!(ended_ms(&script), [Some(10_000)]);
}

/// A large body comes in pieces, the last of them late.
#[tokio::test(start_paused = true)]
async fn a_large_body_is_whole_however_it_comes() {
    let agent = format!(r#"{{"agent_id":"7","x":"{}"}}"#, "ü".repeat(40_000));
    let body = format!("[{}]", [agent.as_str(); 9].join(","));
    let (first, rest) = body.as_bytes().split_at(100_001);
    let pieces = [
        Piece::Bytes(first.to_vec().into()),
        Piece::Pause(Duration::from_secs(2)),
        Piece::Bytes(rest.to_vec().into()),
    ];
    let script = Script::new([Step::status(200).pieces(pieces)]);
    let agents = client(&script).list_agents("org-1", None).await;
    let agents = agents.unwrap().unwrap();
    assert_eq!(agents.agents.len(), 9);
    assert_eq!(agents.raw_json, body);
}

// ---------------------------------------------------------------------- what traps

/// A client whose guest traps when it is given a large docket.
fn small(script: &Script, places: usize) -> Client {
    let mut settings = with_places(script.outgoing(), places);
    settings.limits.memory_bytes = 2 << 20;
    plugin_steps().client(settings).unwrap()
}

/// Another call is what traps.
async fn trap_after_ms(client: &Client, trapping_ms: u64) {
    sleep(Duration::from_millis(trapping_ms)).await;
    let trapped = client.create_docket_v2(&large(), None).await;
    assert_stopped(&trapped.unwrap_err());
}

fn assert_stopped(error: &anyhow::Error) {
    let error = format!("{error:#}");
    assert!(error.contains("all its calls with it"), "{error}");
    assert!(error.contains("the limit is 2097152"), "{error}");
    assert!(!error.contains(TOKEN), "{error}");
}

fn assert_unknown(error: &RequestError) {
    let RequestError::PermanentOutcomeUnknown(failure) = error else {
        panic!("{error:?}")
    };
    assert!(failure.may_have_created);
    let message = &failure.message;
    assert!(message.contains("may have been processed"), "{message}");
    assert!(message.contains("the limit is 2097152"), "{message}");
}

#[tokio::test(start_paused = true)]
async fn a_trap_is_told_to_each_call_and_the_next_one_has_another_instance() {
    let log = Log::keep();
    let script = Script::new([
        Step::silence(),
        Step::silence(),
        Step::status(503).header("retry-after", "9"),
        Step::ok(CREATED),
    ]);
    let client = small(&script, 1_000);
    let create = async |number| client.create_docket_v2(&item(number), None).await;
    let read = client.list_agents("org-1", None);
    let (in_flight, read, in_pause, ()) =
        tokio::join!(create(0), read, create(2), trap_after_ms(&client, 100));
    assert_unknown(&in_flight.unwrap().unwrap_err());
    assert_stopped(&read.unwrap_err());
    // It had been answered that it may have created.
    assert_unknown(&in_pause.unwrap().unwrap_err());
    assert_eq!(ended_ms(&script), [Some(100), Some(100), Some(0)]);

    create(3).await.unwrap().unwrap();
    sleep(AN_HOUR).await;
    assert_eq!(script.sent().len(), 4);
    assert_eq!(log.warnings(), [""; 0], "nobody was dropped");
}

/// Nothing of it was created: the service had said so, or had not been asked.
#[tokio::test(start_paused = true)]
async fn a_create_that_certainly_created_nothing_is_not_unknown_after_a_trap() {
    let refused = Step::fail(ErrorCode::ConnectionRefused);
    let script = Script::new([refused, Step::silence()]);
    let mut settings = with_places(script.outgoing(), 1);
    settings.limits.memory_bytes = 2 << 20;
    settings.environment.extend(
        [("BACKOFF_MS", "8000"), ("MAX_BACKOFF_MS", "8000")]
            .map(|(name, value)| (format!("VOICE_CALLING_{name}"), value.to_owned())),
    );
    let client = plugin_steps().client(settings).unwrap();
    let create = async |number| client.create_docket_v2(&item(number), None).await;
    let (in_pause, in_flight, waiting, ()) =
        tokio::join!(create(0), create(1), create(2), trap_after_ms(&client, 100));
    assert_stopped(&in_pause.unwrap_err());
    assert_unknown(&in_flight.unwrap().unwrap_err());
    assert_stopped(&waiting.unwrap_err());
    assert_eq!(script.sent().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn of_a_batch_what_was_told_before_a_trap_is_kept_and_each_other_request_is_told() {
    let script = Script::new([Step::ok(CREATED).after_ms(50), Step::silence()]);
    let client = small(&script, 2);
    let batch = items(4);
    let (batch, ()) = tokio::join!(
        client.create_dockets_v2(&batch, 60_000, None),
        trap_after_ms(&client, 100)
    );
    let results = batch.unwrap().unwrap();
    assert_eq!(results.len(), 4);
    assert_eq!(results[0].as_ref().unwrap().docket_id, DOCKET_ID);
    for begun in &results[1..3] {
        assert_unknown(begun.as_ref().unwrap_err());
    }
    assert_eq!(results[3], Err(RequestError::ExecutionFailed));
    assert_eq!(script.sent().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_which_nothing_was_sent_before_a_trap_fails_as_a_whole() {
    let client = small(&Script::new([]), 2);
    let batch = vec![large(); 3];
    let error = client.create_dockets_v2(&batch, 60_000, None).await;
    assert_stopped(&error.unwrap_err());
    let begun = client.begin_dockets_v2(&batch, 60_000, None).await;
    assert_stopped(&begun.err().unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_makes_a_phone_ring_says_after_a_trap_that_it_may_have() {
    let client = small(&Script::new([Step::silence()]), 2);
    let call = call();
    let (made, ()) = tokio::join!(client.make_call(&call, None), trap_after_ms(&client, 100));
    assert_unknown(&made.unwrap().unwrap_err());
}

#[tokio::test]
async fn a_guest_that_computes_for_too_long_is_stopped_and_the_next_call_has_another() {
    let script = Script::new([Step::ok("[]")]);
    let mut settings = with_places(script.outgoing(), 2);
    settings.limits.computing = Duration::from_millis(10);
    let large = ("VOICE_CALLING_MAX_DELIVERY_BYTES", "67108864");
    settings.environment.push((large.0.into(), large.1.into()));
    let client = plugin_steps().client(settings).unwrap();
    let attempts = format!("[{}0]", "0,".repeat(4 * LARGE_BYTES));
    let body = format!(r#"{{"docket_id":"{DOCKET_ID}","attempts":{attempts}}}"#);
    let parsed = client.parse_docket_completed(&body).await;
    let error = format!("{:#}", parsed.unwrap_err());
    assert!(error.contains("computed for longer than 10 ms"), "{error}");
    client.list_agents("org-1", None).await.unwrap().unwrap();
}

/// A panic of the host's own network, in the task that sends.
#[tokio::test(start_paused = true)]
async fn a_network_that_panics_leaves_an_outcome_that_is_not_known() {
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = requests.clone();
    let network = InMemoryNetwork(move |_, _| {
        let first = counted.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            assert!(!first, "a panic of a test");
            Ok(answer(http::StatusCode::OK, CREATED))
        }
    });
    let settings = with_places(Outgoing::loopback(network), 2);
    let client = plugin_steps().client(settings).unwrap();
    let created = client.create_docket_v2(&item(0), None).await.unwrap();
    assert_eq!(created.unwrap_err().case(), "permanent-outcome-unknown");
    let created = client.create_docket_v2(&item(0), None).await.unwrap();
    created.unwrap();
    assert_eq!(requests.load(Ordering::Relaxed), 2);
}

// ------------------------------------------------------------------------- batches

async fn begin(client: &Client, count: usize) -> Batch {
    let requests = items(count);
    let begun = client.begin_dockets_v2(&requests, 3_600_000, None);
    begun.await.expect("no failure of the host").expect("begun")
}

#[tokio::test(start_paused = true)]
async fn each_result_of_a_batch_comes_when_its_request_is_done() {
    let script = Script::new([30, 20, 10, 50].map(|ms| Step::ok(CREATED).after_ms(ms)));
    let client = client_with_places(&script, 3);
    let mut batch = begin(&client, 4).await;
    for (expected_ms, expected) in [(10, 2), (20, 1), (30, 0), (60, 3)] {
        let BatchResult { index, outcome } = batch.next().await.unwrap().unwrap();
        assert_eq!((script.now_ms(), index), (expected_ms, expected));
        assert!(outcome.is_ok());
    }
    assert!(batch.next().await.is_none());
    assert!(batch.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_reader_of_a_batch_that_is_slow_holds_up_no_request_and_loses_no_result() {
    let script = naming_each_docket_after_ms(50);
    let client = client_with_places(&script, 4);
    let batch = begin(&client, 40).await;
    sleep(AN_HOUR).await;
    assert_eq!(script.sent().iter().map(|sent| sent.at_ms).max(), Some(450));
    let results: Vec<_> = batch.collect().await;
    assert_eq!(results.len(), 40);
    for result in results {
        let BatchResult { index, outcome } = result.unwrap();
        assert_eq!(outcome.unwrap().docket_id, external_id(index as usize));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_all_of_a_batch_is_said_before_anything_is_sent() {
    let script = creating_after_ms(10);
    let client = client(&script);
    for (requests, timeout_ms, subject) in
        [(items(1), 0, "timeout-ms"), (items(1_001), 1, "requests")]
    {
        let begun = client.begin_dockets_v2(&requests, timeout_ms, None).await;
        match begun.unwrap().err() {
            Some(RequestError::PermanentInvalidInput(failure)) => {
                assert_eq!(failure.problem.unwrap().subject, subject);
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(begin(&client, 0).await.next().await.is_none());
    assert!(script.sent().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_dropped_ends_its_requests_and_reports_how_many_it_had_sent() {
    let log = Log::keep();
    let script = Script::new([Step::ok(CREATED), Step::silence()]);
    let client = client_with_places(&script, 3);
    let mut batch = begin(&client, 40).await;
    batch.next().await.unwrap().unwrap();
    sleep(Duration::from_millis(100)).await;
    drop(batch);
    sleep(AN_HOUR).await;
    assert_eq!(
        ended_ms(&script),
        [Some(0), Some(100), Some(100), Some(100)]
    );
    log.reports("bulk.create-dockets-v2", 4);
}

#[tokio::test(start_paused = true)]
async fn results_of_a_batch_that_nobody_reads_are_in_the_log() {
    let log = Log::keep();
    let script = naming_each_docket_after_ms(100);
    let client = client(&script);
    let dockets: Vec<_> = (0..3).map(item).collect();
    let mut batch = client
        .begin_dockets_v2(&dockets, 60_000, None)
        .await
        .unwrap()
        .unwrap();
    let first = batch.next().await.unwrap().unwrap();
    sleep(Duration::from_millis(200)).await;
    drop(batch);
    let lines = log.warnings();
    for number in 0..3 {
        let is_logged = lines.iter().any(|line| line.contains(&external_id(number)));
        assert_eq!(is_logged, number != first.index as usize, "{lines:?}");
    }
}

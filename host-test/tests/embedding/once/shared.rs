//! One instance with many calls in flight, which takes the component for WASI 0.3.

use crate::compiled::loading;
use crate::stage::{
    CREATED, LARGE_BYTES, WASI_0_2, creating_after_ms, large, naming_each_docket_after_ms,
    plugin_v0_3, settings, shared, shared_with_places, thousands, with_places,
};
use futures_util::future::join_all;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use voice_calling_check::operation::{DOCKET_ID, call, external_id, item, outcome};
use voice_calling_check::script::{Script, Step};
use voice_calling_host::types::{
    CallOptions, DocketOutcome, RequestError, StartedCall, WaitOptions,
};
use voice_calling_host::{InstanceSettings, Plugin, SharedInstance};

#[tokio::test(start_paused = true)]
async fn a_thousand_calls_are_in_flight_at_once_and_each_gets_its_own_answer() {
    let script = naming_each_docket_after_ms(50);
    let instance = shared(&script).await;
    let began = Instant::now();
    let created = join_all((0..1_000).map(|number| {
        let instance = &instance;
        async move { instance.create_docket_v2(&item(number), None).await }
    }))
    .await;
    assert_eq!(began.elapsed(), Duration::from_millis(50));
    for (number, created) in created.into_iter().enumerate() {
        assert_eq!(created.unwrap().unwrap().docket_id, external_id(number));
    }
    let sent: BTreeSet<_> = script
        .sent()
        .iter()
        .map(|sent| sent.external_id())
        .collect();
    assert_eq!((sent.len(), script.sent().len()), (1_000, 1_000));
}

#[tokio::test(start_paused = true)]
async fn a_trap_ends_every_call_of_the_instance_and_each_says_so() {
    let script = creating_after_ms(1_000);
    let mut settings = thousands(&script);
    settings.limits.memory_bytes = 2 << 20;
    let instance = plugin_v0_3().share(settings).await.unwrap();
    let others = join_all((0..10).map(|number| {
        let instance = &instance;
        async move { instance.create_docket_v2(&item(number), None).await }
    }));
    let trapping = async {
        sleep(Duration::from_millis(100)).await;
        instance.create_docket_v2(&large(), None).await
    };
    let (others, trapping) = tokio::join!(others, trapping);
    let later = instance.create_docket_v2(&item(10), None).await;
    for ended in others.into_iter().chain([trapping, later]) {
        let error = format!("{:#}", ended.unwrap_err());
        assert!(error.contains("all its calls with it"), "{error}");
        assert!(error.contains("the limit is 2097152"), "{error}");
    }
    assert!(!instance.is_sound());
    assert_eq!(script.sent().len(), 10);
}

#[tokio::test]
async fn a_guest_that_computes_for_too_long_is_stopped() {
    let mut settings = thousands(&Script::new([]));
    let large = ("VOICE_CALLING_MAX_DELIVERY_BYTES", "67108864");
    settings.environment.push((large.0.into(), large.1.into()));
    settings.limits.computing = Duration::from_millis(10);
    let instance = plugin_v0_3().share(settings).await.unwrap();
    // As large as a body may be, and a completion, which is read more than once.
    let attempts = format!("[{}0]", "0,".repeat(4 * LARGE_BYTES));
    let body = format!(r#"{{"docket_id":"{DOCKET_ID}","attempts":{attempts}}}"#);
    let parsed = instance.parse_docket_completed(&body).await;
    let error = format!("{:#}", parsed.unwrap_err());
    assert!(error.contains("computed for longer than 10 ms"), "{error}");
}

/// The limit is for one call: a host that keeps an instance for months is not to lose it.
#[tokio::test(start_paused = true)]
async fn an_instance_is_not_stopped_for_what_its_calls_compute_one_after_the_other() {
    const LIMIT: Duration = Duration::from_millis(100);
    // Everything here is done by one thread, and nearly all of it on behalf of the calls.
    let computed = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::try_from(time).unwrap()
    };
    let script = creating_after_ms(20);
    let mut settings = thousands(&script);
    settings.limits.computing = LIMIT;
    let instance = plugin_v0_3().share(settings).await.unwrap();
    let began = computed();
    while computed() - began < 10 * LIMIT {
        let created = instance.create_docket_v2(&item(0), None).await;
        created.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_component_for_wasi_0_2_is_not_shared_and_the_error_names_the_other_file() {
    let plugin = Plugin::load_with(WASI_0_2.as_ref(), &loading()).unwrap();
    let refused = plugin.share(settings(Script::new([]).outgoing())).await;
    let error = refused.err().expect("an error").to_string();
    assert!(error.contains("WASI 0.2"), "{error}");
    assert!(error.contains("voice-calling-p3.wasm"), "{error}");
}

/// A request's place is given on, also by a call that was dropped.
#[tokio::test(start_paused = true)]
async fn requests_beyond_max_in_flight_wait_for_a_place_whichever_calls_they_are_of() {
    let script = creating_after_ms(100);
    let instance = shared_with_places(&script, 3).await;
    let dropped = async {
        let docket = item(0);
        let call = instance.create_docket_v2(&docket, None);
        let dropped = timeout(Duration::from_millis(50), call).await;
        assert!(dropped.is_err(), "the service is slower");
    };
    let others = join_all((1..9).map(|number| {
        let instance = &instance;
        async move { instance.create_docket_v2(&item(number), None).await }
    }));
    let ((), others) = tokio::join!(dropped, others);
    assert!(others.into_iter().all(|created| created.unwrap().is_ok()));
    let sent_at: Vec<_> = script.sent().iter().map(|sent| sent.at_ms).collect();
    assert_eq!(sent_at, [0, 0, 0, 50, 100, 100, 150, 200, 200]);
    assert_eq!(script.most_open(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_of_one_call_holds_back_the_others() {
    let limited = Step::status(429).header("retry-after", "5");
    let script = Script::new([limited, Step::ok(CREATED)]);
    let instance = shared(&script).await;
    let later = async {
        sleep(Duration::from_secs(1)).await;
        instance.create_docket_v2(&item(1), None).await
    };
    let docket = item(0);
    let (first, later) = tokio::join!(instance.create_docket_v2(&docket, None), later);
    first.unwrap().unwrap();
    later.unwrap().unwrap();
    let sent_at: Vec<_> = script.sent().iter().map(|sent| sent.at_ms).collect();
    assert_eq!(sent_at, [0, 5_000, 5_000]);
}

#[tokio::test(start_paused = true)]
async fn calls_beyond_the_limit_of_the_instance_wait_for_their_turn() {
    let script = creating_after_ms(100);
    let mut settings = thousands(&script);
    settings.limits.calls = NonZeroUsize::new(2).unwrap();
    let deadline = ("VOICE_CALLING_DEADLINE_MS".to_owned(), "150".to_owned());
    settings.environment.push(deadline);
    let instance = plugin_v0_3().share(settings).await.unwrap();
    let dropped = async {
        sleep(Duration::from_millis(1)).await;
        let docket = item(7);
        let call = instance.create_docket_v2(&docket, None);
        let dropped = timeout(Duration::from_millis(20), call).await;
        assert!(dropped.is_err(), "others are in flight");
    };
    let created = join_all((0..7).map(|number| {
        let instance = &instance;
        async move { instance.create_docket_v2(&item(number), None).await }
    }));
    let (created, ()) = tokio::join!(created, dropped);
    assert!(created.into_iter().all(|created| created.unwrap().is_ok()));
    let sent_at: Vec<_> = script.sent().iter().map(|sent| sent.at_ms).collect();
    assert_eq!(sent_at, [0, 0, 100, 100, 200, 200, 300]);
}

/// Far more than are let in or stand in the queue.
#[tokio::test(start_paused = true)]
async fn a_trap_is_told_also_to_calls_that_wait_for_their_turn() {
    let script = creating_after_ms(1_000);
    let mut settings = thousands(&script);
    settings.limits.calls = NonZeroUsize::new(2).unwrap();
    settings.limits.memory_bytes = 2 << 20;
    let instance = plugin_v0_3().share(settings).await.unwrap();
    let large = large();
    let trapping = instance.create_docket_v2(&large, None);
    let others = join_all((0..200).map(|number| {
        let instance = &instance;
        async move { instance.create_docket_v2(&item(number), None).await }
    }));
    let (trapping, others) = tokio::join!(trapping, others);
    for ended in others.into_iter().chain([trapping]) {
        let error = format!("{:#}", ended.unwrap_err());
        assert!(error.contains("the limit is 2097152"), "{error}");
    }
}

/// What an instance gets that serves two organizations.
fn of_two_accounts(script: &Script, places: usize) -> InstanceSettings {
    let mut settings = with_places(script.outgoing(), places);
    for (name, value) in [
        ("VOICE_CALLING_ACCOUNTS", "alpha,beta"),
        ("VOICE_CALLING_ALPHA_API_TOKEN", "token-of-alpha"),
        ("VOICE_CALLING_BETA_API_TOKEN", "token-of-beta"),
    ] {
        settings.environment.push((name.into(), value.into()));
    }
    settings
}

/// Makes a call for an account. The host must not fail.
async fn call_for(instance: &SharedInstance, account: &str) -> Result<StartedCall, RequestError> {
    let options = CallOptions {
        account: Some(account.to_owned()),
        deadline_ms: None,
        max_attempts: None,
    };
    let started = instance.make_call(&call(), Some(options)).await;
    started.expect("no failure of the host")
}

const STARTED: &str = r#"{"task_id":"task-1"}"#;

#[tokio::test(start_paused = true)]
async fn a_rate_limit_of_one_account_holds_back_none_of_another() {
    let limited = Step::status(429).header("retry-after", "5");
    let script = Script::new([limited, Step::ok(STARTED)]);
    let settings = of_two_accounts(&script, 16);
    let instance = plugin_v0_3().share(settings).await.unwrap();
    let later = async {
        sleep(Duration::from_secs(1)).await;
        tokio::join!(call_for(&instance, "beta"), call_for(&instance, "alpha"))
    };
    let (first, (beta, alpha)) = tokio::join!(call_for(&instance, "alpha"), later);
    for started in [first, beta, alpha] {
        assert!(!started.unwrap().may_be_duplicate);
    }
    let sent = script.sent();
    let sent: Vec<_> = sent
        .iter()
        .map(|sent| (sent.at_ms, sent.header("auth_token")))
        .collect();
    let of = |account: &str| format!("Bearer token-of-{account}");
    let expected = [
        (0, of("alpha")),
        (1_000, of("beta")),
        (5_000, of("alpha")),
        (5_000, of("alpha")),
    ];
    assert_eq!(sent, expected);
}

#[tokio::test(start_paused = true)]
async fn each_account_has_places_of_its_own() {
    let script = Script::new([Step::ok(STARTED).after_ms(100)]);
    let instance = plugin_v0_3().share(of_two_accounts(&script, 2)).await;
    let instance = instance.unwrap();
    let accounts = ["alpha", "alpha", "alpha", "beta", "beta", "beta", "beta"];
    let calls = accounts.map(|account| call_for(&instance, account));
    for started in join_all(calls).await {
        started.unwrap();
    }
    let at_once = |ms: u64, account: &str| {
        let token = format!("Bearer token-of-{account}");
        let sent = script.sent().into_iter();
        sent.filter(|sent| sent.at_ms == ms && sent.header("auth_token") == token)
            .count()
    };
    for (ms, of_alpha, of_beta) in [(0, 2, 2), (100, 1, 2)] {
        assert_eq!(
            (at_once(ms, "alpha"), at_once(ms, "beta")),
            (of_alpha, of_beta)
        );
    }
    assert_eq!((script.most_open(), script.sent().len()), (4, 7));
}

/// However long it is: it is another's. The call still has the time that an attempt may need.
#[tokio::test(start_paused = true)]
async fn a_rate_limit_of_another_call_delays_a_call_and_never_ends_it() {
    let script = Script::new([
        Step::ok(CREATED).after_ms(9_000),
        Step::status(429).header("retry-after", "3600"),
        Step::ok(CREATED),
    ]);
    let instance = shared(&script).await;
    let at = async |ms: u64, number: usize| {
        sleep(Duration::from_millis(ms)).await;
        let created = instance.create_docket_v2(&item(number), None).await;
        created.expect("no failure of the host")
    };
    let (slow, limited, delayed) = tokio::join!(at(0, 0), at(1, 1), at(2, 2));
    slow.unwrap();
    assert_eq!(outcome(&limited), "rate-limited", "its own limit ends it");
    assert_eq!(delayed.unwrap().attempts.len(), 1);
    let sent = script.sent();
    assert_eq!(sent.len(), 3);
    let delayed_ms = sent[2].at_ms;
    // Of 30 s, 10 are an attempt's.
    assert!((9_000..=20_002).contains(&delayed_ms), "{delayed_ms}");
}

/// However long the service asked for: the next call finds out by itself, and what it learns
/// counts for those after it.
#[tokio::test(start_paused = true)]
async fn a_rate_limit_delays_others_for_three_quarters_of_their_time_until_one_is_served() {
    let script = Script::new([
        Step::status(503).header("retry-after", "60"),
        Step::status(429).header("retry-after", "3600"),
        Step::ok(CREATED),
    ]);
    let instance = shared(&script).await;
    // As long as a call is in flight, what it shares with others is remembered.
    let patient = CallOptions {
        account: None,
        deadline_ms: Some(200_000),
        max_attempts: None,
    };
    let in_flight = instance.get_docket(DOCKET_ID, Some(patient));
    let create_at = async |ms: u64, number: usize| {
        sleep(Duration::from_millis(ms)).await;
        let created = instance.create_docket_v2(&item(number), None).await;
        created.expect("no failure of the host")
    };
    let creates = (
        create_at(1_000, 1),
        create_at(30_000, 2),
        create_at(50_000, 3),
    );
    let (in_flight, limited, delayed, later) =
        tokio::join!(in_flight, creates.0, creates.1, creates.2);
    in_flight.unwrap().unwrap();
    assert_eq!(outcome(&limited), "rate-limited");
    assert_eq!((outcome(&delayed), outcome(&later)), ("ok", "ok"));
    let sent_at: Vec<_> = script.sent().iter().map(|sent| sent.at_ms).collect();
    assert_eq!(sent_at, [0, 1_000, 45_000, 50_000, 60_000]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_says_for_how_long_a_rate_limit_of_another_call_held_it_back() {
    let completed = format!(r#"{{"docket_id":"{DOCKET_ID}","status":"COMPLETED"}}"#);
    let limited = Step::status(429).header("retry-after", "5");
    let script = Script::new([limited, Step::ok(completed)]);
    let instance = shared(&script).await;
    let wait = async {
        sleep(Duration::from_secs(1)).await;
        let options = WaitOptions {
            timeout_ms: 60_000,
            not_found_is_pending: None,
        };
        instance.wait_for_docket(DOCKET_ID, options, None).await
    };
    let (fetched, waited) = tokio::join!(instance.get_docket(DOCKET_ID, None), wait);
    fetched.unwrap().unwrap();
    let waited = waited.unwrap().unwrap();
    assert!(matches!(waited.outcome, DocketOutcome::Completed(_)));
    assert_eq!((waited.held_back_ms, waited.waited_ms), (4_000, 4_000));
    assert_eq!((waited.polls, waited.failed_polls), (1, 0));
}

/// It is not async in the WIT, since there is nothing to wait for.
#[tokio::test(start_paused = true)]
async fn a_body_is_parsed_while_other_calls_wait() {
    let script = Script::new([Step::silence()]);
    let instance = shared(&script).await;
    let parsed = async {
        sleep(Duration::from_secs(1)).await;
        let body = format!(r#"{{"docket_id":"{DOCKET_ID}","status":"COMPLETED"}}"#);
        let parsed = instance.parse_docket_completed(&body).await;
        assert_eq!(script.now_ms(), 1_000);
        parsed.unwrap().unwrap().expect("a completion")
    };
    let docket = item(0);
    let (created, parsed) = tokio::join!(instance.create_docket_v2(&docket, None), parsed);
    assert_eq!(outcome(&created.unwrap()), "permanent-outcome-unknown");
    assert_eq!(parsed.docket_id, DOCKET_ID);
}

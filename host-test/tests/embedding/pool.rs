//! How the calls of a host share instances: what one leaves to the next, and how many
//! there are at once.

use crate::stage::{
    CREATED, LARGE_BYTES, create, creating_after_ms, large, of_each_allocation, plugin, pooling,
    settings,
};
use futures_util::future::join_all;
use futures_util::poll;
use http::StatusCode;
use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::task::{JoinSet, yield_now};
use tokio::time::timeout;
use voice_calling_check::operation::{DOCKET_ID, external_id};
use voice_calling_check::script::{Script, Sent, Step};
use voice_calling_host::network::answer;
use voice_calling_host::{
    InMemoryNetwork, InstanceSettings, Isolation, Limits, Outgoing, Plugin, Pool,
};

const FOR_EVER: Isolation = reused(u32::MAX);

const fn reused(calls: u32) -> Isolation {
    let calls = NonZeroU32::new(calls).expect("at least one");
    Isolation::Reused { calls }
}

/// A pool, and how often it asked for settings, which is how many instances it made.
struct Counted {
    pool: Pool,
    made: Arc<AtomicU32>,
}

impl Counted {
    fn new(
        plugin: Plugin,
        instances: u32,
        isolation: Isolation,
        settings: impl Fn() -> InstanceSettings + Send + Sync + 'static,
    ) -> Self {
        let made = Arc::new(AtomicU32::new(0));
        let counter = made.clone();
        let pool = Pool::new(plugin, instances, isolation, move || {
            counter.fetch_add(1, Ordering::Relaxed);
            settings()
        });
        Self { pool, made }
    }

    /// With nothing but a way out.
    fn to(plugin: Plugin, instances: u32, isolation: Isolation, outgoing: Outgoing) -> Self {
        Self::new(plugin, instances, isolation, move || {
            settings(outgoing.clone())
        })
    }

    fn made(&self) -> u32 {
        self.made.load(Ordering::Relaxed)
    }

    /// Creates the docket of this number; both host and component must succeed.
    async fn create(&self, number: usize) {
        let mut instance = self.pool.instance().await.expect("an instance");
        create(&mut instance, number).await.expect("a docket");
    }
}

fn external_ids(sent: &[Sent]) -> Vec<String> {
    sent.iter().map(Sent::external_id).collect()
}

#[tokio::test(start_paused = true)]
async fn by_default_every_call_has_an_instance_of_its_own() {
    for plugin in of_each_allocation(1) {
        let script = creating_after_ms(0);
        let stage = Counted::to(plugin, 1, Isolation::default(), script.outgoing());
        let initial_bytes = stage.pool.instance().await.unwrap().memory_bytes();
        for call in 1..=3 {
            let mut instance = stage.pool.instance().await.unwrap();
            // Nothing is left of the large request before it.
            assert_eq!(instance.memory_bytes(), initial_bytes);
            assert_eq!(instance.calls(), 0);
            let created = instance.create_docket_v2(&large(), None).await.unwrap();
            assert_eq!(created.unwrap().docket_id, DOCKET_ID);
            assert_eq!(instance.calls(), 1);
            assert!(instance.memory_bytes() > initial_bytes + LARGE_BYTES);
            drop(instance);
            assert_eq!(stage.made(), call + 1);
        }
        assert_eq!(script.sent().len(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_is_used_again_serves_exactly_as_many_calls_as_it_may() {
    for (plugin, calls) in of_each_allocation(1).into_iter().zip([3, 1]) {
        let script = creating_after_ms(0);
        let stage = Counted::to(plugin, 1, reused(calls), script.outgoing());
        for call in 0..3 * calls {
            let mut instance = stage.pool.instance().await.unwrap();
            assert_eq!(instance.calls(), call % calls);
            create(&mut instance, call as usize).await.unwrap();
            assert_eq!(instance.calls(), call % calls + 1);
            assert_eq!(stage.made(), call / calls + 1);
        }
        let expected: Vec<_> = (0..3 * calls as usize).map(external_id).collect();
        assert_eq!(external_ids(&script.sent()), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_is_used_again_keeps_its_memory() {
    let script = creating_after_ms(0);
    let stage = Counted::to(plugin(), 1, FOR_EVER, script.outgoing());
    let mut instance = stage.pool.instance().await.unwrap();
    let initial_bytes = instance.memory_bytes();
    let created = instance.create_docket_v2(&large(), None).await.unwrap();
    created.unwrap();
    let grown_bytes = instance.memory_bytes();
    assert!(grown_bytes > initial_bytes);
    drop(instance);
    assert_eq!(
        stage.pool.instance().await.unwrap().memory_bytes(),
        grown_bytes
    );
}

#[tokio::test(start_paused = true)]
async fn who_takes_an_instance_and_makes_no_call_uses_nothing_up() {
    let script = creating_after_ms(0);
    let stage = Counted::to(plugin(), 1, reused(1), script.outgoing());
    for _ in 0..3 {
        drop(stage.pool.instance().await.unwrap());
    }
    stage.create(0).await;
    assert_eq!(stage.made(), 1);
    stage.create(1).await;
    assert_eq!(stage.made(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_was_stopped_is_not_used_again() {
    for plugin in of_each_allocation(1) {
        let script = creating_after_ms(0);
        let outgoing = script.outgoing();
        let stage = Counted::new(plugin, 1, FOR_EVER, move || InstanceSettings {
            limits: Limits {
                memory_bytes: 4 << 20,
                ..Limits::default()
            },
            ..settings(outgoing.clone())
        });
        stage.create(0).await;

        let mut instance = stage.pool.instance().await.unwrap();
        let batch = vec![large(); 8];
        let stopped = instance.create_dockets_v2(&batch, 60_000, None).await;
        let error = format!("{:#}", stopped.expect_err("a failure of the host"));
        assert!(error.contains("the guest was stopped"), "{error}");
        assert!(!instance.is_sound());
        drop(instance);
        assert_eq!(stage.made(), 1);

        stage.create(1).await;
        assert_eq!(stage.made(), 2);
        // The next is as good as any.
        stage.create(2).await;
        assert_eq!(stage.made(), 2);
        let expected: Vec<_> = (0..3).map(external_id).collect();
        assert_eq!(external_ids(&script.sent()), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_component_is_no_reason_for_a_new_instance() {
    let script = Script::new([Step::status(422), Step::ok(CREATED)]);
    let stage = Counted::to(plugin(), 1, FOR_EVER, script.outgoing());
    let mut instance = stage.pool.instance().await.unwrap();
    create(&mut instance, 0).await.unwrap_err();
    drop(instance);
    stage.create(1).await;
    assert_eq!(stage.made(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_instance_whose_call_was_dropped_is_not_used_again_and_its_request_is_cancelled() {
    for plugin in of_each_allocation(1) {
        let script = Script::new([Step::silence(), Step::ok(CREATED)]);
        let stage = Counted::to(plugin, 1, FOR_EVER, script.outgoing());
        let mut instance = stage.pool.instance().await.unwrap();
        let begun_ms = script.now_ms();
        let second = Duration::from_secs(1);
        timeout(second, create(&mut instance, 0)).await.unwrap_err();
        assert!(!instance.is_sound());
        drop(instance);

        stage.create(1).await;
        assert_eq!(stage.made(), 2);
        let sent = script.sent();
        let expected = [external_id(0), external_id(1)];
        assert_eq!(external_ids(&sent), expected);
        assert_eq!(sent[0].ended_ms, Some(begun_ms + 1_000));
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_gives_its_place_to_who_waits() {
    let script = Script::new([Step::silence(), Step::ok(CREATED)]);
    let stage = Counted::to(pooling(1), 1, Isolation::EachCall, script.outgoing());
    let second = Duration::from_secs(1);
    let first = timeout(second, stage.create(0));
    let (first, ()) = tokio::join!(first, stage.create(1));
    first.unwrap_err();
    let at_ms: Vec<_> = script.sent().iter().map(|sent| sent.at_ms).collect();
    assert_eq!(at_ms[1] - at_ms[0], 1_000);
    assert_eq!(stage.made(), 2);
}

#[tokio::test(start_paused = true)]
async fn who_comes_when_all_are_in_use_waits_and_is_served_in_turn() {
    for isolation in [Isolation::EachCall, FOR_EVER, reused(3)] {
        for plugin in of_each_allocation(2) {
            let script = creating_after_ms(10);
            let stage = Counted::to(plugin, 2, isolation, script.outgoing());
            join_all((0..20).map(|number| stage.create(number))).await;

            let sent = script.sent();
            let expected: Vec<_> = (0..20).map(external_id).collect();
            assert_eq!(external_ids(&sent), expected, "{isolation:?}");
            assert_eq!(script.most_open(), 2, "{isolation:?}");
            let first_ms = sent[0].at_ms;
            let waited_ms: Vec<_> = sent.iter().map(|sent| sent.at_ms - first_ms).collect();
            let expected: Vec<_> = (0..20).map(|number| number / 2 * 10).collect();
            assert_eq!(waited_ms, expected, "{isolation:?}");
            let made = match isolation {
                Isolation::EachCall => 20,
                // Ten calls for each of two.
                Isolation::Reused { calls } => 2 * 10_u32.div_ceil(calls.get()),
            };
            assert_eq!(stage.made(), made, "{isolation:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_instance_is_gone_before_the_next_one_is_made() {
    // The engine has no more room than the pool, so that an instance that is still there
    // when its place is free makes the next one fail.
    const INSTANCES: u32 = 2;
    for isolation in [Isolation::EachCall, reused(2)] {
        let open = Arc::new(AtomicUsize::new(0));
        let most = Arc::new(AtomicUsize::new(0));
        let (opened, seen) = (open.clone(), most.clone());
        let network = InMemoryNetwork(move |_, _| {
            let (opened, seen) = (opened.clone(), seen.clone());
            async move {
                let now = opened.fetch_add(1, Ordering::SeqCst) + 1;
                seen.fetch_max(now, Ordering::SeqCst);
                yield_now().await;
                opened.fetch_sub(1, Ordering::SeqCst);
                Ok(answer(StatusCode::OK, CREATED))
            }
        });
        let outgoing = Outgoing::loopback(network);
        let stage = Counted::to(pooling(INSTANCES), INSTANCES, isolation, outgoing);
        let stage = Arc::new(stage);
        let mut callers = JoinSet::new();
        for caller in 0..20 {
            let stage = stage.clone();
            callers.spawn(async move {
                for call in 0..20 {
                    stage.create(20 * caller + call).await;
                }
            });
        }
        while let Some(caller) = callers.join_next().await {
            caller.expect("all of its calls succeed");
        }
        assert_eq!(open.load(Ordering::SeqCst), 0);
        let most = most.load(Ordering::SeqCst);
        assert!(most <= INSTANCES as usize, "{most} at once");
        if isolation == Isolation::EachCall {
            assert_eq!(stage.made(), 400);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_dropped_call_is_gone_before_the_next_instance_is_made() {
    let silent = InMemoryNetwork(|_, _| std::future::pending());
    let outgoing = Outgoing::loopback(silent);
    let stage = Counted::to(pooling(2), 2, FOR_EVER, outgoing);
    let stage = Arc::new(stage);
    let mut callers = JoinSet::new();
    for _ in 0..4 {
        let stage = stage.clone();
        callers.spawn(async move {
            for number in 0..50 {
                let mut instance = stage.pool.instance().await.expect("an instance");
                let mut call = pin!(create(&mut instance, number));
                // The guest is in the middle of it, on a stack of its own.
                assert!(poll!(&mut call).is_pending());
            }
        });
    }
    while let Some(caller) = callers.join_next().await {
        caller.expect("room for every instance");
    }
    assert_eq!(stage.made(), 200);
}

#[tokio::test(start_paused = true)]
async fn who_gives_up_waiting_leaves_no_hole() {
    let script = creating_after_ms(0);
    let stage = Counted::to(pooling(1), 1, Isolation::EachCall, script.outgoing());
    let held = stage.pool.instance().await.unwrap();
    let mut first = Box::pin(stage.pool.instance());
    let mut second = Box::pin(stage.pool.instance());
    let mut third = Box::pin(stage.pool.instance());
    for waiting in [&mut first, &mut second, &mut third] {
        assert!(poll!(waiting).is_pending());
    }
    // One in the middle of the queue, and one whose turn it is but who has not seen it.
    drop(second);
    drop(held);
    drop(first);
    let mut instance = third.await.unwrap();
    create(&mut instance, 0).await.unwrap();
    drop(instance);
    stage.create(1).await;
    assert_eq!(stage.made(), 3, "who gave up was given none");
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_cannot_be_made_gives_its_place_back() {
    for plugin in of_each_allocation(1) {
        let script = creating_after_ms(0);
        let outgoing = script.outgoing();
        let asked = AtomicU32::new(0);
        let stage = Counted::new(plugin, 1, FOR_EVER, move || {
            let mut settings = settings(outgoing.clone());
            if asked.fetch_add(1, Ordering::Relaxed) < 3 {
                // Not enough for anybody.
                settings.limits.memory_bytes = 1;
            }
            settings
        });
        for _ in 0..3 {
            let error = stage.pool.instance().await.err().expect("no instance");
            let error = format!("{error:#}");
            assert!(error.contains("the limit is 1"), "{error}");
        }
        stage.create(0).await;
        stage.create(1).await;
        assert_eq!(stage.made(), 4);
    }
}

#[tokio::test(start_paused = true)]
async fn a_pool_that_is_larger_than_its_engine_fails_and_goes_on() {
    let script = creating_after_ms(0);
    let stage = Counted::to(pooling(1), 2, Isolation::EachCall, script.outgoing());
    let held = stage.pool.instance().await.unwrap();
    let error = stage.pool.instance().await.err().expect("no instance");
    let error = format!("{error:#}");
    assert!(error.contains("limit of 1"), "{error}");
    drop(held);
    for number in 0..3 {
        stage.create(number).await;
    }
    // Both places are there: neither of these waits.
    let (first, second) = tokio::join!(stage.pool.instance(), stage.pool.instance());
    assert!(first.is_ok() && second.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_pool_of_none_is_a_pool_of_one() {
    let script = creating_after_ms(10);
    let stage = Counted::to(plugin(), 0, Isolation::EachCall, script.outgoing());
    tokio::join!(stage.create(0), stage.create(1));
    assert_eq!(script.most_open(), 1);
    assert_eq!(script.sent().len(), 2);
}

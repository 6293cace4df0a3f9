//! Calls that are dropped, on shared instances and on those that have one call at a time: what
//! they have open ends, they begin nothing more, and their creates are reported once.

use crate::log::Log;
use crate::stage::{
    CREATED, WASI_0_2, WASI_0_3, plugin, plugin_steps, plugin_v0_3, settings, shared,
    shared_with_places, thousands,
};
use futures_util::future::join_all;
use serde_json::value::RawValue;
use std::num::{NonZeroU32, NonZeroUsize};
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::time::{sleep, timeout};
use voice_calling_check::operation::item;
use voice_calling_check::script::{Piece, Script, Step};
use voice_calling_host::load::interface::exported_interface;
use voice_calling_host::types::{
    AgentList, CallOptions, CreatedDocketV2, DocketRequestV2, RequestError,
};
use voice_calling_host::{
    GuestKind, Instance, InstanceSettings, Isolation, Loading, Pool, Recorder, Running, Sandbox,
    SharedInstance,
};

/// Creates a docket for so long, and then nobody waits for it any more.
async fn drop_create_after_ms(instance: &SharedInstance, dropped_ms: u64) {
    let docket = item(0);
    let call = instance.create_docket_v2(&docket, None);
    let dropped = timeout(Duration::from_millis(dropped_ms), call).await;
    assert!(dropped.is_err(), "the service is slower");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_ends_its_request_and_the_others_go_on() {
    let script = Script::new([Step::silence(), Step::ok(CREATED).after_ms(500)]);
    let instance = shared(&script).await;
    let docket = item(0);
    let dropped = timeout(
        Duration::from_millis(100),
        instance.create_docket_v2(&docket, None),
    );
    let other = async {
        sleep(Duration::from_millis(10)).await;
        instance.create_docket_v2(&item(1), None).await
    };
    let (dropped, other) = tokio::join!(dropped, other);
    assert!(dropped.is_err(), "the service never answers");
    other.unwrap().unwrap();
    let ended: Vec<_> = script.sent().iter().map(|sent| sent.ended_ms).collect();
    assert_eq!(ended[0], Some(100));
    assert_eq!(ended.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_while_it_pauses_sends_nothing_more() {
    let again = Step::status(503).header("retry-after", "5");
    let script = Script::new([again]);
    let instance = shared(&script).await;
    let docket = item(0);
    let dropped = timeout(
        Duration::from_secs(1),
        instance.create_docket_v2(&docket, None),
    )
    .await;
    assert!(dropped.is_err(), "the pause is longer");
    sleep(Duration::from_secs(3_600)).await;
    assert_eq!(script.sent().len(), 1);
    assert!(instance.is_sound());
}

/// Ten thousand: if each left its task in the guest, the guest's memory would show it.
#[tokio::test(start_paused = true)]
async fn calls_that_are_dropped_before_they_send_leave_nothing() {
    let limited = Step::status(429).header("retry-after", "5");
    let script = Script::new([limited]);
    let instance = shared(&script).await;
    let before = instance.memory_bytes();
    for _ in 0..20 {
        let calls = (0..500).map(|number| {
            let instance = &instance;
            async move { instance.create_docket_v2(&item(number), None).await }
        });
        let dropped = timeout(Duration::from_secs(1), join_all(calls)).await;
        assert!(
            dropped.is_err(),
            "all of them wait for the rate limit to end"
        );
        sleep(Duration::from_secs(60)).await;
    }
    let grown = instance.memory_bytes() - before;
    assert!(grown < 8 << 20, "{grown} bytes for 500 calls at a time");
    assert!(instance.is_sound());
}

/// Round after round, as a host does whose own callers go away.
#[tokio::test(start_paused = true)]
async fn dropped_calls_leave_nothing_open() {
    let script = Script::new([Step::silence()]);
    let instance = shared(&script).await;
    for round in 1..=4 {
        let calls = (0..1_000).map(|number| {
            let instance = &instance;
            async move { instance.create_docket_v2(&item(number), None).await }
        });
        let dropped = timeout(Duration::from_millis(10), join_all(calls)).await;
        assert!(dropped.is_err(), "the service never answers");
        sleep(Duration::from_millis(10)).await;
        let sent = script.sent();
        assert_eq!(sent.len(), 1_000 * round);
        assert!(sent.iter().all(|sent| sent.ended_ms.is_some()));
    }
    assert!(instance.is_sound());
}

#[tokio::test(start_paused = true)]
async fn a_create_that_is_dropped_before_its_answer_is_reported() {
    let log = Log::keep();
    let instance = shared(&Script::new([Step::silence()])).await;
    drop_create_after_ms(&instance, 100).await;
    sleep(Duration::from_secs(3_600)).await;
    log.reports("dockets.create-docket-v2", 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_while_its_answer_is_read_ends_its_request_and_is_reported() {
    let log = Log::keep();
    let slowly = [
        Piece::Bytes(CREATED[..10].to_owned().into()),
        Piece::Pause(Duration::from_secs(5)),
        Piece::Bytes(CREATED[10..].to_owned().into()),
    ];
    let script = Script::new([
        Step::status(200).pieces(slowly),
        Step::ok(CREATED).after_ms(500),
    ]);
    let instance = shared(&script).await;
    let other = async {
        sleep(Duration::from_millis(10)).await;
        instance.create_docket_v2(&item(1), None).await
    };
    let ((), other) = tokio::join!(drop_create_after_ms(&instance, 100), other);
    other.unwrap().unwrap();
    sleep(Duration::from_secs(3_600)).await;
    let ended: Vec<_> = script.sent().iter().map(|sent| sent.ended_ms).collect();
    assert_eq!(ended, [Some(100), Some(510)]);
    log.reports("dockets.create-docket-v2", 1);
}

#[tokio::test(start_paused = true)]
async fn a_read_that_is_dropped_ends_its_request_and_there_is_nothing_to_report() {
    let log = Log::keep();
    let begun = [
        Piece::Bytes("[".into()),
        Piece::Pause(Duration::from_secs(5)),
    ];
    for step in [Step::silence(), Step::status(200).pieces(begun)] {
        let script = Script::new([step]);
        let instance = shared(&script).await;
        let call = instance.list_agents("org-1", None);
        let dropped = timeout(Duration::from_millis(100), call).await;
        assert!(dropped.is_err(), "the service is slower");
        sleep(Duration::from_secs(3_600)).await;
        let ended: Vec<_> = script.sent().iter().map(|sent| sent.ended_ms).collect();
        assert_eq!(ended, [Some(100)]);
    }
    assert_eq!(log.warnings(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_create_that_is_dropped_in_a_pause_after_a_failure_is_reported() {
    let log = Log::keep();
    let script = Script::new([Step::status(503).header("retry-after", "5")]);
    let instance = shared(&script).await;
    drop_create_after_ms(&instance, 7_000).await;
    sleep(Duration::from_secs(3_600)).await;
    assert_eq!(script.sent().len(), 2);
    log.reports("dockets.create-docket-v2", 2);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_dropped_reports_how_many_creates_it_had_sent() {
    let log = Log::keep();
    let instance = shared(&Script::new([Step::ok(CREATED), Step::silence()])).await;
    let batch: Vec<_> = (0..5).map(item).collect();
    let call = instance.create_dockets_v2(&batch, 60_000, None);
    let dropped = timeout(Duration::from_millis(100), call).await;
    assert!(dropped.is_err(), "the service never answers");
    sleep(Duration::from_secs(3_600)).await;
    log.reports("bulk.create-dockets-v2", 5);
}

/// Those that wait for a place in the guest are not let in by the end of those before them.
#[tokio::test(start_paused = true)]
async fn of_a_thousand_calls_that_are_dropped_at_once_none_sends_anything_more() {
    let log = Log::keep();
    let script = Script::new([Step::silence()]);
    let instance = shared_with_places(&script, 16).await;
    let calls = (0..1_000).map(|number| {
        let instance = &instance;
        async move { instance.create_docket_v2(&item(number), None).await }
    });
    let dropped = timeout(Duration::from_millis(100), join_all(calls)).await;
    assert!(dropped.is_err(), "the service never answers");
    sleep(Duration::from_secs(3_600)).await;
    let ended: Vec<_> = script.sent().iter().map(|sent| sent.ended_ms).collect();
    assert_eq!(ended, [Some(100); 16]);
    assert_eq!(log.warnings().len(), 16);
    assert!(instance.is_sound());
}

/// The guest has it until then.
#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_in_a_pause_is_in_flight_until_the_pause_ends() {
    let again = Step::status(503).header("retry-after", "5");
    let script = Script::new([again, Step::ok(CREATED)]);
    let mut settings = thousands(&script);
    settings.limits.calls = NonZeroUsize::MIN;
    let instance = plugin_v0_3().share(settings).await.unwrap();
    drop_create_after_ms(&instance, 1_000).await;
    let docket = item(1);
    instance
        .create_docket_v2(&docket, None)
        .await
        .unwrap()
        .unwrap();
    let sent_at: Vec<_> = script.sent().iter().map(|sent| sent.at_ms).collect();
    assert_eq!(sent_at, [0, 5_000]);
}

/// The answer was there, and the caller went without looking.
#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_takes_is_reported() {
    let log = Log::keep();
    let instance = shared(&Script::new([Step::ok(CREATED).after_ms(50)])).await;
    let docket = item(0);
    {
        let mut call = pin!(instance.create_docket_v2(&docket, None));
        assert!(futures_util::poll!(call.as_mut()).is_pending());
        sleep(Duration::from_millis(100)).await;
        assert_eq!(log.warnings(), [""; 0], "the caller could still take it");
    }
    log.reports("dockets.create-docket-v2", 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_heard_or_sent_nothing_is_not_reported() {
    let log = Log::keep();
    let limited = Step::status(429).header("retry-after", "5");
    let script = Script::new([Step::ok(CREATED), limited]);
    let instance = shared(&script).await;
    let (first, second) = (item(0), item(1));
    instance
        .create_docket_v2(&first, None)
        .await
        .unwrap()
        .unwrap();
    let limited = instance.create_docket_v2(&second, None);
    let waiting = async {
        sleep(Duration::from_millis(10)).await;
        drop_create_after_ms(&instance, 100).await;
    };
    let (limited, ()) = tokio::join!(limited, waiting);
    limited.unwrap().unwrap_err();
    assert_eq!(log.warnings(), [""; 0]);
}

/// What an instance gets whose recorder keeps nothing.
fn unrecorded(script: &Script) -> InstanceSettings {
    let mut outgoing = script.outgoing();
    outgoing.recorder = Recorder::keeping_nothing();
    settings(outgoing)
}

/// An instance that has one call at a time, by the way in which it is called.
enum Lone {
    Typed(Instance),
    ByJson(Instance),
    ByBindings(Running),
}

impl Lone {
    const CREATE: &str = "dockets.create-docket-v2";

    /// One for each way, of each component. That for steps knows no bindings: its host makes its
    /// calls of steps.
    async fn each(script: &Script) -> Vec<Self> {
        static SANDBOXES: OnceLock<[Sandbox; 2]> = OnceLock::new();
        let sandboxes = SANDBOXES.get_or_init(|| {
            let load = |path: &str| Sandbox::load(path.as_ref(), &Loading::default()).unwrap();
            [WASI_0_2, WASI_0_3].map(load)
        });
        let mut each = Vec::new();
        for (plugin, sandbox) in [plugin(), plugin_v0_3()].into_iter().zip(sandboxes) {
            let running = sandbox.instantiate(unrecorded(script)).await.unwrap();
            for lone in [Self::Typed, Self::ByJson] {
                each.push(lone(plugin.instantiate(unrecorded(script)).await.unwrap()));
            }
            each.push(Self::ByBindings(running));
        }
        for lone in [Self::Typed, Self::ByJson] {
            let instance = plugin_steps().instantiate(unrecorded(script)).await;
            each.push(lone(instance.unwrap()));
        }
        each
    }

    /// What the log calls a create of it.
    fn create_in_log(&self) -> &'static str {
        match self {
            Self::Typed(_) | Self::ByJson(_) => Self::CREATE,
            Self::ByBindings(_) => "a function of a sandbox",
        }
    }

    /// Creates a docket. The error is the host's.
    async fn create(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Typed(instance) => drop(instance.create_docket_v2(&item(0), None).await?),
            Self::ByJson(instance) => {
                let docket = r#"{"agent_id": 7, "to_phone_number": "919876543210",
                    "call_context": {}}"#;
                let docket = RawValue::from_string(docket.to_owned())?;
                drop(instance.invoke(Self::CREATE, &docket).await?);
            }
            Self::ByBindings(running) => {
                type Created = (Result<CreatedDocketV2, RequestError>,);
                let docket = (item(0), None);
                let created = running.call(async |store, instance| {
                    let names = [GuestKind::V0_2, GuestKind::V0_3]
                        .map(|it| exported_interface(it, "dockets"));
                    let interface = names
                        .iter()
                        .find_map(|name| instance.get_export_index(&mut *store, None, name));
                    let create = instance
                        .get_export_index(&mut *store, interface.as_ref(), "create-docket-v2")
                        .expect("the function");
                    let create = instance
                        .get_typed_func::<(DocketRequestV2, Option<CallOptions>), Created>(
                            &mut *store,
                            create,
                        )?;
                    create.call_async(store, docket).await
                });
                drop(created.await?);
            }
        }
        Ok(())
    }

    /// Lists agents. The error is the host's.
    async fn list(&mut self) -> anyhow::Result<()> {
        match self {
            Self::Typed(instance) => drop(instance.list_agents("org-1", None).await?),
            Self::ByJson(instance) => {
                let organization = r#"{"organization_id": "org-1"}"#;
                let organization = RawValue::from_string(organization.to_owned())?;
                drop(instance.invoke("agents.list-agents", &organization).await?);
            }
            Self::ByBindings(running) => {
                type Listed = (Result<AgentList, RequestError>,);
                let listed = running.call(async |store, instance| {
                    let names = [GuestKind::V0_2, GuestKind::V0_3]
                        .map(|it| exported_interface(it, "agents"));
                    let interface = names
                        .iter()
                        .find_map(|name| instance.get_export_index(&mut *store, None, name));
                    let list = instance
                        .get_export_index(&mut *store, interface.as_ref(), "list-agents")
                        .expect("the function");
                    let list = instance.get_typed_func::<(String, Option<CallOptions>), Listed>(
                        &mut *store,
                        list,
                    )?;
                    list.call_async(store, ("org-1".to_owned(), None)).await
                });
                drop(listed.await?);
            }
        }
        Ok(())
    }
}

/// Waits for so long, and then no more.
async fn drop_after_ms<T>(call: impl Future<Output = T>, dropped_ms: u64) {
    let dropped = timeout(Duration::from_millis(dropped_ms), call).await;
    assert!(dropped.is_err(), "the service is slower");
}

#[tokio::test(start_paused = true)]
async fn a_create_that_is_dropped_is_reported_by_an_instance_with_one_call_at_a_time_too() {
    let log = Log::keep();
    let script = Script::new([Step::silence()]);
    for mut instance in Lone::each(&script).await {
        log.clear();
        let function = instance.create_in_log();
        drop_after_ms(instance.create(), 100).await;
        log.reports(function, 1);
        drop(instance);
        log.reports(function, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_create_that_is_dropped_in_a_pause_of_such_an_instance_reports_all_its_attempts() {
    let log = Log::keep();
    let script = Script::new([Step::status(503).header("retry-after", "5")]);
    for mut instance in Lone::each(&script).await {
        log.clear();
        drop_after_ms(instance.create(), 7_000).await;
        log.reports(instance.create_in_log(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_create_that_is_dropped_is_reported_by_an_instance_of_a_pool() {
    let log = Log::keep();
    let script = Arc::new(Script::new([Step::silence()]));
    let calls = NonZeroU32::MAX;
    for isolation in [Isolation::EachCall, Isolation::Reused { calls }] {
        log.clear();
        let of = script.clone();
        let pool = Pool::new(plugin(), 1, isolation, move || unrecorded(&of));
        let create = async {
            let mut instance = pool.instance().await.unwrap();
            instance.create_docket_v2(&item(0), None).await
        };
        drop_after_ms(create, 100).await;
        log.reports(Lone::CREATE, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_dropped_on_such_an_instance_reports_how_many_creates_it_had_sent() {
    let log = Log::keep();
    let batch: Vec<_> = (0..5).map(item).collect();
    for plugin in [plugin(), plugin_v0_3(), plugin_steps()] {
        log.clear();
        let script = Script::new([Step::ok(CREATED), Step::silence()]);
        let mut instance = plugin.instantiate(unrecorded(&script)).await.unwrap();
        drop_after_ms(instance.create_dockets_v2(&batch, 60_000, None), 100).await;
        assert_eq!(script.sent().len(), 5);
        log.reports("bulk.create-dockets-v2", 5);
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_that_is_dropped_on_such_an_instance_leaves_nothing_to_report() {
    let log = Log::keep();
    let script = Script::new([Step::silence()]);
    for mut instance in Lone::each(&script).await {
        drop_after_ms(instance.list(), 100).await;
    }
    assert_eq!(script.sent().len(), 8);
    assert_eq!(log.warnings(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_call_of_such_an_instance_that_has_returned_leaves_nothing_to_report() {
    let log = Log::keep();
    let script = Script::new([Step::ok(CREATED).after_ms(10)]);
    for mut instance in Lone::each(&script).await {
        instance.create().await.unwrap();
        // The next one has sent nothing yet.
        drop(instance.create());
    }
    assert_eq!(script.sent().len(), 8);
    assert_eq!(log.warnings(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_trapped_is_no_dropped_one_and_ends_what_it_had_open() {
    let log = Log::keep();
    for plugin in [plugin(), plugin_v0_3(), plugin_steps()] {
        let begun = [
            Piece::Bytes(vec![b' '; 6 << 20].into()),
            Piece::Pause(Duration::from_secs(5)),
        ];
        let script = Script::new([Step::status(200).pieces(begun).after_ms(100)]);
        let mut settings = unrecorded(&script);
        settings.limits.memory_bytes = 4 << 20;
        let mut instance = plugin.instantiate(settings).await.unwrap();
        // Of the answer to a create it would not read so much.
        let trapped = instance.list_agents("org-1", None).await;
        let error = format!("{:#}", trapped.expect_err("more than the limit"));
        assert!(error.contains("the limit is 4194304"), "{error}");
        sleep(Duration::from_secs(1)).await;
        let ended: Vec<_> = script.sent().iter().map(|sent| sent.ended_ms).collect();
        assert_eq!(ended, [Some(100)]);
        assert!(!instance.is_sound());
        assert!(instance.memory_bytes() > 1 << 18, "it can still be asked");
    }
    assert_eq!(log.warnings(), [""; 0]);
}

/// Nobody drops the instance, and nobody calls it.
#[tokio::test(start_paused = true)]
async fn a_dropped_call_ends_its_request_at_that_moment_also_if_its_instance_is_kept() {
    let begun = [
        Piece::Bytes(CREATED[..10].to_owned().into()),
        Piece::Pause(Duration::from_secs(5)),
    ];
    for step in [
        Step::silence(),
        Step::ok(CREATED).after_ms(5_000),
        Step::status(200).pieces(begun),
        Step::silence().without_reading(),
    ] {
        let script = Script::new([step]);
        let mut kept = Vec::new();
        for mut instance in Lone::each(&script).await {
            let begun_ms = script.now_ms();
            drop_after_ms(instance.create(), 100).await;
            kept.push(instance);
            sleep(Duration::from_secs(3_600)).await;
            let ended_ms = script.sent().last().unwrap().ended_ms;
            assert_eq!(ended_ms, Some(begun_ms + 100));
        }
    }
}

/// On WASI 0.3 the dropped call would go on with the next one, and send its create again.
#[tokio::test(start_paused = true)]
async fn an_instance_whose_call_was_dropped_takes_no_other_and_sends_nothing_more() {
    let script = Script::new([Step::status(503).header("retry-after", "5")]);
    for mut instance in Lone::each(&script).await {
        let sent_before = script.sent().len();
        drop_after_ms(instance.create(), 100).await;
        sleep(Duration::from_secs(1)).await;
        for _ in 0..2 {
            let error = instance
                .create()
                .await
                .expect_err("it has ended")
                .to_string();
            assert!(error.contains("the instance has ended"), "{error}");
            sleep(Duration::from_secs(60)).await;
        }
        assert_eq!(script.sent().len(), sent_before + 1);
    }
}

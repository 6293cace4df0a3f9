//! Calls that are dropped: what they have open ends, they begin nothing more, and their creates are
//! reported once.

use crate::log::Log;
use crate::stage::{CREATED, WASI_0_2, WASI_0_3, plugin, plugin_v0_3, settings};
use serde_json::value::RawValue;
use std::num::NonZeroU32;
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
};

/// What an instance gets whose recorder keeps nothing.
fn unrecorded(script: &Script) -> InstanceSettings {
    let mut outgoing = script.outgoing();
    outgoing.recorder = Recorder::keeping_nothing();
    settings(outgoing)
}

/// An instance, by the way in which it is called.
enum Called {
    Typed(Instance),
    ByJson(Instance),
    ByBindings(Running),
}

impl Called {
    const CREATE: &str = "dockets.create-docket-v2";

    /// One for each way, of each component.
    async fn each(script: &Script) -> Vec<Self> {
        static SANDBOXES: OnceLock<[Sandbox; 2]> = OnceLock::new();
        let sandboxes = SANDBOXES.get_or_init(|| {
            let load = |path: &str| Sandbox::load(path.as_ref(), &Loading::default()).unwrap();
            [WASI_0_2, WASI_0_3].map(load)
        });
        let mut each = Vec::new();
        for (plugin, sandbox) in [plugin(), plugin_v0_3()].into_iter().zip(sandboxes) {
            let running = sandbox.instantiate(unrecorded(script)).await.unwrap();
            for called in [Self::Typed, Self::ByJson] {
                each.push(called(
                    plugin.instantiate(unrecorded(script)).await.unwrap(),
                ));
            }
            each.push(Self::ByBindings(running));
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
async fn a_create_that_is_dropped_before_its_answer_is_reported_once() {
    let log = Log::keep();
    let script = Script::new([Step::silence()]);
    for mut instance in Called::each(&script).await {
        log.clear();
        let function = instance.create_in_log();
        drop_after_ms(instance.create(), 100).await;
        log.reports(function, 1);
        drop(instance);
        log.reports(function, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_create_that_is_dropped_in_a_pause_reports_all_its_attempts() {
    let log = Log::keep();
    let script = Script::new([Step::status(503).header("retry-after", "5")]);
    for mut instance in Called::each(&script).await {
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
        log.reports(Called::CREATE, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_dropped_reports_how_many_creates_it_had_sent() {
    let log = Log::keep();
    let batch: Vec<_> = (0..5).map(item).collect();
    for plugin in [plugin(), plugin_v0_3()] {
        log.clear();
        let script = Script::new([Step::ok(CREATED), Step::silence()]);
        let mut instance = plugin.instantiate(unrecorded(&script)).await.unwrap();
        drop_after_ms(instance.create_dockets_v2(&batch, 60_000, None), 100).await;
        assert_eq!(script.sent().len(), 5);
        log.reports("bulk.create-dockets-v2", 5);
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_that_is_dropped_leaves_nothing_to_report() {
    let log = Log::keep();
    let script = Script::new([Step::silence()]);
    for mut instance in Called::each(&script).await {
        drop_after_ms(instance.list(), 100).await;
    }
    assert_eq!(script.sent().len(), 6);
    assert_eq!(log.warnings(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_has_returned_leaves_nothing_to_report() {
    let log = Log::keep();
    let script = Script::new([Step::ok(CREATED).after_ms(10)]);
    for mut instance in Called::each(&script).await {
        instance.create().await.unwrap();
        // The next one has sent nothing yet.
        drop(instance.create());
    }
    assert_eq!(script.sent().len(), 6);
    assert_eq!(log.warnings(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_trapped_is_no_dropped_one_and_ends_what_it_had_open() {
    let log = Log::keep();
    for plugin in [plugin(), plugin_v0_3()] {
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
        for mut instance in Called::each(&script).await {
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
    for mut instance in Called::each(&script).await {
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

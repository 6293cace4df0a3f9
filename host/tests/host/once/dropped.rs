//! Calls that are dropped or trap: their open exchanges end, they begin nothing more, and their
//! creates are reported once. All calls behave alike, including those by name and those of a sandbox.

use crate::log::Log;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use voice_calling_check::operation::item;
use voice_calling_host::Instance;
use voice_calling_test_guests::{Piece, SATISFYING, Script, Step, both_plugins, create, settings};

const CREATE: &str = "dockets.create-docket-v2";

/// Returns an instance of each component.
async fn each(script: &Script) -> Vec<Instance> {
    let mut instances = Vec::new();
    for plugin in both_plugins() {
        let instance = plugin.instantiate(settings(&[], script.outgoing())).await;
        instances.push(instance.expect("an instance"));
    }
    instances
}

/// Drops the call after this time.
async fn drop_after_ms<T>(call: impl Future<Output = T>, dropped_ms: u64) {
    let dropped = timeout(Duration::from_millis(dropped_ms), call).await;
    assert!(dropped.is_err(), "the service is slower");
}

#[tokio::test(start_paused = true)]
async fn a_create_that_is_dropped_reports_its_attempts_once() {
    let log = Log::keep();
    for (step, dropped_ms, attempts) in [
        (Step::silence(), 100, 1),
        (Step::status(503).header("retry-after", "5"), 7_000, 2),
    ] {
        let script = Script::new([step]);
        for mut instance in each(&script).await {
            log.clear();
            drop_after_ms(create(&mut instance, 0), dropped_ms).await;
            log.reports(CREATE, attempts);
            drop(instance);
            log.reports(CREATE, attempts);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_dropped_reports_how_many_creates_it_had_sent() {
    let log = Log::keep();
    let batch: Vec<_> = (0..5).map(item).collect();
    let script = Script::new([Step::ok(SATISFYING), Step::silence()]);
    for mut instance in each(&script).await {
        log.clear();
        drop_after_ms(instance.create_dockets_v2(&batch, 60_000, None), 100).await;
        log.reports("bulk.create-dockets-v2", 5);
    }
    assert_eq!(script.sent().len(), 10);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_read_and_a_call_that_has_returned_leave_nothing_to_report() {
    let log = Log::keep();
    let script = Script::new([Step::silence()]);
    for mut instance in each(&script).await {
        drop_after_ms(instance.list_agents("org-1", None), 100).await;
    }
    let script = Script::new([Step::ok(SATISFYING).after_ms(10)]);
    for mut instance in each(&script).await {
        create(&mut instance, 0).await.unwrap();
        // The second call has sent nothing yet.
        drop(create(&mut instance, 1));
    }
    assert_eq!(log.warnings(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_trapped_ends_what_it_had_open_and_is_reported_if_it_is_a_create() {
    let log = Log::keep();
    for plugin in both_plugins() {
        // The component reads less of the answer to a create.
        for (is_create, answer_bytes, limit_bytes) in
            [(false, 6 << 20, 4 << 20), (true, 1 << 20, 1 << 20)]
        {
            log.clear();
            let begun = [
                Piece::Bytes(vec![b' '; answer_bytes].into()),
                Piece::Pause(Duration::from_secs(5)),
            ];
            let script = Script::new([Step::status(200).pieces(begun).after_ms(100)]);
            let mut settings = settings(&[], script.outgoing());
            settings.limits.memory_bytes = limit_bytes;
            let mut instance = plugin.instantiate(settings).await.unwrap();
            let trapped = match is_create {
                true => instance.create_docket_v2(&item(0), None).await.map(drop),
                false => instance.list_agents("org-1", None).await.map(drop),
            };
            let error = format!("{:#}", trapped.expect_err("more than the limit"));
            let said = format!("the limit is {limit_bytes}");
            assert!(error.contains(&said), "{error}");
            sleep(Duration::from_secs(1)).await;
            let ended: Vec<_> = script.sent().iter().map(|sent| sent.ended_ms).collect();
            assert_eq!(ended, [Some(100)]);
            assert!(!instance.sandbox.is_alive());
            assert!(
                instance.sandbox.memory_bytes() > 1 << 18,
                "it can still be asked"
            );
            match is_create {
                true => log.reports(CREATE, 1),
                false => assert_eq!(log.warnings(), [""; 0]),
            }
        }
    }
}

/// The instance is neither dropped nor called.
#[tokio::test(start_paused = true)]
async fn a_dropped_call_ends_its_request_at_that_moment_also_if_its_instance_is_kept() {
    let begun = [
        Piece::Bytes(SATISFYING[..10].to_owned().into()),
        Piece::Pause(Duration::from_secs(5)),
    ];
    for step in [
        Step::silence(),
        Step::status(200).pieces(begun),
        Step::silence().without_reading(),
    ] {
        let script = Script::new([step]);
        let mut kept = Vec::new();
        for mut instance in each(&script).await {
            let begun_ms = script.now_ms();
            drop_after_ms(create(&mut instance, 0), 100).await;
            kept.push(instance);
            sleep(Duration::from_secs(3_600)).await;
            let ended_ms = script.sent().last().unwrap().ended_ms;
            assert_eq!(ended_ms, Some(begun_ms + 100));
        }
    }
}

/// On WASI 0.3 the dropped call would continue with the next one, and send its create again.
#[tokio::test(start_paused = true)]
async fn an_instance_whose_call_was_dropped_takes_no_other_and_sends_nothing_more() {
    let script = Script::new([Step::status(503).header("retry-after", "5")]);
    for mut instance in each(&script).await {
        let sent_before = script.sent().len();
        drop_after_ms(create(&mut instance, 0), 100).await;
        sleep(Duration::from_secs(1)).await;
        for _ in 0..2 {
            let refused = instance.create_docket_v2(&item(1), None).await;
            let error = refused.expect_err("it has ended").to_string();
            assert!(error.contains("the instance has ended"), "{error}");
            sleep(Duration::from_secs(60)).await;
        }
        assert_eq!(script.sent().len(), sent_before + 1);
    }
}

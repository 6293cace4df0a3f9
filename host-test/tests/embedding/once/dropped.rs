//! Calls on a shared instance for which nobody waits any more: what they have open ends, they
//! begin nothing more, and their creates are told of once.

use crate::stage::{CREATED, plugin_v0_3, shared, shared_with_places, thousands};
use futures_util::future::join_all;
use std::cell::RefCell;
use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Once;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use voice_calling_check::operation::item;
use voice_calling_check::script::{Piece, Script, Step};
use voice_calling_host::SharedInstance;

thread_local! {
    /// What the harness logged in the present test, which has a thread of its own.
    static LOGGED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// What the harness logs from now on. Of the whole process there is one subscriber: with one
/// for each test, whether a line is wanted is asked of whichever comes first.
struct Log;

impl Log {
    fn keep() -> Self {
        static SUBSCRIBER: Once = Once::new();
        SUBSCRIBER.call_once(|| {
            tracing_subscriber::fmt()
                .with_ansi(false)
                .with_env_filter("voice_calling_host=warn")
                .with_writer(|| Log)
                .init();
        });
        Self
    }

    fn lines(&self) -> Vec<String> {
        let logged = LOGGED.with_borrow(|bytes| String::from_utf8_lossy(bytes).into_owned());
        logged.lines().map(str::to_owned).collect()
    }

    /// It is one line that says so.
    fn tells_of(&self, function: &str, creates: usize) {
        let lines = self.lines();
        let [line] = lines.as_slice() else {
            panic!("not one line: {lines:?}");
        };
        assert!(line.contains("whether they were processed"), "{line}");
        assert!(line.contains(&format!("function=\"{function}\"")), "{line}");
        assert!(line.contains(&format!("creates={creates}")), "{line}");
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        LOGGED.with_borrow_mut(|logged| logged.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Creates a docket for so long, and then nobody waits for it any more.
async fn drop_create_after_ms(instance: &SharedInstance, dropped_ms: u64) {
    let docket = item(0);
    let call = instance.create_docket_v2(&docket);
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
        instance.create_docket_v2(&docket),
    );
    let other = async {
        sleep(Duration::from_millis(10)).await;
        instance.create_docket_v2(&item(1)).await
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
    let dropped = timeout(Duration::from_secs(1), instance.create_docket_v2(&docket)).await;
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
            async move { instance.create_docket_v2(&item(number)).await }
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
            async move { instance.create_docket_v2(&item(number)).await }
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
async fn a_create_that_is_dropped_before_its_answer_is_told_of() {
    let log = Log::keep();
    let instance = shared(&Script::new([Step::silence()])).await;
    drop_create_after_ms(&instance, 100).await;
    sleep(Duration::from_secs(3_600)).await;
    log.tells_of("dockets.create-docket-v2", 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_while_its_answer_is_read_ends_its_request_and_is_told_of() {
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
        instance.create_docket_v2(&item(1)).await
    };
    let ((), other) = tokio::join!(drop_create_after_ms(&instance, 100), other);
    other.unwrap().unwrap();
    sleep(Duration::from_secs(3_600)).await;
    let ended: Vec<_> = script.sent().iter().map(|sent| sent.ended_ms).collect();
    assert_eq!(ended, [Some(100), Some(510)]);
    log.tells_of("dockets.create-docket-v2", 1);
}

#[tokio::test(start_paused = true)]
async fn a_read_that_is_dropped_ends_its_request_and_there_is_nothing_to_tell() {
    let log = Log::keep();
    let begun = [
        Piece::Bytes("[".into()),
        Piece::Pause(Duration::from_secs(5)),
    ];
    for step in [Step::silence(), Step::status(200).pieces(begun)] {
        let script = Script::new([step]);
        let instance = shared(&script).await;
        let call = instance.list_agents("org-1");
        let dropped = timeout(Duration::from_millis(100), call).await;
        assert!(dropped.is_err(), "the service is slower");
        sleep(Duration::from_secs(3_600)).await;
        let ended: Vec<_> = script.sent().iter().map(|sent| sent.ended_ms).collect();
        assert_eq!(ended, [Some(100)]);
    }
    assert_eq!(log.lines(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_create_that_is_dropped_in_a_pause_after_a_failure_is_told_of() {
    let log = Log::keep();
    let script = Script::new([Step::status(503).header("retry-after", "5")]);
    let instance = shared(&script).await;
    drop_create_after_ms(&instance, 7_000).await;
    sleep(Duration::from_secs(3_600)).await;
    assert_eq!(script.sent().len(), 2);
    log.tells_of("dockets.create-docket-v2", 2);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_dropped_tells_how_many_creates_it_had_sent() {
    let log = Log::keep();
    let instance = shared(&Script::new([Step::ok(CREATED), Step::silence()])).await;
    let batch: Vec<_> = (0..5).map(item).collect();
    let call = instance.create_dockets_v2(&batch, 60_000);
    let dropped = timeout(Duration::from_millis(100), call).await;
    assert!(dropped.is_err(), "the service never answers");
    sleep(Duration::from_secs(3_600)).await;
    log.tells_of("bulk.create-dockets-v2", 5);
}

/// Those that wait for a place in the guest are not let in by the end of those before them.
#[tokio::test(start_paused = true)]
async fn of_a_thousand_calls_that_are_dropped_at_once_none_sends_anything_more() {
    let log = Log::keep();
    let script = Script::new([Step::silence()]);
    let instance = shared_with_places(&script, 16).await;
    let calls = (0..1_000).map(|number| {
        let instance = &instance;
        async move { instance.create_docket_v2(&item(number)).await }
    });
    let dropped = timeout(Duration::from_millis(100), join_all(calls)).await;
    assert!(dropped.is_err(), "the service never answers");
    sleep(Duration::from_secs(3_600)).await;
    let ended: Vec<_> = script.sent().iter().map(|sent| sent.ended_ms).collect();
    assert_eq!(ended, [Some(100); 16]);
    assert_eq!(log.lines().len(), 16);
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
    instance.create_docket_v2(&docket).await.unwrap().unwrap();
    let sent_at: Vec<_> = script.sent().iter().map(|sent| sent.at_ms).collect();
    assert_eq!(sent_at, [0, 5_000]);
}

/// The answer was there, and the caller went without looking.
#[tokio::test(start_paused = true)]
async fn an_answer_that_nobody_takes_is_told_of() {
    let log = Log::keep();
    let instance = shared(&Script::new([Step::ok(CREATED).after_ms(50)])).await;
    let docket = item(0);
    {
        let mut call = pin!(instance.create_docket_v2(&docket));
        assert!(futures_util::poll!(call.as_mut()).is_pending());
        sleep(Duration::from_millis(100)).await;
        assert_eq!(log.lines(), [""; 0], "the caller could still take it");
    }
    log.tells_of("dockets.create-docket-v2", 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_heard_or_sent_nothing_is_not_told_of() {
    let log = Log::keep();
    let limited = Step::status(429).header("retry-after", "5");
    let script = Script::new([Step::ok(CREATED), limited]);
    let instance = shared(&script).await;
    let (first, second) = (item(0), item(1));
    instance.create_docket_v2(&first).await.unwrap().unwrap();
    let limited = instance.create_docket_v2(&second);
    let waiting = async {
        sleep(Duration::from_millis(10)).await;
        drop_create_after_ms(&instance, 100).await;
    };
    let (limited, ()) = tokio::join!(limited, waiting);
    limited.unwrap().unwrap_err();
    assert_eq!(log.lines(), [""; 0]);
}

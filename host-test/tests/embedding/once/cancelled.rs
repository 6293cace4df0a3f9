//! Calls that another guest cancels, one that has the component for WASI 0.3 plugged in.

use crate::compiled::loading;
use crate::stage::{CREATED, with_places};
use std::cmp::Ordering;
use std::sync::OnceLock;
use std::time::Duration;
use voice_calling_check::operation::{DOCKET_ID, external_id, item};
use voice_calling_check::script::{Heard, HeardBody, Piece, Script, Step};
use voice_calling_host::types::{CreatedDocketV2, DocketRequestV2, RequestError};
use voice_calling_host::{Running, Sandbox};

const HOUR_MS: u64 = 3_600_000;

/// None of a call that was cancelled: it returns nothing.
type Created = Option<Result<CreatedDocketV2, RequestError>>;

/// The guest that cancels what takes too long.
struct Impatient(Running);

impl Impatient {
    async fn with_places(max_in_flight: usize, script: &Script) -> Self {
        static COMPOSITION: OnceLock<Sandbox> = OnceLock::new();
        let composition = COMPOSITION.get_or_init(|| {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/impatient.wasm");
            let loaded = Sandbox::load(path.as_ref(), &loading());
            loaded.expect("target/impatient.wasm, which `cargo xtask mutants` makes")
        });
        let settings = with_places(script.outgoing(), max_in_flight);
        let instance = composition.instantiate(settings).await;
        Self(instance.expect("an instance"))
    }

    /// Creates a docket for each of these at once, and cancels the call after so many
    /// milliseconds. The host must not fail.
    async fn create(&mut self, patience_ms: &[u64]) -> Vec<Created> {
        let numbered = patience_ms.iter().enumerate();
        let dockets: Vec<_> = numbered.map(|(number, &ms)| (item(number), ms)).collect();
        let created = self.0.call(async |store, instance| {
            type Dockets = Vec<(DocketRequestV2, u64)>;
            let create =
                instance.get_typed_func::<(Dockets,), (Vec<Created>,)>(&mut *store, "create")?;
            create.call_async(store, (dockets,)).await
        });
        created.await.expect("no failure of the host").0
    }

    /// Creates dockets in a batch: reads nothing for so long, then for so long, then drops the
    /// stream. Returns the indices of the requests whose results it read: all are dockets.
    async fn create_batch(&mut self, count: usize, pause_ms: u64, patience_ms: u64) -> Vec<u32> {
        type Batch = (Vec<DocketRequestV2>, u64, u64);
        type Results = (Vec<(u32, Result<CreatedDocketV2, RequestError>)>,);
        let dockets = (0..count).map(item).collect();
        let created = self.0.call(async |store, instance| {
            let create = instance.get_typed_func::<Batch, Results>(&mut *store, "create-batch")?;
            create
                .call_async(store, (dockets, pause_ms, patience_ms))
                .await
        });
        let (results,) = created.await.expect("no failure of the host");
        assert!(results.iter().all(|(_, outcome)| outcome.is_ok()));
        results.into_iter().map(|(index, _)| index).collect()
    }

    /// Creates a docket and has all the time that it takes.
    async fn create_patiently(&mut self) -> CreatedDocketV2 {
        let mut created = self.create(&[HOUR_MS]).await;
        let created = created.pop().flatten();
        created.expect("it is not cancelled").expect("a docket")
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_create_ends_its_request_at_that_moment() {
    let script = Script::new([Step::silence(), Step::ok(CREATED)]);
    let mut guest = Impatient::with_places(16, &script).await;
    assert_eq!(guest.create(&[100]).await, [None]);
    assert_eq!(script.now_ms(), 100);
    assert_eq!(script.sent()[0].ended_ms, Some(100));
    guest.create_patiently().await;
    assert_eq!(script.sent().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_create_that_is_cancelled_while_its_answer_is_read_ends_its_request() {
    let pieces = [
        Piece::Bytes(r#"{"docket_id":"#.into()),
        Piece::Pause(Duration::from_secs(5)),
        Piece::Bytes(format!(r#""{DOCKET_ID}"}}"#).into()),
    ];
    let slow = Step::status(200).pieces(pieces).after_ms(20);
    let script = Script::new([slow, Step::ok(CREATED)]);
    let mut guest = Impatient::with_places(16, &script).await;
    assert_eq!(guest.create(&[100]).await, [None]);
    let sent = &script.sent()[0];
    assert!(
        matches!(sent.heard, Heard::Answer(200, HeardBody::Begun)),
        "{sent:?}"
    );
    assert_eq!(sent.ended_ms, Some(100));
    guest.create_patiently().await;
}

#[tokio::test(start_paused = true)]
async fn a_create_whose_body_nobody_takes_ends_when_it_is_cancelled() {
    let script = Script::new([Step::silence().without_reading(), Step::ok(CREATED)]);
    let mut guest = Impatient::with_places(16, &script).await;
    assert_eq!(guest.create(&[100]).await, [None]);
    assert_eq!(script.sent()[0].ended_ms, Some(100));
    guest.create_patiently().await;
}

#[tokio::test(start_paused = true)]
async fn a_create_that_is_cancelled_while_it_pauses_sends_nothing_more() {
    let again = Step::status(503).header("retry-after", "5");
    // The instance goes on with another call when the pause would have ended.
    let script = Script::new([again, Step::ok(CREATED).after_ms(9_000)]);
    let mut guest = Impatient::with_places(16, &script).await;
    let created = guest.create(&[1_000, HOUR_MS]).await;
    assert!(matches!(&created[..], [None, Some(Ok(_))]), "{created:?}");
    assert_eq!(script.now_ms(), 9_000);
    let sent: Vec<_> = script.sent().iter().map(|s| s.external_id()).collect();
    assert_eq!(sent, [external_id(0), external_id(1)]);
}

/// At each millisecond, those among them in which the call is just about to do something.
#[tokio::test(start_paused = true)]
async fn whenever_a_create_is_cancelled_nothing_of_it_is_open_after_that() {
    let patience_ms: Vec<_> = (1..=20).chain(1_000..=1_100).collect();
    let again = Step::status(503).header("retry-after", "1").after_ms(10);
    let pieces = [
        Piece::Bytes(CREATED[..10].into()),
        Piece::Pause(Duration::from_millis(50)),
        Piece::Bytes(CREATED[10..].into()),
    ];
    let mut steps = vec![again; patience_ms.len()];
    steps.push(Step::status(200).pieces(pieces).after_ms(20));
    let script = Script::new(steps);
    let mut guest = Impatient::with_places(1_000, &script).await;
    let created = guest.create(&patience_ms).await;
    let done_ms = 10 + 1_000 + 20 + 50;
    for (created, &patience_ms) in created.iter().zip(&patience_ms) {
        match patience_ms.cmp(&done_ms) {
            Ordering::Less => assert_eq!(created, &None, "{patience_ms}"),
            // At the same moment, either is right.
            Ordering::Equal => {}
            Ordering::Greater => assert!(matches!(created, Some(Ok(_))), "{patience_ms}"),
        }
    }
    for (number, patience_ms) in patience_ms.into_iter().enumerate() {
        let sent = script.sent().into_iter();
        let sent: Vec<_> = sent
            .filter(|sent| sent.external_id() == external_id(number))
            .collect();
        assert!(!sent.is_empty(), "{patience_ms}");
        for sent in sent {
            let ended_ms = sent.ended_ms.expect("nothing is open");
            assert!(ended_ms <= patience_ms, "{patience_ms}: {sent:?}");
        }
    }
    guest.create_patiently().await;
}

#[tokio::test(start_paused = true)]
async fn the_place_of_a_cancelled_create_goes_to_the_next_at_that_moment() {
    let script = Script::new([Step::silence(), Step::ok(CREATED).after_ms(30)]);
    let mut guest = Impatient::with_places(1, &script).await;
    let created = guest.create(&[100, HOUR_MS]).await;
    assert!(matches!(&created[..], [None, Some(Ok(_))]), "{created:?}");
    let sent = script.sent();
    let times: Vec<_> = sent
        .iter()
        .map(|sent| (sent.at_ms, sent.ended_ms))
        .collect();
    assert_eq!(times, [(0, Some(100)), (100, Some(130))]);
}

#[tokio::test(start_paused = true)]
async fn a_create_that_is_cancelled_while_it_waits_for_a_place_sends_nothing() {
    let script = Script::new([Step::ok(CREATED).after_ms(200)]);
    let mut guest = Impatient::with_places(1, &script).await;
    let created = guest.create(&[HOUR_MS, 100, HOUR_MS]).await;
    assert!(
        matches!(&created[..], [Some(Ok(_)), None, Some(Ok(_))]),
        "{created:?}"
    );
    let sent = script.sent();
    let sent: Vec<_> = sent
        .iter()
        .map(|sent| (sent.at_ms, sent.external_id()))
        .collect();
    assert_eq!(sent, [(0, external_id(0)), (200, external_id(2))]);
}

/// Round after round: if each left its task in the guest, or its place, it would show.
#[tokio::test(start_paused = true)]
async fn cancelled_creates_leave_nothing() {
    let half = [
        Piece::Bytes("{".into()),
        Piece::Pause(Duration::from_secs(5)),
    ];
    for step in [
        Step::silence(),
        Step::status(200).pieces(half),
        Step::status(503).header("retry-after", "5"),
    ] {
        let script = Script::new([step]);
        let mut guest = Impatient::with_places(25, &script).await;
        let mut memory_bytes = 0;
        for round in 1..=20 {
            let created = guest.create(&[10; 25]).await;
            assert!(created.iter().all(Option::is_none), "{created:?}");
            let sent = script.sent();
            assert_eq!(sent.len(), 25 * round);
            assert!(sent.iter().all(|sent| sent.ended_ms.is_some()));
            if round == 2 {
                memory_bytes = guest.0.memory_bytes();
            }
        }
        assert_eq!(guest.0.memory_bytes(), memory_bytes);
    }
}

#[tokio::test(start_paused = true)]
async fn a_guest_reads_the_results_of_a_batch_in_the_order_in_which_they_come() {
    let script = Script::new([30, 20, 10, 50].map(|ms| Step::ok(CREATED).after_ms(ms)));
    let mut guest = Impatient::with_places(3, &script).await;
    assert_eq!(guest.create_batch(4, 0, HOUR_MS).await, [2, 1, 0, 3]);
    assert_eq!(script.now_ms(), 60 + 2_000);
    guest.create_patiently().await;
}

#[tokio::test(start_paused = true)]
async fn a_guest_that_does_not_read_holds_up_no_request_of_its_batch_and_loses_no_result() {
    let script = Script::new([Step::ok(CREATED).after_ms(50)]);
    let mut guest = Impatient::with_places(4, &script).await;
    let mut read = guest.create_batch(40, HOUR_MS, 1).await;
    read.sort_unstable();
    assert_eq!(read, (0..40).collect::<Vec<_>>());
    let last_ms = script.sent().iter().map(|sent| sent.at_ms).max();
    assert_eq!(last_ms, Some(450));
}

/// While it waits for the first result or another, and with results that it has not read.
#[tokio::test(start_paused = true)]
async fn a_guest_that_drops_the_results_has_nothing_more_begun_and_what_is_open_ended() {
    let answers = [100, 100, 500, 500, HOUR_MS].map(|ms| Step::ok(CREATED).after_ms(ms));
    for (pause_ms, patience_ms, read, sent) in [
        (0, 50, &[][..], 2),
        (0, 150, &[0, 1], 4),
        (0, 550, &[0, 1], 4),
        (0, 700, &[0, 1, 2, 3], 6),
        (700, 0, &[0], 6),
        (50, 0, &[], 2),
    ] {
        let script = Script::new(answers.clone());
        let mut guest = Impatient::with_places(2, &script).await;
        assert_eq!(guest.create_batch(9, pause_ms, patience_ms).await, read);
        let requests = script.sent();
        assert_eq!(requests.len(), sent, "{pause_ms} {patience_ms}");
        let dropped_ms = pause_ms + patience_ms;
        for request in requests {
            let ended_ms = request.ended_ms.expect("nothing is open");
            assert!(ended_ms <= dropped_ms + 1_000, "{dropped_ms}: {request:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_request_of_a_batch_is_begun_once_its_results_are_dropped() {
    for dropped_ms in 1..=60 {
        let script = Script::new([Step::ok(CREATED).after_ms(10)]);
        let mut guest = Impatient::with_places(1, &script).await;
        guest.create_batch(9, 0, dropped_ms).await;
        let last_ms = script.sent().iter().map(|sent| sent.at_ms).max();
        assert!(last_ms <= Some(dropped_ms), "{dropped_ms}: {last_ms:?}");
    }
}

/// The others of the batch wait for 400 ms, and the results are dropped in the middle.
#[tokio::test(start_paused = true)]
async fn a_request_that_waits_when_the_results_are_dropped_is_not_begun() {
    let limited = Step::status(429).header("retry-after", "0.4");
    let script = Script::new([limited, Step::ok(CREATED).after_ms(10)]);
    let mut guest = Impatient::with_places(2, &script).await;
    assert_eq!(guest.create_batch(9, 0, 200).await, [1]);
    let sent = script.sent().into_iter();
    let mut sent: Vec<_> = sent.map(|sent| sent.external_id()).collect();
    sent.dedup();
    assert!(
        sent.len() <= 3 && !sent.contains(&external_id(2)),
        "{sent:?}"
    );
}

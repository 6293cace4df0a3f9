//! Calls of another guest, into which the component for WASI 0.3 is plugged: many at once, and
//! cancelled ones.

use std::cmp::Ordering;
use std::sync::OnceLock;
use std::time::Duration;
use voice_calling_check::operation::{external_id, item};
use voice_calling_check::script::{Piece, Script, Step};
use voice_calling_host::types::{CreatedDocketV2, DocketRequestV2, RequestError};
use voice_calling_host::{Sandbox, SandboxInstance};
use voice_calling_test_guests::{CANCELLER, SATISFYING, loading, settings};

const HOUR_MS: u64 = 3_600_000;

/// The step by which a guest's memory grows.
const GROWTH_BYTES: usize = 131_072;

/// The result of a call; `None` if it was cancelled.
type Created = Option<Result<CreatedDocketV2, RequestError>>;

/// The guest that cancels calls that take too long.
struct Canceller(SandboxInstance);

impl Canceller {
    async fn with_places(max_in_flight: usize, script: &Script) -> Self {
        static COMPOSITION: OnceLock<Sandbox> = OnceLock::new();
        let composition = COMPOSITION.get_or_init(|| {
            Sandbox::load(CANCELLER.as_ref(), &loading()).expect("the composition")
        });
        let max_in_flight = max_in_flight.to_string();
        let places = [("MAX_IN_FLIGHT", max_in_flight.as_str())];
        let instance = composition.instantiate(settings(&places, script.outgoing()));
        let instance = instance.await;
        Self(instance.expect("an instance"))
    }

    /// Creates a docket for each element at once, and cancels the call after that many
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

    /// Creates `count` dockets in a batch, and cancels it after `patience_ms`, without results.
    async fn create_batch(
        &mut self,
        count: usize,
        patience_ms: u64,
    ) -> Option<Vec<Result<CreatedDocketV2, RequestError>>> {
        type Batch = (Vec<DocketRequestV2>, u64);
        type Results = (Option<Vec<Result<CreatedDocketV2, RequestError>>>,);
        let dockets = (0..count).map(item).collect();
        let created = self.0.call(async |store, instance| {
            let create = instance.get_typed_func::<Batch, Results>(&mut *store, "create-batch")?;
            create.call_async(store, (dockets, patience_ms)).await
        });
        created.await.expect("no failure of the host").0
    }

    /// Creates a docket without a time limit.
    async fn create_patiently(&mut self) -> CreatedDocketV2 {
        let mut created = self.create(&[HOUR_MS]).await;
        let created = created.pop().flatten();
        created.expect("it is not cancelled").expect("a docket")
    }
}

/// Cancels at each millisecond, including those in which the call is about to act.
#[tokio::test(start_paused = true)]
async fn whenever_a_create_is_cancelled_nothing_of_it_is_open_after_that() {
    let patience_ms: Vec<_> = (1..=20).chain(1_000..=1_100).collect();
    let again = Step::status(503).header("retry-after", "1").after_ms(10);
    let pieces = [
        Piece::Bytes(SATISFYING[..10].into()),
        Piece::Pause(Duration::from_millis(50)),
        Piece::Bytes(SATISFYING[10..].into()),
    ];
    let mut steps = vec![again; patience_ms.len()];
    steps.push(Step::status(200).pieces(pieces).after_ms(20));
    let script = Script::new(steps);
    let mut guest = Canceller::with_places(1_000, &script).await;
    let created = guest.create(&patience_ms).await;
    let done_ms = 10 + 1_000 + 20 + 50;
    for (created, &patience_ms) in created.iter().zip(&patience_ms) {
        match patience_ms.cmp(&done_ms) {
            Ordering::Less => assert_eq!(created, &None, "{patience_ms}"),
            // At the same moment, either result is correct.
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

/// After many rounds, leaked tasks or places would show. Every call leaks some hundred bytes,
/// cancelled or not: wit-bindgen 0.63 never frees the memory in which an async export gets
/// parameters.
#[tokio::test(start_paused = true)]
async fn cancelled_creates_leave_nothing() {
    let half = [
        Piece::Bytes("{".into()),
        Piece::Pause(Duration::from_secs(5)),
    ];
    for step in [
        Step::silence(),
        Step::silence().without_reading(),
        Step::status(200).pieces(half),
        Step::status(503).header("retry-after", "5"),
    ] {
        let script = Script::new([step]);
        let mut guest = Canceller::with_places(25, &script).await;
        let mut memory_bytes = 0;
        for round in 1..=40 {
            let created = guest.create(&[10; 25]).await;
            assert!(created.iter().all(Option::is_none), "{created:?}");
            let sent = script.sent();
            assert_eq!(sent.len(), 25 * round);
            assert!(sent.iter().all(|sent| sent.ended_ms.is_some()));
            if round == 20 {
                memory_bytes = guest.0.memory_bytes();
            }
        }
        assert!(guest.0.memory_bytes() <= memory_bytes + GROWTH_BYTES);
    }
}

/// Cancels while the batch waits for the first answers, for others, and for a rate limit.
#[tokio::test(start_paused = true)]
async fn a_cancelled_batch_begins_nothing_more_and_what_it_has_open_ends() {
    let answers = [100, 100, 500, 500, HOUR_MS].map(|ms| Step::ok(SATISFYING).after_ms(ms));
    let limited = [
        Step::status(429).header("retry-after", "0.4"),
        Step::ok(SATISFYING).after_ms(10),
    ];
    for (steps, patience_ms, sent) in [
        (&answers[..], 50, 2),
        (&answers, 150, 4),
        (&answers, 700, 6),
        (&limited, 200, 3),
    ] {
        let script = Script::new(steps);
        let mut guest = Canceller::with_places(2, &script).await;
        assert_eq!(guest.create_batch(9, patience_ms).await, None);
        let requests = script.sent();
        assert!(requests.len() <= sent, "{patience_ms}: {requests:?}");
        for request in requests {
            let ended_ms = request.ended_ms.expect("nothing is open");
            assert!(ended_ms <= patience_ms, "{patience_ms}: {request:?}");
        }
    }
}

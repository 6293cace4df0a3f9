//! Creating many dockets in one call.

use crate::breaker::{Breaker, Decision};
use crate::client::Client;
use crate::create::Admitted;
use crate::dockets::{create_docket_v2_request, decode_created_docket_v2};
use crate::ledger::{Ledger, Recorded};
use crate::operation::Operation;
use crate::problem::problem;
use crate::request::CREATED_BYTES;
use crate::retry::Stop;
use crate::time_frame::TimeFrame;
use crate::transport::{CANCELLED, Transport};
use crate::types::{
    CallOptions, CreatedDocketV2, DocketRequestV2, Failure, FailureKind, NextStep, Problem,
};
use crate::wait::check_timeout;
use futures_util::future::join_all;
use std::borrow::Cow;
use std::cell::RefCell;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

const MAX_REQUESTS: usize = 1_000;

/// The maximum total size of a batch's texts, and of its results beyond what repeats these. They are
/// in memory while it runs, and a guest that ran out of memory would lose all that is known of the
/// phones that ring.
const MAX_TEXT_BYTES: usize = 16_777_216;

const STOPPED: &str = "not begun, since the batch was stopped";

/// The result of one request of a batch.
pub type DocketResult = Result<Recorded<CreatedDocketV2>, Failure>;

/// The sink of a batch's results.
pub trait ResultSink {
    /// Returns `true` if no more results are expected: then no further request is begun.
    fn is_closed(&self) -> bool {
        false
    }

    /// Returns `true` if no further request is to begin. Each that was not begun is reported.
    fn is_stopped(&self) -> bool {
        false
    }

    /// Is called, once or more, when nothing further begins because too many creates have failed.
    fn on_breaker_open(&self) {}

    /// Takes the result of a request. The next request does not begin before this returns, so it
    /// should not wait for long.
    fn send(&self, item: &Item<'_>, result: DocketResult) -> impl Future<Output = ()>;
}

/// Collects the results in the order of the requests.
impl ResultSink for RefCell<Vec<Option<DocketResult>>> {
    async fn send(&self, item: &Item<'_>, result: DocketResult) {
        self.borrow_mut()[item.index] = Some(result);
    }
}

impl<T: Transport, L: Ledger> Client<T, L> {
    /// Implements `bulk.create-dockets-v2`: returns all results at once.
    pub async fn create_dockets_v2(
        &self,
        requests: &[DocketRequestV2],
        timeout_ms: u32,
        options: Option<CallOptions>,
    ) -> Result<Vec<Result<CreatedDocketV2, Failure>>, Failure> {
        let operation = self.begin(options)?;
        check_size(requests)?;
        let source = Requests {
            requests,
            next: AtomicUsize::new(0),
        };
        let batch = Batch::begin(operation, source, timeout_ms)?;
        let results = RefCell::new(vec![None; requests.len()]);
        batch.run(&results).await;
        let not_started = || Err(batch.operation.not_started(batch.time, Stop::TimeUp));
        let results = results.take().into_iter();
        let results = results.map(|result| result.unwrap_or_else(not_started));
        Ok(results
            .map(|result| result.map(|created| created.answer))
            .collect())
    }

    /// Checks the arguments of a batch that begins later.
    pub fn check_batch(
        &self,
        timeout_ms: u32,
        options: Option<CallOptions>,
    ) -> Result<(), Failure> {
        self.begin(options)?;
        Ok(check_timeout("timeout-ms", timeout_ms)?)
    }

    /// Begins a batch of any number of requests for a caller that takes each result as it comes.
    /// Its time begins now.
    pub fn begin_batch<S: Source>(
        &self,
        source: S,
        timeout_ms: u32,
        options: Option<CallOptions>,
    ) -> Result<Batch<'_, T, L, S>, Failure> {
        Batch::begin(self.begin(options)?, source, timeout_ms)
    }
}

/// A request of a batch.
#[derive(Debug, Clone)]
pub struct Item<'a> {
    /// The index of the request in the batch.
    pub index: usize,
    /// The request.
    pub request: Cow<'a, DocketRequestV2>,
    /// The key of the request in a ledger.
    pub key: Option<Cow<'a, str>>,
}

/// The source of a batch's requests.
pub trait Source {
    /// Returns the next request, or `None` after the last. It is called while others are in flight.
    fn next(&self) -> impl Future<Output = Option<Item<'_>>>;

    /// Returns the maximum number of requests.
    fn max_requests(&self) -> usize {
        usize::MAX
    }
}

/// A list of requests without keys.
struct Requests<'a> {
    requests: &'a [DocketRequestV2],
    next: AtomicUsize,
}

impl Source for Requests<'_> {
    async fn next(&self) -> Option<Item<'_>> {
        let index = self.next.fetch_add(1, Relaxed);
        Some(Item {
            index,
            request: Cow::Borrowed(self.requests.get(index)?),
            key: None,
        })
    }

    fn max_requests(&self) -> usize {
        self.requests.len()
    }
}

fn check_size(requests: &[DocketRequestV2]) -> Result<(), Problem> {
    if requests.len() > MAX_REQUESTS {
        let found = format!("{} requests", requests.len());
        return Err(problem("requests", found, format!("0 to {MAX_REQUESTS}")));
    }
    let bytes: usize = requests.iter().map(text_bytes).sum();
    if bytes > MAX_TEXT_BYTES {
        let allowed = format!("at most {MAX_TEXT_BYTES} bytes of text in all");
        return Err(problem(
            "requests",
            format!("{bytes} bytes of text"),
            allowed,
        ));
    }
    Ok(())
}

fn text_bytes(request: &DocketRequestV2) -> usize {
    let external_id = request.external_id.as_deref();
    request.to_phone_number.len()
        + request.call_context.len()
        + external_id.map_or(0, json_bytes)
        + request.extra.as_ref().map_or(0, String::len)
}

/// Returns the length of a text in JSON, whose escapes have up to six bytes.
fn json_bytes(text: &str) -> usize {
    let escaped = |character: char| match character {
        '"' | '\\' => 2,
        '\0'..='\u{1f}' => 6,
        _ => character.len_utf8(),
    };
    text.chars().map(escaped).sum()
}

/// A batch, whose requests several workers send.
#[derive(Debug)]
pub struct Batch<'a, T, L, S> {
    operation: Operation<'a, T, L>,
    source: S,
    /// The time in which requests may begin.
    time: TimeFrame,
    breaker: Mutex<Breaker>,
    /// Notifies the workers that wait for the breaker of each create that ends.
    ended: Notify,
}

impl<'a, T: Transport, L: Ledger, S: Source> Batch<'a, T, L, S> {
    fn begin(operation: Operation<'a, T, L>, source: S, timeout_ms: u32) -> Result<Self, Failure> {
        check_timeout("timeout-ms", timeout_ms)?;
        Ok(Self {
            source,
            time: TimeFrame::to_begin(operation.transport.now_ms(), timeout_ms.into()),
            operation,
            breaker: Mutex::default(),
            ended: Notify::new(),
        })
    }

    /// Sends the requests and passes on each result as soon as it is known. Nothing more is begun
    /// if the future is dropped or the sink is closed.
    pub async fn run(&self, sink: &impl ResultSink) {
        let settings = &self.operation.settings;
        let workers = settings.max_in_flight.min(self.source.max_requests());
        // Each worker has one request in flight, so that a slow one does not hold up the others.
        join_all((0..workers).map(|_| self.run_worker(sink))).await;
    }

    async fn run_worker(&self, sink: &impl ResultSink) {
        loop {
            // A request is taken when it may begin, so that they begin in their order.
            let may_begin = self.may_begin(sink).await;
            let item = self.source.next().await;
            let result = match (&may_begin, &item) {
                (Ok(()), Some(item)) => self.create(item, sink).await,
                (Err(failure), _) if !sink.is_closed() => Some(Err(failure.clone())),
                _ => None,
            };
            if may_begin.is_ok() {
                self.on_end(result.as_ref());
            }
            let (Some(item), Some(result)) = (item, result) else {
                return;
            };
            sink.send(&item, result).await;
        }
    }

    /// Waits until the breaker permits one more create.
    async fn may_begin(&self, sink: &impl ResultSink) -> Result<(), Failure> {
        loop {
            let mut ended = pin!(self.ended.notified());
            // From here on no notification is missed.
            ended.as_mut().enable();
            if self.operation.transport.is_cancelled() {
                return Err(not_begun(CANCELLED.to_owned()));
            }
            let decision = match sink.is_stopped() {
                true => Decision::Stop(STOPPED.to_owned()),
                false => self.decide(sink),
            };
            match decision {
                Decision::Begin => return Ok(()),
                Decision::Wait => ended.await,
                Decision::Stop(reason) => return Err(not_begun(reason)),
            }
        }
    }

    fn decide(&self, sink: &impl ResultSink) -> Decision {
        let decision = self.breaker().decide();
        if matches!(decision, Decision::Stop(_)) {
            sink.on_breaker_open();
        }
        decision
    }

    /// Reports a create that was permitted to the breaker; `None` if it was not begun.
    fn on_end(&self, result: Option<&DocketResult>) {
        match result {
            Some(Ok(created)) if !created.from_ledger => self.breaker().on_success(),
            Some(Err(failure)) => self.breaker().on_failure(failure),
            Some(Ok(_)) | None => self.breaker().on_nothing_sent(),
        }
        self.ended.notify_waiters();
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of bytes that a response may have beyond its escaped request: less in a
    /// large list, whose results are in memory until its end.
    fn created_bytes(&self) -> usize {
        match self.source.max_requests() {
            usize::MAX => CREATED_BYTES,
            count => (MAX_TEXT_BYTES / count.max(1)).min(CREATED_BYTES),
        }
    }

    /// Returns `None` if the sink was closed before the request could begin.
    async fn create(&self, item: &Item<'_>, sink: &impl ResultSink) -> Option<DocketResult> {
        let operation = &self.operation;
        let request =
            operation.request(|settings| create_docket_v2_request(&item.request, settings));
        let request = match request {
            Ok(request) => request.with_item(item.index, self.created_bytes()),
            Err(failure) => return Some(Err(failure)),
        };
        // The time that a rate limit or the requests of other calls take is not the request's own:
        // its deadline begins when it may begin. From then on it keeps its own time: its phone may
        // be ringing, and its docket id must not be lost.
        let now_ms = operation.transport.now_ms();
        let admission = match operation.admit(now_ms, self.time).await {
            Ok(admission) => admission,
            Err(stop) => return Some(Err(operation.not_started(self.time, stop))),
        };
        if sink.is_closed() {
            return None;
        }
        if sink.is_stopped() {
            return Some(Err(not_begun(STOPPED.to_owned())));
        }
        let admitted = Some(Admitted {
            admission,
            frame: self.time,
            time: None,
        });
        let decode = decode_created_docket_v2;
        let created = operation.create(&request, item.key.as_deref(), admitted, decode);
        Some(created.await)
    }
}

fn not_begun(reason: String) -> Failure {
    Failure::unsent(FailureKind::NotBegun, NextStep::RetryLater, reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Step, Store, World};
    use futures_util::future::join;

    fn requests(count: usize) -> Vec<DocketRequestV2> {
        let request = |index| DocketRequestV2 {
            agent_id: 7,
            to_phone_number: format!("91{index:010}"),
            call_context: "{}".into(),
            external_id: Some(format!("{index}")),
            extra: None,
        };
        (0..count).map(request).collect()
    }

    fn created() -> Step {
        Step::docket("OPEN")
    }

    fn batch(
        world: &World,
        count: usize,
        timeout_ms: u32,
        variables: &[(&str, &str)],
    ) -> Vec<Result<CreatedDocketV2, Failure>> {
        let client = world.client(variables);
        let requests = requests(count);
        let results = client.create_dockets_v2(&requests, timeout_ms, None);
        world.run(results).unwrap()
    }

    fn assert_not_begun(result: &Result<CreatedDocketV2, Failure>) {
        let failure = result.clone().unwrap_err();
        let case = failure.kind.name();
        assert_eq!((case, failure.may_have_created), ("timed-out", false));
        assert!(failure.attempts.is_empty());
    }

    struct Items(RefCell<std::vec::IntoIter<Item<'static>>>);

    impl Source for Items {
        async fn next(&self) -> Option<Item<'_>> {
            self.0.borrow_mut().next()
        }
    }

    /// A sink that keeps the time of each result, and is closed after some.
    struct Closing<'a> {
        world: &'a World,
        seen: RefCell<Vec<(u64, usize)>>,
        limit: usize,
    }

    impl ResultSink for Closing<'_> {
        fn is_closed(&self) -> bool {
            self.seen.borrow().len() >= self.limit
        }

        async fn send(&self, item: &Item<'_>, _: DocketResult) {
            let now_ms = self.world.now_ms();
            self.seen.borrow_mut().push((now_ms, item.index));
        }
    }

    #[test]
    fn each_result_is_sent_as_soon_as_it_is_known_and_nothing_is_begun_for_a_closed_sink() {
        let created = |ms| created().after(ms);
        let limited = || Step::limited("15").after(5);
        for (steps, permits, limit, sent_at_ms, expected) in [
            (
                vec![created(30), created(20), created(10), created(50)],
                "3",
                4,
                vec![0, 0, 0, 10],
                vec![(10, 2), (20, 1), (30, 0), (60, 3)],
            ),
            // Requests in flight are finished.
            (
                vec![created(10), created(20), created(30)],
                "3",
                1,
                vec![0, 0, 0],
                vec![(10, 0), (20, 1), (30, 2)],
            ),
            // The first is sent again after the rate limit; the others are not begun.
            (
                vec![limited(), created(10)],
                "2",
                1,
                vec![0, 0, 15_005],
                vec![(10, 1), (15_015, 0)],
            ),
        ] {
            let world = World::with_script(steps);
            let client = world.client(&[("MAX_IN_FLIGHT", permits)]);
            let source = Requests {
                requests: &requests(4),
                next: AtomicUsize::new(0),
            };
            let batch = client.begin_batch(source, 60_000, None);
            let sink = Closing {
                world: &world,
                seen: RefCell::default(),
                limit,
            };
            world.run(batch.unwrap().run(&sink));
            assert_eq!(sink.seen.take(), expected);
            assert_eq!(world.sent_at_ms(), sent_at_ms);
        }
    }

    #[test]
    fn a_rate_limit_delays_a_batch_within_its_time_and_fails_no_request_that_was_not_started() {
        for (seconds, timeout_ms, permits, sent_at_ms) in [
            // After the 429 at 5 ms nothing begins for 15 s.
            ("15", 120_000, "2", [0, 0, 15_005, 15_005]),
            // Longer than the deadline of the first.
            ("100", 600_000, "1", [0, 100_005, 100_015, 100_025]),
            // Three quarters of the batch's time at most.
            ("100", 40_000, "1", [0, 30_000, 30_010, 30_020]),
        ] {
            let world = World::with_script([Step::limited(seconds).after(5), created().after(10)]);
            let results = batch(&world, 4, timeout_ms, &[("MAX_IN_FLIGHT", permits)]);
            assert_eq!(world.sent_at_ms()[..4], sent_at_ms);
            let is_retried = seconds == "15";
            assert_eq!(results[0].is_ok(), is_retried);
            assert!(results[1..].iter().all(Result::is_ok));
        }
    }

    #[test]
    fn requests_that_were_not_started_in_time_are_timed_out_with_no_attempts() {
        let world = World::with_script([created().after(400)]);
        world.run(world.sleep(7_000));
        let results = batch(&world, 5, 1_000, &[("MAX_IN_FLIGHT", "1")]);
        // The third was in flight when time ran out.
        assert!(results[..3].iter().all(Result::is_ok));
        results[3..].iter().for_each(assert_not_begun);
        assert_eq!((world.sent().len(), world.now_ms()), (3, 8_200));
    }

    #[test]
    fn the_deadline_of_an_item_begins_with_its_permit() {
        for (timeout_ms, sent_at_ms) in [(1_000, &[0, 100, 200][..]), (50, &[0])] {
            let world = World::with_script([created().after(100)]);
            let client = world.client(&[("MAX_IN_FLIGHT", "1"), ("DEADLINE_MS", "250")]);
            let requests = requests(3);
            let other = client.create_docket_v2(&requests[0], None, None);
            let batch = client.create_dockets_v2(&requests[1..], timeout_ms, None);
            let (other, results) = world.run(join(other, batch));
            assert!(other.is_ok());
            match sent_at_ms.len() {
                1 => results.unwrap().iter().for_each(assert_not_begun),
                _ => assert!(results.unwrap().iter().all(Result::is_ok)),
            }
            assert_eq!(world.sent_at_ms(), sent_at_ms);
            let sent = world.sent();
            assert!(sent.iter().all(|sent| sent.limits.attempt_ms == 250));
        }
    }

    #[test]
    fn a_batch_stops_when_the_service_fails_and_a_later_run_sends_what_was_not_begun() {
        let failing = (0..5).map(|_| Step::status(503).after(30));
        let world = World::with_script(failing.chain([created()]));
        let store = Store::new(&world);
        let client = world.client_with(&store, &[]);
        let run = || {
            let requests = requests(200).into_iter().enumerate();
            let items = requests.map(|(index, request)| Item {
                index,
                request: Cow::Owned(request),
                key: Some(Cow::Owned(format!("crm-{index}"))),
            });
            let source = Items(RefCell::new(items.collect::<Vec<_>>().into_iter()));
            let results = RefCell::new(vec![None; 200]);
            let batch = client.begin_batch(source, 60_000, None);
            world.run(batch.unwrap().run(&results));
            let results = results.take().into_iter();
            results.map(Option::unwrap).collect::<Vec<_>>()
        };
        let kinds = |results: &[DocketResult]| {
            let kind = |result: &DocketResult| result.as_ref().err().map(|failure| failure.kind);
            let count = |kinds: &[_], kind| kinds.iter().filter(|it| **it == kind).count();
            let kinds: Vec<_> = results.iter().map(kind).collect();
            [
                None,
                Some(FailureKind::OutcomeUnknown),
                Some(FailureKind::NotBegun),
            ]
            .map(|kind| count(&kinds, kind))
        };
        let first = run();
        assert_eq!((kinds(&first), world.sent().len()), ([0, 5, 195], 5));
        let said = "not begun, since 5 requests in a row had failed; the last one: the service \
                    answered 503; it may have been created: check before you retry";
        assert_eq!(first[199].as_ref().unwrap_err().message, said);
        let second = run();
        assert_eq!((kinds(&second), world.sent().len()), ([195, 5, 0], 200));
    }

    #[test]
    fn answers_of_the_ledger_are_no_successes_of_the_service() {
        let created = (0..60).map(|_| created());
        let world = World::with_script(created.chain([Step::status(400)]));
        let store = Store::new(&world);
        let client = world.client_with(&store, &[("MAX_IN_FLIGHT", "1")]);
        let run = |indices: &mut dyn Iterator<Item = usize>| {
            let all = requests(120);
            let items: Vec<_> = indices
                .map(|index| Item {
                    index,
                    request: Cow::Owned(all[index].clone()),
                    key: Some(Cow::Owned(format!("crm-{index}"))),
                })
                .collect();
            let results = RefCell::new(vec![None; 120]);
            let batch = client.begin_batch(Items(RefCell::new(items.into_iter())), 60_000, None);
            world.run(batch.unwrap().run(&results));
        };
        run(&mut (0..120).step_by(2));
        run(&mut (0..120));
        assert_eq!(world.sent().len(), 60 + 25, "25 refusals in a row");
    }

    #[test]
    fn the_results_of_a_list_share_what_may_be_in_memory_and_those_of_a_stream_do_not() {
        for (count, bytes) in [
            (1, 1_048_576),
            (16, 1_048_576),
            (17, 986_895),
            (1_000, 16_777),
        ] {
            let world = World::with_script([created()]);
            batch(&world, count, 60_000, &[]);
            let sent = &world.sent()[0];
            let beyond = sent.limits.response_bytes - 6 * sent.request.body.len();
            assert_eq!(beyond, bytes, "{count}");
        }
    }

    #[test]
    fn requests_that_are_not_allowed_do_not_stop_a_batch() {
        let world = World::with_script([created()]);
        let mut requests = requests(100);
        for request in &mut requests[..90] {
            request.to_phone_number = "1".to_owned();
        }
        let client = world.client(&[]);
        let results = world.run(client.create_dockets_v2(&requests, 1_000, None));
        let results = results.unwrap();
        assert!(results[..90].iter().all(Result::is_err));
        assert!(results[90..].iter().all(Result::is_ok));
    }

    #[test]
    fn a_batch_has_0_to_1000_requests() {
        let world = World::with_script([created()]);
        assert!(batch(&world, 0, 1_000, &[]).is_empty());
        for (requests, timeout_ms, subject) in [
            (requests(1_001), 1_000, "requests"),
            (requests(1), 0, "timeout-ms"),
        ] {
            let client = world.client(&[]);
            let result = world.run(client.create_dockets_v2(&requests, timeout_ms, None));
            let failure = result.unwrap_err();
            assert_eq!(failure.kind.name(), "invalid-input");
            assert_eq!(failure.problem.unwrap().subject, subject);
        }
        assert!(world.sent().is_empty());
    }

    #[test]
    fn all_texts_of_a_batch_are_counted_together() {
        let mut requests = requests(2);
        requests[1].extra = Some("{}".into());
        let counted: usize = requests.iter().map(text_bytes).sum();
        assert_eq!(counted, 12 + 2 + 1 + 12 + 2 + 1 + 2);
        requests[0].external_id = Some("\"\\\u{1f} \u{e4}".into());
        requests[0].call_context = " ".repeat(16_777_216 - counted + 3 - 13);
        assert!(check_size(&requests).is_ok());
        requests[0].call_context.push(' ');
        let problem = check_size(&requests).unwrap_err();
        let said = (&*problem.subject, &*problem.found);
        assert_eq!(said, ("requests", "16777217 bytes of text"));
    }
}

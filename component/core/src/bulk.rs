//! Many dockets in one call.

use crate::client::Client;
use crate::dockets::{create_docket_v2_request, decode_created_docket_v2};
use crate::failure::{History, Stop, problem};
use crate::operation::Operation;
use crate::time_frame::TimeFrame;
use crate::transport::{Method, Transport};
use crate::types::{CallOptions, CreatedDocketV2, DocketRequestV2, Problem, RequestError};
use crate::wait::check_timeout;
use futures_util::future::join_all;
use std::cell::{Cell, RefCell};

const MAX_REQUESTS: usize = 1_000;

/// How large all texts of a batch may be together. They are in memory while it runs, and a guest
/// that ran out of it would lose all that is known of the phones that ring.
const MAX_TEXT_BYTES: usize = 16_777_216;

type DocketResult = Result<CreatedDocketV2, RequestError>;

impl<T: Transport> Client<T> {
    /// `bulk.create-dockets-v2`
    pub async fn create_dockets_v2(
        &self,
        requests: &[DocketRequestV2],
        timeout_ms: u32,
        options: Option<CallOptions>,
    ) -> Result<Vec<DocketResult>, RequestError> {
        let operation = self.begin(options)?;
        check_size(requests)?;
        check_timeout("timeout-ms", timeout_ms)?;
        let lanes = operation.settings.max_in_flight.min(requests.len());
        let batch = Batch {
            requests,
            next: Cell::new(0),
            results: RefCell::new(vec![None; requests.len()]),
            time: TimeFrame::to_begin(self.now_ms(), timeout_ms.into()),
            operation,
        };
        // Each lane has one request open at a time and takes the next when it is
        // done, so that a slow one holds up nobody else.
        join_all((0..lanes).map(|_| batch.work_through())).await;
        let not_begun = || Err(batch.not_begun(Stop::TimeUp));
        let results = batch.results.take().into_iter();
        Ok(results
            .map(|result| result.unwrap_or_else(not_begun))
            .collect())
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

/// How long a text is in JSON, whose escapes take up to six bytes.
fn json_bytes(text: &str) -> usize {
    let escaped = |character: char| match character {
        '"' | '\\' => 2,
        '\0'..='\u{1f}' => 6,
        _ => character.len_utf8(),
    };
    text.chars().map(escaped).sum()
}

/// A batch that several lanes work through.
struct Batch<'a, T> {
    operation: Operation<'a, T>,
    requests: &'a [DocketRequestV2],
    next: Cell<usize>,
    results: RefCell<Vec<Option<DocketResult>>>,
    /// In which requests may begin.
    time: TimeFrame,
}

impl<T: Transport> Batch<'_, T> {
    async fn work_through(&self) {
        while let Some((index, request)) = self.take() {
            let result = self.create(request).await;
            self.results.borrow_mut()[index] = Some(result);
        }
    }

    fn take(&self) -> Option<(usize, &DocketRequestV2)> {
        let index = self.next.get();
        let request = self.requests.get(index)?;
        self.next.set(index + 1);
        Some((index, request))
    }

    async fn create(&self, request: &DocketRequestV2) -> DocketResult {
        let operation = &self.operation;
        let request = create_docket_v2_request(request, &operation.settings)?;
        // A rate limit and the requests of other calls are not this request's own time: its
        // deadline begins when it may begin. From then on it keeps its own time: its phone may
        // be ringing, and its docket id must not be lost.
        match operation.admit(0, self.time).await {
            Ok(place) => {
                let success = operation.send_admitted(place, &request).await?;
                success.decode(decode_created_docket_v2)
            }
            Err(stop) => Err(self.not_begun(stop)),
        }
    }

    /// The error of a request for which there was no time.
    fn not_begun(&self, stop: Stop) -> RequestError {
        let settings = &self.operation.settings;
        History::begin(settings, Method::Post, self.time.began_ms).give_up(stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{NO_OPTIONS, Step, World, settings, take_apart};
    use futures_util::future::{join, join3};
    use std::collections::BTreeMap;

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

    fn docket_id(index: u64) -> String {
        format!("7f8d3b0e-0d51-4f0c-9a63-{index:012}")
    }

    fn created() -> Step {
        let id = docket_id(0);
        Step::ok(&format!(
            r#"{{"docket_id":"{id}","status":"OPEN","created":true}}"#
        ))
    }

    fn batch(
        world: &World,
        count: usize,
        timeout_ms: u32,
        variables: &[(&str, &str)],
    ) -> Vec<DocketResult> {
        let client = world.client(variables);
        let requests = requests(count);
        let results = client.create_dockets_v2(&requests, timeout_ms, None);
        world.run(results).unwrap()
    }

    fn assert_not_begun(result: &DocketResult) {
        let (case, failure) = take_apart(result.clone().unwrap_err());
        assert_eq!((case, failure.may_have_created), ("timed-out", false));
        assert!(failure.attempts.is_empty());
    }

    #[test]
    fn an_answer_that_is_large_is_an_error_of_its_own_and_keeps_its_beginning() {
        let answer = |padding: usize| {
            let (id, padding) = (docket_id(0), "x".repeat(padding));
            format!(r#"{{"docket_id":"{id}","x":"{padding}"}}"#)
        };
        let settings = settings(&[]);
        let request = create_docket_v2_request(&requests(1)[0], &settings).unwrap();
        let fits = 16_384 + request.address(&settings).body.len() - answer(0).len();
        let steps = [fits, fits + 1].map(|padding| Step::ok(&answer(padding)));
        let world = World::with_script(steps.into_iter().chain([created()]));
        let results = batch(&world, 3, 60_000, &[("MAX_IN_FLIGHT", "1")]);
        assert!(results[0].is_ok() && results[2].is_ok());
        let (case, failure) = take_apart(results[1].clone().unwrap_err());
        assert_eq!(
            (case, failure.may_have_created),
            ("permanent-unexpected-response", true)
        );
        assert!(failure.message.contains("16384"), "{}", failure.message);
        let response = failure.response.unwrap();
        assert!(response.body.starts_with(r#"{"docket_id":"7f8d"#) && response.body_cut);
    }

    #[test]
    fn at_most_max_in_flight_requests_are_open_and_each_is_sent_once() {
        for (count, in_flight, expected_ms) in [
            (1, 16, 50),
            (16, 16, 50),
            (17, 16, 100),
            (1_000, 16, 3_150),
            (1_000, 1_000, 50),
        ] {
            let world = World::with_script([created().after(50)]);
            let in_flight_text = in_flight.to_string();
            let variables = [("MAX_IN_FLIGHT", &*in_flight_text)];
            let results = batch(&world, count, 60_000, &variables);
            let created = results.iter().filter(|result| result.is_ok());
            assert_eq!(created.count(), count);
            assert_eq!(world.most_open(), in_flight.min(count));
            assert_eq!(world.now_ms(), expected_ms);
            let mut bodies = BTreeMap::<_, u32>::new();
            for sent in world.sent() {
                *bodies.entry(sent.request.body).or_default() += 1;
            }
            assert_eq!(bodies.len(), count);
            assert!(bodies.values().all(|times| *times == 1));
        }
    }

    #[test]
    fn results_are_in_the_order_of_the_requests_and_failures_hide_nothing() {
        let step = |index: u64| match index % 3 {
            0 => Step::ok(&format!(r#"{{"docket_id":"{}"}}"#, docket_id(index))).after(100 - index),
            1 => Step::status(422).after(index),
            _ => Step::Silence,
        };
        let world = World::with_script((0..30).map(step));
        let results = batch(&world, 30, 60_000, &[("MAX_IN_FLIGHT", "30")]);
        for (index, result) in results.iter().enumerate() {
            match (index % 3, result) {
                (0, Ok(created)) => assert_eq!(created.docket_id, docket_id(index as u64)),
                (1, Err(RequestError::PermanentRejected(_)))
                | (2, Err(RequestError::PermanentOutcomeUnknown(_))) => {}
                (_, other) => panic!("{index}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_rate_limit_slows_the_whole_batch() {
        let limited = Step::status(429).with_header("retry-after", "15");
        let steps = [created().after(10), limited.after(5), created().after(10)];
        let world = World::with_script(steps);
        let results = batch(&world, 6, 120_000, &[("MAX_IN_FLIGHT", "2")]);
        assert!(results.iter().all(Result::is_ok));
        // The first two go out at once; after the 429 at 5 ms nobody begins
        // anything for 15 s.
        assert_eq!(world.sent_at_ms()[..4], [0, 0, 15_005, 15_005]);
        assert_eq!(world.sent().len(), 7);
    }

    #[test]
    fn a_rate_limit_longer_than_a_deadline_does_not_fail_those_not_begun() {
        let limited = Step::status(429).with_header("retry-after", "100");
        let world = World::with_script([limited, created()]);
        let results = batch(&world, 3, 600_000, &[("MAX_IN_FLIGHT", "1")]);
        assert!(matches!(results[0], Err(RequestError::RateLimited(_))));
        assert!(results[1].is_ok() && results[2].is_ok());
        assert_eq!(world.sent_at_ms(), [0, 100_000, 100_000]);
    }

    #[test]
    fn a_rate_limit_holds_a_batch_back_for_three_quarters_of_its_time_at_most() {
        let limited = Step::status(429).with_header("retry-after", "100");
        let world = World::with_script([limited, created()]);
        let results = batch(&world, 3, 40_000, &[("MAX_IN_FLIGHT", "1")]);
        assert!(results[0].is_err() && results[1].is_ok() && results[2].is_ok());
        assert_eq!(world.sent_at_ms(), [0, 30_000, 30_000]);
    }

    #[test]
    fn requests_that_were_not_begun_in_time_are_timed_out_with_no_attempts() {
        let world = World::with_script([created().after(400)]);
        let results = batch(&world, 5, 1_000, &[("MAX_IN_FLIGHT", "1")]);
        assert!(results[0].is_ok() && results[1].is_ok());
        assert!(results[2].is_ok(), "it was under way when time ran out");
        results[3..].iter().for_each(assert_not_begun);
        assert_eq!((world.sent().len(), world.now_ms()), (3, 1_200));
    }

    #[test]
    fn a_rate_limit_that_another_call_meets_slows_a_batch() {
        let limited = Step::status(429).with_header("retry-after", "15");
        let steps = [limited.after(5), created().after(10), created()];
        let world = World::with_script(steps);
        let client = world.client(&[("MAX_IN_FLIGHT", "2")]);
        let requests = requests(4);
        let other = client.create_docket_v2(&requests[0], None);
        let batch = client.create_dockets_v2(&requests[1..], 120_000, None);
        let (other, results) = world.run(join(other, batch));
        assert!(other.is_ok() && results.unwrap().iter().all(Result::is_ok));
        assert_eq!(world.sent_at_ms(), [0, 0, 15_005, 15_005, 15_005]);
    }

    #[test]
    fn batches_and_other_calls_share_the_places() {
        let world = World::with_script([created().after(100)]);
        let client = world.client(&[("MAX_IN_FLIGHT", "2")]);
        let requests = requests(5);
        let first = client.create_dockets_v2(&requests[..2], 60_000, None);
        let second = client.create_dockets_v2(&requests[2..4], 60_000, None);
        let other = client.create_docket_v2(&requests[4], None);
        let (first, second, other) = world.run(join3(first, second, other));
        assert!(first.unwrap().iter().all(Result::is_ok));
        assert!(second.unwrap().iter().all(Result::is_ok));
        assert!(other.is_ok());
        assert_eq!(world.sent_at_ms(), [0, 0, 100, 100, 200]);
        assert_eq!(world.most_open(), 2);
    }

    #[test]
    fn an_item_is_sent_before_the_calls_that_came_after_it() {
        let world = World::with_script([created().after(100)]);
        let client = world.client(&[("MAX_IN_FLIGHT", "1")]);
        let requests = requests(3);
        let earlier = client.create_docket_v2(&requests[0], None);
        let batch = client.create_dockets_v2(&requests[1..2], 60_000, None);
        let later = client.create_docket_v2(&requests[2], None);
        let (earlier, results, later) = world.run(join3(earlier, batch, later));
        assert!(earlier.is_ok() && results.unwrap()[0].is_ok() && later.is_ok());
        let sent = world.sent();
        for (sent, request) in sent.iter().zip(&requests) {
            let body = String::from_utf8_lossy(&sent.request.body);
            assert!(body.contains(&request.to_phone_number), "{body}");
        }
        assert_eq!(world.sent_at_ms(), [0, 100, 200]);
    }

    #[test]
    fn the_deadline_of_an_item_begins_when_it_has_a_place() {
        let world = World::with_script([created().after(100)]);
        let variables = [("MAX_IN_FLIGHT", "1"), ("DEADLINE_MS", "250")];
        let client = world.client(&variables);
        let requests = requests(3);
        let other = client.create_docket_v2(&requests[0], None);
        let batch = client.create_dockets_v2(&requests[1..], 1_000, None);
        let (other, results) = world.run(join(other, batch));
        assert!(other.is_ok() && results.unwrap().iter().all(Result::is_ok));
        assert_eq!(world.sent_at_ms(), [0, 100, 200]);
        let sent = world.sent();
        assert!(sent.iter().all(|sent| sent.timeouts.attempt_ms == 250));
    }

    #[test]
    fn an_item_that_finds_no_place_in_the_time_of_its_batch_is_not_sent() {
        let world = World::with_script([created().after(100)]);
        let client = world.client(&[("MAX_IN_FLIGHT", "1")]);
        let requests = requests(3);
        let other = client.create_docket_v2(&requests[0], None);
        let batch = client.create_dockets_v2(&requests[1..], 50, None);
        let (other, results) = world.run(join(other, batch));
        assert!(other.is_ok());
        results.unwrap().iter().for_each(assert_not_begun);
        assert_eq!(world.sent().len(), 1);
    }

    #[test]
    fn every_item_keeps_to_the_options_of_its_batch() {
        let world = World::with_script([Step::status(429)]);
        let client = world.client(&[]);
        let options = Some(CallOptions {
            max_attempts: Some(2),
            ..NO_OPTIONS
        });
        let requests = requests(3);
        let results = client.create_dockets_v2(&requests, 60_000, options);
        let results = world.run(results).unwrap();
        assert!(results.iter().all(Result::is_err));
        assert_eq!(world.sent().len(), 6);
    }

    #[test]
    fn bad_requests_cost_only_themselves_and_nothing_is_sent_for_them() {
        let world = World::with_script([created()]);
        let client = world.client(&[]);
        let mut requests = requests(3);
        requests[1].to_phone_number = "12".into();
        let results = client.create_dockets_v2(&requests, 1_000, None);
        let results = world.run(results).unwrap();
        assert!(results[0].is_ok() && results[2].is_ok());
        assert!(matches!(
            results[1],
            Err(RequestError::PermanentInvalidInput(_))
        ));
        assert_eq!(world.sent().len(), 2);
    }

    #[test]
    fn batches_of_0_to_1000_are_taken() {
        let world = World::with_script([created()]);
        assert!(batch(&world, 0, 1_000, &[]).is_empty());
        assert!(world.sent().is_empty());
        let client = world.client(&[]);
        for (count, timeout_ms, subject) in [(1_001, 1_000, "requests"), (1, 0, "timeout-ms")] {
            let requests = requests(count);
            let result = client.create_dockets_v2(&requests, timeout_ms, None);
            let (case, failure) = take_apart(world.run(result).unwrap_err());
            assert_eq!(case, "permanent-invalid-input");
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
        requests[0].call_context = " ".repeat(16_777_216 - counted + 2);
        assert!(check_size(&requests).is_ok());
        requests[0].call_context.push(' ');
        let problem = check_size(&requests).unwrap_err();
        assert_eq!(
            (&*problem.subject, &*problem.found),
            ("requests", "16777217 bytes of text")
        );
    }

    #[test]
    fn the_escapes_of_an_external_id_count_towards_the_size_of_a_batch() {
        let world = World::with_script([created()]);
        let client = world.client(&[]);
        let mut requests = requests(20);
        // 3.4 MB of text, and 20 MB of JSON.
        for request in &mut requests {
            request.external_id = Some("\u{1}".repeat(170_000));
        }
        let batch = client.create_dockets_v2(&requests, 1_000, None);
        let (case, failure) = take_apart(world.run(batch).unwrap_err());
        assert_eq!(case, "permanent-invalid-input");
        assert_eq!(failure.problem.unwrap().subject, "requests");
        assert!(world.sent().is_empty());
    }
}

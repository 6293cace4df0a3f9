//! The walk that every operation takes: admit, attempt, decide, and again.

use crate::account::Account;
use crate::attempt::{Answer, attempt};
use crate::failure::{History, Stop, http_response};
use crate::gate::Gate;
use crate::json::{Record, Value, Written};
use crate::places::Place;
use crate::request::ApiRequest;
use crate::retry::{Next, Verdict, decide, judge, pause_ms};
use crate::settings::AccountSettings;
use crate::time_frame::TimeFrame;
use crate::transport::Transport;
use crate::types::{Attempt, RequestError};
use std::borrow::Cow;
use std::cell::Cell;
use std::rc::Rc;

/// How large a text may always become by the replacement of bytes that are not UTF-8.
const REPLACED_BYTES: usize = 1 << 20;

/// An operation under way: one call of a function.
pub(crate) struct Operation<'a, T> {
    pub(crate) transport: &'a T,
    pub(crate) settings: Cow<'a, AccountSettings>,
    account: &'a Account,
    gate: Rc<Gate>,
    held_back_ms: Cell<u64>,
}

impl<'a, T: Transport> Operation<'a, T> {
    pub(crate) fn begin(
        transport: &'a T,
        account: &'a Account,
        settings: Cow<'a, AccountSettings>,
    ) -> Self {
        Self {
            transport,
            settings,
            account,
            gate: account.gate(),
            held_back_ms: Cell::new(0),
        }
    }

    /// Sends a request that stands on its own.
    pub(crate) async fn send(&self, request: &ApiRequest) -> Result<Success<'_>, RequestError> {
        self.send_within(self.settings.deadline_ms, request).await
    }

    /// Sends a request that has so much time, from now.
    pub(crate) async fn send_within(
        &self,
        duration_ms: u64,
        request: &ApiRequest,
    ) -> Result<Success<'_>, RequestError> {
        self.walk(self.time_frame(duration_ms), request, None).await
    }

    /// Sends a request that has been admitted and brings its place.
    pub(crate) async fn send_admitted(
        &self,
        place: Place<'_>,
        request: &ApiRequest,
    ) -> Result<Success<'_>, RequestError> {
        let time = self.time_frame(self.settings.deadline_ms);
        self.walk(time, request, Some(place)).await
    }

    async fn walk(
        &self,
        time: TimeFrame,
        request: &ApiRequest,
        mut place: Option<Place<'_>>,
    ) -> Result<Success<'_>, RequestError> {
        let settings = self.settings.as_ref();
        let transport = self.transport;
        let addressed = request.address(settings);
        let mut history = History::begin(settings, addressed.method, time.began_ms);
        let mut not_before_ms = time.began_ms;
        loop {
            // Admit.
            let place = match place.take() {
                Some(place) => place,
                None => match self.admit(not_before_ms, time).await {
                    Ok(place) => place,
                    Err(stop) => return Err(history.give_up(stop)),
                },
            };

            // Attempt.
            let started_ms = transport.now_ms();
            let timeouts = time.timeouts(settings, started_ms);
            let max_bytes = request.max_response_bytes(settings);
            let outcome = attempt(transport, &addressed, timeouts, max_bytes).await;
            let ended_ms = transport.now_ms();
            drop(place);

            // Decide.
            let verdict = judge(addressed.method, settings, &outcome);
            history.record(started_ms, ended_ms, &outcome);
            let asked_ms = outcome
                .as_ref()
                .ok()
                .and_then(|answer| answer.retry_after_ms);
            let pause_ms = pause_ms(settings, history.count(), asked_ms, transport.random());
            let resume_ms = ended_ms.saturating_add(pause_ms);
            match (verdict, &outcome) {
                (Verdict::RateLimited, _) => self.gate.close(ended_ms, resume_ms),
                (_, Ok(_)) => self.gate.served(started_ms, ended_ms),
                (_, Err(_)) => {}
            }
            let in_time = time.may_begin(resume_ms);
            let next = decide(
                addressed.method,
                settings,
                verdict,
                history.count(),
                in_time,
            );
            self.log(request, &history, (next == Next::Retry).then_some(pause_ms))
                .await;
            match (next, outcome) {
                (Next::Retry, _) => not_before_ms = resume_ms,
                (Next::GiveUp(stop), _) => return Err(history.give_up(stop)),
                (Next::Succeed, Ok(answer)) => return Ok(history.succeed(answer)),
                (_, outcome) => return Err(history.fail(verdict, &outcome)),
            }
        }
    }

    /// Waits until a request may be sent: not before `not_before_ms`, not while a rate limit
    /// of others holds it back, as far as it can bear that, and not without a place among the
    /// open requests.
    pub(crate) async fn admit(
        &self,
        not_before_ms: u64,
        time: TimeFrame,
    ) -> Result<Place<'_>, Stop> {
        let transport = self.transport;
        let pause_ms = not_before_ms.saturating_sub(transport.now_ms());
        if pause_ms > 0 {
            transport.sleep(pause_ms).await;
        }
        loop {
            let held_back_ms = self.gate.pass(transport, time.patience_ms).await;
            self.held_back_ms
                .set(self.held_back_ms.get() + held_back_ms);
            let places = &self.account.places;
            let place = places.take(transport, time.latest_start_ms).await;
            let place = place.ok_or(Stop::NoPlace)?;
            // Another may have closed the gate while this one waited for its place. Then
            // the place is for those who come when it opens.
            let now_ms = transport.now_ms();
            if !time.may_begin(now_ms) {
                return Err(Stop::TimeUp);
            }
            if self.gate.is_open(now_ms, time.patience_ms) {
                return Ok(place);
            }
        }
    }

    pub(crate) fn time_frame(&self, duration_ms: u64) -> TimeFrame {
        TimeFrame::new(&self.settings, self.transport.now_ms(), duration_ms)
    }

    /// For how long rate limits of others have held it back.
    pub(crate) fn held_back_ms(&self) -> u64 {
        self.held_back_ms.get()
    }

    /// One line of JSON for an attempt: nothing in it tells who was called or why.
    async fn log(&self, request: &ApiRequest, history: &History<'_>, pause_ms: Option<u64>) {
        let Some(attempt) = history.latest().filter(|_| self.settings.log_attempts) else {
            return;
        };
        let endpoint = request.endpoint;
        let line = Record::new(vec![
            ("function", Written::Text(endpoint.function)),
            ("account", Written::text(&self.account.name)),
            ("method", Written::Text(endpoint.method.as_str())),
            ("path", Written::Text(endpoint.path)),
            ("attempt", Written::Integer(history.count().into())),
            ("status", Written::integer(attempt.status.map(i64::from))),
            ("transport_error", Written::text(&attempt.transport_error)),
            ("started_ms", Written::Integer(attempt.started_ms.into())),
            ("duration_ms", Written::Integer(attempt.duration_ms.into())),
            (
                "pause_ms",
                Written::integer(pause_ms.and_then(|ms| ms.try_into().ok())),
            ),
        ]);
        if let Ok(line) = line.to_json() {
            self.transport.log(&line).await;
        }
    }
}

/// A 2xx, to be decoded.
pub(crate) struct Success<'a> {
    pub(crate) settings: &'a AccountSettings,
    pub(crate) history: History<'a>,
    pub(crate) answer: Answer,
}

/// What the record of an answer says about how it was had.
pub(crate) struct Sent {
    pub(crate) request_id: Option<String>,
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) may_be_duplicate: bool,
}

impl Success<'_> {
    /// Decodes the body as JSON. What cannot be decoded becomes an error that
    /// keeps its beginning.
    pub(crate) fn decode<R>(
        self,
        decode: impl FnOnce(Value<'_>, Sent) -> Result<R, String>,
    ) -> Result<R, RequestError> {
        self.decode_text(|text, sent| decode(Value::parse(text)?, sent))
    }

    /// The same for a body of any kind.
    pub(crate) fn decode_text<R>(
        mut self,
        decode: impl FnOnce(&str, Sent) -> Result<R, String>,
    ) -> Result<R, RequestError> {
        let response = http_response(self.settings, &self.answer);
        let media = self.answer.media.take();
        let sent = Sent {
            request_id: response.request_id.clone(),
            attempts: self.history.attempts().to_vec(),
            may_be_duplicate: self.history.may_have_created_before(),
        };
        let max_bytes = self.settings.max_response_bytes.max(REPLACED_BYTES);
        let text = self.answer.into_text(max_bytes);
        let decoded = text.and_then(|text| decode(&text, sent));
        decoded.map_err(|found| {
            self.history
                .not_understood(response, &found, media.as_deref())
        })
    }

    /// How long the service asks to wait before it is asked again.
    pub(crate) fn retry_after_ms(&self) -> Option<u64> {
        self.answer.retry_after_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{Piece, Step, World};
    use crate::transport::Delivery;
    use crate::types::{CallRequest, UnknownOutcome};

    const DOCKET_ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";
    const DOCKET: &str = r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11"}"#;

    type Operation = fn(&World, &[(&str, &str)]) -> Result<(), RequestError>;

    /// A reading and a creating operation, each with an answer that satisfies it.
    fn read(world: &World, variables: &[(&str, &str)]) -> Result<(), RequestError> {
        let client = world.client(variables);
        world.run(client.get_docket(DOCKET_ID)).map(drop)
    }

    fn create(world: &World, variables: &[(&str, &str)]) -> Result<(), RequestError> {
        let client = world.client(variables);
        let request = CallRequest {
            from_agent_name: Some("renewals".into()),
            to_phone_number: "919876543210".into(),
            call_context: None,
            extra: None,
        };
        world.run(client.make_call(&request)).map(drop)
    }

    fn created() -> Step {
        Step::ok(r#"{"task_id":"t-1"}"#)
    }

    fn statuses(attempts: &[Attempt]) -> Vec<Option<u16>> {
        attempts.iter().map(|attempt| attempt.status).collect()
    }

    fn unknown(error: RequestError) -> UnknownOutcome {
        match error {
            RequestError::PermanentOutcomeUnknown(unknown) => unknown,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_rate_limit_is_waited_out_as_long_as_the_service_asks() {
        for (retry_after, waited_ms) in [
            ("7", 7_000),
            ("Sun, 06 Nov 1994 08:49:47 GMT", 10_000),
            ("0", 0),
            ("soon", 0),
        ] {
            for (operation, success) in [(read as Operation, Step::ok(DOCKET)), (create, created())]
            {
                let limited = Step::status(429).with_header("retry-after", retry_after);
                let world = World::with_script([limited, success]);
                operation(&world, &[]).unwrap();
                assert_eq!(world.sent_at_ms(), [0, waited_ms], "{retry_after}");
            }
        }
    }

    #[test]
    fn a_rate_limit_that_lasts_longer_than_the_deadline_is_told_at_once() {
        let limited = Step::status(429).with_header("retry-after", "31");
        let world = World::with_script([limited]);
        let Err(RequestError::RateLimited(failure)) = create(&world, &[]) else {
            panic!()
        };
        assert_eq!(failure.response.retry_after_ms, Some(31_000));
        assert_eq!((world.sent().len(), world.now_ms()), (1, 0));
    }

    #[test]
    fn pauses_between_attempts_double_up_to_the_cap() {
        let world = World::with_script([Step::status(503)]);
        world.set_random(1_000);
        let variables = [
            ("BACKOFF_MS", "250"),
            ("MAX_BACKOFF_MS", "1000"),
            ("MAX_ATTEMPTS", "6"),
        ];
        // Jitter is the random number modulo the ceiling and one: 1000 % 251,
        // 1000 % 501, and from then on 1000 % 1001.
        let Err(RequestError::Unavailable(failure)) = create(&world, &variables) else {
            panic!()
        };
        assert_eq!(world.sent_at_ms(), [0, 247, 746, 1_746, 2_746, 3_746]);
        let started: Vec<_> = failure
            .attempts
            .iter()
            .map(|a| u64::from(a.started_ms))
            .collect();
        assert_eq!(started, world.sent_at_ms());
    }

    #[test]
    fn server_errors_are_repeated_up_to_max_attempts() {
        for status in [500, 502, 503, 504, 599, 408] {
            for operation in [read as Operation, create] {
                let world = World::with_script([Step::status(status)]);
                let Err(RequestError::Unavailable(failure)) = operation(&world, &[]) else {
                    panic!("{status}")
                };
                assert_eq!(statuses(&failure.attempts), [Some(status); 4]);
                assert_eq!(world.sent().len(), 4);
            }
        }
    }

    #[test]
    fn with_create_retry_not_sent_a_server_error_leaves_the_outcome_unknown() {
        let not_sent = [("CREATE_RETRY", "not-sent")];
        let world = World::with_script([Step::status(503), created()]);
        let unknown = unknown(create(&world, &not_sent).unwrap_err());
        assert_eq!(unknown.response.map(|response| response.status), Some(503));
        assert_eq!(world.sent().len(), 1);

        let world = World::with_script([Step::status(503), Step::ok(DOCKET)]);
        read(&world, &not_sent).unwrap();
        let world = World::with_script([Step::status(429), created()]);
        create(&world, &not_sent).unwrap();
        let world = World::with_script([Step::fail(Delivery::NotSent), created()]);
        create(&world, &not_sent).unwrap();
    }

    #[test]
    fn what_was_never_sent_is_repeated_and_then_unreachable() {
        for operation in [read as Operation, create] {
            let world = World::with_script([Step::fail(Delivery::NotSent)]);
            let Err(RequestError::Unreachable(failure)) = operation(&world, &[]) else {
                panic!()
            };
            assert_eq!(failure.attempts.len(), 4);
            assert!(
                failure.message.contains("simulated: NotSent"),
                "{}",
                failure.message
            );
        }
    }

    #[test]
    fn a_create_without_an_answer_is_never_repeated() {
        for silence in [Step::fail(Delivery::Unknown), Step::Silence] {
            let world = World::with_script([silence, created()]);
            let unknown = unknown(create(&world, &[]).unwrap_err());
            assert_eq!(unknown.response, None);
            assert_eq!(world.sent().len(), 1);
        }
    }

    #[test]
    fn an_unknown_outcome_decides_whatever_came_before_it() {
        let steps = [
            Step::status(503),
            Step::fail(Delivery::NotSent),
            Step::Silence,
            created(),
        ];
        let world = World::with_script(steps);
        let unknown = unknown(create(&world, &[]).unwrap_err());
        assert_eq!(statuses(&unknown.attempts), [Some(503), None, None]);
        assert_eq!(world.sent().len(), 3);
    }

    #[test]
    fn a_read_without_an_answer_is_repeated_and_then_timed_out() {
        let world = World::with_script([Step::fail(Delivery::Unknown), Step::ok(DOCKET)]);
        read(&world, &[]).unwrap();

        let world = World::with_script([Step::fail(Delivery::Unknown)]);
        let Err(RequestError::TimedOut(failure)) = read(&world, &[]) else {
            panic!()
        };
        assert_eq!(failure.attempts.len(), 4);
    }

    #[test]
    fn the_latest_answer_decides_but_after_a_server_error_a_create_may_exist() {
        // After a 503 the docket may exist: a 429 must not say that nothing was created.
        let limited = Step::status(429).with_header("retry-after", "60");
        let world = World::with_script([Step::status(503), limited]);
        let Err(RequestError::Unavailable(failure)) = create(&world, &[]) else {
            panic!()
        };
        assert_eq!(failure.response.status, 503);
        assert_eq!(statuses(&failure.attempts), [Some(503), Some(429)]);

        let steps = [
            Step::status(503),
            Step::status(429),
            Step::fail(Delivery::Unknown),
        ];
        let world = World::with_script(steps);
        let Err(RequestError::RateLimited(failure)) = read(&world, &[]) else {
            panic!()
        };
        assert_eq!(failure.response.status, 429);
        assert_eq!(
            statuses(&failure.attempts),
            [Some(503), Some(429), None, None]
        );
    }

    #[test]
    fn an_attempt_ends_with_its_timeout_and_an_operation_with_its_deadline() {
        let world = World::with_script([Step::Silence]);
        let variables = [("ATTEMPT_TIMEOUT_MS", "4000"), ("DEADLINE_MS", "10000")];
        let Err(RequestError::TimedOut(failure)) = read(&world, &variables) else {
            panic!()
        };
        let times: Vec<_> = failure
            .attempts
            .iter()
            .map(|a| (a.started_ms, a.duration_ms))
            .collect();
        assert_eq!(times, [(0, 4_000), (4_000, 4_000), (8_000, 2_000)]);
        assert_eq!(world.now_ms(), 10_000);
        let allowed: Vec<_> = world.sent().iter().map(|sent| sent.timeouts).collect();
        assert_eq!(
            (
                allowed[0].connect_ms,
                allowed[0].attempt_ms,
                allowed[2].connect_ms
            ),
            (3_000, 4_000, 1_500)
        );
    }

    #[test]
    fn a_pause_that_does_not_fit_before_the_deadline_is_not_begun() {
        let world = World::with_script([Step::status(503).after(950)]);
        world.set_random(79);
        let variables = [("DEADLINE_MS", "1000"), ("BACKOFF_MS", "100")];
        let Err(RequestError::Unavailable(failure)) = create(&world, &variables) else {
            panic!()
        };
        assert_eq!((failure.attempts.len(), world.sent().len()), (1, 1));
        assert_eq!(world.now_ms(), 950);
    }

    #[test]
    fn a_body_that_breaks_off_is_repeated_on_reads_and_final_on_creates() {
        let broken = |json: &str| {
            let pieces = vec![Piece::Bytes(0, json.into()), Piece::Break(5)];
            Step::status(200).with_body(pieces)
        };
        let world = World::with_script([broken(r#"{"docket_id""#), Step::ok(DOCKET)]);
        read(&world, &[]).unwrap();

        let world = World::with_script([broken(r#"{"task_id":"t-"#), created()]);
        let Err(RequestError::PermanentUnexpectedResponse(failure)) = create(&world, &[]) else {
            panic!()
        };
        assert_eq!(
            (failure.response.status, failure.response.body_cut),
            (200, true)
        );
        assert_eq!(failure.response.body, r#"{"task_id":"t-"#);
        assert_eq!(failure.attempts[0].status, Some(200));
        assert!(failure.attempts[0].transport_error.is_some());
        assert_eq!(world.sent().len(), 1);
    }

    #[test]
    fn a_body_that_comes_too_late_ends_with_the_attempt() {
        let slow = vec![
            Piece::Bytes(6_000, b"{".to_vec()),
            Piece::Bytes(6_000, b"}".to_vec()),
        ];
        let world = World::with_script([Step::status(200).with_body(slow)]);
        let Err(RequestError::PermanentUnexpectedResponse(failure)) = create(&world, &[]) else {
            panic!()
        };
        assert_eq!(failure.response.body, "{");
        assert_eq!(failure.attempts[0].duration_ms, 10_000);
    }

    #[test]
    fn the_status_of_an_error_counts_even_if_its_body_breaks_off() {
        let pieces = vec![Piece::Bytes(0, b"no such ".to_vec()), Piece::Break(0)];
        let world = World::with_script([Step::status(404).with_body(pieces)]);
        let Err(RequestError::PermanentNotFound(failure)) = read(&world, &[]) else {
            panic!()
        };
        assert_eq!(
            (failure.response.body.as_str(), failure.response.body_cut),
            ("no such ", true)
        );
    }

    #[test]
    fn permanent_statuses_are_not_repeated() {
        for status in [
            100, 300, 301, 302, 307, 308, 400, 401, 403, 404, 410, 418, 422, 451, 600,
        ] {
            for operation in [read as Operation, create] {
                let world = World::with_script([Step::status(status)]);
                let error = operation(&world, &[]).unwrap_err();
                let (name, failure) = match error {
                    RequestError::PermanentUnauthorized(failure) => ("unauthorized", failure),
                    RequestError::PermanentNotFound(failure) => ("not-found", failure),
                    RequestError::PermanentRejected(failure) => ("rejected", failure),
                    RequestError::PermanentUnexpectedResponse(failure) => ("unexpected", failure),
                    other => panic!("{status}: {other:?}"),
                };
                let expected = match status {
                    401 | 403 => "unauthorized",
                    404 | 410 => "not-found",
                    300..=499 => "rejected",
                    _ => "unexpected",
                };
                assert_eq!((name, failure.response.status), (expected, status));
                assert_eq!(world.sent().len(), 1);
            }
        }
    }

    #[test]
    fn a_denied_host_is_a_matter_of_configuration() {
        let world = World::with_script([Step::fail(Delivery::Denied)]);
        let Err(RequestError::PermanentConfiguration(problem)) = create(&world, &[]) else {
            panic!()
        };
        assert_eq!(problem.variable, "VOICE_CALLING_BASE_URL");
        assert!(problem.found.contains("api.example"), "{}", problem.found);
        assert_eq!((problem.attempts.len(), world.sent().len()), (1, 1));
    }

    #[test]
    fn with_one_attempt_nothing_is_repeated() {
        for step in [
            Step::status(503),
            Step::status(429),
            Step::fail(Delivery::NotSent),
        ] {
            let world = World::with_script([step, created()]);
            create(&world, &[("MAX_ATTEMPTS", "1")]).unwrap_err();
            assert_eq!((world.sent().len(), world.now_ms()), (1, 0));
        }
    }

    #[test]
    fn a_2xx_that_cannot_be_decoded_keeps_what_came() {
        for body in [
            "",
            "<html>",
            "[]",
            "{}",
            r#"{"task_id":""}"#,
            r#"{"task_id":17}"#,
        ] {
            let world = World::with_script([Step::ok(body)]);
            let Err(RequestError::PermanentUnexpectedResponse(failure)) = create(&world, &[])
            else {
                panic!("{body}")
            };
            assert_eq!(failure.response.body, body);
            assert!(!failure.response.body_cut);
            assert_eq!(world.sent().len(), 1);
        }
    }

    #[test]
    fn a_body_over_the_limit_is_not_read_to_its_end() {
        let pieces = vec![
            Piece::Bytes(0, vec![b' '; 600]),
            Piece::Bytes(0, vec![b' '; 600]),
        ];
        let world = World::with_script([Step::status(200).with_body(pieces)]);
        let Err(RequestError::PermanentUnexpectedResponse(failure)) =
            read(&world, &[("MAX_RESPONSE_BYTES", "1000")])
        else {
            panic!()
        };
        assert!(
            failure.message.contains("MAX_RESPONSE_BYTES"),
            "{}",
            failure.message
        );
        assert_eq!(
            (failure.response.body.len(), failure.response.body_cut),
            (1_000, true)
        );
    }

    #[test]
    fn an_error_keeps_the_beginning_of_a_long_body_and_the_request_id() {
        let long = "\u{e4}".repeat(10_000);
        let step = Step::status(422)
            .with_body(vec![Piece::Bytes(0, long.into_bytes())])
            .with_header("x-request-id", "req-7");
        let world = World::with_script([step]);
        let Err(RequestError::PermanentRejected(failure)) = create(&world, &[]) else {
            panic!()
        };
        assert_eq!(failure.response.body, "\u{e4}".repeat(4_096));
        assert!(failure.response.body_cut);
        assert_eq!(failure.response.request_id.as_deref(), Some("req-7"));
    }

    #[test]
    fn a_token_that_the_service_echoes_is_masked_in_errors() {
        let step = Step::status(401)
            .with_body(vec![Piece::Bytes(
                0,
                b"bad: Bearer simulated-token".to_vec(),
            )])
            .with_header("x-request-id", "simulated-token/1");
        let world = World::with_script([step]);
        let error = format!("{:?}", create(&world, &[]).unwrap_err());
        assert!(!error.contains("simulated-token"), "{error}");
        assert!(error.contains("bad: Bearer [api token]"), "{error}");
    }

    #[test]
    fn the_log_has_a_line_for_every_attempt_and_tells_nothing_of_the_call() {
        let world = World::with_script([Step::status(503).after(12), created()]);
        create(&world, &[("LOG", "attempts")]).unwrap();
        let line = |rest: &str| {
            format!(
                r#"{{"function":"calls.make-call","method":"POST","path":"/make_call",{rest}}}"#
            )
        };
        assert_eq!(
            world.log_lines(),
            [
                line(r#""attempt":1,"status":503,"started_ms":0,"duration_ms":12,"pause_ms":0"#),
                line(r#""attempt":2,"status":200,"started_ms":12,"duration_ms":0"#),
            ]
        );

        let world = World::with_script([Step::status(503)]);
        let once = [("LOG", "attempts"), ("MAX_ATTEMPTS", "1")];
        create(&world, &once).unwrap_err();
        let last = line(r#""attempt":1,"status":503,"started_ms":0,"duration_ms":0"#);
        assert_eq!(
            world.log_lines(),
            [last],
            "no pause follows the last attempt"
        );

        let world = World::with_script([created()]);
        create(&world, &[]).unwrap();
        assert!(world.log_lines().is_empty());
    }
}

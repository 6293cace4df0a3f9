//! The walk that every operation takes: admit, attempt, decide, and again.

use crate::account::Account;
use crate::attempt::{Answer, attempt};
use crate::failure::{History, http_response};
use crate::gate::Gate;
use crate::json::{Record, Value, Written};
use crate::places::Place;
use crate::request::ApiRequest;
use crate::retry::{Next, Stop, Verdict, decide, judge, pause_ms};
use crate::settings::AccountSettings;
use crate::time_frame::TimeFrame;
use crate::transport::Transport;
use crate::types::{Attempt, Problem, RequestError};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// An operation under way: one call of a function.
pub(crate) struct Operation<'a, T> {
    pub(crate) transport: &'a T,
    pub(crate) settings: Cow<'a, AccountSettings>,
    account: &'a Account,
    gate: Arc<Gate>,
    held_back_ms: AtomicU64,
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
            held_back_ms: AtomicU64::new(0),
        }
    }

    /// Builds a request from the caller's arguments. A token that is given among them by mistake
    /// is not shown in the error.
    pub(crate) fn request(
        &self,
        build: impl FnOnce(&AccountSettings) -> Result<ApiRequest, Problem>,
    ) -> Result<ApiRequest, RequestError> {
        let settings = self.settings.as_ref();
        let request = build(settings);
        request.map_err(|problem| settings.token.mask_problem(problem).into())
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
            let max_bytes = request.max_response_bytes(settings);
            let limits = time.limits(settings, started_ms, max_bytes);
            let outcome = attempt(transport, &addressed, limits).await;
            let ended_ms = transport.now_ms();
            drop(place);

            // Decide.
            let verdict = judge(addressed.method, settings, &outcome);
            history.record(started_ms, ended_ms, &outcome, verdict);
            let asked_ms = outcome
                .as_ref()
                .ok()
                .and_then(|answer| answer.retry_after_ms);
            let pause_ms = pause_ms(settings, history.count(), asked_ms, transport.random());
            let resume_ms = ended_ms.saturating_add(pause_ms);
            let stop = match time.may_begin(resume_ms) {
                _ if transport.is_abandoned() => Some(Stop::Abandoned),
                true => None,
                false => Some(Stop::TimeUp),
            };
            let next = decide(addressed.method, settings, verdict, history.count(), stop);
            match (verdict, next) {
                (Verdict::RateLimited, Next::Retry) => self.gate.close(ended_ms, resume_ms),
                (Verdict::RateLimited, _) => {
                    // Not longer than a wait pauses before its next poll.
                    let asked_ms = asked_ms.unwrap_or(settings.backoff_ms);
                    self.gate.close(ended_ms, ended_ms.saturating_add(asked_ms));
                }
                _ if outcome.is_ok() => self.gate.served(started_ms, ended_ms),
                _ => {}
            }
            self.log(request, &history, (next == Next::Retry).then_some(pause_ms))
                .await;
            match (next, outcome) {
                (Next::Retry, _) => not_before_ms = resume_ms,
                (Next::GiveUp(stop), _) => return Err(history.give_up(stop)),
                (Next::Succeed, Ok(answer)) => {
                    return Ok(Success {
                        settings,
                        history,
                        answer,
                        max_bytes,
                    });
                }
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
            self.held_back_ms.fetch_add(held_back_ms, Relaxed);
            let places = &self.account.places;
            let place = places.take(transport, time.latest_start_ms).await;
            if transport.is_abandoned() {
                return Err(Stop::Abandoned);
            }
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
        self.held_back_ms.load(Relaxed)
    }

    /// One line of JSON for an attempt: nothing in it says who was called or why.
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
            ("item", Written::integer(request.item.map(i64::from))),
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
        self.transport.log(&line.to_json()).await;
    }
}

/// A 2xx, to be decoded.
pub(crate) struct Success<'a> {
    pub(crate) settings: &'a AccountSettings,
    pub(crate) history: History<'a>,
    pub(crate) answer: Answer,
    /// How much of it was read at most.
    pub(crate) max_bytes: usize,
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

    /// The same for a body of any kind. Only the decoder differs from function to function: the
    /// rest is not generic, so that a guest has it once.
    pub(crate) fn decode_text<R>(
        self,
        decode: impl FnOnce(&str, Sent) -> Result<R, String>,
    ) -> Result<R, RequestError> {
        let text = self.answer.text(self.max_bytes);
        let decoded = text.and_then(|text| decode(&text, self.sent()));
        decoded.map_err(|found| self.not_understood(&found))
    }

    fn sent(&self) -> Sent {
        let request_id = self.answer.request_id.as_deref();
        Sent {
            request_id: request_id.map(|id| self.settings.token.mask(id)),
            attempts: self.history.attempts().to_vec(),
            may_be_duplicate: self.history.may_have_created_before(),
        }
    }

    fn not_understood(self, found: &str) -> RequestError {
        let response = http_response(self.settings, &self.answer);
        let media = self.answer.media.as_deref();
        self.history.not_understood(response, found, media)
    }

    /// How long the service asks to wait before it is asked again.
    pub(crate) fn retry_after_ms(&self) -> Option<u64> {
        self.answer.retry_after_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{NO_OPTIONS, Piece, Step, World, take_apart};
    use crate::transport::{ABANDONED, Delivery};
    use crate::types::{CallOptions, CallRequest, Failure, StartedCall};
    use futures_util::future::join;

    const DOCKET_ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";

    type Variables<'a> = &'a [(&'a str, &'a str)];
    type Operation = fn(&World, Variables<'_>) -> Result<(), RequestError>;

    /// A reading and a creating operation, and what satisfies both.
    const BOTH: [Operation; 2] = [read, create];

    fn success() -> Step {
        Step::ok(&format!(r#"{{"docket_id":"{DOCKET_ID}","task_id":"t-1"}}"#))
    }

    fn read(world: &World, variables: Variables<'_>) -> Result<(), RequestError> {
        let client = world.client(variables);
        world.run(client.get_docket(DOCKET_ID, None)).map(drop)
    }

    fn create(world: &World, variables: Variables<'_>) -> Result<(), RequestError> {
        make_call(world, variables).map(drop)
    }

    fn make_call(world: &World, variables: Variables<'_>) -> Result<StartedCall, RequestError> {
        let client = world.client(variables);
        let request = CallRequest {
            from_agent_name: Some("renewals".into()),
            to_phone_number: "919876543210".into(),
            call_context: Vec::new(),
            extra: None,
        };
        world.run(client.make_call(&request, None))
    }

    /// The case and the failure of an operation in a world with this script.
    fn failed(
        operation: Operation,
        steps: impl IntoIterator<Item = Step>,
        variables: Variables<'_>,
    ) -> (World, &'static str, Failure) {
        let world = World::with_script(steps);
        let (case, failure) = take_apart(operation(&world, variables).unwrap_err());
        (world, case, failure)
    }

    fn statuses(attempts: &[Attempt]) -> Vec<Option<u16>> {
        attempts.iter().map(|attempt| attempt.status).collect()
    }

    fn status(failure: &Failure) -> Option<u16> {
        failure.response.as_ref().map(|response| response.status)
    }

    // ------------------------------------------------------------ the theorem

    /// What a service or a host may do with a create: whether it may have created, and whether
    /// it is retried by default and with `CREATE_RETRY=not-sent`.
    const CONDUCTS: [(Conduct, bool, bool, bool); 27] = [
        (
            Conduct::Answer(200, r#"{"task_id":"t-1"}"#),
            true,
            false,
            false,
        ),
        (Conduct::Answer(200, "<html>"), true, false, false),
        (Conduct::Answer(204, ""), true, false, false),
        (Conduct::Break(200), true, false, false),
        (Conduct::Break(503), true, true, false),
        (Conduct::Break(404), false, false, false),
        (Conduct::Answer(100, ""), true, false, false),
        (Conduct::Answer(302, ""), true, false, false),
        (Conduct::Answer(400, ""), false, false, false),
        (Conduct::Answer(401, ""), false, false, false),
        (Conduct::Answer(403, ""), false, false, false),
        (Conduct::Answer(404, ""), false, false, false),
        (Conduct::Answer(408, ""), true, true, false),
        (Conduct::Answer(409, ""), true, false, false),
        (Conduct::Answer(410, ""), false, false, false),
        (Conduct::Answer(422, ""), false, false, false),
        (Conduct::Answer(425, ""), false, true, true),
        (Conduct::Answer(429, ""), false, true, true),
        (Conduct::Answer(500, ""), true, true, false),
        (Conduct::Answer(503, ""), true, true, false),
        (Conduct::Answer(600, ""), true, false, false),
        (Conduct::Fail(Delivery::NotSent), false, true, true),
        (Conduct::Fail(Delivery::Denied), false, false, false),
        (Conduct::Fail(Delivery::Refused), false, false, false),
        (Conduct::Fail(Delivery::Rejected), true, false, false),
        (Conduct::Fail(Delivery::Unknown), true, false, false),
        (Conduct::Silence, true, false, false),
    ];

    #[derive(Clone, Copy)]
    enum Conduct {
        Answer(u16, &'static str),
        Break(u16),
        Fail(Delivery),
        Silence,
    }

    impl Conduct {
        fn step(self) -> Step {
            match self {
                Conduct::Answer(status, body) => {
                    Step::status(status).with_body(vec![Piece::Bytes(0, body.into())])
                }
                Conduct::Break(status) => Step::status(status)
                    .with_body(vec![Piece::Bytes(0, b"{".into()), Piece::Break(0)]),
                Conduct::Fail(delivery) => Step::fail(delivery),
                Conduct::Silence => Step::Silence,
            }
        }
    }

    /// Every sequence of up to four outcomes of a create that its retries allow, and of every
    /// length at which time or attempts may run out.
    fn assert_theorem(create_retry: &str, before: &mut Vec<usize>) -> usize {
        let mut walks = 0;
        for (index, (_, _, by_default, if_not_sent)) in CONDUCTS.iter().enumerate() {
            before.push(index);
            assert_walk_is_honest(create_retry, before);
            walks += 1;
            let is_retried = match create_retry {
                "server-errors" => *by_default,
                "not-sent" => *if_not_sent,
                _ => false,
            };
            if is_retried && before.len() < 4 {
                walks += assert_theorem(create_retry, before);
            }
            before.pop();
        }
        walks
    }

    fn assert_walk_is_honest(create_retry: &str, sequence: &[usize]) {
        let conducts = sequence.iter().map(|index| CONDUCTS[*index]);
        let world = World::with_script(conducts.clone().map(|(conduct, ..)| conduct.step()));
        let max_attempts = sequence.len().to_string();
        let variables = [
            ("CREATE_RETRY", create_retry),
            ("MAX_ATTEMPTS", &max_attempts),
        ];
        let result = make_call(&world, &variables);
        assert_eq!(world.sent().len(), sequence.len(), "{sequence:?}");
        let may_have: Vec<_> = conducts.map(|(_, may_have, ..)| may_have).collect();
        match result {
            Ok(call) => {
                let before = &may_have[..may_have.len() - 1];
                assert_eq!(
                    call.may_be_duplicate,
                    before.contains(&true),
                    "{sequence:?}"
                );
                assert_eq!(call.attempts.len(), sequence.len());
            }
            Err(error) => {
                let (case, failure) = take_apart(error);
                let any = may_have.contains(&true);
                assert_eq!(failure.may_have_created, any, "{sequence:?}: {case}");
                // These say that nothing was created.
                let denies = ["permanent-configuration", "permanent-invalid-input"];
                assert!(!(any && denies.contains(&case)), "{sequence:?}: {case}");
                assert!(
                    !any || case.starts_with("permanent-"),
                    "{sequence:?}: {case}"
                );
                assert_ne!(case, "unavailable", "{sequence:?}");
                let warns = failure.message.contains("may have been created");
                assert_eq!(warns, any, "{}", failure.message);
                assert_eq!(failure.attempts.len(), sequence.len());
            }
        }
    }

    #[test]
    fn an_error_of_a_create_that_is_not_permanent_means_that_nothing_was_created() {
        let walks = ["server-errors", "not-sent", "never"]
            .map(|create_retry| assert_theorem(create_retry, &mut Vec::new()));
        let expected = |retried: usize| 27 * (0..4).map(|n| retried.pow(n)).sum::<usize>();
        assert_eq!(walks, [expected(7), expected(3), 27]);
    }

    #[test]
    fn an_error_of_a_read_never_says_that_something_was_created() {
        for (conduct, ..) in CONDUCTS {
            let world = World::with_script([conduct.step()]);
            if let Err(error) = read(&world, &[]) {
                let (case, failure) = take_apart(error);
                assert!(!failure.may_have_created, "{case}");
                assert!(!failure.message.contains("created"), "{}", failure.message);
                assert_ne!(case, "permanent-outcome-unknown");
            }
        }
    }

    // ---------------------------------------------------------------- retries

    #[test]
    fn a_rate_limit_is_waited_out_as_long_as_the_service_asks() {
        for (retry_after, waited_ms) in [
            ("7", 7_000),
            ("1.5", 1_500),
            ("20", 20_000),
            ("Sun, 06 Nov 1994 08:49:47 GMT", 10_000),
            ("0", 1_000),
            ("soon", 1_000),
        ] {
            for operation in BOTH {
                for status in [429, 425, 503, 408] {
                    let limited = Step::status(status).with_header("retry-after", retry_after);
                    let world = World::with_script([limited, success()]);
                    operation(&world, &[]).unwrap();
                    assert_eq!(world.sent_at_ms(), [0, waited_ms], "{status} {retry_after}");
                }
            }
        }
    }

    #[test]
    fn a_rate_limit_that_lasts_beyond_the_latest_start_is_told_at_once() {
        for operation in BOTH {
            let limited = Step::status(429).with_header("retry-after", "20.001");
            let (world, case, failure) = failed(operation, [limited], &[]);
            assert_eq!(case, "rate-limited");
            let response = failure.response.unwrap();
            assert_eq!(response.retry_after_ms, Some(20_001));
            assert_eq!((world.sent().len(), world.now_ms()), (1, 0));
        }
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
        // Half of the ceiling, and the random number modulo the other half and one: 125 +
        // 1000 % 126, 250 + 1000 % 251, and from then on 500 + 1000 % 501.
        let (_, failure) = take_apart(read(&world, &variables).unwrap_err());
        assert_eq!(world.sent_at_ms(), [0, 243, 740, 1_739, 2_738, 3_737]);
        let started = failure.attempts.iter().map(|a| u64::from(a.started_ms));
        assert_eq!(started.collect::<Vec<_>>(), world.sent_at_ms());
    }

    #[test]
    fn server_errors_are_retried_up_to_max_attempts() {
        for of_server in [500, 502, 503, 504, 599, 408] {
            for (operation, expected) in BOTH
                .into_iter()
                .zip(["unavailable", "permanent-outcome-unknown"])
            {
                let (world, case, failure) = failed(operation, [Step::status(of_server)], &[]);
                assert_eq!((case, status(&failure)), (expected, Some(of_server)));
                assert_eq!(statuses(&failure.attempts), [Some(of_server); 4]);
                assert_eq!(world.sent_at_ms(), [0, 1_000, 3_000, 7_000]);
            }
        }
    }

    #[test]
    fn with_create_retry_not_sent_a_create_is_not_retried_after_a_server_error() {
        let not_sent = [("CREATE_RETRY", "not-sent")];
        let steps = [Step::status(503), success()];
        let (world, case, failure) = failed(create, steps.clone(), &not_sent);
        assert_eq!(
            (case, status(&failure)),
            ("permanent-outcome-unknown", Some(503))
        );
        assert_eq!(world.sent().len(), 1);

        read(&World::with_script(steps), &not_sent).unwrap();
        for harmless in [Step::status(429), Step::fail(Delivery::NotSent)] {
            create(&World::with_script([harmless, success()]), &not_sent).unwrap();
        }
    }

    #[test]
    fn with_create_retry_never_a_create_is_never_retried() {
        let never = [("CREATE_RETRY", "never")];
        for (step, expected) in [
            (Step::status(429), "rate-limited"),
            (Step::fail(Delivery::NotSent), "unreachable"),
            (Step::status(503), "permanent-outcome-unknown"),
        ] {
            let steps = [step, success()];
            let (world, case, _) = failed(create, steps.clone(), &never);
            assert_eq!((case, world.sent().len()), (expected, 1));
            read(&World::with_script(steps), &never).unwrap();
        }
    }

    #[test]
    fn what_was_never_sent_is_retried_and_then_unreachable() {
        for operation in BOTH {
            let (_, case, failure) = failed(operation, [Step::fail(Delivery::NotSent)], &[]);
            assert_eq!((case, failure.attempts.len()), ("unreachable", 4));
            let message = failure.message;
            assert!(message.contains("simulated: NotSent"), "{message}");
        }
    }

    #[test]
    fn a_create_without_an_answer_is_never_retried() {
        for silence in [
            Step::fail(Delivery::Unknown),
            Step::fail(Delivery::Rejected),
            Step::fail(Delivery::ConnectionTimeout),
            Step::Silence,
        ] {
            let (world, case, failure) = failed(create, [silence, success()], &[]);
            assert_eq!(
                (case, status(&failure)),
                ("permanent-outcome-unknown", None)
            );
            assert_eq!(world.sent().len(), 1);
        }
    }

    #[test]
    fn a_connection_timeout_of_a_create_is_retried_where_the_host_is_trusted() {
        let trusted = [("TRUST_CONNECTION_TIMEOUT", "true")];
        let timeout = || Step::fail(Delivery::ConnectionTimeout);
        create(&World::with_script([timeout(), success()]), &trusted).unwrap();
        read(&World::with_script([timeout(), success()]), &[]).unwrap();
        let (_, case, failure) = failed(create, [timeout()], &trusted);
        assert_eq!((case, failure.may_have_created), ("unreachable", false));
    }

    #[test]
    fn an_unknown_outcome_decides_whatever_came_before_it() {
        let steps = [
            Step::status(503),
            Step::fail(Delivery::NotSent),
            Step::Silence,
            success(),
        ];
        let (world, case, failure) = failed(create, steps, &[]);
        assert_eq!(
            (case, status(&failure)),
            ("permanent-outcome-unknown", Some(503))
        );
        assert_eq!(statuses(&failure.attempts), [Some(503), None, None]);
        assert_eq!(world.sent().len(), 3);
    }

    #[test]
    fn what_an_attempt_may_have_created_is_remembered_whatever_ends_the_operation() {
        let unknown = "permanent-outcome-unknown";
        for (step, alone, after_a_server_error) in [
            (
                Step::status(401),
                "permanent-unauthorized",
                "permanent-unauthorized",
            ),
            (
                Step::status(404),
                "permanent-not-found",
                "permanent-not-found",
            ),
            (
                Step::status(422),
                "permanent-rejected",
                "permanent-rejected",
            ),
            // These say that nothing was created.
            (
                Step::fail(Delivery::Denied),
                "permanent-configuration",
                unknown,
            ),
            (
                Step::fail(Delivery::Refused),
                "permanent-invalid-input",
                unknown,
            ),
        ] {
            let (_, case, failure) = failed(create, [Step::status(503), step.clone()], &[]);
            assert_eq!(
                (case, failure.may_have_created),
                (after_a_server_error, true)
            );
            let (_, case, failure) = failed(create, [step], &[]);
            assert_eq!((case, failure.may_have_created), (alone, false));
        }
    }

    #[test]
    fn a_success_after_a_server_error_may_be_a_duplicate() {
        for (before, may_be_duplicate) in [(503, true), (408, true), (429, false)] {
            let world = World::with_script([Step::status(before), success()]);
            let call = make_call(&world, &[]).unwrap();
            assert_eq!(call.may_be_duplicate, may_be_duplicate, "{before}");
            assert_eq!(statuses(&call.attempts), [Some(before), Some(200)]);
        }
    }

    #[test]
    fn a_read_without_an_answer_is_retried_and_then_timed_out() {
        let world = World::with_script([Step::fail(Delivery::Unknown), success()]);
        read(&world, &[]).unwrap();
        let (_, case, failure) = failed(read, [Step::fail(Delivery::Unknown)], &[]);
        assert_eq!((case, failure.attempts.len()), ("timed-out", 4));
    }

    #[test]
    fn what_the_host_does_not_take_is_not_retried() {
        for (operation, delivery) in [
            (create as Operation, Delivery::Refused),
            (read, Delivery::Refused),
            (read, Delivery::Rejected),
        ] {
            let (world, case, failure) = failed(operation, [Step::fail(delivery)], &[]);
            assert_eq!((case, world.sent().len()), ("permanent-invalid-input", 1));
            assert_eq!(failure.problem.unwrap().subject, "request");
        }
    }

    #[test]
    fn a_denied_host_is_a_matter_of_configuration() {
        for operation in BOTH {
            let (world, case, failure) = failed(operation, [Step::fail(Delivery::Denied)], &[]);
            assert_eq!((case, world.sent().len()), ("permanent-configuration", 1));
            assert_eq!(failure.attempts.len(), 1);
            let problem = failure.problem.unwrap();
            assert_eq!(problem.subject, "VOICE_CALLING_BASE_URL");
            assert!(problem.found.contains("api.example"), "{}", problem.found);
        }
    }

    #[test]
    fn permanent_statuses_are_not_retried() {
        for of_service in [
            100, 300, 301, 302, 307, 308, 400, 401, 403, 404, 409, 410, 418, 422, 451, 600,
        ] {
            let expected = match of_service {
                401 | 403 => "permanent-unauthorized",
                404 | 410 => "permanent-not-found",
                300..=499 => "permanent-rejected",
                _ => "permanent-unexpected-response",
            };
            for operation in BOTH {
                let (world, case, failure) = failed(operation, [Step::status(of_service)], &[]);
                assert_eq!((case, status(&failure)), (expected, Some(of_service)));
                assert_eq!(world.sent().len(), 1);
            }
        }
    }

    #[test]
    fn with_one_attempt_nothing_is_retried() {
        for step in [
            Step::status(503),
            Step::status(429),
            Step::fail(Delivery::NotSent),
        ] {
            for operation in BOTH {
                let steps = [step.clone(), success()];
                let (world, ..) = failed(operation, steps, &[("MAX_ATTEMPTS", "1")]);
                assert_eq!((world.sent().len(), world.now_ms()), (1, 0));
            }
        }
    }

    // ------------------------------------------------------------------- time

    #[test]
    fn no_attempt_begins_without_time_for_answer_its_answer() {
        let variables = [("ATTEMPT_TIMEOUT_MS", "4000"), ("DEADLINE_MS", "10000")];
        let (world, case, failure) = failed(read, [Step::Silence], &variables);
        assert_eq!(case, "timed-out");
        let times = failure
            .attempts
            .iter()
            .map(|a| (a.started_ms, a.duration_ms));
        assert_eq!(times.collect::<Vec<_>>(), [(0, 4_000), (5_000, 4_000)]);
        assert_eq!(world.now_ms(), 9_000, "the next would begin at 11,000");
    }

    #[test]
    fn the_last_attempt_ends_with_the_deadline() {
        let variables = [("ATTEMPT_TIMEOUT_MS", "5000"), ("DEADLINE_MS", "6000")];
        let steps = [Step::status(503), Step::status(503), Step::Silence];
        let (world, _, failure) = failed(read, steps, &variables);
        // Half of the time is all that an attempt may need.
        assert_eq!(world.sent_at_ms(), [0, 1_000, 3_000]);
        assert_eq!(
            (failure.attempts[2].duration_ms, world.now_ms()),
            (3_000, 6_000)
        );
        let allowed = world.sent().into_iter().map(|sent| sent.limits);
        let allowed = allowed.map(|limits| (limits.connect_ms, limits.attempt_ms));
        assert_eq!(
            allowed.collect::<Vec<_>>(),
            [(3_000, 5_000), (3_000, 5_000), (2_250, 3_000)]
        );
    }

    #[test]
    fn a_pause_that_does_not_fit_before_the_latest_start_is_not_begun() {
        for (answers_after_ms, requests) in [(450, 2), (451, 1)] {
            let world = World::with_script([Step::status(503).after(answers_after_ms)]);
            let variables = [("DEADLINE_MS", "1000"), ("BACKOFF_MS", "100")];
            let (_, failure) = take_apart(create(&world, &variables).unwrap_err());
            assert_eq!(
                (failure.attempts.len(), world.sent().len()),
                (requests, requests)
            );
        }
    }

    // -------------------------------------------------------------- abandoned

    /// The case and the failure of an operation that is abandoned at this moment.
    fn abandoned(
        operation: Operation,
        steps: impl IntoIterator<Item = Step>,
        at_ms: u64,
    ) -> (World, &'static str, Failure) {
        let world = World::with_script(steps);
        world.abandon_at(at_ms);
        let (case, failure) = take_apart(operation(&world, &[]).unwrap_err());
        assert_eq!(failure.message.matches(ABANDONED).count(), 1, "{failure:?}");
        assert!(world.now_ms() <= at_ms, "it ends at once");
        (world, case, failure)
    }

    #[test]
    fn what_is_abandoned_before_it_is_sent_is_not_sent() {
        for operation in BOTH {
            let (world, case, failure) = abandoned(operation, [success()], 0);
            assert_eq!((case, world.sent().len()), ("timed-out", 0));
            assert!(failure.attempts.is_empty() && !failure.may_have_created);
        }
    }

    #[test]
    fn a_create_that_is_abandoned_before_its_answer_is_unknown_and_a_read_timed_out() {
        for (operation, expected) in [
            (create as Operation, "permanent-outcome-unknown"),
            (read, "timed-out"),
        ] {
            for step in [success().after(900), Step::Silence] {
                let (world, case, failure) = abandoned(operation, [step], 500);
                assert_eq!((case, world.sent().len()), (expected, 1));
                assert_eq!(failure.may_have_created, expected != "timed-out");
                let [attempt] = &failure.attempts[..] else {
                    panic!("{failure:?}")
                };
                assert_eq!((attempt.status, attempt.duration_ms), (None, 500));
                assert_eq!(attempt.transport_error.as_deref(), Some(ABANDONED));
            }
        }
    }

    #[test]
    fn a_body_that_is_abandoned_is_one_that_broke_off() {
        let slow = vec![
            Piece::Bytes(100, b"{".to_vec()),
            Piece::Bytes(900, b"}".to_vec()),
        ];
        let slow = Step::status(200).with_body(slow);
        let (_, case, failure) = abandoned(create, [slow.clone()], 500);
        assert_eq!(case, "permanent-unexpected-response");
        assert!(failure.may_have_created);
        assert_eq!(failure.response.unwrap().body, "{");
        let (_, case, failure) = abandoned(read, [slow], 500);
        assert_eq!((case, failure.attempts[0].status), ("timed-out", Some(200)));
    }

    #[test]
    fn what_is_abandoned_between_attempts_fails_as_the_attempts_say() {
        for (step, of_create, of_read) in [
            (
                Step::status(503),
                "permanent-outcome-unknown",
                "unavailable",
            ),
            (Step::status(429), "rate-limited", "rate-limited"),
            (Step::fail(Delivery::NotSent), "unreachable", "unreachable"),
        ] {
            for (operation, expected) in [(create as Operation, of_create), (read, of_read)] {
                // In the pause, and before it.
                for (step, at_ms) in [(step.clone(), 500), (step.clone().after(500), 500)] {
                    let (world, case, failure) = abandoned(operation, [step, success()], at_ms);
                    assert_eq!((case, failure.attempts.len()), (expected, 1));
                    assert_eq!(world.sent().len(), 1);
                }
            }
        }
    }

    #[test]
    fn an_answer_that_decides_decides_also_for_what_is_abandoned() {
        for (status, expected) in [(200, None), (404, Some("permanent-not-found"))] {
            let world = World::with_script([Step::status(status).after(500)]);
            world.abandon_at(500);
            let result = world.run(world.client(&[]).list_agents("org-1", None));
            let case = result.err().map(|error| take_apart(error).0);
            // An empty body is not a list.
            let expected = expected.unwrap_or("permanent-unexpected-response");
            assert_eq!(case, Some(expected));
        }
    }

    #[test]
    fn an_operation_that_is_held_back_or_has_no_place_is_abandoned_too() {
        let limited = Step::status(429).with_header("retry-after", "9");
        for (step, variables) in [
            (limited, [("MAX_IN_FLIGHT", "2")]),
            (Step::Silence, [("MAX_IN_FLIGHT", "1")]),
        ] {
            let world = World::with_script([step]);
            world.abandon_at(500);
            let client = world.client(&variables);
            let both = join(
                client.get_docket(DOCKET_ID, None),
                client.list_agents("org-1", None),
            );
            let (_, other) = world.run(both);
            let (case, failure) = take_apart(other.unwrap_err());
            assert_eq!((case, world.now_ms()), ("timed-out", 500));
            assert!(failure.attempts.is_empty());
            let message = "nothing was sent; cancelled by the caller";
            assert_eq!(failure.message, message);
        }
    }

    // ----------------------------------------------------------------- bodies

    fn broken(json: &str) -> Step {
        let pieces = vec![Piece::Bytes(0, json.into()), Piece::Break(5)];
        Step::status(200).with_body(pieces)
    }

    #[test]
    fn a_body_that_breaks_off_is_retried_on_reads_and_final_on_creates() {
        let world = World::with_script([broken(r#"{"docket_id""#), success()]);
        read(&world, &[]).unwrap();

        let steps = [broken(r#"{"task_id":"t-"#), success()];
        let (world, case, failure) = failed(create, steps, &[]);
        assert_eq!(
            (case, world.sent().len()),
            ("permanent-unexpected-response", 1)
        );
        let response = failure.response.unwrap();
        assert_eq!((response.status, response.body_cut), (200, true));
        assert_eq!(response.body, r#"{"task_id":"t-"#);
        assert_eq!(failure.attempts[0].status, Some(200));
        assert!(failure.attempts[0].transport_error.is_some());
    }

    #[test]
    fn a_body_that_comes_too_late_ends_with_the_attempt() {
        let slow = vec![
            Piece::Bytes(6_000, b"{".to_vec()),
            Piece::Bytes(6_000, b"}".to_vec()),
        ];
        let slow = Step::status(200).with_body(slow);
        let (_, case, failure) = failed(create, [slow], &[]);
        assert_eq!(case, "permanent-unexpected-response");
        assert_eq!(failure.response.unwrap().body, "{");
        assert_eq!(failure.attempts[0].duration_ms, 10_000);
    }

    #[test]
    fn the_status_of_an_error_counts_even_if_its_body_breaks_off() {
        let pieces = vec![Piece::Bytes(0, b"no such ".to_vec()), Piece::Break(0)];
        let (_, case, failure) = failed(read, [Step::status(404).with_body(pieces)], &[]);
        assert_eq!(case, "permanent-not-found");
        let response = failure.response.unwrap();
        assert_eq!((&*response.body, response.body_cut), ("no such ", true));
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
            let (world, case, failure) = failed(create, [Step::ok(body)], &[]);
            assert_eq!(
                (case, world.sent().len()),
                ("permanent-unexpected-response", 1)
            );
            let response = failure.response.unwrap();
            assert_eq!((&*response.body, response.body_cut), (body, false));
        }
    }

    #[test]
    fn a_2xx_that_cannot_be_understood_names_its_content_type() {
        let page = Step::ok("<html>")
            .with_header("content-type", "text/html")
            .with_header("content-encoding", "gzip");
        let (_, _, failure) = failed(read, [page], &[]);
        let said =
            "unexpected response (content-type text/html, content-encoding gzip): not JSON: ";
        assert!(failure.message.starts_with(said), "{}", failure.message);
    }

    #[test]
    fn a_body_over_the_limit_is_not_read_to_its_end() {
        let piece = || Piece::Bytes(0, vec![b' '; 600]);
        let large = Step::status(200).with_body(vec![piece(), piece()]);
        let (_, case, failure) = failed(read, [large], &[("MAX_RESPONSE_BYTES", "1000")]);
        assert_eq!(case, "permanent-unexpected-response");
        let message = failure.message;
        assert!(message.contains("MAX_RESPONSE_BYTES"), "{message}");
        let response = failure.response.unwrap();
        assert_eq!((response.body.len(), response.body_cut), (1_000, true));
    }

    #[test]
    fn a_status_that_means_nothing_is_named_however_large_its_body_is() {
        let large = vec![Piece::Bytes(0, vec![b'x'; 70_000])];
        let (_, case, failure) = failed(read, [Step::status(600).with_body(large)], &[]);
        assert_eq!(case, "permanent-unexpected-response");
        assert_eq!(failure.message, "unexpected status 600");
    }

    #[test]
    fn broken_characters_may_make_an_answer_larger_but_not_without_end() {
        let body = |padding: usize| {
            let mut body = br#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11","x":""#.to_vec();
            body.extend(vec![0xff; padding]);
            body.extend(b"\"}");
            World::with_script([Step::status(200).with_body(vec![Piece::Bytes(0, body)])])
        };
        let limit = [("MAX_RESPONSE_BYTES", "400000")];
        read(&body(133_000), &limit).unwrap();
        let (case, failure) = take_apart(read(&body(134_000), &limit).unwrap_err());
        assert_eq!(case, "permanent-unexpected-response");
        assert!(failure.message.contains("not UTF-8"), "{}", failure.message);
    }

    #[test]
    fn a_success_has_the_id_of_its_request_with_the_token_masked() {
        let world =
            World::with_script([success().with_header("x-request-id", "simulated-token/7")]);
        let call = make_call(&world, &[]).unwrap();
        assert_eq!(call.request_id.as_deref(), Some("[api token]/7"));
    }

    // -------------------------------------------------------------------- log

    #[test]
    fn the_log_has_a_line_for_every_attempt_and_tells_nothing_of_the_call() {
        let world = World::with_script([Step::status(503).after(12), success()]);
        create(&world, &[("LOG", "attempts")]).unwrap();
        let line = |rest: &str| {
            format!(
                r#"{{"function":"calls.make-call","method":"POST","path":"/make_call",{rest}}}"#
            )
        };
        assert_eq!(
            world.log_lines(),
            [
                line(r#""attempt":1,"status":503,"started_ms":0,"duration_ms":12,"pause_ms":1000"#),
                line(r#""attempt":2,"status":200,"started_ms":1012,"duration_ms":0"#),
            ]
        );

        let once = [("LOG", "attempts"), ("MAX_ATTEMPTS", "1")];
        let (world, ..) = failed(create, [Step::status(503)], &once);
        let last = line(r#""attempt":1,"status":503,"started_ms":0,"duration_ms":0"#);
        let lines = world.log_lines();
        assert_eq!(lines, [last], "no pause follows the last attempt");

        let world = World::with_script([success()]);
        create(&world, &[]).unwrap();
        assert!(world.log_lines().is_empty());
    }

    #[test]
    fn a_line_of_the_log_names_the_account_where_it_has_a_name() {
        let world = World::with_script([success()]);
        let client = world.client(&[
            ("ACCOUNTS", "alpha"),
            ("ALPHA_API_TOKEN", "token-of-alpha"),
            ("ALPHA_LOG", "attempts"),
        ]);
        let alpha = CallOptions {
            account: Some("alpha".into()),
            ..NO_OPTIONS
        };
        world
            .run(client.get_docket(DOCKET_ID, Some(alpha)))
            .unwrap();
        world.run(client.get_docket(DOCKET_ID, None)).unwrap();
        let begin = r#"{"function":"dockets.get-docket","account":"alpha","method":"GET","path":"/api/v1/dockets/{docket_id}","#;
        let lines = world.log_lines();
        assert!(lines.len() == 1 && lines[0].starts_with(begin), "{lines:?}");
    }
}

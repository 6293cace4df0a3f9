//! The loop that every operation runs: admit, attempt, decide, and again.

use crate::attempt::{ReceivedResponse, attempt};
use crate::client::Account;
use crate::failure::{History, http_response};
use crate::ledger::Ledger;
use crate::permits::Admission;
use crate::record::{Field, Record};
use crate::request::ApiRequest;
use crate::retry::{Next, Stop, Verdict, decide, judge, pause_ms};
use crate::settings::{AccountSettings, CreateRetry};
use crate::time_frame::TimeFrame;
use crate::transport::{Method, Request, Transport};
use crate::types::{Attempt, Failure, Problem};
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The maximum size of a compressed body in an error, which shows two digits for each byte.
const KEPT_COMPRESSED_BYTES: usize = 4_096;

/// An operation in progress: one call of a function.
#[derive(Debug)]
pub(crate) struct Operation<'a, T, L> {
    pub(crate) transport: &'a T,
    pub(crate) ledger: &'a L,
    pub(crate) settings: Cow<'a, AccountSettings>,
    account: &'a Account,
    held_back_ms: AtomicU64,
}

impl<'a, T: Transport, L: Ledger> Operation<'a, T, L> {
    pub(crate) fn begin(
        transport: &'a T,
        ledger: &'a L,
        account: &'a Account,
        settings: Cow<'a, AccountSettings>,
    ) -> Self {
        Self {
            transport,
            ledger,
            settings,
            account,
            held_back_ms: AtomicU64::new(0),
        }
    }

    /// Builds a request from the caller's arguments. The error does not show a token that is among
    /// them by mistake.
    pub(crate) fn request(
        &self,
        build: impl FnOnce(&AccountSettings) -> Result<ApiRequest, Problem>,
    ) -> Result<ApiRequest, Failure> {
        let settings = self.settings.as_ref();
        let request = build(settings);
        request.map_err(|problem| settings.token.mask_problem(problem).into())
    }

    /// Sends a read.
    pub(crate) async fn send(&self, request: &ApiRequest) -> Result<Success<'_>, Failure> {
        let time = self.time_frame();
        self.send_within(time, request).await
    }

    /// Sends a read whose time begins now.
    pub(crate) async fn send_within(
        &self,
        time: TimeFrame,
        request: &ApiRequest,
    ) -> Result<Success<'_>, Failure> {
        self.run(self.settings.create_retry, time, request, None)
            .await
    }

    /// Sends a create that has been admitted. If `time` is `None`, its time begins now.
    pub(crate) async fn send_admitted(
        &self,
        admission: Admission<'_>,
        time: Option<TimeFrame>,
        request: &ApiRequest,
        create_retry: CreateRetry,
    ) -> Result<Success<'_>, Failure> {
        let settings = &self.settings;
        let from_now = || TimeFrame::new(settings, admission.at_ms, settings.deadline_ms);
        let time = time.unwrap_or_else(from_now);
        self.run(create_retry, time, request, Some(admission)).await
    }

    /// Returns the error of a create that did not begin in time.
    pub(crate) fn not_started(&self, time: TimeFrame, stop: Stop) -> Failure {
        let account = self.account_name();
        History::new(&self.settings, account, Method::Post, time.began_ms).give_up(stop)
    }

    pub(crate) fn account_name(&self) -> Option<&str> {
        self.account.name.as_deref()
    }

    async fn run(
        &self,
        create_retry: CreateRetry,
        time: TimeFrame,
        request: &ApiRequest,
        admission: Option<Admission<'_>>,
    ) -> Result<Success<'_>, Failure> {
        let mut open = OpenRequest {
            transport: self.transport,
            request: request.address(&self.settings),
            may_have_created: false,
            has_ended: true,
        };
        let attempts = self.attempts(create_retry, time, request, admission, &mut open);
        let ended = attempts.await;
        open.has_ended = true;
        ended
    }

    async fn attempts(
        &self,
        create_retry: CreateRetry,
        time: TimeFrame,
        request: &ApiRequest,
        mut admission: Option<Admission<'_>>,
        open: &mut OpenRequest<'a, T>,
    ) -> Result<Success<'_>, Failure> {
        let (transport, settings) = (self.transport, self.settings.as_ref());
        let method = open.request.method;
        let account = self.account_name();
        let mut history = History::new(settings, account, method, time.began_ms);
        let mut now_ms = time.began_ms;
        loop {
            // Admit.
            let admission = match admission.take() {
                Some(admission) => admission,
                None => match self.admit(now_ms, time).await {
                    Ok(admission) => admission,
                    Err(stop) => return Err(history.give_up(stop)),
                },
            };

            // Attempt.
            let started_ms = admission.at_ms;
            let max_bytes = request.max_response_bytes(settings);
            let limits = time.limits(settings, started_ms, max_bytes);
            open.has_ended = false;
            let outcome = attempt(transport, &open.request, limits).await;
            let ended_ms = transport.now_ms();
            drop(admission);

            // Decide.
            let verdict = judge(method, settings, create_retry, &outcome);
            history.record(started_ms, ended_ms, &outcome, verdict);
            open.may_have_created = history.may_have_created();
            if !open.may_have_created {
                request.departure.hold();
            }
            let asked_ms = outcome
                .as_ref()
                .ok()
                .and_then(|response| response.retry_after_ms);
            let pause_ms = match verdict {
                Verdict::Success => 0,
                _ => pause_ms(settings, history.count(), asked_ms, transport.random()),
            };
            let resume_ms = ended_ms.saturating_add(pause_ms);
            let stop = self.stop_at(time, resume_ms);
            let attempts = history.count();
            let next = decide(method, settings, create_retry, verdict, attempts, stop);
            match (verdict, next) {
                (Verdict::RateLimited, Next::Retry) => self.account.gate.close(ended_ms, resume_ms),
                (Verdict::RateLimited, _) => {
                    // Without `Retry-After` the gate closes no longer than a wait pauses before its
                    // next poll.
                    let asked_ms = asked_ms.unwrap_or(settings.backoff_ms);
                    self.account
                        .gate
                        .close(ended_ms, ended_ms.saturating_add(asked_ms));
                }
                _ if outcome.is_ok() => self.account.gate.on_response(started_ms, ended_ms),
                _ => {}
            }
            self.log(request, &history, (next == Next::Retry).then_some(pause_ms))
                .await;
            match (next, outcome) {
                (Next::Retry, _) => {
                    // The log may have taken some time.
                    let left_ms = resume_ms.saturating_sub(transport.now_ms());
                    transport.sleep(left_ms).await;
                    now_ms = transport.now_ms();
                }
                (Next::GiveUp(stop), _) => return Err(history.give_up(stop)),
                (Next::Succeed, Ok(response)) => {
                    return Ok(Success {
                        settings,
                        history,
                        response,
                        max_bytes,
                    });
                }
                (_, outcome) => return Err(history.fail(verdict, &outcome)),
            }
        }
    }

    /// Waits until a request may be sent: until no rate limit of another request holds it back (or
    /// its time allows no more of that), and for a permit.
    pub(crate) async fn admit(
        &self,
        mut now_ms: u64,
        time: TimeFrame,
    ) -> Result<Admission<'_>, Stop> {
        let transport = self.transport;
        let Account { gate, permits, .. } = self.account;
        loop {
            let opened_ms = gate.wait(transport, now_ms, time.latest_hold_ms).await;
            self.held_back_ms.fetch_add(opened_ms - now_ms, Relaxed);
            let acquiring = permits.acquire(transport, opened_ms, time.latest_start_ms);
            let admission = acquiring.await;
            if transport.is_cancelled() {
                return Err(Stop::Cancelled);
            }
            let admission = admission.ok_or(Stop::NoPermit)?;
            now_ms = admission.at_ms;
            if !time.may_start(now_ms) {
                return Err(Stop::TimeUp);
            }
            // The gate may have closed while this request waited for its permit. Then it
            // releases the permit and waits again.
            if gate.is_open(now_ms, time.latest_hold_ms) {
                return Ok(admission);
            }
        }
    }

    /// Returns the reason why no attempt may begin at this moment, or `None` if one may.
    pub(crate) fn stop_at(&self, time: TimeFrame, moment_ms: u64) -> Option<Stop> {
        match time.may_start(moment_ms) {
            _ if self.transport.is_cancelled() => Some(Stop::Cancelled),
            true => None,
            false => Some(Stop::TimeUp),
        }
    }

    /// Returns the time of an operation that begins now.
    pub(crate) fn time_frame(&self) -> TimeFrame {
        let deadline_ms = self.settings.deadline_ms;
        TimeFrame::new(&self.settings, self.transport.now_ms(), deadline_ms)
    }

    /// Returns how long rate limits of other requests have held the operation back.
    pub(crate) fn held_back_ms(&self) -> u64 {
        self.held_back_ms.load(Relaxed)
    }

    /// Logs an attempt as a line of JSON, which contains nothing about who was called or why.
    async fn log(&self, request: &ApiRequest, history: &History<'_>, pause_ms: Option<u64>) {
        let Some(attempt) = history.latest().filter(|_| self.settings.log_attempts) else {
            return;
        };
        let endpoint = request.endpoint;
        let line = Record::new(vec![
            ("function", Field::Text(endpoint.function)),
            ("account", Field::text(&self.account.name)),
            ("method", Field::Text(endpoint.method.as_str())),
            ("path", Field::Text(endpoint.path)),
            ("item", Field::integer(request.item.map(i64::from))),
            ("attempt", Field::Integer(history.count().into())),
            ("status", Field::integer(attempt.status.map(i64::from))),
            ("transport_error", Field::text(&attempt.transport_error)),
            ("started_ms", Field::Integer(attempt.started_ms.into())),
            ("duration_ms", Field::Integer(attempt.duration_ms.into())),
            (
                "pause_ms",
                Field::integer(pause_ms.and_then(|ms| ms.try_into().ok())),
            ),
        ]);
        self.transport.log(&line.to_json()).await;
    }
}

/// A request whose operation goes on.
struct OpenRequest<'a, T: Transport> {
    transport: &'a T,
    request: Request,
    /// Whether an attempt that has ended may have created.
    may_have_created: bool,
    /// Whether the operation has ended, or not sent anything.
    has_ended: bool,
}

/// The operation was dropped unless it has ended.
impl<T: Transport> Drop for OpenRequest<'_, T> {
    fn drop(&mut self) {
        let is_open_create = !self.has_ended && self.request.method == Method::Post;
        if is_open_create && (self.may_have_created || !self.request.departure.withdraw()) {
            self.transport.on_dropped(&self.request);
        }
    }
}

/// A 2xx response that is not yet decoded.
pub(crate) struct Success<'a> {
    pub(crate) settings: &'a AccountSettings,
    pub(crate) history: History<'a>,
    pub(crate) response: ReceivedResponse,
    /// The maximum number of bytes that were read.
    pub(crate) max_bytes: usize,
}

/// The fields of a record that describe the exchange of the response.
#[derive(Default)]
pub(crate) struct ResponseMeta {
    pub(crate) request_id: Option<String>,
    pub(crate) attempts: Vec<Attempt>,
    pub(crate) may_be_duplicate: bool,
}

impl Success<'_> {
    /// Decodes the body. If it cannot be decoded, the error keeps its beginning. Only the decoder
    /// differs from function to function: the rest is not generic, so that a guest contains it
    /// once.
    pub(crate) fn decode<R>(
        self,
        decode: impl FnOnce(&str, ResponseMeta) -> Result<R, String>,
    ) -> Result<R, Failure> {
        let text = self.response.text(self.max_bytes);
        let decoded = text.and_then(|text| decode(&text, self.meta()));
        decoded.map_err(|found| self.undecodable(&found))
    }

    fn meta(&self) -> ResponseMeta {
        let request_id = self.response.request_id.as_deref();
        ResponseMeta {
            request_id: request_id.map(|id| self.settings.token.mask(id)),
            attempts: self.history.attempts().to_vec(),
            may_be_duplicate: self.history.may_have_created_before(),
        }
    }

    fn undecodable(self, found: &str) -> Failure {
        let mut response = http_response(self.settings, &self.response);
        let media = self.response.media();
        let media = media.as_deref();
        let Some(compressed) = self.response.compressed() else {
            return self.history.undecodable(response, found, media);
        };
        let kept = &compressed[..compressed.len().min(KEPT_COMPRESSED_BYTES)];
        response.body = kept.iter().map(|byte| format!("{byte:02x}")).collect();
        response.body_cut |= kept.len() < compressed.len();
        let found = format!("{found}; the bytes of the body are kept in hexadecimal");
        self.history.undecodable(response, &found, media)
    }

    /// Returns how long the service asks to wait before the next request.
    pub(crate) fn retry_after_ms(&self) -> Option<u64> {
        self.response.retry_after_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::{DOCKET_ID, NO_OPTIONS, Piece, Step, Store, World, rows};
    use crate::transport::Delivery;
    use crate::types::{CallOptions, CallRequest, FailureKind, StartedCall};

    type Variables<'a> = &'a [(&'a str, &'a str)];
    type Function = fn(&World, Variables<'_>) -> Result<(), Failure>;

    const BOTH: [Function; 2] = [read, create];

    /// Returns a response that satisfies both.
    fn success() -> Step {
        Step::ok(&format!(r#"{{"docket_id":"{DOCKET_ID}","task_id":"t-1"}}"#))
    }

    fn read(world: &World, variables: Variables<'_>) -> Result<(), Failure> {
        let client = world.client(variables);
        world.run(client.get_docket(DOCKET_ID, None)).map(drop)
    }

    fn create(world: &World, variables: Variables<'_>) -> Result<(), Failure> {
        make_call(world, variables, false).map(drop)
    }

    fn make_call(
        world: &World,
        variables: Variables<'_>,
        once: bool,
    ) -> Result<StartedCall, Failure> {
        let client = world.client_with(&Store::new(world), variables);
        let request = CallRequest {
            from_agent_name: Some("renewals".into()),
            to_phone_number: "919876543210".into(),
            call_context: Vec::new(),
            extra: None,
        };
        let key = once.then_some("a-key");
        let made = world.run(client.make_call(&request, None, key));
        made.map(|made| made.answer)
    }

    /// Returns the case and the failure of an operation in a world with this script.
    fn failed(
        operation: Function,
        steps: impl IntoIterator<Item = Step>,
        variables: Variables<'_>,
    ) -> (World, &'static str, Failure) {
        let world = World::with_script(steps);
        let failure = operation(&world, variables).unwrap_err();
        let case = failure.kind.name();
        (world, case, failure)
    }

    /// One behaviour of a service or a host per line: its name; whether a create may have created
    /// something then; whether the create is sent again always, by default, or never; and the
    /// results of a read and of a create that meet nothing else.
    const CONDUCTS: &str = "
        200                 yes  never       ok                             ok
        200-html            yes  never       unexpected-response  unexpected-response
        204                 yes  never       unexpected-response  unexpected-response
        200-large           yes  never       unexpected-response  unexpected-response
        299                 yes  never       unexpected-response  unexpected-response
        200-broken          yes  never       timed-out                      unexpected-response
        503-broken          yes  by-default  unavailable                    outcome-unknown
        404-broken          no   never       not-found            not-found
        100                 yes  never       unexpected-response  unexpected-response
        199                 yes  never       unexpected-response  unexpected-response
        300                 yes  never       rejected             rejected
        302                 yes  never       rejected             rejected
        399                 yes  never       rejected             rejected
        400                 no   never       rejected             rejected
        401                 no   never       unauthorized         unauthorized
        403                 no   never       unauthorized         unauthorized
        404                 no   never       not-found            not-found
        408                 yes  by-default  unavailable                    outcome-unknown
        409                 yes  never       rejected             rejected
        410                 no   never       not-found            not-found
        422                 no   never       rejected             rejected
        407                 no   never       rejected             rejected
        411                 no   never       rejected             rejected
        425                 no   always      rate-limited                   rate-limited
        429                 no   always      rate-limited                   rate-limited
        499                 no   never       rejected             rejected
        500                 yes  by-default  unavailable                    outcome-unknown
        503                 yes  by-default  unavailable                    outcome-unknown
        599                 yes  by-default  unavailable                    outcome-unknown
        600                 yes  never       unexpected-response  unexpected-response
        not-sent            no   always      unreachable                    unreachable
        connection-timeout  yes  never       unreachable                    outcome-unknown
        denied              no   never       configuration        configuration
        refused             no   never       invalid-input        invalid-input
        rejected            yes  never       invalid-input        outcome-unknown
        unknown             yes  never       timed-out                      outcome-unknown
        silence             yes  never       timed-out                      outcome-unknown";

    #[derive(Clone, Copy)]
    struct Conduct {
        name: &'static str,
        may_have_created: bool,
        sent_again: &'static str,
        of_read: &'static str,
        of_create: &'static str,
    }

    fn conducts() -> Vec<Conduct> {
        let lines = CONDUCTS.lines().skip(1);
        let conduct = |line: &'static str| {
            let columns: Vec<_> = line.split_whitespace().collect();
            let [name, may_have_created, sent_again, of_read, of_create] = columns[..] else {
                panic!("{line}")
            };
            Conduct {
                name,
                may_have_created: may_have_created == "yes",
                sent_again,
                of_read,
                of_create,
            }
        };
        lines.map(conduct).collect()
    }

    /// Returns the step of a conduct with this name.
    fn step(name: &str) -> Step {
        match (name, name.strip_suffix("-broken")) {
            ("200", _) => success(),
            ("200-html", _) => Step::ok("<html>"),
            ("200-large", _) => Step::ok(&" ".repeat(1_100_000)),
            (_, Some(status)) => Step::broken(status.parse().unwrap(), "{"),
            (name, None) => Step::parse(name),
        }
    }

    impl Conduct {
        fn step(&self) -> Step {
            step(self.name)
        }

        fn status(&self) -> Option<u16> {
            self.name.split('-').next()?.parse().ok()
        }

        fn is_sent_again(&self, create_retry: &str) -> bool {
            match create_retry {
                "server-errors" => self.sent_again != "never",
                "not-sent" | "once" => self.sent_again == "always",
                _ => false,
            }
        }
    }

    /// Plays every sequence of up to four outcomes of a create that its retries allow, for every
    /// number of attempts.
    fn assert_theorem(create_retry: &str, all: &[Conduct], before: &mut Vec<Conduct>) -> usize {
        let mut walks = 0;
        for conduct in all {
            before.push(*conduct);
            assert_walk_is_honest(create_retry, before);
            walks += 1;
            if conduct.is_sent_again(create_retry) && before.len() < 4 {
                walks += assert_theorem(create_retry, all, before);
            }
            before.pop();
        }
        walks
    }

    fn assert_walk_is_honest(create_retry: &str, sequence: &[Conduct]) {
        let names: Vec<_> = sequence.iter().map(|conduct| conduct.name).collect();
        let world = World::with_script(sequence.iter().map(Conduct::step));
        // An attempt is left for an outcome that must not be sent again.
        let (last, before) = sequence.split_last().unwrap();
        let left = usize::from(!last.is_sent_again(create_retry));
        let max_attempts = (sequence.len() + left).to_string();
        let once = create_retry == "once";
        let variables = [
            (
                "CREATE_RETRY",
                if once { "server-errors" } else { create_retry },
            ),
            ("MAX_ATTEMPTS", &max_attempts),
        ];
        let result = make_call(&world, &variables, once);
        assert_eq!(world.sent().len(), sequence.len(), "{names:?}");
        let may_have_before = before.iter().any(|conduct| conduct.may_have_created);
        match result {
            Ok(call) => {
                assert_eq!(call.may_be_duplicate, may_have_before, "{names:?}");
                assert_eq!(call.attempts.len(), sequence.len());
            }
            Err(failure) => {
                let case = failure.kind.name();
                let may_have = may_have_before || last.may_have_created;
                assert_eq!(failure.may_have_created, may_have, "{names:?}: {case}");
                // These cases say that nothing was created.
                let denies = [FailureKind::Configuration, FailureKind::InvalidInput];
                let says_nothing_was =
                    !failure.kind.is_permanent() || denies.contains(&failure.kind);
                assert!(!(may_have && says_nothing_was), "{names:?}: {case}");
                assert_ne!(case, "unavailable", "{names:?}");
                let warns = failure.message.contains("may have been created");
                assert_eq!(warns, may_have, "{}", failure.message);
                assert_eq!(failure.attempts.len(), sequence.len());
            }
        }
    }

    #[test]
    fn an_error_of_a_create_that_is_not_permanent_means_that_nothing_was_created() {
        let all = conducts();
        let walks = ["server-errors", "not-sent", "once", "never"]
            .map(|create_retry| assert_theorem(create_retry, &all, &mut Vec::new()));
        let expected = |retried: usize| 37 * (0..4).map(|n| retried.pow(n)).sum::<usize>();
        assert_eq!(walks, [expected(8), expected(3), expected(3), 37]);
    }

    #[test]
    fn each_conduct_of_a_service_or_a_host_has_its_error_and_is_retried_if_that_may_help() {
        for conduct in conducts() {
            let (name, steps) = (conduct.name, [conduct.step()]);
            if name == "200" {
                continue;
            }
            let (world, case, failure) = failed(create, steps.clone(), &[]);
            assert_eq!(case, conduct.of_create, "{name}");
            let is_sent_again = conduct.is_sent_again("server-errors");
            assert_eq!(world.sent().len() > 1, is_sent_again, "{name}");
            let status = |failure: Failure| Some(failure.response?.status);
            assert_eq!(status(failure), conduct.status(), "{name}");

            let (world, case, failure) = failed(read, steps, &[]);
            assert_eq!(case, conduct.of_read, "{name}");
            assert!(!failure.may_have_created && !failure.message.contains("created"));
            let is_final = failure.kind.is_permanent();
            assert_eq!(world.sent().len() == 1, is_final, "{name}");
            assert_eq!(failure.attempts.len(), world.sent().len(), "{name}");
            let shown = conduct.status().filter(|_| case != "timed-out");
            assert_eq!(status(failure), shown, "{name}");
        }
    }

    /// The attempts of an operation that then gives up, and its error: its case and
    /// the status of the response that it shows, for a read and for a create, and the beginning of
    /// the create's message.
    const GIVEN_UP: &str = "
        503             | unavailable 503  | outcome-unknown 503 | the service answered 503 (1 attempt); it may have been created: check before you retry
        503 429         | rate-limited 429 | outcome-unknown 503 | the service answered 503 (2 attempts); it may
        425 408         | unavailable 408  | outcome-unknown 408 | the service answered 408 (2 attempts); it may
        429 500         | unavailable 500  | outcome-unknown 500 | the service answered 500
        503 500         | unavailable 500  | outcome-unknown 500 | the service answered 500
        429 not-sent    | rate-limited 429 | rate-limited 429              | the service answered 429 (2 attempts)
        408 not-sent    | unavailable 408  | outcome-unknown 408 | the service answered 408 (2 attempts)
        not-sent        | unreachable 0    | unreachable 0                 | the service cannot be reached (1 attempt): simulated: NotSent
        429 unknown     | rate-limited 429 | outcome-unknown 0   | the request was sent, but no answer came: simulated: Unknown
        503 unknown     | unavailable 503  | outcome-unknown 503 | the request was sent, but no answer came
        unknown not-sent| timed-out 0      | outcome-unknown 0   | the request was sent, but no answer came
        200-broken not-sent | timed-out 0  | unexpected-response 200 | the response body ended early";

    #[test]
    fn the_latest_response_decides_the_error_unless_something_may_have_been_created() {
        for [words, of_read, of_create, message] in rows(GIVEN_UP) {
            let words: Vec<_> = words.split_whitespace().collect();
            let max_attempts = words.len().to_string();
            let variables = [("MAX_ATTEMPTS", &*max_attempts)];
            for (operation, expected, said) in [
                (read as Function, of_read, ""),
                (create, of_create, message),
            ] {
                let steps = words.iter().map(|word| step(word));
                let (_, case, failure) = failed(operation, steps, &variables);
                let shown = failure.response.map_or(0, |response| response.status);
                assert_eq!(format!("{case} {shown}"), expected, "{words:?}");
                assert!(failure.message.starts_with(said), "{}", failure.message);
            }
        }
    }

    #[test]
    fn an_error_says_why_no_attempt_followed_a_refusal_if_time_was_the_reason() {
        let until = "no time is left for another attempt (VOICE_CALLING_DEADLINE_MS)";
        let ends_after_503 = [Step::status(503), Step::fail(Delivery::NotSent)];
        for (steps, deadline_ms, said) in [
            (
                vec![Step::limited("25")],
                "30000",
                format!("the service answered 429 (1 attempt) and asks to wait 25 s: {until}"),
            ),
            (
                vec![Step::limited("0"), Step::limited("0.5")],
                "3000",
                format!("the service answered 429 (2 attempts) and asks to wait 1 s: {until}"),
            ),
            (
                vec![Step::limited("0")],
                "1000",
                format!("the service answered 429 (1 attempt): {until}"),
            ),
            (
                vec![Step::status(503)],
                "4000",
                format!("the service answered 503 (2 attempts): {until}"),
            ),
            // The latest attempt met no answer that asks for anything.
            (
                ends_after_503
                    .map(|step| step.with_header("retry-after", "1"))
                    .into(),
                "4000",
                format!("the service answered 503 (2 attempts): {until}"),
            ),
            (
                vec![Step::limited("1")],
                "30000",
                "the service answered 429 (4 attempts)".to_owned(),
            ),
        ] {
            let (_, _, failure) = failed(read, steps, &[("DEADLINE_MS", deadline_ms)]);
            assert_eq!(failure.message, said);
        }
    }

    #[test]
    fn a_request_that_the_host_does_not_send_names_the_setting_or_argument_at_fault() {
        for (delivery, subject, found) in [
            (Delivery::Denied, "VOICE_CALLING_BASE_URL", "api.example"),
            (Delivery::Refused, "request", "simulated: Refused"),
        ] {
            for operation in BOTH {
                let (_, _, failure) = failed(operation, [Step::fail(delivery)], &[]);
                let problem = failure.problem.unwrap();
                assert_eq!(problem.subject, subject);
                assert!(problem.found.contains(found), "{}", problem.found);
            }
        }
    }

    #[test]
    fn no_attempt_begins_without_time_for_its_response_and_the_last_one_ends_with_the_deadline() {
        // An attempt needs its timeout, or half of the deadline if that is less.
        for (steps, attempt_ms, deadline_ms, attempts) in [
            (0, "4000", "10000", &[(0, 4_000), (5_000, 4_000)][..]),
            (2, "5000", "6000", &[(0, 0), (1_000, 0), (3_000, 3_000)]),
        ] {
            let steps = vec![Step::status(503); steps];
            let variables = [
                ("ATTEMPT_TIMEOUT_MS", attempt_ms),
                ("DEADLINE_MS", deadline_ms),
            ];
            let (world, _, failure) =
                failed(read, [steps, vec![Step::silence()]].concat(), &variables);
            let made = failure.attempts.iter();
            let made: Vec<_> = made.map(|a| (a.started_ms, a.duration_ms)).collect();
            assert_eq!(made, attempts);
            let (started_ms, duration_ms) = made[made.len() - 1];
            assert_eq!(world.now_ms(), u64::from(started_ms + duration_ms));
            let limits = world.sent().pop().unwrap().limits;
            assert_eq!(limits.attempt_ms, u64::from(duration_ms));
        }
    }

    #[test]
    fn an_error_names_the_content_type_of_what_is_undecodable_and_where_a_redirect_points() {
        let pointing = |status| {
            Step::status(status).with_header("location", "https://login.example/?simulated-token")
        };
        let page = Step::ok("<html>").with_header("content-type", "text/html");
        let page = page.with_header("content-encoding", "gzip");
        for (step, said) in [
            (
                page,
                "unexpected response (content-type text/html, content-encoding gzip): not JSON: ",
            ),
            (Step::ok("<html>"), "unexpected response: not JSON: "),
            (
                pointing(307),
                "the service redirects to https://login.example/?[api token] (307), and redirects \
                 are not followed",
            ),
            (pointing(422), "the service rejected the request (422)"),
        ] {
            let (_, _, failure) = failed(read, [step], &[]);
            assert!(failure.message.starts_with(said), "{}", failure.message);
        }
    }

    #[test]
    fn a_compressed_answer_to_a_create_is_kept_whole_with_the_id_of_its_request() {
        let gzip = b"\x1f\x8b\x08\x00\xff".to_vec();
        let step = |gzip| Step::status(201).with_body(vec![Piece::Bytes(0, gzip)]);
        let step = |bytes| step(bytes).with_header("x-request-id", "r-7");
        let encoded = |bytes| step(bytes).with_header("content-encoding", "gzip");
        let (_, case, failure) = failed(create, [encoded(gzip.clone())], &[]);
        assert_eq!(case, "unexpected-response");
        let said = "unexpected response (content-encoding gzip): not JSON: expected value at line 1 \
                    column 1; the bytes of the body are kept in hexadecimal; it may have";
        assert!(failure.message.starts_with(said), "{}", failure.message);
        let response = failure.response.unwrap();
        assert_eq!(response.request_id.as_deref(), Some("r-7"));
        let kept = (response.status, &*response.body, response.body_cut);
        assert_eq!(kept, (201, "1f8b0800ff", false));

        let (_, _, failure) = failed(create, [encoded(vec![0xff; 4_097])], &[]);
        let response = failure.response.unwrap();
        let kept = (&*response.body, response.body_cut);
        assert_eq!(kept, (&*"ff".repeat(4_096), true));

        // Without the header it may be text in another encoding.
        let (_, _, failure) = failed(create, [step(b"fa\xfcl".to_vec())], &[]);
        assert_eq!(failure.response.unwrap().body, "fa\u{fffd}l");
    }

    #[test]
    fn a_success_has_its_attempts_and_the_id_of_its_request_with_the_token_masked() {
        let success = success().with_header("x-request-id", "simulated-token/7");
        let world = World::with_script([Step::status(429), success]);
        let call = make_call(&world, &[], false).unwrap();
        assert_eq!(call.request_id.as_deref(), Some("[api token]/7"));
        let statuses = call.attempts.iter().map(|attempt| attempt.status);
        assert_eq!(statuses.collect::<Vec<_>>(), [Some(429), Some(200)]);
    }

    #[test]
    fn the_log_has_a_line_for_every_attempt_and_nothing_about_the_call() {
        let line = |rest: &str| {
            format!(
                r#"{{"function":"calls.make-call","method":"POST","path":"/make_call",{rest}}}"#
            )
        };
        let of_503 = || Step::status(503).after(12);
        let first =
            line(r#""attempt":1,"status":503,"started_ms":0,"duration_ms":12,"pause_ms":1000"#);
        let second = line(r#""attempt":2,"status":200,"started_ms":1012,"duration_ms":0"#);
        let last = line(r#""attempt":1,"status":503,"started_ms":0,"duration_ms":12"#);
        for (variables, expected) in [
            (&[("LOG", "attempts")][..], &[first, second][..]),
            // No pause follows the last attempt.
            (&[("LOG", "attempts"), ("MAX_ATTEMPTS", "1")], &[last]),
            (&[], &[]),
        ] {
            let world = World::with_script([of_503(), success()]);
            let _ = create(&world, variables);
            assert_eq!(world.log_lines(), expected);
        }
    }

    #[test]
    fn a_line_of_the_log_has_the_name_of_the_account() {
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
        for options in [Some(alpha), None] {
            world.run(client.get_docket(DOCKET_ID, options)).unwrap();
        }
        let begin = r#"{"function":"dockets.get-docket","account":"alpha","method":"GET","path":"/api/v1/dockets/{docket_id}","#;
        let lines = world.log_lines();
        assert!(lines.len() == 1 && lines[0].starts_with(begin), "{lines:?}");
    }
}

//! The client that misbehaves.

use crate::mutant::Mutant;
use crate::result::{Change, Changeable};
use crate::settings::Settings;
use crate::transport::MutantTransport;
use std::cell::Cell;
use std::hint::black_box;
use voice_calling_core::Transport;
use voice_calling_core::types::{
    AgentConfig, AgentList, CallDetailsList, CallDetailsWait, CallOptions, CallRequest,
    CreatedAgent, CreatedDocket, CreatedDocketV2, Docket, DocketRequest, DocketRequestV2,
    DocketWait, Failure, RequestError, StartedCall, Verification, WaitOptions,
};

/// So much memory is taken at a time.
const BLOCK_BYTES: usize = 1 << 20;

/// So many dockets of a batch are not too large together.
const PIECE: usize = 10;

/// The real client, and how it misbehaves. Its functions are the real one's.
pub struct Client<T> {
    real: voice_calling_core::Client<MutantTransport<T>>,
    mutant: Mutant,
    token: String,
}

impl<T: Transport> Client<T> {
    /// A client with these settings.
    pub fn new(settings: Settings, transport: T) -> Self {
        let Settings {
            real,
            mutant,
            token,
        } = settings;
        let transport = MutantTransport {
            real: transport,
            mutant,
            limited: Cell::new(false),
        };
        Self {
            real: voice_calling_core::Client::new(real, transport),
            mutant,
            token,
        }
    }

    /// `agents.create-agent`
    pub async fn create_agent(
        &self,
        config: &AgentConfig,
        options: Option<CallOptions>,
    ) -> Result<CreatedAgent, RequestError> {
        self.run(self.real.create_agent(config, options)).await
    }

    /// `agents.list-agents`
    pub async fn list_agents(
        &self,
        organization_id: &str,
        options: Option<CallOptions>,
    ) -> Result<AgentList, RequestError> {
        let sent = match self.mutant {
            Mutant::CutsLongIds => &organization_id[..organization_id.floor_char_boundary(100)],
            _ => organization_id,
        };
        self.run(self.real.list_agents(sent, options)).await
    }

    /// `calls.make-call`
    pub async fn make_call(
        &self,
        request: &CallRequest,
        options: Option<CallOptions>,
    ) -> Result<StartedCall, RequestError> {
        self.run(self.real.make_call(request, options)).await
    }

    /// `calls.get-call-details`
    pub async fn get_call_details(
        &self,
        task_id: &str,
        options: Option<CallOptions>,
    ) -> Result<CallDetailsList, RequestError> {
        self.run(self.real.get_call_details(task_id, options)).await
    }

    /// `calls.wait-for-call-details`
    pub async fn wait_for_call_details(
        &self,
        task_id: &str,
        wait: WaitOptions,
        options: Option<CallOptions>,
    ) -> Result<CallDetailsWait, RequestError> {
        self.run(self.real.wait_for_call_details(task_id, wait, options))
            .await
    }

    /// `dockets.create-docket`
    pub async fn create_docket(
        &self,
        request: &DocketRequest,
        options: Option<CallOptions>,
    ) -> Result<CreatedDocket, RequestError> {
        self.run(self.real.create_docket(request, options)).await
    }

    /// `dockets.create-docket-v2`
    pub async fn create_docket_v2(
        &self,
        request: &DocketRequestV2,
        options: Option<CallOptions>,
    ) -> Result<CreatedDocketV2, RequestError> {
        self.run(self.real.create_docket_v2(request, options)).await
    }

    /// `dockets.get-docket`
    pub async fn get_docket(
        &self,
        docket_id: &str,
        options: Option<CallOptions>,
    ) -> Result<Docket, RequestError> {
        match self.run(self.real.get_docket(docket_id, options)).await {
            Err(RequestError::PermanentUnexpectedResponse(failure))
                if self.mutant == Mutant::TakesAnyDocket =>
            {
                any_docket(&failure).ok_or(RequestError::PermanentUnexpectedResponse(failure))
            }
            result => result,
        }
    }

    /// `dockets.wait-for-docket`
    pub async fn wait_for_docket(
        &self,
        docket_id: &str,
        wait: WaitOptions,
        options: Option<CallOptions>,
    ) -> Result<DocketWait, RequestError> {
        self.run(self.real.wait_for_docket(docket_id, wait, options))
            .await
    }

    /// `bulk.create-dockets-v2`
    pub async fn create_dockets_v2(
        &self,
        requests: &[DocketRequestV2],
        timeout_ms: u32,
        options: Option<CallOptions>,
    ) -> Result<Vec<Result<CreatedDocketV2, RequestError>>, RequestError> {
        let pieces = match self.mutant {
            Mutant::SplitsLargeBatches => requests.chunks(PIECE),
            _ => requests.chunks(requests.len().max(1)),
        };
        let mut results = Vec::new();
        for piece in pieces {
            let batch = self
                .real
                .create_dockets_v2(piece, timeout_ms, options.clone());
            results.extend(self.run(batch).await?);
        }
        if self.mutant == Mutant::LosesOrder {
            results.reverse();
        }
        if self.mutant == Mutant::DropsFailedItems {
            results.retain(Result::is_ok);
        }
        Ok(results)
    }

    /// `webhooks.verify-docket-completed`
    pub async fn verify_docket_completed(
        &self,
        body: &str,
        options: Option<CallOptions>,
    ) -> Result<Verification, RequestError> {
        self.run(self.real.verify_docket_completed(body, options))
            .await
    }

    /// Runs an operation of the real client, if it comes to that, and changes its result.
    async fn run<R: Changeable>(
        &self,
        operation: impl Future<Output = Result<R, RequestError>>,
    ) -> Result<R, RequestError> {
        match self.mutant {
            Mutant::LoopsForever => loop {
                black_box(());
            },
            Mutant::AllocatesWithoutEnd => allocate_without_end(),
            _ => {}
        }
        let mut result = operation.await;
        result.apply(&Change {
            mutant: self.mutant,
            token: &self.token,
        });
        result
    }
}

/// The docket in an answer that was not understood, if it has one.
fn any_docket(failure: &Failure) -> Option<Docket> {
    let raw_json = &failure.response.as_ref()?.body;
    let answer: serde_json::Value = serde_json::from_str(raw_json).ok()?;
    Some(Docket {
        docket_id: answer["docket_id"].as_str()?.to_owned(),
        agent_name: None,
        status: None,
        call_type: None,
        from_number: None,
        to_phone_number: None,
        call_context: None,
        external_id: None,
        closed_call_id: None,
        latest_call_id: None,
        closure_reason: None,
        outbound_call_count: None,
        notification_status: None,
        first_called_at: None,
        closed_at: None,
        created_at: None,
        updated_at: None,
        raw_json: raw_json.clone(),
        request_id: None,
        attempts: failure.attempts.clone(),
    })
}

fn allocate_without_end() {
    let mut blocks = Vec::new();
    loop {
        // Not zeroes, which an allocator may give without touching the memory.
        blocks.push(vec![1_u8; BLOCK_BYTES]);
        black_box(&blocks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Answer, Script, TOKEN, run};
    use voice_calling_core::{Delivery, Scheme};

    const DOCKET_ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";
    const CREATED: &str =
        r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11","created":true,"priority":1.10}"#;
    const DOCKET: Answer = Answer::Whole(200, &[], CREATED);

    fn create(script: &Script, mutant: &str) -> Result<CreatedDocketV2, RequestError> {
        run(script.client(mutant).create_docket_v2(&request(), None))
    }

    fn request() -> DocketRequestV2 {
        DocketRequestV2 {
            agent_id: 7,
            to_phone_number: "919876543210".into(),
            call_context: "{}".into(),
            external_id: None,
            extra: None,
        }
    }

    fn unknown(result: Result<CreatedDocketV2, RequestError>) -> Failure {
        match result {
            Err(RequestError::PermanentOutcomeUnknown(failure)) => failure,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_create_is_sent_again_only_by_its_mutant() {
        let script = || Script::new([Answer::None(Delivery::Unknown), DOCKET]);
        let right = script();
        unknown(create(&right, "none"));
        assert_eq!(right.sent().len(), 1);
        let wrong = script();
        create(&wrong, "replays-unknown-outcome").unwrap();
        assert_eq!(wrong.sent().len(), 2);
        // A read is repeated by the real client, after a pause and as another attempt.
        let read = Script::new([Answer::None(Delivery::Unknown)]);
        run(read
            .client("replays-unknown-outcome")
            .get_docket(DOCKET_ID, None))
        .unwrap_err();
        assert_eq!(read.sent().len(), 4);
    }

    #[test]
    fn the_token_shows_in_the_message_of_its_mutant() {
        for (mutant, shown) in [("none", false), ("leaks-token", true)] {
            let script = Script::new([Answer::None(Delivery::Unknown)]);
            let message = unknown(create(&script, mutant)).message;
            assert_eq!(message.contains(TOKEN), shown, "{message}");
        }
        let script = Script::new([Answer::None(Delivery::Unknown)]);
        let message = unknown(create(&script, "leaks-escaped-token")).message;
        assert!(message.ends_with("\\u006b\\u0065\\u006e"), "{message}");
    }

    #[test]
    fn the_token_shows_on_stderr_of_its_mutant() {
        let script = Script::new([DOCKET]);
        create(&script, "logs-token").unwrap();
        assert_eq!(script.log_lines(), [format!("auth_token: Bearer {TOKEN}")]);
        let script = Script::new([DOCKET]);
        create(&script, "none").unwrap();
        assert!(script.log_lines().is_empty());
    }

    #[test]
    fn a_redirect_is_followed_with_the_token_by_its_mutant() {
        for (location, scheme, authority, path) in [
            (
                "http://evil.example:81/a?b",
                Scheme::Http,
                "evil.example:81",
                "/a?b",
            ),
            ("https://evil.example", Scheme::Https, "evil.example", "/"),
            ("/elsewhere", Scheme::Https, "api.example", "/elsewhere"),
        ] {
            let moved = Answer::Whole(307, vec![("location", location)].leak(), "");
            let script = Script::new([moved.clone(), DOCKET]);
            create(&script, "follows-redirects").unwrap();
            let sent = script.sent();
            let last = sent.last().unwrap();
            assert_eq!((last.scheme, last.authority.as_str()), (scheme, authority));
            assert_eq!(last.path_and_query, path);
            assert_eq!(
                (&last.headers, &last.body),
                (&sent[0].headers, &sent[0].body)
            );

            let right = Script::new([moved, DOCKET]);
            create(&right, "none").unwrap_err();
            assert_eq!(right.sent().len(), 1);
        }
    }

    #[test]
    fn retry_after_is_not_heeded_by_its_mutant() {
        for (mutant, waited_ms) in [("none", 7_000), ("ignores-retry-after", 1_000)] {
            let limited = Answer::Whole(429, &[("retry-after", "7")], "");
            let script = Script::new([limited, DOCKET]);
            create(&script, mutant).unwrap();
            assert_eq!(script.elapsed_ms(), waited_ms, "{mutant}");
        }
    }

    #[test]
    fn raw_json_is_changed_by_its_mutants() {
        for (mutant, raw_json) in [
            ("none", CREATED.to_owned()),
            (
                "drops-unknown-fields",
                CREATED.replace(r#","priority":1.10"#, ""),
            ),
            ("rounds-numbers", CREATED.replace("1.10", "1.1")),
        ] {
            let created = create(&Script::new([DOCKET]), mutant).unwrap();
            assert_eq!(created.raw_json, raw_json, "{mutant}");
        }
    }

    #[test]
    fn the_results_of_a_batch_come_in_reverse_from_its_mutant() {
        let refused = DocketRequestV2 {
            to_phone_number: "12".into(),
            ..request()
        };
        for (mutant, order) in [("none", [true, false]), ("loses-order", [false, true])] {
            let script = Script::new([DOCKET]);
            let client = script.client(mutant);
            let batch = [request(), refused.clone()];
            let results = run(client.create_dockets_v2(&batch, 1_000, None)).unwrap();
            let succeeded: Vec<_> = results.iter().map(Result::is_ok).collect();
            assert_eq!(succeeded, order, "{mutant}");
        }
    }

    #[test]
    fn attempts_before_the_last_are_hidden_by_its_mutant() {
        let batch = |mutant: &str| {
            let script = Script::new([Answer::Whole(503, &[], "")]);
            let client = script.client(mutant);
            let results = run(client.create_dockets_v2(&[request()], 60_000, None)).unwrap();
            unknown(results.into_iter().next().unwrap()).attempts.len()
        };
        assert_eq!((batch("none"), batch("hides-attempts")), (4, 1));
    }

    #[test]
    fn what_may_have_been_created_is_hidden_by_its_mutants() {
        let failing = || Script::new([Answer::Whole(503, &[], "")]);
        let failure = unknown(create(&failing(), "none"));
        assert!(failure.may_have_created);
        assert!(!unknown(create(&failing(), "forgets-creations")).may_have_created);
        let error = create(&failing(), "calls-server-errors-harmless");
        assert_eq!(error, Err(RequestError::Unavailable(failure)));
        let silent = Script::new([Answer::None(Delivery::Unknown)]);
        let error = create(&silent, "calls-silence-harmless");
        assert!(matches!(error, Err(RequestError::TimedOut(_))), "{error:?}");
        for (mutant, told) in [("none", true), ("forgets-duplicates", false)] {
            let script = Script::new([Answer::Whole(503, &[], ""), DOCKET]);
            assert_eq!(create(&script, mutant).unwrap().may_be_duplicate, told);
        }
    }

    #[test]
    fn a_create_is_sent_late_by_its_mutant() {
        for (mutant, sent_ms) in [("none", 0), ("begins-late", 7_500)] {
            let script = Script::new([DOCKET]);
            create(&script, mutant).unwrap();
            assert_eq!(script.elapsed_ms(), sent_ms, "{mutant}");
        }
    }

    #[test]
    fn a_rate_limit_ends_everything_for_its_mutant() {
        for (mutant, sent) in [("none", 2), ("gives-up-for-others", 1)] {
            let script = Script::new([Answer::Whole(429, &[], ""), DOCKET]);
            assert_eq!(create(&script, mutant).is_ok(), sent == 2, "{mutant}");
            assert_eq!(script.sent().len(), sent, "{mutant}");
        }
    }

    #[test]
    fn headers_are_hidden_by_their_mutants() {
        let ahead = &[
            ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("retry-after", "Sun, 06 Nov 1994 08:49:44 GMT"),
        ];
        let limited = Answer::Whole(429, &[("retry-after", "4.5")], "");
        for (answer, mutant, waited_ms) in [
            (limited.clone(), "none", 4_500),
            (limited, "ignores-fractions", 1_000),
            (Answer::Whole(503, ahead, ""), "none", 7_000),
        ] {
            let script = Script::new([answer, DOCKET]);
            create(&script, mutant).unwrap();
            assert_eq!(script.elapsed_ms(), waited_ms, "{mutant}");
        }
        // By its own clock the time has not begun.
        let script = Script::new([Answer::Whole(503, ahead, ""), DOCKET]);
        create(&script, "ignores-date").unwrap_err();
        for (mutant, told) in [("none", true), ("hides-location", false)] {
            let moved = Answer::Whole(307, &[("location", "/elsewhere")], "");
            let Err(RequestError::PermanentRejected(failure)) =
                create(&Script::new([moved]), mutant)
            else {
                panic!("{mutant} follows redirects")
            };
            assert_eq!(failure.message.contains("/elsewhere"), told, "{mutant}");
        }
    }

    #[test]
    fn waits_are_mistaken_by_their_mutants() {
        let empty = r#"[{"call_status":"RINGING","call_insights":{"metadata":null}}]"#;
        let wait = |mutant: &str, answer: Answer| {
            let wait = WaitOptions {
                timeout_ms: 1_000,
                not_found_is_pending: None,
            };
            let script = Script::new([answer]);
            run(script
                .client(mutant)
                .wait_for_call_details("t-1", wait, None))
        };
        let completed = |mutant: &str| {
            let waited = wait(mutant, Answer::Whole(200, &[], empty)).unwrap();
            matches!(
                waited.outcome,
                crate::types::CallDetailsOutcome::Completed(_)
            )
        };
        assert!(!completed("none"));
        assert!(completed("trusts-empty-insights") && completed("mistakes-readiness"));
        let polls = |mutant: &str| wait(mutant, Answer::Whole(200, &[], "[]")).unwrap().polls;
        assert_eq!((polls("none"), polls("counts-unsent-polls")), (1, 2));
        wait("none", Answer::Whole(410, &[], "")).unwrap_err();
        wait("mistakes-gone", Answer::Whole(410, &[], "")).unwrap();
    }

    #[test]
    fn dockets_are_mistaken_by_their_mutants() {
        let other = "{\"docket_id\":\"11111111-0d51-4f0c-9a63-2f1a5c0d9e11\",\"status\":\"OPEN\"}";
        let get = |mutant: &str| {
            let script = Script::new([Answer::Whole(200, &[], other)]);
            run(script.client(mutant).get_docket(DOCKET_ID, None))
        };
        get("none").unwrap_err();
        assert!(
            get("takes-any-docket")
                .unwrap()
                .docket_id
                .starts_with("1111")
        );
        let confirmed = |mutant: &str| {
            let open = r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11","status":"OPEN"}"#;
            let script = Script::new([Answer::Whole(200, &[], open)]);
            let delivery = open.replace("OPEN", "COMPLETED");
            let client = script.client(mutant);
            let verified = run(client.verify_docket_completed(&delivery, None)).unwrap();
            matches!(verified, Verification::Confirmed(_))
        };
        assert_eq!(
            (confirmed("none"), confirmed("confirms-everything")),
            (false, true)
        );
    }

    #[test]
    fn what_is_too_long_is_sent_by_its_mutants() {
        for (mutant, sent) in [("none", 0), ("cuts-long-ids", 1)] {
            let script = Script::new([Answer::Whole(200, &[], "[]")]);
            let listed = run(script.client(mutant).list_agents(&"o".repeat(70_000), None));
            assert_eq!(
                (listed.is_ok(), script.sent().len()),
                (sent == 1, sent),
                "{mutant}"
            );
        }
        let large = DocketRequestV2 {
            call_context: format!("{{\"x\":\"{}\"}}", "x".repeat(900_000)),
            ..request()
        };
        for (mutant, sent) in [("none", 0), ("splits-large-batches", 20)] {
            let script = Script::new([DOCKET]);
            let batch = vec![large.clone(); 20];
            let created = run(script
                .client(mutant)
                .create_dockets_v2(&batch, 60_000, None));
            assert_eq!(
                (created.is_ok(), script.sent().len()),
                (sent > 0, sent),
                "{mutant}"
            );
        }
    }

    #[test]
    fn a_read_that_the_host_rejects_is_sent_again_by_its_mutant() {
        for (mutant, sent) in [("none", 1), ("retries-what-hosts-reject", 4)] {
            let script = Script::new([Answer::None(Delivery::Rejected)]);
            run(script.client(mutant).get_docket(DOCKET_ID, None)).unwrap_err();
            assert_eq!(script.sent().len(), sent, "{mutant}");
        }
    }

    #[test]
    fn a_body_that_breaks_off_is_whole_to_its_mutant() {
        let broken = || Script::new([Answer::BrokenBody(200, CREATED)]);
        create(&broken(), "none").unwrap_err();
        assert!(create(&broken(), "swallows-broken-bodies").is_ok());
    }

    #[test]
    fn attempts_are_counted_wrongly_by_their_mutants() {
        for (mutant, attempts) in [("none", 4), ("tries-too-often", 5), ("never-retries", 1)] {
            let script = Script::new([Answer::Whole(503, &[], "")]);
            create(&script, mutant).unwrap_err();
            assert_eq!(script.sent().len(), attempts, "{mutant}");
        }
    }
}

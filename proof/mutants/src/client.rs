//! The client that misbehaves.

use crate::mutant::Mutant;
use crate::result::{Change, Changeable};
use crate::settings::Settings;
use crate::transport::MutantTransport;
use crate::types::{
    AgentConfig, AgentSummary, CallDetails, CallDetailsWait, CallRequest, CreatedAgent,
    CreatedDocket, CreatedDocketV2, Docket, DocketRequest, DocketRequestV2, DocketWait,
    RequestError, StartedCall, WaitOptions,
};
use std::hint::black_box;
use voice_calling_core::Transport;

/// So much memory is taken at a time.
const BLOCK_BYTES: usize = 1 << 20;

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
        };
        Self {
            real: voice_calling_core::Client::new(real, transport),
            mutant,
            token,
        }
    }

    /// `agents.create-agent`
    pub async fn create_agent(&self, config: &AgentConfig) -> Result<CreatedAgent, RequestError> {
        self.run(self.real.create_agent(config)).await
    }

    /// `agents.list-agents`
    pub async fn list_agents(
        &self,
        organization_id: &str,
    ) -> Result<Vec<AgentSummary>, RequestError> {
        self.run(self.real.list_agents(organization_id)).await
    }

    /// `calls.make-call`
    pub async fn make_call(&self, request: &CallRequest) -> Result<StartedCall, RequestError> {
        self.run(self.real.make_call(request)).await
    }

    /// `calls.get-call-details`
    pub async fn get_call_details(&self, task_id: &str) -> Result<Vec<CallDetails>, RequestError> {
        self.run(self.real.get_call_details(task_id)).await
    }

    /// `calls.wait-for-call-details`
    pub async fn wait_for_call_details(
        &self,
        task_id: &str,
        options: WaitOptions,
    ) -> Result<CallDetailsWait, RequestError> {
        self.run(self.real.wait_for_call_details(task_id, options))
            .await
    }

    /// `dockets.create-docket`
    pub async fn create_docket(
        &self,
        request: &DocketRequest,
    ) -> Result<CreatedDocket, RequestError> {
        self.run(self.real.create_docket(request)).await
    }

    /// `dockets.create-docket-v2`
    pub async fn create_docket_v2(
        &self,
        request: &DocketRequestV2,
    ) -> Result<CreatedDocketV2, RequestError> {
        self.run(self.real.create_docket_v2(request)).await
    }

    /// `dockets.get-docket`
    pub async fn get_docket(&self, docket_id: &str) -> Result<Docket, RequestError> {
        self.run(self.real.get_docket(docket_id)).await
    }

    /// `dockets.wait-for-docket`
    pub async fn wait_for_docket(
        &self,
        docket_id: &str,
        options: WaitOptions,
    ) -> Result<DocketWait, RequestError> {
        self.run(self.real.wait_for_docket(docket_id, options))
            .await
    }

    /// `bulk.create-dockets-v2`
    pub async fn create_dockets_v2(
        &self,
        requests: &[DocketRequestV2],
        timeout_ms: u32,
    ) -> Result<Vec<Result<CreatedDocketV2, RequestError>>, RequestError> {
        let batch = self.real.create_dockets_v2(requests, timeout_ms);
        let mut results = self.run(batch).await?;
        if self.mutant == Mutant::LosesOrder {
            results.reverse();
        }
        if self.mutant == Mutant::DropsFailedItems {
            results.retain(Result::is_ok);
        }
        Ok(results)
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
    use crate::types::UnknownOutcome;
    use voice_calling_core::{Delivery, Scheme};

    const DOCKET_ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";
    const DOCKET: Answer = Answer::Whole(
        200,
        None,
        r#"{"docket_id":"d-1","created":true,"priority":1.10}"#,
    );

    fn create(script: &Script, mutant: &str) -> Result<CreatedDocketV2, RequestError> {
        run(script.client(mutant).create_docket_v2(&request()))
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

    fn unknown(result: Result<CreatedDocketV2, RequestError>) -> UnknownOutcome {
        match result {
            Err(RequestError::PermanentOutcomeUnknown(unknown)) => unknown,
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
        run(read.client("replays-unknown-outcome").get_docket(DOCKET_ID)).unwrap_err();
        assert_eq!(read.sent().len(), 4);
    }

    #[test]
    fn the_token_shows_in_the_message_of_its_mutant() {
        for (mutant, shown) in [("none", false), ("leaks-token", true)] {
            let script = Script::new([Answer::None(Delivery::Unknown)]);
            let message = unknown(create(&script, mutant)).message;
            assert_eq!(message.contains(TOKEN), shown, "{message}");
        }
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
            let moved = Answer::Whole(307, Some(("location", location)), "");
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
        for (mutant, waited_ms) in [("none", 7_000), ("ignores-retry-after", 0)] {
            let limited = Answer::Whole(429, Some(("retry-after", "7")), "");
            let script = Script::new([limited, DOCKET]);
            create(&script, mutant).unwrap();
            assert_eq!(script.elapsed_ms(), waited_ms, "{mutant}");
        }
    }

    #[test]
    fn raw_json_is_changed_by_its_mutants() {
        for (mutant, raw_json) in [
            (
                "none",
                r#"{"docket_id":"d-1","created":true,"priority":1.10}"#,
            ),
            (
                "drops-unknown-fields",
                r#"{"docket_id":"d-1","created":true}"#,
            ),
            (
                "rounds-numbers",
                r#"{"docket_id":"d-1","created":true,"priority":1.1}"#,
            ),
        ] {
            let created = create(&Script::new([DOCKET]), mutant).unwrap();
            assert_eq!(created.raw_json, raw_json, "{mutant}");
        }
    }

    #[test]
    fn raw_json_is_changed_in_the_records_of_records_as_well() {
        let details = r#"[{"call_insights":{"next_action":{"value":"x","rank":0.10}}}]"#;
        let script = Script::new([Answer::Whole(200, None, details)]);
        let details = run(script.client("rounds-numbers").get_call_details("t-1")).unwrap();
        let insights = details[0].call_insights.as_ref().unwrap();
        let action = insights.next_action.as_ref().unwrap();
        for raw_json in [&details[0].raw_json, &insights.raw_json, &action.raw_json] {
            assert!(raw_json.contains("0.1}"), "{raw_json}");
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
            let results = run(client.create_dockets_v2(&batch, 1_000)).unwrap();
            let succeeded: Vec<_> = results.iter().map(Result::is_ok).collect();
            assert_eq!(succeeded, order, "{mutant}");
        }
    }

    #[test]
    fn attempts_before_the_last_are_hidden_by_its_mutant() {
        let batch = |mutant: &str| {
            let script = Script::new([Answer::Whole(503, None, "")]);
            let client = script.client(mutant);
            let results = run(client.create_dockets_v2(&[request()], 60_000)).unwrap();
            match results.into_iter().next() {
                Some(Err(RequestError::Unavailable(failure))) => failure.attempts.len(),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!((batch("none"), batch("hides-attempts")), (4, 1));
    }

    #[test]
    fn a_body_that_breaks_off_is_whole_to_its_mutant() {
        let broken = || Script::new([Answer::BrokenBody(200, r#"{"docket_id":"d-1"}"#)]);
        create(&broken(), "none").unwrap_err();
        assert!(create(&broken(), "swallows-broken-bodies").is_ok());
    }

    #[test]
    fn attempts_are_counted_wrongly_by_their_mutants() {
        for (mutant, attempts) in [("none", 4), ("tries-too-often", 5), ("never-retries", 1)] {
            let script = Script::new([Answer::Whole(503, None, "")]);
            create(&script, mutant).unwrap_err();
            assert_eq!(script.sent().len(), attempts, "{mutant}");
        }
    }
}

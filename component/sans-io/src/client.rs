//! The exported functions, with JSON as input and output.

use crate::json::{read, write};
use crate::machine::Machine;
use crate::types::{Event, Stepped};
use serde::{Deserialize, Serialize};
use voice_calling_core::settings::DEFAULT_MAX_DELIVERY_BYTES;
use voice_calling_core::types::{DocketCompleted, Failure};
use voice_calling_core::webhooks::parse_docket_completed;

/// The machine, once it is configured.
pub(crate) struct Client {
    machine: Option<Machine>,
}

#[derive(Deserialize)]
struct Configure {
    environment: Vec<(String, String)>,
    /// The seed of the pauses before retries. It must differ between instances, or clients that
    /// failed together retry together.
    seed: u64,
    /// Whether the host has a ledger, which receives dockets that were fetched.
    ledger: Option<bool>,
}

#[derive(Deserialize)]
struct Step {
    events: Vec<Event>,
    now_ms: u64,
    unix_s: u64,
}

/// The answer of a function.
#[derive(Serialize)]
enum Answer<R> {
    Ok(R),
    Err(Failure),
    /// The input is not understood, or comes at the wrong time. Nothing was done.
    #[serde(rename = "misuse")]
    Misuse(String),
}

impl<R> From<Result<R, Failure>> for Answer<R> {
    fn from(result: Result<R, Failure>) -> Self {
        match result {
            Ok(returned) => Answer::Ok(returned),
            Err(error) => Answer::Err(error),
        }
    }
}

impl Client {
    pub(crate) const fn new() -> Self {
        Self { machine: None }
    }

    pub(crate) fn configure(&mut self, input: &[u8], output: &mut Vec<u8>) {
        answer(output, input, |input: Configure| {
            // A second one would lose the operations in progress.
            if self.machine.is_some() {
                return Answer::Misuse("the client is already configured".to_owned());
            }
            let has_ledger = input.ledger.unwrap_or(false);
            let configured = Machine::configure(input.environment, input.seed, has_ledger);
            Answer::from(configured.map(|machine| self.machine = Some(machine)))
        });
    }

    pub(crate) fn step(&mut self, input: &[u8], output: &mut Vec<u8>) {
        answer::<_, Stepped>(output, input, |input: Step| match &mut self.machine {
            Some(machine) => Answer::Ok(machine.step(input.events, input.now_ms, input.unix_s)),
            None => Answer::Misuse("the client is not configured".to_owned()),
        });
    }

    pub(crate) fn parse_docket_completed(&mut self, input: &[u8], output: &mut Vec<u8>) {
        answer::<_, Option<DocketCompleted>>(output, input, |body: String| {
            let machine = self.machine.as_ref();
            let max_bytes = machine.map_or(DEFAULT_MAX_DELIVERY_BYTES, |it| it.max_delivery_bytes);
            parse_docket_completed(&body, max_bytes).into()
        });
    }
}

fn answer<'a, I: Deserialize<'a>, R: Serialize>(
    output: &mut Vec<u8>,
    input: &'a [u8],
    function: impl FnOnce(I) -> Answer<R>,
) {
    let answer = match read(input) {
        Ok(input) => function(input),
        Err(misuse) => Answer::Misuse(misuse),
    };
    write(&answer, output);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(
        client: &mut Client,
        function: fn(&mut Client, &[u8], &mut Vec<u8>),
        input: &str,
    ) -> String {
        let mut output = Vec::new();
        function(client, input.as_bytes(), &mut output);
        String::from_utf8(output).unwrap()
    }

    const CONFIGURE: &str = r#"{"environment":[["VOICE_CALLING_BASE_URL","https://api.example"],["VOICE_CALLING_API_TOKEN","token-of-a-test"]],"seed":1}"#;

    #[test]
    fn an_operation_from_its_beginning_to_its_end() {
        let mut client = Client::new();
        let timeouts = r#"{"environment":[["VOICE_CALLING_CONNECT_TIMEOUT_MS","700"],["VOICE_CALLING_ATTEMPT_TIMEOUT_MS","8000"],"#;
        let configure = CONFIGURE.replacen(r#"{"environment":["#, timeouts, 1);
        assert_eq!(
            call(&mut client, Client::configure, &configure),
            r#"{"Ok":null}"#
        );
        let begin = r#"{"events":[{"Begin":{"operation":1,"call":{"CreateDocketV2":{"agent_id":7,"to_phone_number":"910000000001","call_context":"{}"}}}}],"now_ms":0,"unix_s":0}"#;
        assert_eq!(
            call(&mut client, Client::step, begin),
            r#"{"Ok":{"effects":[{"Send":{"exchange":1,"operation":1,"item":null,"creates":true,"request":{"method":"POST","url":"https://api.example/api/v2/dockets","headers":[["auth_token","Bearer token-of-a-test"],["accept-encoding","identity"],["content-type","application/json"]],"body":"{\"agent_id\":7,\"to_phone_number\":\"910000000001\",\"extra_config\":{\"call_context\":{}}}","connect_ms":700,"attempt_ms":8000,"max_response_bytes":1049068}}}],"wake_at_ms":8000}}"#
        );
        let answered = r#"{"events":[{"Answered":{"exchange":1,"status":200,"headers":[],"body":{"Text":"{\"docket_id\":\"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11\",\"status\":\"OPEN\"}"}}}],"now_ms":7,"unix_s":0}"#;
        assert_eq!(
            call(&mut client, Client::step, answered),
            r#"{"Ok":{"effects":[{"Done":{"operation":1,"outcome":{"Ok":{"CreateDocketV2":{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11","status":"Open","created":null,"raw_json":"{\"docket_id\":\"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11\",\"status\":\"OPEN\"}","request_id":null,"attempts":[{"status":200,"transport_error":null,"started_ms":0,"duration_ms":7}],"may_be_duplicate":false}}}}}],"wake_at_ms":null}}"#
        );
    }

    #[test]
    fn what_is_not_understood_or_comes_at_the_wrong_time_does_nothing() {
        let mut client = Client::new();
        let step = r#"{"events":[],"now_ms":0,"unix_s":0}"#;
        let not_configured = r#"{"misuse":"the client is not configured"}"#;
        assert_eq!(call(&mut client, Client::step, step), not_configured);
        let wrong = r#"{"environment":[],"seed":1}"#;
        let error = call(&mut client, Client::configure, wrong);
        assert!(
            error.starts_with(
                r#"{"Err":{"kind":"configuration","next_step":"fix-setting","message":"#
            ),
            "{error}"
        );
        assert_eq!(call(&mut client, Client::step, step), not_configured);
        call(&mut client, Client::configure, CONFIGURE);
        let twice = r#"{"misuse":"the client is already configured"}"#;
        assert_eq!(call(&mut client, Client::configure, CONFIGURE), twice);
        let half = r#"{"events":[{"Begin":{"operation":1,"call":{"ListAgents":"org"}}},7],"now_ms":0,"unix_s":0}"#;
        assert!(call(&mut client, Client::step, half).starts_with(r#"{"misuse":"events.1: "#));
        let nothing = r#"{"Ok":{"effects":[],"wake_at_ms":null}}"#;
        assert_eq!(call(&mut client, Client::step, step), nothing);
    }

    #[test]
    fn deliveries_are_parsed_without_settings() {
        let mut client = Client::new();
        for (input, output) in [
            (r#""{\"event\":\"other\"}""#, r#"{"Ok":null}"#),
            (r#""no JSON""#, r#"{"Err":{"kind":"invalid-input","#),
            (
                r#"{"no":"text"}"#,
                r#"{"misuse":"invalid type: map, expected a string"#,
            ),
        ] {
            let found = call(&mut client, Client::parse_docket_completed, input);
            assert!(found.starts_with(output), "{found}");
        }
    }
}

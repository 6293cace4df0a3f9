//! The functions of the machine, on JSON.

use crate::json::{read, write};
use serde::{Deserialize, Serialize};
use voice_calling_steps::client_types::{DocketCompleted, RequestError};
use voice_calling_steps::types::{Event, Stepped};
use voice_calling_steps::{Steps, Tokens};

/// A client, once it is configured.
#[derive(Default)]
pub(crate) struct Text {
    steps: Option<Steps>,
    tokens: Tokens,
}

#[derive(Deserialize)]
struct Configure {
    environment: Vec<(String, String)>,
    seed: u64,
}

#[derive(Deserialize)]
struct Step {
    events: Vec<Event>,
    now_ms: u64,
    unix_s: u64,
}

/// What a function answers.
#[derive(Serialize)]
enum Answer<R> {
    Ok(R),
    Err(RequestError),
    /// The input is not understood, or comes at the wrong time. Nothing was done.
    #[serde(rename = "misuse")]
    Misuse(String),
}

impl<R> From<Result<R, RequestError>> for Answer<R> {
    fn from(result: Result<R, RequestError>) -> Self {
        match result {
            Ok(returned) => Answer::Ok(returned),
            Err(error) => Answer::Err(error),
        }
    }
}

impl Text {
    pub(crate) fn configure(&mut self, input: &[u8], output: &mut Vec<u8>) {
        answer(output, input, |input: Configure| {
            // Another would forget the operations that are under way.
            if self.steps.is_some() {
                return Answer::Misuse("the client is configured already".to_owned());
            }
            self.tokens = Tokens::of_environment(&input.environment);
            let configured = Steps::configure(input.environment, input.seed);
            Answer::from(configured.map(|steps| self.steps = Some(steps)))
        });
    }

    pub(crate) fn step(&mut self, input: &[u8], output: &mut Vec<u8>) {
        answer::<_, Stepped>(output, input, |input: Step| match &mut self.steps {
            Some(steps) => Answer::Ok(steps.step(input.events, input.now_ms, input.unix_s)),
            None => Answer::Misuse("the client is not configured".to_owned()),
        });
    }

    pub(crate) fn parse_docket_completed(&mut self, input: &[u8], output: &mut Vec<u8>) {
        answer::<_, Option<DocketCompleted>>(output, input, |body: String| {
            voice_calling_steps::parse_docket_completed(&body).into()
        });
    }

    pub(crate) fn mask(&mut self, input: &[u8], output: &mut Vec<u8>) {
        answer(output, input, |text: String| {
            Answer::Ok(self.tokens.mask(&text))
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

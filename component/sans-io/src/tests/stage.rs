//! A machine with its own clock.

use crate::machine::Machine;
pub(crate) use crate::types::*;
use std::ops::Range;
pub(crate) use voice_calling_core::Delivery;
pub(crate) use voice_calling_core::types::*;

pub(crate) const DOCKET_ID: &str = "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11";
pub(crate) const CREATED: &str =
    r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11","status":"OPEN"}"#;

/// The date at which everything begins: Sun, 06 Nov 1994 08:49:37 GMT.
pub(crate) const START_UNIX_S: u64 = 784_111_777;

/// A machine whose host does nothing by itself: the test takes each step.
pub(crate) struct Stage {
    machine: Machine,
    pub(crate) now_ms: u64,
}

impl Stage {
    /// Creates a stage with these settings and the required ones.
    pub(crate) fn with(variables: &[(&str, &str)]) -> Self {
        Self::new(variables, 1, false)
    }

    pub(crate) fn with_ledger(has_ledger: bool) -> Self {
        Self::new(&[], 1, has_ledger)
    }

    pub(crate) fn new(variables: &[(&str, &str)], seed: u64, has_ledger: bool) -> Self {
        let needed = [
            ("BASE_URL", "https://api.example/voice"),
            ("API_TOKEN", "staged-token"),
        ];
        let all = needed.iter().chain(variables);
        let environment =
            all.map(|(name, value)| (format!("VOICE_CALLING_{name}"), (*value).to_owned()));
        let machine = Machine::configure(environment.collect(), seed, has_ledger);
        Self {
            machine: machine.expect("settings of a test"),
            now_ms: 0,
        }
    }

    /// Applies events now.
    pub(crate) fn step(&mut self, events: impl IntoIterator<Item = Event>) -> Stepped {
        let unix_s = START_UNIX_S + self.now_ms / 1000;
        let stepped = self.machine.step(events, self.now_ms, unix_s);
        // Otherwise the host would not wait.
        assert!(stepped.wake_at_ms.is_none_or(|wake| wake > self.now_ms));
        stepped
    }

    /// Applies events at a later time.
    pub(crate) fn step_at(
        &mut self,
        now_ms: u64,
        events: impl IntoIterator<Item = Event>,
    ) -> Stepped {
        self.now_ms = now_ms;
        self.step(events)
    }

    /// Begins an operation, which sends its first request.
    pub(crate) fn begin(&mut self, operation: OperationId, call: Call) -> ExchangeId {
        self.step([begin(operation, call)]).only_send().exchange
    }
}

/// The effects of a step, by kind.
impl Stepped {
    fn each<'a, R>(&'a self, is: impl FnMut(&'a Effect) -> Option<R>) -> Vec<R> {
        self.effects.iter().filter_map(is).collect()
    }

    pub(crate) fn sends(&self) -> Vec<&Send> {
        self.each(|effect| match effect {
            Effect::Send(send) => Some(send),
            _ => None,
        })
    }

    /// Returns the exchanges that are cancelled.
    pub(crate) fn cancelled_exchanges(&self) -> Vec<ExchangeId> {
        self.each(|effect| match effect {
            Effect::Abandon(exchange) => Some(*exchange),
            _ => None,
        })
    }

    pub(crate) fn done(&self) -> Vec<&Done> {
        self.each(|effect| match effect {
            Effect::Done(done) => Some(done),
            _ => None,
        })
    }

    pub(crate) fn items(&self) -> Vec<&Item> {
        self.each(|effect| match effect {
            Effect::Item(item) => Some(item),
            _ => None,
        })
    }

    /// Returns the only effect, which is a request.
    pub(crate) fn only_send(mut self) -> Send {
        match (self.effects.pop(), self.effects.len()) {
            (Some(Effect::Send(send)), 0) => send,
            (last, others) => panic!("{others} and {last:?}"),
        }
    }

    /// Returns the result of an operation whose end is the only effect.
    pub(crate) fn only_done(mut self) -> Result<Output, Failure> {
        match (self.effects.pop(), self.effects.len()) {
            (Some(Effect::Done(done)), 0) => done.outcome,
            (last, others) => panic!("{others} and {last:?}"),
        }
    }

    /// Returns the result of an operation whose end is the last effect, after an exchange is
    /// cancelled.
    pub(crate) fn done_after_cancelling(mut self, exchange: ExchangeId) -> Result<Output, Failure> {
        assert_eq!(self.cancelled_exchanges(), [exchange]);
        self.effects
            .retain(|effect| !matches!(effect, Effect::Abandon(_)));
        self.only_done()
    }

    pub(crate) fn assert_nothing(&self) {
        assert!(self.effects.is_empty(), "{:?}", self.effects);
    }
}

pub(crate) fn begin(operation: OperationId, call: Call) -> Event {
    begin_with(operation, call, None)
}

pub(crate) fn begin_with(
    operation: OperationId,
    call: Call,
    options: Option<CallOptions>,
) -> Event {
    Event::Begin {
        operation,
        call,
        options,
        once: None,
    }
}

pub(crate) fn answered(exchange: ExchangeId, status: u16, body: &str) -> Event {
    answered_with(exchange, status, &[], body)
}

pub(crate) fn answered_with(
    exchange: ExchangeId,
    status: u16,
    headers: &[(&str, &str)],
    body: &str,
) -> Event {
    Event::Answered {
        exchange,
        status,
        headers: owned(headers),
        body: Body::Text(body.to_owned()),
    }
}

pub(crate) fn head(exchange: ExchangeId, status: u16) -> Event {
    Event::Head {
        exchange,
        status,
        headers: Vec::new(),
    }
}

pub(crate) fn chunk(exchange: ExchangeId, bytes: &str) -> Event {
    Event::Chunk {
        exchange,
        bytes: Body::Bytes(bytes.into()),
    }
}

pub(crate) fn ended(exchange: ExchangeId, error: Option<&str>) -> Event {
    Event::Ended {
        exchange,
        error: error.map(str::to_owned),
    }
}

pub(crate) fn failed(exchange: ExchangeId, delivery: Delivery) -> Event {
    Event::Failed {
        exchange,
        delivery,
        message: "staged".to_owned(),
    }
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

pub(crate) fn docket_request(number: u64) -> DocketRequestV2 {
    DocketRequestV2 {
        agent_id: 7,
        to_phone_number: format!("91{number:010}"),
        call_context: "{}".to_owned(),
        external_id: None,
        extra: None,
    }
}

/// Returns a call that creates.
pub(crate) fn create() -> Call {
    Call::CreateDocketV2(docket_request(1))
}

/// Returns a call that reads.
pub(crate) fn read() -> Call {
    Call::GetDocket(DOCKET_ID.to_owned())
}

pub(crate) fn wait(timeout_ms: u32) -> Call {
    let wait = WaitOptions {
        timeout_ms,
        not_found_is_pending: None,
    };
    Call::WaitForDocket((DOCKET_ID.to_owned(), wait))
}

/// Hands over requests of the batch with number 1.
pub(crate) fn requests(numbers: Range<u64>, is_last: bool) -> Event {
    Event::Requests {
        operation: 1,
        requests: numbers.map(docket_request).collect(),
        keys: None,
        is_last,
    }
}

/// Returns the kind of a failure, or `ok`.
pub(crate) fn case(outcome: &Result<Output, Failure>) -> &'static str {
    outcome
        .as_ref()
        .map_or_else(|failure| failure.kind.name(), |_| "ok")
}

pub(crate) fn failure(outcome: &Result<Output, Failure>) -> &Failure {
    outcome.as_ref().expect_err("a failure")
}

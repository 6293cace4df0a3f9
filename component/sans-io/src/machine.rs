//! The machine: events in, effects out.

use crate::call::{self, SharedClient};
use crate::executor::{Executor, Running};
use crate::host::Host;
use crate::transport::HostTransport;
use crate::types::{Call, Done, Effect, Event, Once, OperationId, Output, Random, Stepped};
use std::rc::Rc;
use voice_calling_core::ledger::Sighting;
use voice_calling_core::settings::max_delivery_bytes;
use voice_calling_core::types::{CallOptions, Docket, DocketOutcome, RequestError, Verification};
use voice_calling_core::{Client, Settings};

/// A client and its operations in progress. The same calls with the same arguments give the same
/// results.
pub(crate) struct Machine {
    host: Rc<Host>,
    client: SharedClient,
    executor: Executor,
    has_ledger: bool,
    /// The maximum size of a delivery, in bytes.
    pub(crate) max_delivery_bytes: usize,
}

impl Machine {
    /// Creates a machine with these settings.
    pub(crate) fn configure(
        environment: Vec<(String, String)>,
        random: Random,
        has_ledger: bool,
    ) -> Result<Self, RequestError> {
        let host = Rc::new(Host::new(random));
        let settings = Settings::from_environment(environment.clone())?;
        Ok(Self {
            client: Rc::new(Client::new(settings, HostTransport(host.clone()))),
            executor: Executor::default(),
            has_ledger,
            max_delivery_bytes: max_delivery_bytes(environment)?,
            host,
        })
    }

    /// Applies events, and returns the effects.
    pub(crate) fn step(
        &mut self,
        events: impl IntoIterator<Item = Event>,
        now_ms: u64,
        unix_s: u64,
    ) -> Stepped {
        self.host.set_time(now_ms, unix_s);
        // Events count before time does.
        for event in events {
            self.apply(event);
        }
        self.run();
        while self.host.fire_timer() {
            self.run();
        }
        Stepped {
            effects: self.host.take_effects(),
            wake_at_ms: self.host.next_timer_ms(),
        }
    }

    fn apply(&self, event: Event) {
        let host = &self.host;
        match event {
            Event::Begin {
                operation,
                call,
                options,
                once,
            } => self.begin(operation, call, options, once),
            Event::Answered {
                exchange,
                status,
                headers,
                body,
            } => host.on_event(exchange, |it| it.on_response(status, headers, body)),
            Event::Head {
                exchange,
                status,
                headers,
            } => host.on_event(exchange, |it| it.on_head(status, headers)),
            Event::Chunk { exchange, bytes } => host.on_event(exchange, |it| it.on_chunk(bytes)),
            Event::Ended { exchange, error } => host.on_event(exchange, |it| it.on_end(error)),
            Event::Failed {
                exchange,
                delivery,
                message,
            } => host.on_event(exchange, |it| it.on_failure(delivery, message)),
            Event::Requests {
                operation,
                requests,
                keys,
                is_last,
            } => host.wake_with(operation, |it| it.queue.add(requests, keys, is_last)),
            Event::Claimed { claim, found } => host.on_claimed(claim, found),
            Event::Abandon(operation) => host.wake_with(operation, |it| it.is_cancelled = true),
        }
    }

    fn begin(
        &self,
        operation: OperationId,
        call: Call,
        options: Option<CallOptions>,
        once: Option<Once>,
    ) {
        if !self.host.register(operation) {
            let line = format!(
                r#"{{"operation":{operation},"ignored":"begin: an operation with this number is in progress"}}"#
            );
            self.host.effect(Effect::Log(line));
            return;
        }
        let client = self.client.clone();
        self.executor.begin(Running {
            future: call::operation(client, &self.host, operation, call, options, once),
            host: self.host.clone(),
            operation,
        });
    }

    fn run(&mut self) {
        while let Some((operation, ended)) = self.executor.next_ended() {
            self.host.unregister(operation);
            let from_ledger = ended.as_ref().is_ok_and(|ended| ended.from_ledger);
            let outcome = ended.map(|ended| ended.answer);
            if let (true, Ok(output)) = (self.has_ledger, &outcome) {
                let sighting = docket_of(output).and_then(Sighting::of);
                if let Some(sighting) = sighting {
                    self.host.effect(Effect::Observe(sighting));
                }
            }
            self.host.effect(Effect::Done(Done {
                operation,
                outcome,
                from_ledger,
            }));
        }
    }
}

/// Returns the docket in an output.
fn docket_of(output: &Output) -> Option<&Docket> {
    match output {
        Output::GetDocket(docket) => Some(docket),
        Output::WaitForDocket(wait) => match &wait.outcome {
            DocketOutcome::Completed(docket) => Some(docket),
            DocketOutcome::Pending(docket) => docket.as_ref(),
        },
        Output::VerifyDocketCompleted(verification) => match verification {
            Verification::NotACompletion => None,
            Verification::Confirmed(it) | Verification::Contradicted(it) => Some(&it.docket),
        },
        _ => None,
    }
}

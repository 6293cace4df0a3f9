//! The machine: events in, effects out.

use crate::call::{self, OperationResult, SharedClient};
use crate::host::Host;
use crate::transport::HostTransport;
use crate::types::{Call, Done, Effect, Event, OperationId, Output, Stepped};
use futures_executor::LocalPool;
use futures_util::task::LocalSpawnExt;
use std::future::poll_fn;
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
    /// All operations in progress. Only woken ones are polled, in the order in which they were
    /// woken.
    operations: LocalPool,
    has_ledger: bool,
    /// The maximum size of a delivery, in bytes.
    pub(crate) max_delivery_bytes: usize,
}

impl Machine {
    /// Creates a machine with these settings.
    pub(crate) fn configure(
        environment: Vec<(String, String)>,
        seed: u64,
        has_ledger: bool,
    ) -> Result<Self, RequestError> {
        let host = Rc::new(Host::new(seed));
        let settings = Settings::from_environment(environment.clone())?;
        Ok(Self {
            client: Rc::new(Client::new(settings, HostTransport(host.clone()))),
            operations: LocalPool::new(),
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
        self.operations.run_until_stalled();
        while self.host.fire_timer() {
            self.operations.run_until_stalled();
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
        once: Option<String>,
    ) {
        if !self.host.register(operation) {
            let line = format!(
                r#"{{"operation":{operation},"ignored":"begin: an operation with this number is in progress"}}"#
            );
            self.host.effect(Effect::Log(line));
            return;
        }
        let client = self.client.clone();
        let mut future = call::operation(client, &self.host, operation, call, options, once);
        let (host, has_ledger) = (self.host.clone(), self.has_ledger);
        let running = async move {
            // While it is polled the host knows its number.
            let polled = poll_fn(|context| {
                host.polled.set(operation);
                future.as_mut().poll(context)
            });
            end(&host, operation, polled.await, has_ledger);
        };
        let spawned = self.operations.spawner().spawn_local(running);
        spawned.expect("the pool lives as long as the machine");
    }
}

/// Reports how an operation has ended.
fn end(host: &Host, operation: OperationId, ended: OperationResult, has_ledger: bool) {
    host.unregister(operation);
    let from_ledger = ended.as_ref().is_ok_and(|ended| ended.from_ledger);
    let outcome = ended.map(|ended| ended.answer);
    if let (true, Ok(output)) = (has_ledger, &outcome) {
        let sighting = docket_of(output).and_then(Sighting::of);
        if let Some(sighting) = sighting {
            host.effect(Effect::Observe(sighting));
        }
    }
    host.effect(Effect::Done(Done {
        operation,
        outcome,
        from_ledger,
    }));
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

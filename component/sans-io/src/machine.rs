//! The machine: events in, effects out.

use crate::call::{self, OperationResult, SharedClient};
use crate::host::Host;
use crate::ledger::HostLedger;
use crate::transport::HostTransport;
use crate::types::{Call, Done, Effect, Event, OperationId, Stepped};
use futures_executor::LocalPool;
use futures_util::task::LocalSpawnExt;
use std::future::poll_fn;
use std::rc::Rc;
use voice_calling_core::settings::max_delivery_bytes;
use voice_calling_core::types::{CallOptions, Failure};
use voice_calling_core::{Client, Settings};

/// A client and its operations in progress. The same calls with the same arguments give the same
/// results.
pub(crate) struct Machine {
    host: Rc<Host>,
    client: SharedClient,
    /// All operations in progress. Only woken ones are polled, in the order in which they were
    /// woken.
    operations: LocalPool,
    /// The maximum size of a delivery, in bytes.
    pub(crate) max_delivery_bytes: usize,
}

impl Machine {
    /// Creates a machine with these settings.
    pub(crate) fn configure(
        environment: Vec<(String, String)>,
        seed: u64,
        has_ledger: bool,
    ) -> Result<Self, Failure> {
        let host = Rc::new(Host::new(seed));
        let settings = Settings::from_environment(environment.clone())?;
        let ledger = HostLedger {
            host: host.clone(),
            observes: has_ledger,
        };
        Ok(Self {
            client: Rc::new(Client::new(settings, HostTransport(host.clone()), ledger)),
            operations: LocalPool::new(),
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
        let host = self.host.clone();
        let running = async move {
            // While it is polled the host knows its number.
            let polled = poll_fn(|context| {
                host.polled.set(operation);
                future.as_mut().poll(context)
            });
            end(&host, operation, polled.await);
        };
        let spawned = self.operations.spawner().spawn_local(running);
        spawned.expect("the pool lives as long as the machine");
    }
}

/// Reports how an operation has ended.
fn end(host: &Host, operation: OperationId, ended: OperationResult) {
    host.unregister(operation);
    let from_ledger = ended.as_ref().is_ok_and(|ended| ended.from_ledger);
    let outcome = ended.map(|ended| ended.answer);
    host.effect(Effect::Done(Done {
        operation,
        outcome,
        from_ledger,
    }));
}

//! The machine: events in, effects out.

use crate::call::{self, SharedClient};
use crate::executor::{Executor, Running};
use crate::host::Host;
use crate::transport::HostTransport;
use crate::types::{Call, Done, Effect, Event, OperationId, Random, Stepped};
use std::rc::Rc;
use voice_calling_core::Options;
use voice_calling_core::settings::max_delivery_bytes;
use voice_calling_core::types::RequestError;
use voice_calling_core::{Client, Settings};

/// A client, and the operations that it has in progress. The same calls with the same arguments
/// give the same results.
pub(crate) struct Machine {
    host: Rc<Host>,
    client: SharedClient,
    executor: Executor,
    /// How large a delivery may be.
    pub(crate) max_delivery_bytes: usize,
}

impl Machine {
    /// A client with these settings.
    pub(crate) fn configure(
        environment: Vec<(String, String)>,
        random: Random,
    ) -> Result<Self, RequestError> {
        let host = Rc::new(Host::new(random));
        let settings = Settings::from_environment(environment.clone())?;
        Ok(Self {
            client: Rc::new(Client::new(settings, HostTransport(host.clone()))),
            executor: Executor::default(),
            max_delivery_bytes: max_delivery_bytes(environment)?,
            host,
        })
    }

    /// Takes in what happened, and returns what to do next.
    pub(crate) fn step(
        &mut self,
        events: impl IntoIterator<Item = Event>,
        now_ms: u64,
        unix_s: u64,
    ) -> Stepped {
        self.host.set_time(now_ms, unix_s);
        // All that came counts before time does.
        for event in events {
            self.take_in(event);
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

    fn take_in(&self, event: Event) {
        let host = &self.host;
        match event {
            Event::Begin {
                operation,
                call,
                options: call_options,
                once,
            } => {
                let once = once.unwrap_or(false);
                let options = Options {
                    call: call_options,
                    once,
                };
                self.begin(operation, call, options);
            }
            Event::Answered {
                exchange,
                status,
                headers,
                body,
            } => host.hear(exchange, |it| it.answer(status, headers, body)),
            Event::Head {
                exchange,
                status,
                headers,
            } => host.hear(exchange, |it| it.begin(status, headers)),
            Event::Chunk { exchange, bytes } => host.hear(exchange, |it| it.piece(bytes)),
            Event::Ended { exchange, error } => host.hear(exchange, |it| it.end(error)),
            Event::Failed {
                exchange,
                delivery,
                message,
            } => host.hear(exchange, |it| it.fail(delivery, message)),
            Event::Abandon(operation) => host.abandon(operation),
        }
    }

    fn begin(&self, operation: OperationId, call: Call, options: Options) {
        if !self.host.begins(operation) {
            let line = format!(
                r#"{{"operation":{operation},"ignored":"begin: an operation with this number is in progress"}}"#
            );
            self.host.effect(Effect::Log(line));
            return;
        }
        let client = self.client.clone();
        self.executor.begin(Running {
            future: call::operation(client, &self.host, operation, call, options),
            host: self.host.clone(),
            operation,
        });
    }

    fn run(&mut self) {
        while let Some((operation, outcome)) = self.executor.next_ended() {
            self.host.has_ended(operation);
            self.host.effect(Effect::Done(Done { operation, outcome }));
        }
    }
}

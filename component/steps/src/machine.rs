//! The machine: events in, effects out.

use crate::call::{self, SharedClient};
use crate::executor::{Executor, Running};
use crate::host::Host;
use crate::transport::HostTransport;
use crate::types::{Answered, Begin, Done, Effect, Event, Random, Stepped};
use std::rc::Rc;
use voice_calling_core::settings::max_delivery_bytes;
use voice_calling_core::types::RequestError;
use voice_calling_core::{Client, Settings};

/// A client, and the operations that it has under way.
pub struct Steps {
    host: Rc<Host>,
    client: SharedClient,
    executor: Executor,
    max_delivery_bytes: usize,
}

impl Steps {
    /// A client with these settings; see `steps.configure` of the WIT package.
    pub fn configure(
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

    /// How large a delivery may be.
    pub fn max_delivery_bytes(&self) -> usize {
        self.max_delivery_bytes
    }

    /// Takes in what happened, and says what to do next; see `steps.step` of the WIT package.
    pub fn step(
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
            Event::Begin(begin) => self.begin(begin),
            Event::Answered(Answered {
                exchange,
                status,
                headers,
                body,
            }) => host.hear(exchange, |it| it.answer(status, headers, body)),
            Event::Head(head) => host.hear(head.exchange, |it| it.begin(head.status, head.headers)),
            Event::Chunk(chunk) => host.hear(chunk.exchange, |it| it.piece(chunk.bytes)),
            Event::Ended(ended) => host.hear(ended.exchange, |it| it.end(ended.error)),
            Event::Failed(failed) => host.hear(failed.exchange, |it| {
                it.fail(failed.delivery, failed.message);
            }),
            Event::Abandon(operation) => host.abandon(operation),
        }
    }

    fn begin(&self, begin: Begin) {
        let Begin {
            operation,
            call,
            options,
        } = begin;
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

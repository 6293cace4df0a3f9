//! The core's transport: sending is an effect, and responses are events.

use crate::exchange::{Exchange, unknown};
use crate::host::{Host, Timer};
use crate::types::{self, Effect, ExchangeId, Headers, Send};
use std::future::poll_fn;
use std::rc::Rc;
use voice_calling_core::{
    CANCELLED, Delivery, Limits, Method, Request, Response, Scheme, SendError, Transport,
};

/// The transport of the host. Every request is made for the operation that is being polled.
pub(crate) struct HostTransport(pub(crate) Rc<Host>);

impl Transport for HostTransport {
    type Response = HostResponse;

    async fn send(&self, request: &Request, limits: Limits) -> Result<HostResponse, SendError> {
        let host = &self.0;
        if host.is_cancelled() {
            return Err(SendError {
                delivery: Delivery::NotSent,
                message: CANCELLED.to_owned(),
            });
        }
        let in_flight = InFlight {
            exchange: host.new_exchange(),
            host: host.clone(),
        };
        host.effect(Effect::Send(Send {
            exchange: in_flight.exchange,
            operation: host.polled.get(),
            item: request.item,
            creates: request.method == Method::Post,
            request: request_for_host(request, limits),
        }));
        let head = in_flight.next(Exchange::take_head).await;
        let (status, headers) = head.unwrap_or_else(|| Err(unknown(CANCELLED.to_owned())))?;
        Ok(HostResponse {
            in_flight,
            status,
            headers,
        })
    }

    async fn sleep(&self, duration_ms: u64) {
        let host = &*self.0;
        let timer = host.new_timer(duration_ms);
        let sleep = Sleep { host, timer };
        poll_fn(|context| sleep.host.poll_timer(sleep.timer, context)).await;
    }

    fn now_ms(&self) -> u64 {
        self.0.now_ms.get()
    }

    fn unix_time_s(&self) -> u64 {
        self.0.unix_s.get()
    }

    fn random(&self) -> u64 {
        self.0.random()
    }

    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    async fn log(&self, line: &str) {
        self.0.effect(Effect::Log(line.to_owned()));
    }
}

fn request_for_host(request: &Request, limits: Limits) -> types::Request {
    let scheme = match request.scheme {
        Scheme::Http => "http",
        Scheme::Https => "https",
    };
    // The host determines the length itself.
    let headers = request.headers.iter();
    let headers = headers.filter(|(name, _)| *name != "content-length");
    types::Request {
        method: request.method.as_str().to_owned(),
        url: format!("{scheme}://{}{}", request.authority, request.path_and_query),
        headers: headers
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect(),
        body: String::from_utf8_lossy(&request.body).into_owned(),
        connect_ms: to_u32(limits.connect_ms),
        attempt_ms: to_u32(limits.attempt_ms),
        max_response_bytes: limits.response_bytes.try_into().unwrap_or(u32::MAX),
    }
}

fn to_u32(ms: u64) -> u32 {
    ms.try_into().unwrap_or(u32::MAX)
}

/// An exchange in flight. If it is dropped before its end, the host gets an effect `Abandon`.
struct InFlight {
    host: Rc<Host>,
    exchange: ExchangeId,
}

impl InFlight {
    /// Waits for a part of the response, and returns `None` if the operation is cancelled before.
    async fn next<R>(&self, take: fn(&mut Exchange) -> Option<R>) -> Option<R> {
        let Self { host, exchange } = self;
        poll_fn(|context| host.poll_exchange(*exchange, context, take)).await
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.host.remove_exchange(self.exchange);
    }
}

/// A response whose head has arrived.
pub(crate) struct HostResponse {
    in_flight: InFlight,
    status: u16,
    headers: Headers,
}

impl Response for HostResponse {
    fn status(&self) -> u16 {
        self.status
    }

    fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let headers = self.headers.iter();
        headers.map(|(name, value)| (name.as_str(), value.as_bytes()))
    }

    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, String> {
        let chunk = self.in_flight.next(Exchange::take_chunk).await;
        chunk.unwrap_or_else(|| Err(CANCELLED.to_owned()))
    }
}

/// A timer, which is removed with it.
struct Sleep<'a> {
    host: &'a Host,
    timer: Timer,
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        self.host.remove_timer(self.timer);
    }
}

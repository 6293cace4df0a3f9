//! The core's transport: sending is an effect, and responses are events.

use crate::exchange::unknown;
use crate::host::{Awaited, Host, Timer};
use crate::types::{self, Effect, ExchangeId, Headers, OperationId, Send};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use voice_calling_core::{
    CANCELLED, Delivery, Limits, Method, Request, Response, Scheme, SendError, Transport,
};

/// The transport of the host. Every request is made for the operation that is being polled.
pub(crate) struct HostTransport(pub(crate) Rc<Host>);

impl Transport for HostTransport {
    type Response = HostResponse;

    async fn send(&self, request: &Request, limits: Limits) -> Result<HostResponse, SendError> {
        let host = &self.0;
        let operation = host.polled.get();
        if host.is_cancelled(operation) {
            return Err(SendError {
                delivery: Delivery::NotSent,
                message: CANCELLED.to_owned(),
            });
        }
        let in_flight = InFlight {
            exchange: host.new_exchange(operation),
            host: host.clone(),
            operation,
        };
        host.effect(Effect::Send(Send {
            exchange: in_flight.exchange,
            operation,
            item: request.item,
            creates: request.method == Method::Post,
            request: request_for_host(request, limits),
        }));
        let (status, headers) = poll_fn(|context| in_flight.poll_head(context)).await?;
        Ok(HostResponse {
            in_flight,
            status,
            headers,
        })
    }

    async fn sleep(&self, duration_ms: u64) {
        let host = &*self.0;
        let sleep = Sleep {
            host,
            operation: host.polled.get(),
            timer: host.new_timer(duration_ms),
        };
        sleep.await;
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
        self.0.is_cancelled(self.0.polled.get())
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
    operation: OperationId,
    exchange: ExchangeId,
}

impl InFlight {
    fn poll_head(&self, context: &Context<'_>) -> Poll<Result<(u16, Headers), SendError>> {
        match self.host.take_from(self.exchange, |it| it.take_head()) {
            Some(head) => Poll::Ready(head),
            None => self
                .poll_cancelled(context)
                .map(|()| Err(unknown(CANCELLED.to_owned()))),
        }
    }

    fn poll_chunk(&self, context: &Context<'_>) -> Poll<Result<Option<Vec<u8>>, String>> {
        match self.host.take_from(self.exchange, |it| it.take_chunk()) {
            Some(chunk) => Poll::Ready(chunk),
            None => self
                .poll_cancelled(context)
                .map(|()| Err(CANCELLED.to_owned())),
        }
    }

    /// Is ready if the operation is cancelled, and otherwise wakes it by the next event.
    fn poll_cancelled(&self, context: &Context<'_>) -> Poll<()> {
        if self.host.is_cancelled(self.operation) {
            return Poll::Ready(());
        }
        let awaited = Awaited::Exchange(self.exchange);
        self.host
            .set_waker(self.operation, awaited, context.waker());
        Poll::Pending
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let awaited = Awaited::Exchange(self.exchange);
        self.host.remove_waker(self.operation, awaited);
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

    fn header(&self, name: &str) -> Option<Vec<u8>> {
        let mut headers = self.headers.iter();
        let (_, value) = headers.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(value.clone().into_bytes())
    }

    async fn chunk(&mut self) -> Result<Option<Vec<u8>>, String> {
        poll_fn(|context| self.in_flight.poll_chunk(context)).await
    }
}

/// Ends when its timer is due, or its operation is cancelled.
struct Sleep<'a> {
    host: &'a Host,
    operation: OperationId,
    timer: Timer,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Self {
            host,
            operation,
            timer,
        } = *self;
        if timer.due_ms <= host.now_ms.get() || host.is_cancelled(operation) {
            return Poll::Ready(());
        }
        host.set_timer(timer, operation);
        host.set_waker(operation, Awaited::Timer(timer), context.waker());
        Poll::Pending
    }
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        self.host.remove_timer(self.timer);
        let awaited = Awaited::Timer(self.timer);
        self.host.remove_waker(self.operation, awaited);
    }
}

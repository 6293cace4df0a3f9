//! A request that was sent, and its response as far as it was reported.

use crate::types::{Body, Headers};
use std::collections::VecDeque;
use std::task::Waker;
use voice_calling_core::{Delivery, SendError};

/// An exchange. The host reports it piece by piece or all at once, and its operation reads it in
/// the same order.
#[derive(Default)]
pub(crate) struct Exchange {
    /// The task that waits for the next event.
    pub(crate) task: Option<Waker>,
    has_head: bool,
    /// The part of the response that was reported and not yet taken.
    head: Option<(u16, Headers)>,
    chunks: VecDeque<Vec<u8>>,
    end: Option<Result<(), SendError>>,
}

impl Exchange {
    /// Returns `true` if the exchange has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    // Events in another order than `Event` documents are ignored: without the rest of the response
    // the attempt ends when its time is up, and a create's outcome is unknown.

    /// Reports the head of the response. The first one counts.
    pub(crate) fn on_head(&mut self, status: u16, headers: Headers) {
        self.on_contradiction();
        if !self.has_head && !self.has_ended() {
            self.has_head = true;
            self.head = Some((status, headers));
        }
    }

    /// Reports a whole response.
    pub(crate) fn on_response(&mut self, status: u16, headers: Headers, body: Body) {
        if !self.has_head {
            self.on_head(status, headers);
            self.on_chunk(body);
            self.on_end(None);
        }
    }

    /// Reports a piece of the body.
    pub(crate) fn on_chunk(&mut self, body: Body) {
        let piece = match body {
            Body::Text(text) => text.into_bytes(),
            Body::Bytes(bytes) => bytes,
        };
        self.on_contradiction();
        if self.has_head && !self.has_ended() && !piece.is_empty() {
            self.chunks.push_back(piece);
        }
    }

    /// Reports that the body is at its end, or ended early.
    pub(crate) fn on_end(&mut self, error: Option<String>) {
        self.on_contradiction();
        if self.has_head && !self.has_ended() {
            self.end = Some(error.map_or(Ok(()), |message| Err(unknown(message))));
        }
    }

    /// Reports that there is no response, or that the body ended early if there was a head.
    pub(crate) fn on_failure(&mut self, delivery: Delivery, message: String) {
        match &self.end {
            None => self.end = Some(Err(SendError { delivery, message })),
            Some(Err(error)) if error.delivery != delivery => self.on_contradiction(),
            Some(_) => {}
        }
    }

    /// An event after a failure makes it uncertain that the request was not sent.
    fn on_contradiction(&mut self) {
        if let Some(Err(error)) = &mut self.end {
            error.delivery = Delivery::Unknown;
        }
    }

    /// Takes the head, or the error that came instead.
    pub(crate) fn take_head(&mut self) -> Option<Result<(u16, Headers), SendError>> {
        match (self.head.take(), &self.end) {
            (Some(head), _) => Some(Ok(head)),
            (None, Some(Err(error))) => Some(Err(error.clone())),
            (None, _) => None,
        }
    }

    /// Takes the next piece of the body, its end or its error.
    pub(crate) fn take_chunk(&mut self) -> Option<Result<Option<Vec<u8>>, String>> {
        match (self.chunks.pop_front(), &self.end) {
            (Some(piece), _) => Some(Ok(Some(piece))),
            (None, Some(Ok(()))) => Some(Ok(None)),
            (None, Some(Err(error))) => Some(Err(error.message.clone())),
            (None, None) => None,
        }
    }
}

/// The error of a request whose outcome is unknown.
pub(crate) fn unknown(message: String) -> SendError {
    SendError {
        delivery: Delivery::Unknown,
        message,
    }
}

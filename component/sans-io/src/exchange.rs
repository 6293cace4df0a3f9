//! A request that was sent, and its answer as far as it was reported.

use crate::types::{Body, Delivery, Headers, OperationId};
use std::collections::VecDeque;
use voice_calling_core as core;
use voice_calling_core::SendError;

/// An exchange. The host reports it piece by piece or all at once, and its operation reads it in
/// the same order.
pub(crate) struct Exchange {
    pub(crate) operation: OperationId,
    has_head: bool,
    /// The part of the answer that was reported and not yet taken.
    head: Option<(u16, Headers)>,
    pieces: VecDeque<Vec<u8>>,
    end: Option<Result<(), SendError>>,
}

impl Exchange {
    pub(crate) fn of(operation: OperationId) -> Self {
        Self {
            operation,
            has_head: false,
            head: None,
            pieces: VecDeque::new(),
            end: None,
        }
    }

    /// Returns `true` if the exchange has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    // Events in another order than `Event` documents are ignored: without the rest of the answer
    // the attempt ends when its time is up, and a create's outcome is unknown.

    /// Reports the head of the answer. The first one counts.
    pub(crate) fn begin(&mut self, status: u16, headers: Headers) {
        self.note_contradiction();
        if !self.has_head && !self.is_over() {
            self.has_head = true;
            self.head = Some((status, headers));
        }
    }

    /// Reports a whole answer.
    pub(crate) fn answer(&mut self, status: u16, headers: Headers, body: Body) {
        if !self.has_head {
            self.begin(status, headers);
            self.piece(body);
            self.end(None);
        }
    }

    /// Reports a piece of the body.
    pub(crate) fn piece(&mut self, body: Body) {
        let piece = match body {
            Body::Text(text) => text.into_bytes(),
            Body::Bytes(bytes) => bytes,
        };
        self.note_contradiction();
        if self.has_head && !self.is_over() && !piece.is_empty() {
            self.pieces.push_back(piece);
        }
    }

    /// Reports that the body is at its end, or ended early.
    pub(crate) fn end(&mut self, error: Option<String>) {
        self.note_contradiction();
        if self.has_head && !self.is_over() {
            self.end = Some(error.map_or(Ok(()), |message| Err(unknown(message))));
        }
    }

    /// Reports that there is no answer, or that the body ended early if there was a head.
    pub(crate) fn fail(&mut self, delivery: Delivery, message: String) {
        let delivery = match delivery {
            Delivery::NotSent => core::Delivery::NotSent,
            Delivery::Denied => core::Delivery::Denied,
            Delivery::Refused => core::Delivery::Refused,
            Delivery::Unknown => core::Delivery::Unknown,
        };
        match &self.end {
            None => self.end = Some(Err(SendError { delivery, message })),
            Some(Err(error)) if error.delivery != delivery => self.note_contradiction(),
            Some(_) => {}
        }
    }

    /// An event after a failure makes it uncertain that the request was not sent.
    fn note_contradiction(&mut self) {
        if let Some(Err(error)) = &mut self.end {
            error.delivery = core::Delivery::Unknown;
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
    pub(crate) fn take_piece(&mut self) -> Option<Result<Option<Vec<u8>>, String>> {
        match (self.pieces.pop_front(), &self.end) {
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
        delivery: core::Delivery::Unknown,
        message,
    }
}

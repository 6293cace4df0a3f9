//! A request that was sent, and what came of it so far.

use crate::types::{Body, Delivery, Headers, OperationId};
use std::collections::VecDeque;
use voice_calling_core as core;
use voice_calling_core::SendError;

/// An exchange. The host reports it piece by piece or all at once, and its operation takes that in
/// the same order.
pub(crate) struct Exchange {
    pub(crate) operation: OperationId,
    has_head: bool,
    /// What came and is not taken.
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

    /// Whether nothing more can come of it.
    pub(crate) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    // What comes in another order than `Event` says is ignored: without the rest of it the
    // attempt ends when its time is up, and a create's outcome is not known.

    /// The head of an answer comes. The first one counts.
    pub(crate) fn begin(&mut self, status: u16, headers: Headers) {
        self.note_contradiction();
        if !self.has_head && !self.is_over() {
            self.has_head = true;
            self.head = Some((status, headers));
        }
    }

    /// All of an answer comes.
    pub(crate) fn answer(&mut self, status: u16, headers: Headers, body: Body) {
        if !self.has_head {
            self.begin(status, headers);
            self.piece(body);
            self.end(None);
        }
    }

    /// A piece of the body comes.
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

    /// The body is at its end, or ended early.
    pub(crate) fn end(&mut self, error: Option<String>) {
        self.note_contradiction();
        if self.has_head && !self.is_over() {
            self.end = Some(error.map_or(Ok(()), |message| Err(unknown(message))));
        }
    }

    /// There is no answer. If its head came, it is the body that ended early.
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

    /// Something comes of it after it had failed: that it was not sent is not certain any more.
    fn note_contradiction(&mut self) {
        if let Some(Err(error)) = &mut self.end {
            error.delivery = core::Delivery::Unknown;
        }
    }

    /// What is known of the head.
    pub(crate) fn take_head(&mut self) -> Option<Result<(u16, Headers), SendError>> {
        match (self.head.take(), &self.end) {
            (Some(head), _) => Some(Ok(head)),
            (None, Some(Err(error))) => Some(Err(error.clone())),
            (None, _) => None,
        }
    }

    /// What is known of the rest of the body.
    pub(crate) fn take_piece(&mut self) -> Option<Result<Option<Vec<u8>>, String>> {
        match (self.pieces.pop_front(), &self.end) {
            (Some(piece), _) => Some(Ok(Some(piece))),
            (None, Some(Ok(()))) => Some(Ok(None)),
            (None, Some(Err(error))) => Some(Err(error.message.clone())),
            (None, None) => None,
        }
    }
}

/// What the request came to is not known.
pub(crate) fn unknown(message: String) -> SendError {
    SendError {
        delivery: core::Delivery::Unknown,
        message,
    }
}

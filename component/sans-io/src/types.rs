//! Events, which the host reports to the machine, and effects, which the machine asks the host for.
//!
//! `docs/sans-io.md` documents each item for hosts.

// Each is moved a few times and lives for a step, so that boxes would cost more.
#![allow(clippy::large_enum_variant)]

use serde::{Deserialize, Serialize};
use voice_calling_core::Delivery;
use voice_calling_core::ledger::{self, ObservedDocket};
use voice_calling_core::types::{
    AgentConfig, AgentList, CallDetailsList, CallDetailsWait, CallOptions, CallRequest,
    CreatedAgent, CreatedDocket, CreatedDocketV2, Docket, DocketRequest, DocketRequestV2,
    DocketWait, Failure, StartedCall, Verification, WaitOptions,
};

/// The number of an operation (one call of a function). The host chooses it; no two operations in
/// progress have the same.
pub(crate) type OperationId = u64;

/// The number of an exchange (one request and its answer). The machine chooses it, and uses each
/// once.
pub(crate) type ExchangeId = u64;

/// The number of a claim. The machine chooses it, and uses each once.
pub(crate) type ClaimId = u64;

/// The headers: names in any case, and values. If a name is repeated, the first value counts.
pub(crate) type Headers = Vec<(String, String)>;

/// An event.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) enum Event {
    /// The caller begins an operation. If one with this number is in progress, nothing begins, and
    /// a line is logged.
    Begin {
        operation: OperationId,
        call: Call,
        options: Option<CallOptions>,
        /// The key of a create in the ledger of the host.
        once: Option<String>,
    },
    /// A whole answer arrived: `Head`, `Chunk` and `Ended` in one, which is ignored after a `Head`.
    Answered {
        exchange: ExchangeId,
        status: u16,
        headers: Headers,
        body: Body,
    },
    /// The head of an answer arrived, and its body is still to come.
    Head {
        exchange: ExchangeId,
        status: u16,
        headers: Headers,
    },
    /// A piece of a body arrived, after its `Head`.
    Chunk { exchange: ExchangeId, bytes: Body },
    /// A body ended, after its `Head`. The error says why it ended early, if it did.
    Ended {
        exchange: ExchangeId,
        error: Option<String>,
    },
    /// The request failed. After a `Head`, its body ended early.
    Failed {
        exchange: ExchangeId,
        delivery: Delivery,
        message: String,
    },
    /// Requests of a batch in progress, with its `Begin` or after an effect `More`. The list may be
    /// empty; no more is asked for after the last ones.
    Requests {
        operation: OperationId,
        requests: Vec<DocketRequestV2>,
        /// Their keys in the ledger of the host.
        keys: Option<Vec<Option<String>>>,
        is_last: bool,
    },
    /// The ledger answered a claim. If nothing was found, the key was taken, and it is on disk that
    /// the create was begun.
    Claimed {
        claim: ClaimId,
        found: Option<Found>,
    },
    /// The caller no longer waits for this operation. It sends no further request, and ends in the
    /// same step with a `Done` that reports what is known. An answer that comes in this step
    /// counts.
    Abandon(OperationId),
}

/// Why a ledger did not take a key.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) enum Found {
    /// It has an entry that is not free.
    Entry(ledger::Found),
    /// The ledger cannot be used, for this reason.
    Failed(String),
}

/// A function of `voice-calling:client`, with its arguments.
#[allow(clippy::enum_variant_names)]
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) enum Call {
    CreateAgent(AgentConfig),
    ListAgents(String),
    MakeCall(CallRequest),
    GetCallDetails(String),
    WaitForCallDetails((String, WaitOptions)),
    CreateDocket(DocketRequest),
    CreateDocketV2(DocketRequestV2),
    GetDocket(String),
    WaitForDocket((String, WaitOptions)),
    /// The time in which its requests may begin, in milliseconds from now. They come as `Requests`,
    /// and each result is an effect `Item` as soon as it is known.
    CreateDocketsV2(u32),
    VerifyDocketCompleted(String),
}

/// A body, or a piece of it. A piece of text may end only after a whole character.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) enum Body {
    Text(String),
    Bytes(Vec<u8>),
}

/// The result of a step.
#[derive(Debug, Serialize)]
pub(crate) struct Stepped {
    /// The effects, to be carried out now and in this order.
    pub(crate) effects: Vec<Effect>,
    /// The time of the next step at the latest, also without an event.
    pub(crate) wake_at_ms: Option<u64>,
}

/// A task for the host.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) enum Effect {
    /// Send a request.
    Send(Send),
    /// Cancel an exchange. Later events of it are ignored.
    Abandon(ExchangeId),
    /// Write a line to the log: JSON, without token and personal data.
    Log(String),
    /// Write to the ledger that a create is begun, unless its key has an entry that is not free,
    /// and answer with `Claimed`.
    Claim(Claim),
    /// Write to the ledger how a claimed create ended, before any effect that follows is reported.
    Record(Record),
    /// Have the ledger resolve unknown outcomes by a docket that was fetched or verified.
    Observe(ObservedDocket),
    /// Hand over more requests of this batch, as `Requests`.
    More(OperationId),
    /// Report a result of a batch.
    Item(Item),
    /// Report the result of an operation.
    Done(Done),
}

/// A request to send: once, without following redirects.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Send {
    pub(crate) exchange: ExchangeId,
    pub(crate) operation: OperationId,
    /// The index of the request in its batch.
    pub(crate) item: Option<u32>,
    /// Whether it creates something (a `POST`).
    pub(crate) creates: bool,
    pub(crate) request: Request,
}

/// A request. The host adds `host` and `content-length`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The whole URL, percent-encoded: it is sent unchanged.
    pub(crate) url: String,
    /// The headers, with names in lower case. One of them contains the token.
    pub(crate) headers: Headers,
    /// JSON; empty for a `GET`.
    pub(crate) body: String,
    pub(crate) connect_ms: u32,
    pub(crate) attempt_ms: u32,
    /// The maximum number of bytes of the answer's body.
    pub(crate) max_response_bytes: u32,
}

/// A create with a key.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Claim {
    pub(crate) claim: ClaimId,
    pub(crate) operation: OperationId,
    #[serde(flatten)]
    pub(crate) create: ledger::Claim,
}

/// How a claimed create ended.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Record {
    pub(crate) claim: ClaimId,
    #[serde(flatten)]
    pub(crate) outcome: ledger::Outcome,
}

/// A result of a batch.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Item {
    pub(crate) operation: OperationId,
    pub(crate) index: u32,
    pub(crate) created: Result<CreatedDocketV2, Failure>,
    /// Whether the answer comes from the ledger, and nothing was sent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) from_ledger: bool,
}

/// An operation that has ended.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Done {
    pub(crate) operation: OperationId,
    pub(crate) outcome: Outcome,
    /// Whether the answer comes from the ledger, and nothing was sent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) from_ledger: bool,
}

pub(crate) type Outcome = Result<Output, Failure>;

/// The value that a function returned.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) enum Output {
    CreateAgent(CreatedAgent),
    ListAgents(AgentList),
    MakeCall(StartedCall),
    GetCallDetails(CallDetailsList),
    WaitForCallDetails(CallDetailsWait),
    CreateDocket(CreatedDocket),
    CreateDocketV2(CreatedDocketV2),
    GetDocket(Docket),
    WaitForDocket(DocketWait),
    /// Its items have all been reported.
    CreateDocketsV2,
    VerifyDocketCompleted(Verification),
}

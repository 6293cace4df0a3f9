//! Events, which the host reports to the machine, and effects, which the machine asks of the host.
//!
//! `docs/sans-io.md` documents each item for hosts.

// Each is moved a few times and lives for a step: boxes would cost more.
#![allow(clippy::large_enum_variant)]

use serde::{Deserialize, Serialize};
use voice_calling_core::ledger::{Entry, Sighting, State};
use voice_calling_core::types::{
    AgentConfig, AgentList, CallDetailsList, CallDetailsWait, CallOptions, CallRequest,
    CreatedAgent, CreatedDocket, CreatedDocketV2, Docket, DocketRequest, DocketRequestV2,
    DocketWait, RequestError, StartedCall, Verification, WaitOptions,
};

/// The number of an operation (one call of a function). The host chooses it; no two operations in
/// progress have the same.
pub(crate) type OperationId = u64;

/// The number of an exchange (one request and its answer). The machine chooses it, and uses each
/// once.
pub(crate) type ExchangeId = u64;

/// The number of a claim. The machine chooses it, and uses each once.
pub(crate) type ClaimId = u64;

/// Names in any case, and values. Of several with a name the first is read.
pub(crate) type Headers = Vec<(String, String)>;

/// The randomness of the pauses before retries.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) enum Random {
    /// Numbers that follow from this one: another for each instance, or clients that failed
    /// together come back together.
    Seed(u64),
    /// This number, each time. With 0 each pause is the shortest that the settings allow.
    Fixed(u64),
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) enum Event {
    /// The host wants something. If an operation with this number is in progress, nothing begins,
    /// and a line of the log says so.
    Begin {
        operation: OperationId,
        call: Call,
        options: Option<CallOptions>,
        /// For creates with keys in the ledger of the host.
        once: Option<Once>,
    },
    /// A whole answer came: `Head`, `Chunk` and `Ended` in one, and ignored after a `Head`.
    Answered {
        exchange: ExchangeId,
        status: u16,
        headers: Headers,
        body: Body,
    },
    /// The head of an answer came, and its body is still to come.
    Head {
        exchange: ExchangeId,
        status: u16,
        headers: Headers,
    },
    /// A piece of a body came, after its `Head`.
    Chunk { exchange: ExchangeId, bytes: Body },
    /// A body is at its end, after its `Head`. The error says why it ended early, if it did.
    Ended {
        exchange: ExchangeId,
        error: Option<String>,
    },
    /// There is no answer. After a `Head` it is the body that ended early.
    Failed {
        exchange: ExchangeId,
        delivery: Delivery,
        message: String,
    },
    /// Requests of a batch that is in progress, with its `Begin` or after an effect `More`. There
    /// may be none; after the last ones no more is asked for.
    Requests {
        operation: OperationId,
        requests: Vec<DocketRequestV2>,
        /// Their keys in the ledger of the host, if the operation was begun with `once`.
        keys: Option<Vec<Option<String>>>,
        is_last: bool,
    },
    /// What the ledger has answered to a claim. Without anything found the key was taken: that the
    /// create is begun is on the disk.
    Claimed {
        claim: ClaimId,
        found: Option<Found>,
    },
    /// The caller no longer waits for this operation. It sends no further request, and ends in the
    /// same step with a `Done` that reports what is known. An answer that comes in this step counts.
    Abandon(OperationId),
}

/// Creates that are carried out once.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Once {
    /// The key; none for a batch, each of whose requests may have one.
    pub(crate) key: Option<String>,
    /// Whether it waits for another create with its key that is in progress.
    pub(crate) waits: Option<bool>,
}

/// Why a ledger did not take a key.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) enum Found {
    /// It has an entry that is not free.
    Entry(Entry),
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
    /// Until when its requests may begin, in milliseconds from now. They come as `Requests`, and
    /// each result is an effect `Item` as soon as it is known.
    CreateDocketsV2(u32),
    VerifyDocketCompleted(String),
}

/// A body, or a piece of it, which may not end within a character if it is text.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) enum Body {
    Text(String),
    Bytes(Vec<u8>),
}

/// Whether a request that got no answer may have reached the service. Only what the host's HTTP
/// library documents as before the first byte is anything but `Unknown`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Delivery {
    /// Certainly not: the name was not found, or no connection was made, TLS included.
    NotSent,
    /// It did not, and never will: the host's policy denies the address.
    Denied,
    /// It did not, and never will: the host rejects it for what is in it.
    Refused,
    /// It is not known.
    Unknown,
}

/// The result of a step.
#[derive(Debug, Serialize)]
pub(crate) struct Stepped {
    /// What to do now, in this order.
    pub(crate) effects: Vec<Effect>,
    /// When to step again at the latest, also without an event.
    pub(crate) wake_at_ms: Option<u64>,
}

/// Something that the host does.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) enum Effect {
    /// Send a request.
    Send(Send),
    /// Cancel an exchange. Events that still come of it are ignored.
    Abandon(ExchangeId),
    /// Write a line to the log: JSON, without token and personal data.
    Log(String),
    /// Write to the ledger that a create is begun, unless its key has an entry that is not free,
    /// and answer with `Claimed`.
    Claim(Claim),
    /// Write to the ledger how a claimed create has ended, before what comes after it is reported.
    Record(Record),
    /// Have the ledger resolve what is unknown by a docket that was fetched or verified.
    Observe(Sighting),
    /// Hand over more requests of this batch, as `Requests`.
    More(OperationId),
    /// Report a result of a batch.
    Item(Item),
    /// Report what an operation has ended in.
    Done(Done),
}

/// A request to send: once, without following redirects.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Send {
    pub(crate) exchange: ExchangeId,
    pub(crate) operation: OperationId,
    /// The index of the request of a batch that it is for.
    pub(crate) item: Option<u32>,
    /// Whether it creates something (a `POST`).
    pub(crate) creates: bool,
    pub(crate) request: Request,
}

/// A request. The host adds `host` and `content-length`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The whole URL, percent-encoded: to be sent as it is.
    pub(crate) url: String,
    /// Their names are in lower case. One of them has the token.
    pub(crate) headers: Headers,
    /// JSON; empty for a `GET`.
    pub(crate) body: String,
    pub(crate) connect_ms: u32,
    pub(crate) attempt_ms: u32,
    /// How much of the answer's body is read at most.
    pub(crate) max_response_bytes: u32,
}

/// A create with a key.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Claim {
    pub(crate) claim: ClaimId,
    pub(crate) operation: OperationId,
    /// The index of the request of a batch that it is for.
    pub(crate) item: Option<u32>,
    pub(crate) key: String,
    /// Such as `dockets.create-docket-v2`.
    pub(crate) function: &'static str,
    /// The arguments with their names. Values that mean the same are the same text.
    pub(crate) arguments: Vec<(String, String)>,
}

/// How a claimed create has ended.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Record {
    pub(crate) claim: ClaimId,
    pub(crate) state: State,
    pub(crate) answer: Option<String>,
    pub(crate) message: Option<String>,
}

/// A result of a batch.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Item {
    pub(crate) operation: OperationId,
    pub(crate) index: u32,
    pub(crate) created: Result<CreatedDocketV2, RequestError>,
    /// Whether the ledger had the answer, and nothing was sent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) from_ledger: bool,
}

/// An operation that has ended.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Done {
    pub(crate) operation: OperationId,
    pub(crate) outcome: Outcome,
    /// Whether the ledger had the answer, and nothing was sent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) from_ledger: bool,
}

pub(crate) type Outcome = Result<Answer, RequestError>;

/// What a function returned.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) enum Answer {
    CreateAgent(CreatedAgent),
    ListAgents(AgentList),
    MakeCall(StartedCall),
    GetCallDetails(CallDetailsList),
    WaitForCallDetails(CallDetailsWait),
    CreateDocket(CreatedDocket),
    CreateDocketV2(CreatedDocketV2),
    GetDocket(Docket),
    WaitForDocket(DocketWait),
    /// All its items were reported before.
    CreateDocketsV2,
    VerifyDocketCompleted(Verification),
}

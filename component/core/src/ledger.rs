//! Creates that are carried out once: a ledger has each of them on disk before its first byte is
//! sent, so that a program that was killed can be run again and calls no one twice.
//!
//! The host stores the ledger; the meaning of its entries is decided here.

use crate::exact;
use crate::json::{Object, Value};
use crate::operation::{Operation, ResponseMeta};
use crate::permits::Permit;
use crate::problem::{configuration_error, failure_of, problem};
use crate::reader::escape;
use crate::request::{ApiRequest, check_no_control, check_not_empty};
use crate::retry::Stop;
use crate::time_frame::TimeFrame;
use crate::transport::Transport;
use crate::types::{Docket, Failure, RequestError};
use futures_util::future::{Either, select};
use serde::{Deserialize, Serialize};
use std::pin::pin;
use std::time::{Duration, UNIX_EPOCH};

/// The number of digits of a phone number without its country code.
const LOCAL_DIGITS: usize = 10;

/// A create with a key, as a ledger stores it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The index of the request in its batch.
    pub item: Option<u32>,
    /// The key, which the caller has chosen.
    pub key: String,
    /// The function, such as `dockets.create-docket-v2`.
    pub function: &'static str,
    /// The arguments and their names. Values with the same meaning have the same text, which may
    /// contain a phone number: a ledger stores a keyed digest of it.
    pub arguments: Vec<(String, String)>,
}

/// The state of a key in a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// The create is in progress, in this process or another live one.
    Begun,
    /// It succeeded.
    Done,
    /// It may have been carried out: its outcome is not known, or its process ended before it was.
    Unknown,
    /// It was certainly not carried out, and may be sent.
    Free,
}

/// The entry of a key in a ledger.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Entry {
    /// The function of the create.
    pub function: String,
    /// The state. It is unknown if the process that began the create is gone.
    pub state: State,
    /// When it was begun, in milliseconds since 1970, UTC.
    pub begun_ms: u64,
    /// The recorded answer of a create that is done.
    pub answer: Option<String>,
    /// The first argument that differs from those of the claim.
    pub differs_in: Option<String>,
}

/// The answer of a ledger to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claimed<C> {
    /// The key had no entry, or a free one. It is on disk now that the create was begun.
    Taken(C),
    /// The key has this entry.
    Found(Entry),
    /// The ledger cannot be used, for this reason.
    Failed(String),
}

impl<C> Claimed<C> {
    /// Converts the claim, if it was taken.
    pub fn map<D>(self, convert: impl FnOnce(C) -> D) -> Claimed<D> {
        match self {
            Self::Taken(claim) => Claimed::Taken(convert(claim)),
            Self::Found(entry) => Claimed::Found(entry),
            Self::Failed(reason) => Claimed::Failed(reason),
        }
    }
}

/// How a claimed create ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Done, unknown or free.
    pub state: State,
    /// The answer, if it is done: a JSON object with the id of what was created, if the answer had
    /// one, and with neither names nor numbers.
    pub answer: Option<String>,
    /// The message of the error otherwise.
    pub message: Option<String>,
}

/// The storage of a ledger.
#[allow(async_fn_in_trait)]
pub trait Ledger {
    /// A claim that was taken. If it is dropped before its outcome is recorded, the outcome is
    /// unknown.
    type Claim;

    /// Records that a create is begun, unless its key has an entry that is not free. If the future
    /// is dropped, and the key is taken nevertheless, it is free: nothing was sent.
    async fn claim(&self, claim: &Claim) -> Claimed<Self::Claim>;

    /// Records how a create ended. If this fails, its outcome is unknown.
    async fn record(&self, claim: Self::Claim, outcome: &Outcome);
}

/// The key of a create that is carried out once, and its ledger.
#[derive(Debug)]
pub struct Once<'a, L> {
    /// The ledger that stores its key.
    pub ledger: &'a L,
    /// The key.
    pub key: &'a str,
}

/// The answer to a create with a key.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded<R> {
    /// The answer.
    pub answer: R,
    /// Whether it comes from the ledger, and nothing was sent.
    pub from_ledger: bool,
}

/// A docket that was fetched or verified, which may resolve an unknown outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sighting {
    /// Its possible keys: its `external_id`, or without one the texts in its context.
    pub keys: Vec<String>,
    /// Its id.
    pub docket_id: String,
    /// Its phone number, as an argument of a claim: another person's docket resolves nothing.
    pub to_phone_number: String,
}

impl Sighting {
    /// Returns the sighting of a docket, or `None` if it has no key or no number.
    pub fn of(docket: &Docket) -> Option<Self> {
        let number = docket.to_phone_number.as_deref()?;
        let mut keys = Vec::from_iter(docket.external_id.clone());
        let context = docket.call_context.as_deref().map(Value::parse);
        if let (true, Some(Ok(context))) = (keys.is_empty(), context)
            && let Ok(object) = context.to_object()
        {
            keys.extend(object.members().filter_map(|(_, value)| value.to_text()));
        }
        (!keys.is_empty()).then(|| Self {
            keys,
            docket_id: docket.docket_id.clone(),
            to_phone_number: canonical_text(number),
        })
    }
}

impl Claim {
    fn new(key: &str, account: Option<&str>, request: &ApiRequest) -> Self {
        let mut arguments = Vec::new();
        let body = request.body().map(Value::parse);
        if let Some(Ok(body)) = body {
            add_members("", body, &mut arguments);
        }
        arguments.extend(account.map(|name| ("account".to_owned(), canonical_text(name))));
        Self {
            item: request.item,
            key: key.to_owned(),
            function: request.endpoint.function,
            arguments,
        }
    }

    /// Returns the members of the answer that are recorded: the id, and how it was created. The
    /// others may say who was called.
    fn recorded_members(&self) -> &'static [&'static str] {
        match self.function.split('.').next() {
            Some("agents") => &["agent_id"],
            Some("calls") => &["task_id"],
            _ => &["docket_id", "status", "created"],
        }
    }

    fn recorded(&self, answer: &str) -> String {
        let object = Value::parse(answer).and_then(Value::to_object);
        let members = self.recorded_members().iter().filter_map(|name| {
            let value = object.as_ref().ok()?.any_json(name)?;
            Some(format!(r#""{name}":{value}"#))
        });
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }

    /// Returns `true` if a text contains the phone number, however it is written, with or without
    /// its country code.
    fn contains_number(&self, text: &str) -> bool {
        let mut arguments = self.arguments.iter();
        let number = arguments.find(|(name, _)| name == "to_phone_number");
        let number = number.map(|(_, value)| digits(value)).unwrap_or_default();
        let last = &number[number.len().saturating_sub(LOCAL_DIGITS)..];
        !last.is_empty() && digits(text).contains(last)
    }

    /// Returns the record of a create that ended in an error.
    fn failed(&self, error: &RequestError) -> Outcome {
        let failure = error.failure();
        let message = failure.map(|failure| match self.contains_number(&failure.message) {
            true => "an error whose message has the phone number".to_owned(),
            false => failure.message.clone(),
        });
        Outcome {
            state: match failure.is_some_and(|failure| !failure.may_have_created) {
                true => State::Free,
                false => State::Unknown,
            },
            answer: None,
            message,
        }
    }
}

/// Adds the members of a request, and those of its `extra_config` in place of it. The context gets
/// the name that callers know.
fn add_members(prefix: &str, object: Value<'_>, arguments: &mut Vec<(String, String)>) {
    let object = object.to_object();
    let members = object.iter().flat_map(Object::members);
    for (name, value) in members {
        let name = match name.unwrap_or_default() {
            name if name == "call_context" => name.into_owned(),
            name => format!("{prefix}{name}"),
        };
        match arguments.iter_mut().find(|(known, _)| *known == name) {
            _ if name == "extra_config" && value.is_object() => {
                add_members("extra_config.", value, arguments);
            }
            // The name is repeated: the digest covers all its values.
            Some((_, values)) => values.push_str(&value.canonical()),
            None => arguments.push((name, value.canonical())),
        }
    }
}

fn canonical_text(text: &str) -> String {
    let mut json = String::new();
    escape(text, &mut json);
    exact::canonical(&json)
}

fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

impl Outcome {
    fn done(answer: String) -> Self {
        Self {
            state: State::Done,
            answer: Some(answer),
            message: None,
        }
    }
}

/// Returns the recorded answer of a create whose key has an entry, or the error in which it ends.
fn decide(claim: &Claim, entry: Entry) -> Result<String, RequestError> {
    let key = &claim.key;
    let other = match &entry.differs_in {
        _ if entry.function != claim.function => Some(format!("a call of {}", entry.function)),
        Some(name) => Some(format!("a create with another {name}")),
        None => None,
    };
    if let Some(other) = other {
        // It may have called the person, which this create must not do again.
        let state = match (entry.state, &entry.answer) {
            (State::Done, Some(answer)) => format!("returned {answer}"),
            (State::Begun, _) => "is in progress".to_owned(),
            (State::Done | State::Unknown | State::Free, _) => "has an unknown outcome".to_owned(),
        };
        let found = format!("the key {key:?}, which {state}, of {other}");
        let allowed = "its arguments, or another key for one more create: nothing was sent";
        return Err(problem("once", found, allowed).into());
    }
    let begun = UNIX_EPOCH + Duration::from_millis(entry.begun_ms);
    let begun = httpdate::fmt_http_date(begun);
    match (entry.state, entry.answer) {
        (State::Done, Some(answer)) => Ok(answer),
        (State::Begun, _) => {
            let found = format!("the key {key:?} of a create that is in progress since {begun}");
            let allowed = "a key of a create that has ended: nothing was sent";
            let mut failure = failure_of(problem("once", found, allowed));
            failure.may_have_created = true;
            Err(RequestError::PermanentOutcomeUnknown(failure))
        }
        // A store must not return a free entry; sending nothing is right whatever it means.
        (State::Done | State::Unknown | State::Free, _) => {
            let message = format!(
                "once: a create with the key {key:?} and these arguments was begun on {begun}, and \
                 its outcome is not known: nothing was sent now. `resolve` and `release` of the \
                 ledger note what became of it"
            );
            Err(RequestError::PermanentOutcomeUnknown(Failure {
                message,
                problem: None,
                response: None,
                attempts: Vec::new(),
                may_have_created: true,
            }))
        }
    }
}

/// The permit of a create, and its time.
pub(crate) struct Admitted<'a> {
    /// Its permit to be in flight.
    pub(crate) permit: Permit<'a>,
    /// The time in which it must be started.
    pub(crate) frame: TimeFrame,
    /// The time of the whole operation. The time of an item of a batch begins when it is sent.
    pub(crate) time: Option<TimeFrame>,
}

/// Decodes a response; the error says what is wrong with it.
type Decode<'a> = dyn FnMut(&str, ResponseMeta) -> Result<(), String> + Send + 'a;

/// Carries out a create: once if it has a key. One of a batch has been admitted before.
pub(crate) async fn create<L: Ledger, T: Transport, R: Send>(
    once: Option<Once<'_, L>>,
    operation: &Operation<'_, T>,
    request: &ApiRequest,
    admitted: Option<Admitted<'_>>,
    decode: fn(&str, ResponseMeta) -> Result<R, String>,
) -> Result<Recorded<R>, RequestError> {
    let mut answer = None;
    let decoder: &mut Decode<'_> = &mut |text, meta| {
        answer = Some(decode(text, meta)?);
        Ok(())
    };
    let from_ledger = send_create(once, operation, request, admitted, decoder).await?;
    let answer = answer.ok_or(RequestError::ExecutionFailed)?;
    Ok(Recorded {
        answer,
        from_ledger,
    })
}

/// Admits a create that is not, and sends it. Returns `true` if the answer comes from the ledger.
async fn send_create<L: Ledger, T: Transport>(
    once: Option<Once<'_, L>>,
    operation: &Operation<'_, T>,
    request: &ApiRequest,
    admitted: Option<Admitted<'_>>,
    decode: &mut Decode<'_>,
) -> Result<bool, RequestError> {
    let admitted = match admitted {
        Some(admitted) => admitted,
        None => {
            let frame = operation.time_frame(operation.settings.deadline_ms);
            let permit = operation.admit(0, frame).await;
            Admitted {
                permit: permit.map_err(|stop| operation.not_started(frame, stop))?,
                frame,
                time: Some(frame),
            }
        }
    };
    let Some(once) = once else {
        let Admitted { permit, time, .. } = admitted;
        let success = operation.send_admitted(permit, time, request).await?;
        return success.decode(decode).map(|()| false);
    };
    once.send(operation, admitted, request, decode).await
}

impl<L: Ledger> Once<'_, L> {
    /// Sends a create unless its key forbids it, and records how it ended. Returns `true` if the
    /// answer comes from the ledger.
    async fn send<T: Transport>(
        &self,
        operation: &Operation<'_, T>,
        admitted: Admitted<'_>,
        request: &ApiRequest,
        decode: &mut Decode<'_>,
    ) -> Result<bool, RequestError> {
        check_not_empty("once", self.key)?;
        check_no_control("once", self.key)?;
        let claim = Claim::new(self.key, operation.account_name(), request);
        let Admitted {
            permit,
            frame,
            time,
        } = admitted;
        let transport = operation.transport;
        let left_ms = frame.latest_start_ms.saturating_sub(transport.now_ms());
        let time_is_up = pin!(transport.sleep(left_ms));
        let claimed = match select(pin!(self.ledger.claim(&claim)), time_is_up).await {
            Either::Left((claimed, _)) => claimed,
            Either::Right(_) => {
                let stop = operation.stop_at(frame, transport.now_ms());
                return Err(operation.not_started(frame, stop.unwrap_or(Stop::TimeUp)));
            }
        };
        let taken = match claimed {
            Claimed::Taken(taken) => taken,
            Claimed::Failed(found) => {
                let allowed = "a ledger that can be read and written: nothing was sent";
                return Err(configuration_error(problem("ledger", found, allowed)));
            }
            Claimed::Found(entry) => return decode_recorded(&decide(&claim, entry)?, decode),
        };
        let sent = match operation.stop_at(frame, transport.now_ms()) {
            None => operation.send_once(permit, time, request).await,
            Some(stop) => Err(operation.not_started(frame, stop)),
        };
        let answer = sent.and_then(|success| {
            success.decode(|text, meta| decode(text, meta).map(|()| claim.recorded(text)))
        });
        let (outcome, result) = match answer {
            Ok(answer) => (Outcome::done(answer), Ok(false)),
            Err(error) => (claim.failed(&error), Err(error)),
        };
        self.ledger.record(taken, &outcome).await;
        result
    }
}

fn decode_recorded(answer: &str, decode: &mut Decode<'_>) -> Result<bool, RequestError> {
    match decode(answer, ResponseMeta::default()) {
        Ok(()) => Ok(true),
        Err(found) => {
            let allowed = "an answer that was recorded: nothing was sent";
            Err(configuration_error(problem("ledger", found, allowed)))
        }
    }
}

#[cfg(test)]
mod tests;

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

/// The interval at which a create checks whether another one with its key has ended, in
/// milliseconds.
pub(crate) const IN_PROGRESS_POLL_MS: u64 = 50;

/// A create with a key, as a ledger stores it.
#[derive(Debug, Clone, PartialEq, Eq)]
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
#[derive(Debug, Clone, PartialEq, Eq)]
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

/// The settings of a create that is carried out once.
#[derive(Debug)]
pub struct Once<'a, L> {
    /// The ledger that stores its key.
    pub ledger: &'a L,
    /// The key.
    pub key: &'a str,
    /// Whether it waits, until its deadline, for another create with the same key that is in
    /// progress.
    pub waits: bool,
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

/// The next step of a create whose key has an entry.
enum Decision {
    /// It returns the recorded answer.
    Replay(String),
    /// It ends in an error.
    Refuse(RequestError),
    /// It looks again later, or ends in an error.
    Wait(RequestError),
}

/// Returns `true` if a create was refused because another one with its key is in progress.
pub(crate) fn is_in_progress(error: &RequestError) -> bool {
    let RequestError::PermanentOutcomeUnknown(failure) = error else {
        return false;
    };
    let subject = failure.problem.as_ref().map(|problem| &*problem.subject);
    subject == Some("once")
}

/// Decides the next step of a create by the entry of its key.
fn decide(claim: &Claim, entry: Entry) -> Decision {
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
        return Decision::Refuse(problem("once", found, allowed).into());
    }
    let begun = UNIX_EPOCH + Duration::from_millis(entry.begun_ms);
    let begun = httpdate::fmt_http_date(begun);
    match (entry.state, entry.answer) {
        (State::Done, Some(answer)) => Decision::Replay(answer),
        (State::Begun, _) => {
            let found = format!("the key {key:?} of a create that is in progress since {begun}");
            let allowed = "a key of a create that has ended: nothing was sent";
            let mut failure = failure_of(problem("once", found, allowed));
            failure.may_have_created = true;
            Decision::Wait(RequestError::PermanentOutcomeUnknown(failure))
        }
        // A store must not return a free entry; sending nothing is right whatever it means.
        (State::Done | State::Unknown | State::Free, _) => {
            let message = format!(
                "once: a create with the key {key:?} and these arguments was begun on {begun}, and \
                 its outcome is not known: nothing was sent now. `resolve` and `release` of the \
                 ledger note what became of it"
            );
            Decision::Refuse(RequestError::PermanentOutcomeUnknown(Failure {
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

/// Carries out a create outside a batch: once if it has a key.
pub(crate) async fn create<L: Ledger, T: Transport, R: Send>(
    once: Option<Once<'_, L>>,
    operation: &Operation<'_, T>,
    request: &ApiRequest,
    decode: fn(&str, ResponseMeta) -> Result<R, String>,
) -> Result<Recorded<R>, RequestError> {
    let time = operation.time_frame(operation.settings.deadline_ms);
    let permit = operation.admit(0, time).await;
    let permit = permit.map_err(|stop| operation.not_started(time, stop))?;
    let admitted = Admitted {
        permit,
        frame: time,
        time: Some(time),
    };
    create_admitted(once, operation, admitted, request, decode).await
}

/// Carries out a create that has been admitted: once if it has a key.
pub(crate) async fn create_admitted<L: Ledger, T: Transport, R: Send>(
    once: Option<Once<'_, L>>,
    operation: &Operation<'_, T>,
    admitted: Admitted<'_>,
    request: &ApiRequest,
    decode: fn(&str, ResponseMeta) -> Result<R, String>,
) -> Result<Recorded<R>, RequestError> {
    let mut answer = None;
    let decoder: &mut Decode<'_> = &mut |text, meta| {
        answer = Some(decode(text, meta)?);
        Ok(())
    };
    let from_ledger = match once {
        Some(once) => once.send(operation, admitted, request, decoder).await?,
        None => {
            let Admitted { permit, time, .. } = admitted;
            let success = operation.send_admitted(permit, time, request).await?;
            success.decode(decoder)?;
            false
        }
    };
    let answer = answer.ok_or(RequestError::ExecutionFailed)?;
    Ok(Recorded {
        answer,
        from_ledger,
    })
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
            mut permit,
            frame,
            time,
        } = admitted;
        let taken = loop {
            let transport = operation.transport;
            let left_ms = frame.latest_start_ms.saturating_sub(transport.now_ms());
            let time_is_up = pin!(transport.sleep(left_ms));
            let claimed = match select(pin!(self.ledger.claim(&claim)), time_is_up).await {
                Either::Left((claimed, _)) => claimed,
                Either::Right(_) if transport.is_cancelled() => {
                    return Err(operation.not_started(frame, Stop::Cancelled));
                }
                Either::Right(_) => return Err(operation.not_started(frame, Stop::TimeUp)),
            };
            let refused = match claimed {
                Claimed::Taken(taken) => break taken,
                Claimed::Failed(found) => {
                    let allowed = "a ledger that can be read and written: nothing was sent";
                    return Err(configuration_error(problem("ledger", found, allowed)));
                }
                Claimed::Found(entry) => match decide(&claim, entry) {
                    Decision::Replay(answer) => return decode_recorded(&answer, decode),
                    Decision::Refuse(error) => return Err(error),
                    Decision::Wait(error) => error,
                },
            };
            // Others may use the permit meanwhile, the create with the key among them.
            drop(permit);
            let poll_at_ms = operation.transport.now_ms() + IN_PROGRESS_POLL_MS;
            if !self.waits || !frame.may_start(poll_at_ms) {
                return Err(refused);
            }
            permit = match operation.admit(poll_at_ms, frame).await {
                Ok(permit) => permit,
                Err(_) => return Err(refused),
            };
        };
        let stop = match frame.may_start(operation.transport.now_ms()) {
            _ if operation.transport.is_cancelled() => Some(Stop::Cancelled),
            true => None,
            false => Some(Stop::TimeUp),
        };
        let sent = match stop {
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
mod tests {
    use super::*;
    use crate::Client;
    use crate::bulk::{DocketResult, Item, Source};
    use crate::simulation::{DOCKET_ID, Step, Store, World, case_and_failure, rows};
    use crate::transport::CANCELLED;
    use crate::types::{CreatedDocketV2, DocketRequest, DocketRequestV2};
    use futures_util::future::join;
    use std::borrow::Cow;
    use std::cell::{Cell, RefCell};
    use std::mem;

    const NUMBER: &str = "919876543210";

    fn request(change: &str) -> DocketRequestV2 {
        let mut request = DocketRequestV2 {
            agent_id: 7,
            to_phone_number: NUMBER.into(),
            call_context: r#"{"name":"Ann","plan":1}"#.into(),
            external_id: Some("crm-1".into()),
            extra: None,
        };
        match change {
            "agent" => request.agent_id = 8,
            "number" => request.to_phone_number = "910000000000".into(),
            "context" => request.call_context = r#"{"name":"Bob"}"#.into(),
            "no-id" => request.external_id = None,
            "extra" => request.extra = Some(r#"{"extra_config":{"retries":2}}"#.into()),
            "written-otherwise" => {
                request.call_context = r#"{"plan":1.0,"name":"\u0041nn"}"#.into()
            }
            _ => {}
        }
        request
    }

    type Created = Result<Recorded<CreatedDocketV2>, RequestError>;

    fn create(world: &World, once: Once<'_, Store>, change: &str) -> Created {
        let client = world.client(&[]);
        world.run(client.create_docket_v2_once(&request(change), None, Some(once)))
    }

    /// The requests of a batch: the change to each, and its key.
    type Items<'a> = &'a [(&'a str, Option<&'a str>)];
    type Results = RefCell<Vec<Option<DocketResult>>>;

    struct Listed<'a>(Items<'a>, Cell<usize>);

    impl Source for Listed<'_> {
        async fn next(&self) -> Option<Item<'_>> {
            let index = self.1.replace(self.1.get() + 1);
            let (change, key) = *self.0.get(index)?;
            Some(Item {
                index,
                request: Cow::Owned(request(change)),
                key: key.map(Cow::Borrowed),
            })
        }
    }

    async fn create_each(
        client: &Client<World>,
        store: &Store,
        items: Items<'_>,
        waits: bool,
        results: &Results,
    ) {
        let source = Listed(items, Cell::default());
        let batch = client.begin_batch_from(source, 60_000, None).unwrap();
        batch.run_once(store, waits, results).await;
    }

    /// Returns the case of an error, the subject of its problem with what was found, and its
    /// failure.
    fn refused(created: Created) -> (&'static str, String, Failure) {
        let (case, failure) = case_and_failure(created.unwrap_err());
        let problem = failure.problem.clone();
        let found = problem.map(|it| format!("{}: {}", it.subject, it.found));
        (case, found.unwrap_or_default(), failure)
    }

    /// How a create ends; the state of its key then; whether the next create with the key is sent.
    const STATES: &str = "
        ok                 | done    | no
        no-json            | unknown | no
        400                | free    | yes
        401                | free    | yes
        429                | free    | yes
        503                | unknown | no
        silence            | unknown | no
        not-sent           | free    | yes
        denied             | free    | yes
        refused            | free    | yes
        unknown            | unknown | no";

    #[test]
    fn a_create_with_a_known_key_is_sent_only_if_nothing_was_created() {
        for [end, state, sends] in rows(STATES) {
            let step = match end {
                "ok" => Step::docket("OPEN"),
                "no-json" => Step::ok("<html>"),
                end => Step::parse(end),
            };
            let world = World::with_script([step]);
            let store = Store::new(&world);
            let first = create(&world, store.once("crm-1"), "");
            let state_now = format!("{:?}", store.state("crm-1").unwrap()).to_lowercase();
            assert_eq!(state_now, state, "{end}");
            let sent = world.sent().len();
            store.restart();
            let second = create(&world, store.once("crm-1"), "");
            assert_eq!(world.sent().len() > sent, sends == "yes", "{end}");
            match state {
                "done" => {
                    let (first, second) = (first.unwrap(), second.unwrap());
                    assert_eq!((first.from_ledger, second.from_ledger), (false, true));
                    assert_eq!(first.answer.docket_id, second.answer.docket_id);
                    assert_eq!(first.answer.status, second.answer.status);
                }
                "unknown" => {
                    let (case, found, failure) = refused(second);
                    assert_eq!((case, &*found), ("permanent-outcome-unknown", ""), "{end}");
                    assert!(failure.may_have_created && failure.attempts.is_empty());
                    for part in ["crm-1", "Sun, 06 Nov 1994 08:49:37 GMT", "nothing was sent"] {
                        assert!(failure.message.contains(part), "{}", failure.message);
                    }
                    let (_, other, _) = refused(create(&world, store.once("crm-1"), "number"));
                    assert!(
                        other.contains(", which has an unknown outcome, "),
                        "{other}"
                    );
                }
                _ => assert!(first.is_err()),
            }
        }
    }

    #[test]
    fn another_request_with_a_known_key_is_an_error_that_names_the_first_difference() {
        for (change, name) in [
            ("agent", Some("agent_id")),
            ("number", Some("to_phone_number")),
            ("context", Some("call_context")),
            ("no-id", Some("external_id")),
            ("extra", Some("extra_config.retries")),
            ("written-otherwise", None),
        ] {
            let world = World::with_script([Step::docket("OPEN")]);
            let store = Store::new(&world);
            create(&world, store.once("k"), "").unwrap();
            let again = create(&world, store.once("k"), change);
            assert_eq!(world.sent().len(), 1);
            let Some(name) = name else {
                assert!(again.unwrap().from_ledger);
                continue;
            };
            let (case, found, failure) = refused(again);
            assert_eq!(case, "permanent-invalid-input");
            assert_eq!(
                found,
                format!(
                    r#"once: the key "k", which returned {}, of a create with another {name}"#,
                    r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11","status":"OPEN"}"#
                )
            );
            assert!(!failure.may_have_created);
        }
    }

    #[test]
    fn a_key_is_a_text_without_control_characters() {
        for (key, expected) in [
            ("", "once: an empty string"),
            ("a\0b", "once: '\\0' at position 2"),
        ] {
            let world = World::with_script([Step::docket("OPEN")]);
            let (case, found, _) = refused(create(&world, Store::new(&world).once(key), ""));
            assert_eq!((case, &*found), ("permanent-invalid-input", expected));
            assert!(world.sent().is_empty());
        }
    }

    #[test]
    fn keys_are_shared_by_all_functions_and_accounts() {
        let world = World::with_script([Step::docket("OPEN")]);
        let store = Store::new(&world);
        create(&world, store.once("k"), "").unwrap();
        let variables = [("ACCOUNTS", "alpha"), ("ALPHA_API_TOKEN", "token-of-alpha")];
        let client = world.client(&variables);
        let options = crate::types::CallOptions {
            account: Some("alpha".into()),
            ..crate::simulation::NO_OPTIONS
        };
        let request_v2 = request("");
        let other_account =
            client.create_docket_v2_once(&request_v2, Some(options), Some(store.once("k")));
        let (_, found, _) = refused(world.run(other_account));
        assert!(found.ends_with("a create with another account"), "{found}");
        let request = DocketRequest {
            agent_id: 7,
            to_phone_number: NUMBER.into(),
            call_context: request_v2.call_context.clone(),
            extra: None,
        };
        let v1 = world.run(client.create_docket_once(&request, None, Some(store.once("k"))));
        let (_, failure) = case_and_failure(v1.unwrap_err());
        let found = failure.problem.unwrap().found;
        assert!(
            found.ends_with(" of a call of dockets.create-docket-v2"),
            "{found}"
        );
        assert_eq!(world.sent().len(), 1);
    }

    const KILL_MS: usize = 91;

    /// Kills a program at each moment of a create, for each of its ends, and then runs it again and
    /// kills it at random moments.
    #[test]
    fn no_history_of_kills_and_runs_calls_anyone_twice() {
        let all = ["ok", "422", "503", "429", "not-sent", "silence"];
        for seed in 0..KILL_MS * all.len() {
            let mut random = fastrand::Rng::with_seed(seed as u64);
            let mut ends = vec![all[seed / KILL_MS]];
            ends.extend((0..7).map(|_| all[random.usize(..all.len())]));
            let world = World::with_script(ends.iter().map(|end| match *end {
                "ok" => Step::docket("OPEN").after(30),
                end => Step::parse(end).after(30),
            }));
            let store = Store::new(&world);
            store.write_ms.set(20);
            for run in 0..7 {
                let client = world.client(&[("MAX_ATTEMPTS", "1")]);
                let request = request("");
                let kill_at_ms = match run {
                    0 => (seed % KILL_MS) as u64,
                    _ => random.u64(..120),
                };
                world.run(async {
                    let once = Some(store.once("k"));
                    let create = client.create_docket_v2_once(&request, None, once);
                    let kill = pin!(world.sleep(kill_at_ms));
                    // A killed program drops nothing.
                    mem::forget(select(Box::pin(create), kill).await);
                });
                store.restart();
                let is_written = store.state("k").is_some();
                assert!(is_written || world.sent().is_empty(), "{seed} {run}");
            }
            // Nothing was sent after a create that may have called someone.
            let sent = &ends[..world.sent().len()];
            let harmless = |end: &&&str| matches!(**end, "422" | "429" | "not-sent");
            let before = sent.iter().take_while(harmless).count();
            assert!(sent.len() <= before + 1, "{seed}: {sent:?}");
            // A person who was certainly not called is called by the next run.
            let may_send = matches!(store.state("k"), None | Some(State::Free));
            let _last = create(&world, store.once("k"), "");
            let is_sent = world.sent().len() > sent.len();
            assert_eq!(is_sent, may_send, "{seed}: {sent:?}");
        }
    }

    /// `operation` proves it for single creates.
    #[test]
    fn a_request_of_a_batch_is_retried_after_a_server_error_only_without_a_key() {
        for (key, sent) in [(None, 2), (Some("a"), 1)] {
            let world = World::with_script([Step::status(503), Step::docket("OPEN")]);
            let client = world.client(&[("CREATE_RETRY", "server-errors")]);
            let store = Store::new(&world);
            let results = Results::new(vec![None]);
            world.run(create_each(&client, &store, &[("", key)], false, &results));
            assert_eq!(world.sent().len(), sent);
        }
    }

    #[test]
    fn one_of_two_creates_with_a_key_is_sent_and_the_other_is_refused_or_waits() {
        for (waits, max_in_flight) in [(false, "4"), (true, "4"), (true, "1")] {
            let world = World::with_script([Step::docket("OPEN").after(400)]);
            let store = Store::new(&world);
            let client = world.client(&[("MAX_IN_FLIGHT", max_in_flight)]);
            let request = request("");
            let create = || {
                let once = Once {
                    waits,
                    ..store.once("k")
                };
                client.create_docket_v2_once(&request, None, Some(once))
            };
            let second = async {
                world.sleep(5).await;
                create().await
            };
            let (first, second) = world.run(join(create(), second));
            assert!(!first.unwrap().from_ledger);
            assert_eq!(world.sent().len(), 1);
            match waits {
                true => {
                    assert!(second.unwrap().from_ledger);
                    assert!(world.now_ms() < 500, "{}", world.now_ms());
                }
                false => {
                    let (case, found, failure) = refused(second);
                    assert_eq!(case, "permanent-outcome-unknown");
                    assert!(
                        found.contains("is in progress since Sun, 06 Nov"),
                        "{found}"
                    );
                    assert!(failure.may_have_created);
                }
            }
        }
        // It waits no longer than its deadline.
        let world = World::with_script([Step::silence()]);
        let store = Store::new(&world);
        let client = world.client(&[("DEADLINE_MS", "1000")]);
        let request = request("");
        let waiting = Once {
            waits: true,
            ..store.once("k")
        };
        let first = client.create_docket_v2_once(&request, None, Some(store.once("k")));
        let second = client.create_docket_v2_once(&request, None, Some(waiting));
        let (_, second) = world.run(join(first, second));
        assert!(refused(second).1.contains("in progress"));
        assert!(world.now_ms() <= 1_000);
    }

    #[test]
    fn without_a_ledger_that_can_be_written_in_time_nothing_is_sent() {
        let world = World::with_script([Step::docket("OPEN")]);
        let store = Store::new(&world);
        *store.failure.borrow_mut() = Some("calls.db: disk full".into());
        let (case, found, failure) = refused(create(&world, store.once("k"), ""));
        assert_eq!(
            (case, &*found),
            ("permanent-configuration", "ledger: calls.db: disk full")
        );
        assert!(!failure.may_have_created && world.sent().is_empty());

        *store.failure.borrow_mut() = None;
        // The entry is written after half of the time.
        for (key, write_ms, state) in [("a", 60_000, None), ("b", 30_000, Some(State::Free))] {
            store.write_ms.set(write_ms);
            let began_ms = world.now_ms();
            let (case, _, failure) = refused(create(&world, store.once(key), ""));
            assert_eq!((case, failure.may_have_created), ("timed-out", false));
            assert!(!failure.message.ends_with(CANCELLED), "{}", failure.message);
            assert_eq!(world.now_ms() - began_ms, 20_000);
            assert!(world.sent().is_empty());
            assert_eq!(store.state(key), state);
        }
    }

    #[test]
    fn a_record_contains_no_name_and_no_number() {
        let docket = format!(r#""docket_id":"{DOCKET_ID}","status":"OPEN","created":true"#);
        let echo =
            r#""to":"\u0039\u0031 98765-43210","auth":"Bearer simulated-token","name":"Ann""#;
        let world = World::with_script([Step::ok(&format!("\u{feff}{{{echo},{docket}}}"))]);
        let store = Store::new(&world);
        let first = create(&world, store.once("k"), "").unwrap().answer;
        let recorded = store.rows.borrow()["k"].outcome.answer.clone().unwrap();
        assert_eq!(recorded, format!("{{{docket}}}"));
        let second = create(&world, store.once("k"), "").unwrap().answer;
        assert_eq!(
            (first.status, first.created),
            (second.status, second.created)
        );
        assert_eq!((&*second.docket_id, second.raw_json), (DOCKET_ID, recorded));

        let claim = Claim {
            item: None,
            key: "k".into(),
            function: "calls.make-call",
            arguments: vec![("to_phone_number".into(), format!("\"{NUMBER}\""))],
        };
        for found in [NUMBER, "+91 98765 43210", "9876543210"] {
            let error = problem("to-phone-number", found, "another");
            let outcome = claim.failed(&error.into());
            let message = "an error whose message has the phone number";
            assert_eq!(
                (outcome.state, outcome.message.as_deref()),
                (State::Free, Some(message))
            );
        }
        let error = problem("call-context", "a duplicate name", "each name once");
        let message = claim.failed(&error.into()).message.unwrap();
        assert!(message.contains("a duplicate name"), "{message}");
        assert!(
            !Claim {
                arguments: Vec::new(),
                ..claim.clone()
            }
            .contains_number(NUMBER)
        );
        for (function, body, recorded) in [
            (
                "calls.make-call",
                r#"{"to":"9","task_id":"t-1"}"#,
                r#"{"task_id":"t-1"}"#,
            ),
            (
                "agents.create-agent",
                r#"{"agent_id":7,"name":"a"}"#,
                r#"{"agent_id":7}"#,
            ),
            ("agents.create-agent", "created", "{}"),
        ] {
            let claim = Claim {
                function,
                ..claim.clone()
            };
            assert_eq!(claim.recorded(body), recorded);
        }
    }

    #[test]
    fn a_batch_sends_each_key_once_and_requests_without_keys_each_time() {
        let world = World::with_script([Step::docket("OPEN")]);
        let store = Store::new(&world);
        let client = world.client(&[]);
        let items = [("", Some("a")), ("number", None), ("agent", Some("c"))];
        for (sent, from_ledger) in [(3, [false, false, false]), (4, [true, false, true])] {
            let results = Results::new(vec![None; 3]);
            world.run(create_each(&client, &store, &items, false, &results));
            let results = results.take().into_iter();
            let found: Vec<_> = results.map(|it| it.unwrap().unwrap().from_ledger).collect();
            assert_eq!(found, from_ledger);
            assert_eq!(world.sent().len(), sent);
        }
    }

    #[test]
    fn a_request_of_a_batch_that_waits_for_its_key_delays_no_other() {
        let world = World::with_script([Step::docket("OPEN").after(400), Step::docket("OPEN")]);
        let store = Store::new(&world);
        let client = world.client(&[("MAX_IN_FLIGHT", "2")]);
        let other = world.client(&[]);
        let request_of_other = request("");
        let mut items = [("", None); 8];
        items[..2].fill(("", Some("k")));
        let results = Results::new(vec![None; 8]);
        let once = Some(store.once("k"));
        let first = other.create_docket_v2_once(&request_of_other, None, once);
        let others = async {
            world.sleep(1).await;
            create_each(&client, &store, &items, true, &results).await;
        };
        let at_300_ms = async {
            world.sleep(300).await;
            results.borrow().iter().flatten().count()
        };
        let (first, (), done) = world.run(futures_util::future::join3(first, others, at_300_ms));
        assert!(first.is_ok());
        assert_eq!(done, 6, "those without keys");
        let results = results.take().into_iter();
        let found: Vec<_> = results.map(|it| it.unwrap().unwrap().from_ledger).collect();
        assert_eq!(found.iter().filter(|from_ledger| **from_ledger).count(), 2);
        assert_eq!(world.sent().len(), 7);

        // Items that fail for another reason do not wait.
        let world = World::with_script([Step::status(422)]);
        let (client, store) = (world.client(&[]), Store::new(&world));
        let results = Results::new(vec![None]);
        world.run(create_each(&client, &store, &items[..1], true, &results));
        assert_eq!((world.now_ms(), world.sent().len()), (0, 1));
    }

    #[test]
    fn a_sighting_has_the_possible_keys_of_a_docket() {
        let number = format!(r#""to_phone_number":"{NUMBER}""#);
        for (docket, keys) in [
            (
                format!(r#"{number},"external_id":"crm-1""#),
                Some(vec!["crm-1"]),
            ),
            // The key of a docket is the one that it was created with.
            (
                format!(r#"{number},"external_id":"a","call_context":{{"key":"b"}}"#),
                Some(vec!["a"]),
            ),
            (
                format!(r#"{number},"call_context":{{"key":"b","n":1,"o":{{"x":"y"}}}}"#),
                Some(vec!["b"]),
            ),
            (format!(r#"{number},"call_context":{{"n":1}}"#), None),
            (format!(r#"{number},"status":"OPEN""#), None),
            (r#""external_id":"crm-1""#.to_owned(), None),
        ] {
            let json = format!(r#"{{"docket_id":"{DOCKET_ID}",{docket}}}"#);
            let docket = crate::dockets::decode(&json).unwrap();
            let expected = keys.map(|keys| Sighting {
                keys: keys.into_iter().map(str::to_owned).collect(),
                docket_id: DOCKET_ID.to_owned(),
                to_phone_number: format!("\"{NUMBER}\""),
            });
            assert_eq!(Sighting::of(&docket), expected);
        }
    }
}

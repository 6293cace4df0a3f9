//! Carrying out a create: admit it, claim its key if it has one, send it, and record how it ended.

use crate::key::check_key;
use crate::ledger::{Claim, Claimed, Found, Ledger, NO_LEDGER, Recorded, State};
use crate::operation::{Operation, ResponseMeta};
use crate::permits::Admission;
use crate::problem::{configuration_failure, problem};
use crate::request::ApiRequest;
use crate::settings::CreateRetry;
use crate::time_frame::TimeFrame;
use crate::transport::Transport;
use crate::types::{Failure, FailureKind, NextStep};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::time::{Duration, UNIX_EPOCH};

/// How much longer than its create a claim lasts: for the write of the claim before it, and of its
/// outcome after it.
const CLAIM_SLACK_MS: u64 = 10_000;

/// How long a create whose time is up waits for its outcome to be recorded.
const RECORD_MS: u64 = 250;

/// The beginning of the year 10000, which no HTTP date can show, in milliseconds since 1970.
const YEAR_10000_MS: u64 = 253_402_300_800_000;

/// The admission of a create, and its time.
pub(crate) struct Admitted<'a> {
    pub(crate) admission: Admission<'a>,
    /// The time in which it must be started.
    pub(crate) frame: TimeFrame,
    /// The time of the whole operation. The time of an item of a batch begins when it is sent.
    pub(crate) time: Option<TimeFrame>,
}

/// Decodes a response; the error says what is wrong with it.
type Decode<'a> = dyn FnMut(&str, ResponseMeta) -> Result<(), String> + Send + 'a;

impl<T: Transport, L: Ledger> Operation<'_, T, L> {
    /// Carries out a create: once, if it has a key. One of a batch has been admitted before. Only
    /// the decoding is of its type, so that a guest contains the rest once.
    pub(crate) async fn create<R: Send>(
        &self,
        request: &ApiRequest,
        key: Option<&str>,
        admitted: Option<Admitted<'_>>,
        decode: fn(&str, ResponseMeta) -> Result<R, String>,
    ) -> Result<Recorded<R>, Failure> {
        let mut answer = None;
        let decoder: &mut Decode<'_> = &mut |text, meta| {
            answer = Some(decode(text, meta)?);
            Ok(())
        };
        let from_ledger = self.send_create(request, key, admitted, decoder).await?;
        Ok(Recorded {
            answer: answer.expect("a create that succeeded has been decoded"),
            from_ledger,
        })
    }

    /// Admits a create that is not, and sends it. Returns `true` if the answer comes from the
    /// ledger.
    async fn send_create(
        &self,
        request: &ApiRequest,
        key: Option<&str>,
        admitted: Option<Admitted<'_>>,
        decode: &mut Decode<'_>,
    ) -> Result<bool, Failure> {
        let admitted = match admitted {
            Some(admitted) => admitted,
            None => {
                let frame = self.time_frame();
                let admission = self.admit(frame.began_ms, frame).await;
                Admitted {
                    admission: admission.map_err(|stop| self.not_started(frame, stop))?,
                    frame,
                    time: Some(frame),
                }
            }
        };
        let Some(key) = key else {
            let Admitted {
                admission, time, ..
            } = admitted;
            let create_retry = self.settings.create_retry;
            let success = self
                .send_admitted(admission, time, request, create_retry)
                .await?;
            return success.decode(decode).map(|()| false);
        };
        let once = self.send_once(request, key, admitted, decode);
        let sent = self.ledger.once(once).await;
        sent.unwrap_or_else(|| Err(unusable_ledger(NO_LEDGER.to_owned())))
    }

    /// Sends a create unless its key forbids it, and records how it ended. Returns `true` if the
    /// answer comes from the ledger.
    async fn send_once(
        &self,
        request: &ApiRequest,
        key: &str,
        admitted: Admitted<'_>,
        decode: &mut Decode<'_>,
    ) -> Result<bool, Failure> {
        check_key(key)?;
        let Admitted {
            admission,
            frame,
            time,
        } = admitted;
        let lasts_ms = self.settings.deadline_ms.saturating_add(CLAIM_SLACK_MS);
        let claim = Claim::new(key, self.account_name(), request, lasts_ms);
        let began_ms = admission.at_ms;
        let left_ms = frame.latest_start_ms.saturating_sub(began_ms);
        let time_is_up = pin!(self.transport.sleep(left_ms.min(CLAIM_SLACK_MS)));
        let claimed = match select(pin!(self.ledger.claim(&claim)), time_is_up).await {
            Either::Left((claimed, _)) => claimed,
            Either::Right(_) => {
                let stop = self.stop_at(frame, self.transport.now_ms());
                return Err(stop.map_or_else(slow_ledger, |stop| self.not_started(frame, stop)));
            }
        };
        let taken = match claimed {
            Claimed::Taken(taken) => taken,
            Claimed::Failed(found) => return Err(unusable_ledger(found)),
            Claimed::Found(found) => return decode_recorded(&decide(&claim, found)?, decode),
        };
        // A create with a key is not sent again after an attempt that may have been carried out,
        // whatever `CREATE_RETRY` says.
        let create_retry = match self.settings.create_retry {
            CreateRetry::ServerErrors => CreateRetry::NotSent,
            other => other,
        };
        let at_ms = self.transport.now_ms();
        let sent = match self.stop_at(frame, at_ms) {
            None => {
                let admission = Admission { at_ms, ..admission };
                self.send_admitted(admission, time, request, create_retry)
                    .await
            }
            Some(stop) => Err(self.not_started(frame, stop)),
        };
        let sent = sent.and_then(|success| {
            success.decode(|text, meta| decode(text, meta).map(|()| claim.succeeded(text)))
        });
        let (outcome, result) = match sent {
            Ok(outcome) => (outcome, Ok(false)),
            Err(failure) => (claim.failed(&failure), Err(failure)),
        };
        // The caller has the answer in time, even if a ledger is slow.
        let ends_ms = began_ms.saturating_add(self.settings.deadline_ms);
        let left_ms = ends_ms.saturating_sub(self.transport.now_ms());
        let time_is_up = pin!(self.transport.sleep(left_ms.max(RECORD_MS)));
        select(pin!(self.ledger.record(taken, &outcome)), time_is_up).await;
        result
    }
}

fn unusable_ledger(found: String) -> Failure {
    let allowed = "a ledger that can be read and written: nothing was sent";
    configuration_failure(problem("ledger", found, allowed))
}

/// Returns the recorded answer of a create whose key has an entry, or the error in which it ends.
fn decide(claim: &Claim, entry: Found) -> Result<String, Failure> {
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
        return Err(problem("key", found, allowed).into());
    }
    let begun = shown_date(entry.begun_ms);
    match (entry.state, entry.answer) {
        (State::Done, Some(answer)) => Ok(answer),
        (State::Begun, _) => {
            let found = format!("the key {key:?} of a create that is in progress since {begun}");
            let allowed = "a key of a create that has ended: nothing was sent";
            let failure = Failure::from(problem("key", found, allowed));
            Err(Failure {
                kind: FailureKind::OutcomeUnknown,
                next_step: NextStep::Unknown,
                may_have_created: true,
                ..failure
            })
        }
        // A store must not return a free entry; sending nothing is right whatever it means.
        (State::Done | State::Unknown | State::Free, _) => {
            let message = format!(
                "key: a create with the key {key:?} and these arguments was begun on {begun}, and \
                 its outcome is not known: nothing was sent now. `resolve` and `release` of the \
                 ledger note what became of it"
            );
            Err(Failure {
                may_have_created: true,
                ..Failure::unsent(FailureKind::OutcomeUnknown, NextStep::Unknown, message)
            })
        }
    }
}

/// Returns the failure of a create whose key was not taken in time.
fn slow_ledger() -> Failure {
    let message = format!("nothing was sent: the ledger took no key within {CLAIM_SLACK_MS} ms");
    Failure::unsent(FailureKind::TimedOut, NextStep::RetryLater, message)
}

/// Returns a date as an error shows it. A damaged entry may have any.
fn shown_date(unix_ms: u64) -> String {
    match unix_ms {
        0..YEAR_10000_MS => httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_millis(unix_ms)),
        _ => "an unknown date".to_owned(),
    }
}

fn decode_recorded(answer: &str, decode: &mut Decode<'_>) -> Result<bool, Failure> {
    match decode(answer, ResponseMeta::default()) {
        Ok(()) => Ok(true),
        Err(found) => {
            let allowed = "an answer that was recorded: nothing was sent";
            Err(configuration_failure(problem("ledger", found, allowed)))
        }
    }
}

#[cfg(test)]
mod tests;

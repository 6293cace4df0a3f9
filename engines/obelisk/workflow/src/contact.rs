//! One attempt to call one contact of a campaign.

use serde::{Deserialize, Serialize};
use voice_calling_obelisk_guest::campaign::{Contact, News, Row, Setback, State, to_text};
use voice_calling_obelisk_guest::failure::held;

use crate::bindings::obelisk::types::execution::ExecutionId;
use crate::bindings::obelisk::workflow::workflow_support as engine;
use crate::bindings::voice_calling::once::dockets::Grant;
use crate::bindings::voice_calling::waits_obelisk_stub::campaign as stubs;
use crate::bindings::voice_calling::workflows::types::{DocketOutcome, RunError, RunOptions, Way};
use crate::creator::{Attempt, Creator, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, pause, retry_after_ms};
use crate::docket::{Run, correlated};
use crate::error::reason;
use crate::notifier::Notifier;
use crate::orders;
use crate::pace::Pace;
use crate::sleep::{sleep_until, with_jitter};
use crate::waiting::Waiting;

/// The input of a try.
#[derive(Serialize, Deserialize)]
pub(crate) struct Work {
    pub contact: Contact,
    pub options: RunOptions,
    pub grant: Grant,
    /// The stub that receives what became of the creation.
    pub news: String,
}

impl Work {
    /// Reports to the segment what became of the creation.
    fn tell(&self, news: &News) {
        let stub = ExecutionId {
            id: self.news.clone(),
        };
        // A conflict means that the stub was cancelled by hand.
        let _ = stubs::note_stub(&stub, Ok(&to_text(news)));
    }
}

/// `parts.run-contact`
pub(crate) fn run(work: &Work) -> News {
    let run = engine::execution_id_current().id;
    let notifier = Notifier::of(&run, &work.options);
    match call(&run, work, &notifier) {
        Err(contact) => News::Again(Box::new(contact)),
        Ok(ending) => {
            notifier.ended(&ending);
            News::Ended(Box::new(row(run, &work.contact, ending)))
        }
    }
}

fn row(run: String, contact: &Contact, ending: Result<DocketOutcome, RunError>) -> Row {
    let state = state(&ending);
    let row = Row {
        run: Some(run),
        ..Row::of(contact, state)
    };
    match ending {
        Ok(outcome) => Row {
            docket_id: Some(outcome.docket_id),
            known_by: outcome.known_by.map(|way| match way {
                Way::Webhook => "webhook".to_owned(),
                Way::Poll => "poll".to_owned(),
            }),
            insights: outcome.unverified.and_then(|it| it.call_insights),
            ..row
        },
        Err(error) => Row {
            error: Some(reason(error)),
            ..row
        },
    }
}

/// Returns the state in which a run ended.
pub(crate) fn state(ending: &Result<DocketOutcome, RunError>) -> State {
    match ending {
        Ok(outcome) if outcome.completed => State::Completed,
        Ok(_) => State::TimedOut,
        Err(RunError::PermanentSpared(_)) => State::Spared,
        Err(RunError::PermanentGivenUp(_)) => State::GivenUp,
        Err(RunError::PermanentInvalidInput(_)) => State::Invalid,
        Err(RunError::PermanentNotCreated(_)) => State::NotCreated,
        Err(RunError::PermanentOutcomeUnknown(_) | RunError::ExecutionFailed) => State::Unknown,
    }
}

/// Returns how the run ended. The error is the contact, which is dispatched again.
fn call(
    run: &str,
    work: &Work,
    notifier: &Notifier,
) -> Result<Result<DocketOutcome, RunError>, Contact> {
    let Work { contact, grant, .. } = work;
    let checked = Pace::read(&work.options)
        .and_then(|pace| Ok((pace, correlated(contact.request.clone(), run)?)));
    let (pace, request) = match checked {
        Ok(checked) => checked,
        Err(problem) => {
            work.tell(&News::NotSent);
            return Ok(Err(RunError::PermanentInvalidInput(problem)));
        }
    };
    if grant.not_before_ms > 0 {
        sleep_until(grant.not_before_ms);
    }
    // Submitted before the docket exists: a webhook may be quicker than the answer to the creation.
    let waiting = Waiting::begin(run);
    let attempt = Creator::begin(run, &request).attempt(Some(grant));
    let report = news(&attempt, work, pace.create_within_ms);
    work.tell(&report);
    let later = |contact: Contact| Contact {
        tries: contact.tries.saturating_add(1),
        ..contact
    };
    let pause_ms = with_jitter(pause_after(contact.tries));
    let created = match attempt {
        Attempt::Created(created) => Ok(created),
        Attempt::Unknown(failure) => Err(failure),
        // Nothing was created, and the campaign pauses.
        _ if matches!(&report, News::Setback(it) if it.order.is_some()) => {
            return Err(Contact {
                waited_ms: 0,
                tries: 0,
                ..contact.clone()
            });
        }
        Attempt::Never(error) => return Ok(Err(error)),
        Attempt::NotGranted | Attempt::Held(_) => return Err(contact.clone()),
        Attempt::NotBefore(not_before_ms) => {
            // The slot is free at once, unless the moment is put off again and again.
            if contact.tries > 0 {
                pause("not yet", pause_ms);
            }
            return Err(later(Contact {
                not_before_ms,
                ..contact.clone()
            }));
        }
        // Retried without limit: a campaign waits while the list cannot be read, and does not end.
        Attempt::Unchecked(_) => {
            pause("unchecked", pause_ms);
            return Err(later(contact.clone()));
        }
        Attempt::NotNow(failure) if pace.create_within_ms == 0 => {
            return Ok(Err(RunError::PermanentNotCreated(failure)));
        }
        Attempt::NotNow(failure) => {
            let pause_ms = pause_ms.max(retry_after_ms(&failure));
            pause(failure.kind.name(), pause_ms);
            return Err(later(Contact {
                waited_ms: contact.waited_ms.saturating_add(pause_ms),
                ..contact.clone()
            }));
        }
    };
    let waits = Run::begin(run.to_owned(), &request, created, waiting, notifier);
    Ok(waits.wait(pace, &work.options))
}

/// Returns the report of an attempt to the segment.
fn news(attempt: &Attempt, work: &Work, within_ms: u64) -> News {
    let mut failure = match attempt {
        Attempt::Created(_) => return News::Created,
        Attempt::Unknown(failure)
        | Attempt::NotNow(failure)
        | Attempt::Never(RunError::PermanentNotCreated(failure)) => failure.clone(),
        Attempt::Held(reason) => held(reason.as_str()),
        Attempt::Never(_) | Attempt::NotGranted | Attempt::NotBefore(_) | Attempt::Unchecked(_) => {
            return News::NotSent;
        }
    };
    let order = orders::pause_for(&failure, work.contact.waited_ms, within_ms);
    // The history need not have it twice.
    if let Some(response) = &mut failure.response {
        response.body.clear();
    }
    let gate = work.grant.gate.clone();
    News::Setback(Box::new(Setback {
        failure,
        order,
        gate,
    }))
}

/// Returns the pause that follows this many earlier tries.
fn pause_after(tries: u32) -> u64 {
    // After ten tries the longest pause has been reached.
    (FIRST_PAUSE_MS << tries.min(10)).min(LONGEST_PAUSE_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_with_the_tries() {
        let pauses = [0, 1, 5, 6, 7, u32::MAX].map(pause_after);
        assert_eq!(pauses, [1_000, 2_000, 32_000, 60_000, 60_000, 60_000]);
    }
}

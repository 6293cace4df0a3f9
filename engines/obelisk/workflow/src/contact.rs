//! One attempt to call one contact of a campaign.

use voice_calling_core::types::{DocketRequestV2, Failure, NextStep};

use crate::bindings::obelisk::workflow::workflow_support as engine;
use crate::bindings::voice_calling::once::dockets::Grant;
use crate::bindings::voice_calling::operator::hand_off::State;
use crate::bindings::voice_calling::workflows::campaign_types::{Contact, Ending, Exclusion, Row};
use crate::bindings::voice_calling::workflows::types::{DocketOutcome, RunError, RunOptions};
use crate::creator::{Attempt, Creator, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, pause};
use crate::docket::{Run, correlated};
use crate::error::{describe, reason};
use crate::notifier::Notifier;
use crate::orders;
use crate::pace::Pace;
use crate::sleep::{sleep_until, with_jitter};
use crate::waiting::Waiting;

/// `parts.run-contact`
pub fn run(contact: Contact, options: RunOptions, grant: Grant) -> Ending {
    let (index, request) = (contact.index, contact.request.clone());
    let run = engine::execution_id_current().id;
    let notifier = Notifier::of(&run, &options);
    if let Some(exclusion) = contact.excluded {
        let (state, reason) = match exclusion {
            Exclusion::Duplicate(first) => {
                (State::Duplicate, format!("the number of contact {first}"))
            }
            Exclusion::Invalid(reason) => (State::Invalid, reason),
            Exclusion::Spared(reason) => (State::Spared, reason),
        };
        notifier.excluded(state);
        return Ending::Ended(row(index, request, state, Err(reason)));
    }
    match call(&run, contact, &options, &grant, &notifier) {
        Err(contact) => Ending::Again(contact),
        Ok(ending) => {
            notifier.ended(&ending);
            let state = State::of(&ending);
            Ending::Ended(row(index, request, state, ending.map_err(reason)))
        }
    }
}

fn row(
    index: u32,
    request: DocketRequestV2,
    state: State,
    ending: Result<DocketOutcome, String>,
) -> Row {
    let (outcome, error) = match ending {
        Ok(outcome) => (Some(outcome), None),
        Err(reason) => (None, Some(reason)),
    };
    let known_by = outcome.as_ref().and_then(|it| it.known_by);
    let (docket_id, delivery) = match outcome {
        Some(outcome) => (Some(outcome.docket_id), outcome.unverified),
        None => (None, None),
    };
    Row {
        index,
        to_phone_number: request.to_phone_number,
        external_id: request.external_id,
        state,
        docket_id,
        known_by,
        insights: delivery.and_then(|it| it.call_insights),
        error,
    }
}

/// Returns how the run ended. The error is the contact, which is dispatched again.
fn call(
    run: &str,
    contact: Contact,
    options: &RunOptions,
    grant: &Grant,
    notifier: &Notifier,
) -> Result<Result<DocketOutcome, RunError>, Contact> {
    let checked =
        Pace::read(options).and_then(|pace| Ok((pace, correlated(contact.request.clone(), run)?)));
    let (pace, request) = match checked {
        Ok(checked) => checked,
        Err(problem) => return Ok(Err(RunError::PermanentInvalidInput(problem))),
    };
    if grant.not_before_ms > 0 {
        sleep_until(grant.not_before_ms);
    }
    // Submitted before the docket exists: a webhook may be quicker than the answer to the creation.
    let waiting = Waiting::begin(run);
    let created = match Creator::begin(run, &request).attempt(Some(grant)) {
        Attempt::Created(created) => Ok(created),
        Attempt::Unknown(failure) => Err(failure),
        // No other contact can be called either.
        Attempt::Never(RunError::PermanentNotCreated(failure))
            if failure.next_step == NextStep::FixSetting =>
        {
            orders::pause(&grant.gate, &describe(&failure));
            return Err(contact);
        }
        Attempt::Never(error) => return Ok(Err(error)),
        Attempt::NotGranted => return Err(contact),
        Attempt::NotBefore(not_before_ms) => {
            // The slot is free at once, unless the moment is put off again and again.
            if contact.tries > 0 {
                pause("not yet", with_jitter(pause_after(contact.tries)));
            }
            return Err(Contact {
                not_before_ms,
                tries: contact.tries.saturating_add(1),
                ..contact
            });
        }
        Attempt::Held(reason) => {
            orders::pause(&grant.gate, &reason);
            return Err(contact);
        }
        // Retried without limit: a campaign waits while the list cannot be read, and does not end.
        Attempt::Unchecked(_) => {
            pause("unchecked", with_jitter(pause_after(contact.tries)));
            return Err(Contact {
                tries: contact.tries.saturating_add(1),
                ..contact
            });
        }
        Attempt::NotNow { failure, .. } if pace.create_within_ms == 0 => {
            return Ok(Err(RunError::PermanentNotCreated(failure)));
        }
        Attempt::NotNow {
            failure,
            retry_after_ms,
        } if orders::delays_every_contact(retry_after_ms) => {
            orders::pause_for(&grant.gate, &failure, retry_after_ms);
            return Err(contact);
        }
        Attempt::NotNow {
            failure,
            retry_after_ms,
        } => {
            let within_ms = pace.create_within_ms;
            return Err(again(contact, &failure, retry_after_ms, within_ms, grant));
        }
    };
    // A creation that a dead engine has begun says nothing about the service.
    let is_of_service = matches!(&created, Err(failure) if !failure.attempts.is_empty());
    let waits = Run::begin(run.to_owned(), &request, created, waiting, notifier);
    if is_of_service {
        orders::pause_if_many_questions(&grant.gate);
    }
    Ok(waits.wait(pace))
}

/// Waits, then returns the contact for another dispatch. If it has been tried for long enough
/// without being rate-limited, the campaign pauses: whatever stops this contact stops all of them.
fn again(
    contact: Contact,
    failure: &Failure,
    retry_after_ms: u64,
    within_ms: u64,
    grant: &Grant,
) -> Contact {
    let pause_ms = with_jitter(pause_after(contact.tries)).max(retry_after_ms);
    let waited_ms = contact.waited_ms.saturating_add(pause_ms);
    if orders::is_hopeless(failure.kind, waited_ms, within_ms) {
        orders::pause(&grant.gate, &describe(failure));
        return Contact {
            waited_ms: 0,
            tries: 0,
            ..contact
        };
    }
    pause(failure.kind.name(), pause_ms);
    Contact {
        waited_ms,
        tries: contact.tries.saturating_add(1),
        ..contact
    }
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

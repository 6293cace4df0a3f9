//! One docket, from its creation to its completion.

use voice_calling_core::settings::DEFAULT_MAX_DELIVERY_BYTES;
use voice_calling_core::types::{
    Docket, DocketCompleted, DocketRequestV2, Failure, NextStep, Problem, RequestError,
};
use voice_calling_core::{dockets, webhooks};
use voice_calling_obelisk_guest::campaign::{Question, to_text};
use voice_calling_obelisk_guest::failure::unreachable;
use voice_calling_obelisk_guest::{CONTEXT_KEY, Completion, run_of_context, with_run};

use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::workflow::workflow_support as engine;
use crate::bindings::voice_calling::client::dockets as activities;
use crate::bindings::voice_calling::workflows::types::{DocketOutcome, RunError, RunOptions, Way};
use crate::creator::{
    Attempt, Created, Creator, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, pause, retry_after_ms,
};
use crate::error::describe;
use crate::notifier::Notifier;
use crate::pace::{Pace, Pauses};
use crate::sleep::{retried, sleep_until, with_jitter};
use crate::waiting::{Event, Waiting};

/// The longest pause between two tries while creations are held. Each makes the history longer.
const LONGEST_PAUSE_OF_HOLD_MS: u64 = 600_000;

/// `docket.run-docket`
pub(crate) fn run(
    request: DocketRequestV2,
    options: RunOptions,
) -> Result<DocketOutcome, RunError> {
    let pace = Pace::read(&options).map_err(RunError::PermanentInvalidInput)?;
    let id = engine::execution_id_current().id;
    let request = correlated(request, &id).map_err(RunError::PermanentInvalidInput)?;
    let notifier = Notifier::of(&id, &options);
    // Submitted before the docket exists: a webhook may be quicker than the answer to the creation.
    let waiting = Waiting::begin(&id);
    let ending = create(&id, &request, &pace).and_then(|created| {
        Run::begin(id.clone(), &request, created, waiting, &notifier).wait(pace, &options)
    });
    notifier.ended(&ending);
    ending
}

/// Returns the request with the run's id added to its context.
pub(crate) fn correlated(request: DocketRequestV2, run: &str) -> Result<DocketRequestV2, Problem> {
    Ok(DocketRequestV2 {
        call_context: with_run(&request.call_context, run)?,
        ..request
    })
}

/// Creates the docket. Retries only while it is certain that none exists. The inner error says why
/// it is unknown whether one exists.
fn create(
    run: &str,
    request: &DocketRequestV2,
    pace: &Pace,
) -> Result<Result<Created, Failure>, RunError> {
    let creator = Creator::begin(run, request);
    let mut pauses = Pauses::new(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    let mut later = pauses.clone();
    let mut holds = Pauses::new(FIRST_PAUSE_MS, LONGEST_PAUSE_OF_HOLD_MS);
    let mut left_ms = pace.create_within_ms;
    loop {
        let failure = match creator.attempt(None) {
            Attempt::Created(created) => return Ok(Ok(created)),
            Attempt::Unknown(failure) => return Ok(Err(failure)),
            Attempt::Never(error) => return Err(error),
            Attempt::NotNow(failure) => failure,
            Attempt::Unchecked(reason) => unreachable(reason),
            Attempt::NotBefore(ms) => {
                sleep_until(ms);
                // If the moment is over, or is put off again and again.
                pause("not yet", with_jitter(later.next_ms()));
                continue;
            }
            // An attempt without a grant cannot be refused one.
            Attempt::NotGranted => continue,
            // A hold may last for days, and is not counted: nothing is wrong with this docket.
            Attempt::Held(reason) => {
                pause(&reason, with_jitter(holds.next_ms()));
                continue;
            }
        };
        let pause_ms = with_jitter(pauses.next_ms()).max(retry_after_ms(&failure));
        left_ms = match left_ms.checked_sub(pause_ms) {
            Some(left_ms) => left_ms,
            None => return Err(RunError::PermanentNotCreated(failure)),
        };
        pause(failure.kind.name(), pause_ms);
    }
}

/// A run that waits for the completion of its docket.
pub(crate) struct Run<'a> {
    id: String,
    request: &'a DocketRequestV2,
    created: Result<Created, Failure>,
    /// The service's last answer to a poll.
    docket: Option<Docket>,
    polls: u32,
    last_poll_failure: Option<Failure>,
    waiting: Waiting,
    notifier: &'a Notifier,
}

impl<'a> Run<'a> {
    pub(crate) fn begin(
        id: String,
        request: &'a DocketRequestV2,
        created: Result<Created, Failure>,
        waiting: Waiting,
        notifier: &'a Notifier,
    ) -> Self {
        let mut run = Self {
            id,
            request,
            created,
            docket: None,
            polls: 0,
            last_poll_failure: None,
            waiting,
            notifier,
        };
        run.ask_person_where_unknown("");
        run
    }

    /// Waits until the completion is known, a person gives it up, or time runs out.
    pub(crate) fn wait(self, pace: Pace, options: &RunOptions) -> Result<DocketOutcome, RunError> {
        let (run, number) = (self.id.clone(), self.request.to_phone_number.clone());
        let ending = self.until_ended(pace);
        if let (Ok(outcome), Some(opt_out)) = (&ending, &options.opt_out) {
            opt_out.apply(outcome, &number, &run);
        }
        ending
    }

    fn until_ended(mut self, mut pace: Pace) -> Result<DocketOutcome, RunError> {
        self.waiting.wake_after(pace.polls.next_ms().unwrap_or(0));
        loop {
            match self.waiting.next() {
                Event::Completion(answer) => {
                    if let Some((docket, delivery)) = self.accept(answer) {
                        return self.completed_by_webhook(docket, delivery);
                    }
                }
                Event::Decision(Ok(docket_id)) => self.adopt(&docket_id),
                Event::Decision(Err(reason)) => return Err(RunError::PermanentGivenUp(reason)),
                Event::NoDecision => self.ask_person_where_unknown("The question was cancelled. "),
                Event::Timer => {
                    let next_ms = pace.polls.next_ms();
                    if let Some(ms) = next_ms {
                        self.waiting.wake_after(ms);
                    }
                    self.poll();
                    if next_ms.is_none() && !self.is_completed() {
                        return self.outcome(None, None);
                    }
                }
            }
            if self.is_completed() {
                return self.found_completed(pace.insights_within_ms);
            }
        }
    }

    /// Returns `true` if the service's last answer says that the docket is completed.
    fn is_completed(&self) -> bool {
        self.docket.as_ref().is_some_and(dockets::is_completed)
    }

    /// Returns the content of the completion stub if it is the completion of this run's docket.
    /// Otherwise the stub is used up, and the completion is left to polls or a person.
    fn accept(&self, answer: Result<String, String>) -> Option<(Docket, DocketCompleted)> {
        let (docket, delivery) = match read_completion(answer) {
            Ok(completion) => completion,
            Err(found) => {
                log::error(&format!("expected a completion, found {found}"));
                return None;
            }
        };
        match &self.created {
            Ok(created) if created.docket_id != docket.docket_id => {
                // Two dockets have this run's id: a person's phone may have rung twice.
                let (ours, other) = (&created.docket_id, &docket.docket_id);
                log::error(&format!(
                    "docket {ours} is this run's, but a completion of docket {other} came, whose context names this run as well"
                ));
                None
            }
            Err(_) if !may_be_of(&docket, &self.request.to_phone_number) => {
                log::error(&format!(
                    "docket {} names this run and has another phone number: was the database restored?",
                    docket.docket_id
                ));
                None
            }
            _ => Some((docket, delivery)),
        }
    }

    /// Asks the service for the docket, if its id is known.
    fn poll(&mut self) {
        let Ok(created) = &self.created else { return };
        self.polls += 1;
        match fetch(&created.docket_id) {
            Ok(docket) => {
                self.docket = Some(docket);
                self.last_poll_failure = None;
            }
            Err(failure) => {
                let why = describe(&failure);
                log::info(&format!("the docket could not be fetched: {why}"));
                self.last_poll_failure = Some(failure);
            }
        }
    }

    /// Asks a person to find the docket, if it is unknown whether there is one.
    fn ask_person_where_unknown(&mut self, before: &str) {
        let Err(cause) = &self.created else { return };
        let (why, id) = (describe(cause), &self.id);
        let text = format!(
            "{before}A create was sent, and its outcome is unknown ({why}). Look for a docket whose call context has {CONTEXT_KEY} = {id}. Answer `ok` with its \
             docket id, or `err` with a reason if there is none. It will not be created again; the run keeps waiting for its webhook."
        );
        log::warn(&text);
        let question = Question {
            text,
            agent_id: self.request.agent_id,
            to_phone_number: self.request.to_phone_number.clone(),
            external_id: self.request.external_id.clone(),
        };
        let stub = self.waiting.ask(&to_text(&question));
        self.notifier.asked(&stub, &question);
    }

    /// Adopts the docket that a person has named, if it is this run's.
    fn adopt(&mut self, docket_id: &str) {
        let may_pass = |failure: &Failure| failure.next_step == NextStep::RetryLater;
        let refused = match retried(|| fetch(docket_id), may_pass) {
            Ok(docket) if run_of(&docket).as_deref() != Some(&self.id) => {
                "has another context".to_owned()
            }
            Ok(docket) if !may_be_of(&docket, &self.request.to_phone_number) => {
                "has another phone number".to_owned()
            }
            Ok(docket) => {
                log::info(&format!("docket {docket_id} is this run's"));
                self.created = Ok(Created {
                    docket_id: docket_id.to_owned(),
                    created: None,
                });
                self.docket = Some(docket);
                return;
            }
            Err(failure) => format!("could not be fetched ({})", describe(&failure)),
        };
        self.ask_person_where_unknown(&format!("{docket_id:?} {refused}. "));
    }

    /// Ends a run whose completion came by the webhook before a poll found it.
    fn completed_by_webhook(
        mut self,
        docket: Docket,
        delivery: DocketCompleted,
    ) -> Result<DocketOutcome, RunError> {
        // The delivery also names the docket of a creation whose outcome was unknown.
        self.created = self.created.or_else(|_| {
            Ok(Created {
                docket_id: docket.docket_id.clone(),
                created: None,
            })
        });
        self.docket = Some(docket);
        self.outcome(Some(Way::Webhook), Some(delivery))
    }

    /// Ends a run whose completion a poll found. The webhook alone carries insights; it is awaited.
    fn found_completed(mut self, insights_within_ms: u64) -> Result<DocketOutcome, RunError> {
        self.waiting.wake_after(insights_within_ms);
        let delivery = loop {
            match self.waiting.next() {
                Event::Completion(answer) => {
                    break self.accept(answer).map(|(_, delivery)| delivery);
                }
                Event::Timer => break None,
                Event::Decision(_) | Event::NoDecision => {}
            }
        };
        self.outcome(Some(Way::Poll), delivery)
    }

    fn outcome(
        self,
        known_by: Option<Way>,
        unverified: Option<DocketCompleted>,
    ) -> Result<DocketOutcome, RunError> {
        let created = self.created.map_err(RunError::PermanentOutcomeUnknown)?;
        Ok(DocketOutcome {
            docket_id: created.docket_id,
            completed: known_by.is_some(),
            known_by,
            docket: self.docket,
            unverified,
            created: created.created,
            polls: self.polls,
            last_poll_failure: self.last_poll_failure,
        })
    }
}

/// Returns the docket as the service has it now.
fn fetch(docket_id: &str) -> Result<Docket, Failure> {
    activities::get_docket(docket_id, None).map_err(|error| match error {
        RequestError::ExecutionFailed => unreachable("the engine lost the request"),
        RequestError::Permanent(failure) | RequestError::Transient(failure) => failure,
    })
}

/// Parses the content of the completion stub. The error describes what was found instead.
fn read_completion(answer: Result<String, String>) -> Result<(Docket, DocketCompleted), String> {
    let text = answer.map_err(|error| format!("the error {error:?}"))?;
    let completion = Completion::read(&text).ok_or("another string")?;
    let docket = dockets::decode(&completion.docket)?;
    match webhooks::parse_docket_completed(&completion.delivery, DEFAULT_MAX_DELIVERY_BYTES) {
        Ok(Some(delivery)) => Ok((docket, delivery)),
        Ok(None) | Err(_) => Err("a delivery of something else".to_owned()),
    }
}

/// Returns the id of the run that the docket's context names.
fn run_of(docket: &Docket) -> Option<String> {
    let run = run_of_context(docket.call_context.as_deref()?)?;
    Some(run.as_str().to_owned())
}

/// Returns `true` unless the docket has another phone number than the run. Such a docket is of a
/// run that had the same id before the database was restored from a copy.
fn may_be_of(docket: &Docket, to_phone_number: &str) -> bool {
    let number = docket.to_phone_number.as_deref().unwrap_or_default();
    let digits: String = number.chars().filter(char::is_ascii_digit).collect();
    // A number that is masked, or has another length, says nothing.
    digits.len() != to_phone_number.len() || digits == to_phone_number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_docket_with_another_phone_number_is_of_another_run() {
        for (number, may_be) in [
            (r#""919876543210""#, true),
            (r#""+91 98765 43210""#, true),
            (r#""91987XXXX210""#, true),
            ("null", true),
            (r#""919876543211""#, false),
            (r#""+919876543211""#, false),
        ] {
            let json = format!(
                r#"{{"docket_id":"5b0f0c1e-8a3f-4f0e-9d5c-0c6d1f1c7a10","to_phone_number":{number}}}"#
            );
            let docket = dockets::decode(&json).unwrap();
            assert_eq!(may_be_of(&docket, "919876543210"), may_be, "{number}");
        }
    }
}

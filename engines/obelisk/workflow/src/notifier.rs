//! Notifies the operator's own systems of questions to a person and of outcomes.

use serde::Serialize;
use serde_json::value::RawValue;
use voice_calling_obelisk_guest::campaign::{CampaignState, Question, State, to_text};

use crate::bindings::exports::voice_calling::workflows::parts::PartError;
use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::time::ScheduleAt;
use crate::bindings::voice_calling::operator::hand_off;
use crate::bindings::voice_calling::workflows::types::{DocketOutcome, RunError, RunOptions};
use crate::bindings::voice_calling::workflows_obelisk_schedule::parts as schedule;
use crate::contact;
use crate::pace::LimitedPauses;
use crate::sleep::sleep;

/// The time for which a failed hand-off of an event is retried.
const NOTIFY_WITHIN_MS: u64 = 3 * 24 * 60 * 60_000;

/// An event, in the form that `hand-off.notify` documents.
#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event<'a> {
    Question {
        run: &'a str,
        execution_id: &'a str,
        #[serde(flatten)]
        question: &'a Question,
    },
    Ended {
        run: &'a str,
        state: State,
        docket_id: Option<&'a str>,
        docket: Option<&'a RawValue>,
        delivery: Option<&'a RawValue>,
    },
    Campaign {
        run: &'a str,
        state: CampaignState,
        reason: Option<&'a str>,
        execution_id: &'a str,
    },
}

impl<'a> Event<'a> {
    fn ended(run: &'a str, ending: &'a Result<DocketOutcome, RunError>) -> Self {
        let outcome = ending.as_ref().ok();
        let docket = outcome.and_then(|it| it.docket.as_ref());
        let delivery = outcome.and_then(|it| it.unverified.as_ref());
        // The service or the webhook has parsed them before.
        let document = |text: &'a str| serde_json::from_str(text).ok();
        Self::Ended {
            run,
            state: contact::state(ending),
            docket_id: outcome.map(|it| &*it.docket_id),
            docket: docket.and_then(|it| document(&it.raw_json)),
            delivery: delivery.and_then(|it| document(&it.raw_json)),
        }
    }

    /// Returns the idempotency key.
    fn key(&self) -> String {
        match self {
            Self::Question {
                run, execution_id, ..
            } => format!("{run}:question:{execution_id}"),
            Self::Ended { run, .. } => format!("{run}:ended"),
            Self::Campaign {
                run, execution_id, ..
            } => format!("{run}:campaign:{execution_id}"),
        }
    }
}

/// Sends the notifications of one run or campaign, if its options ask for them.
pub(crate) struct Notifier {
    run: Option<String>,
}

impl Notifier {
    pub(crate) fn of(run: &str, options: &RunOptions) -> Self {
        let is_wanted = options.hand_off.unwrap_or(false);
        Self {
            run: is_wanted.then(|| run.to_owned()),
        }
    }

    /// Reports a question to a person.
    pub(crate) fn asked(&self, execution_id: &str, question: &Question) {
        self.notify(|run| Event::Question {
            run,
            execution_id,
            question,
        });
    }

    /// Reports the end of the run.
    pub(crate) fn ended(&self, ending: &Result<DocketOutcome, RunError>) {
        self.notify(|run| Event::ended(run, ending));
    }

    /// Reports the end of a contact that is not called.
    pub(crate) fn excluded(&self, state: State) {
        self.notify(|run| Event::Ended {
            run,
            state,
            docket_id: None,
            docket: None,
            delivery: None,
        });
    }

    /// Reports that a campaign has paused itself or has ended. `order` is the stub of an order,
    /// another one for each change.
    pub(crate) fn changed(&self, state: CampaignState, reason: Option<&str>, order: &str) {
        self.notify(|run| Event::Campaign {
            run,
            state,
            reason,
            execution_id: order,
        });
    }

    /// Notifies in an execution of its own, so that the run does not wait for the hand-off.
    fn notify<'a>(&'a self, event: impl FnOnce(&'a str) -> Event<'a>) {
        if let Some(run) = &self.run {
            let event = event(run);
            schedule::notify_schedule(ScheduleAt::Now, &event.key(), &to_text(&event));
        }
    }
}

/// `parts.notify`
pub(crate) fn notify(key: &str, event: &str) -> Result<(), PartError> {
    let mut pauses = LimitedPauses::new(1_000, 3_600_000, NOTIFY_WITHIN_MS);
    while let Err(reason) = hand_off::notify(key, event) {
        let Some(pause_ms) = pauses.next_ms() else {
            log::error(&format!(
                "{key}: the hand-off failed for three days: {reason}"
            ));
            return Err(PartError::PermanentNotNotified(reason));
        };
        log::warn(&format!(
            "{key}: the hand-off failed and will be retried: {reason}"
        ));
        sleep(pause_ms);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_has_its_content_and_a_key_of_its_own() {
        let question = Question {
            text: "Is there a \"docket\"?".to_owned(),
            agent_id: 7,
            to_phone_number: "919876543210".to_owned(),
            external_id: None,
        };
        let question = Event::Question {
            run: "E_1",
            execution_id: "E_1.n:docket_2",
            question: &question,
        };
        let paused = Event::Campaign {
            run: "E_1",
            state: CampaignState::Paused,
            reason: Some("401"),
            execution_id: "E_1.n:campaign_2",
        };
        // The documents are as they came.
        let document = |text| serde_json::from_str(text).ok();
        let ended = Event::Ended {
            run: "E_1",
            state: State::TimedOut,
            docket_id: Some("d-1"),
            docket: document(r#"{"n": 1.10, "s":"\ud800"}"#),
            delivery: None,
        };
        for (event, key, json) in [
            (
                question,
                "E_1:question:E_1.n:docket_2",
                r#"{"event":"question","run":"E_1","execution_id":"E_1.n:docket_2","text":"Is there a \"docket\"?","agent_id":7,"to_phone_number":"919876543210","external_id":null}"#,
            ),
            (
                paused,
                "E_1:campaign:E_1.n:campaign_2",
                r#"{"event":"campaign","run":"E_1","state":"paused","reason":"401","execution_id":"E_1.n:campaign_2"}"#,
            ),
            (
                ended,
                "E_1:ended",
                r#"{"event":"ended","run":"E_1","state":"timed_out","docket_id":"d-1","docket":{"n": 1.10, "s":"\ud800"},"delivery":null}"#,
            ),
        ] {
            assert_eq!((&*event.key(), &*to_text(&event)), (key, json));
        }
    }
}

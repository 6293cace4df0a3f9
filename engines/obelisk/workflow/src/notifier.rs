//! Notifies the operator's own systems of questions to a person and of outcomes.

use crate::bindings::exports::voice_calling::workflows::parts::PartError;
use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::time::ScheduleAt;
use crate::bindings::voice_calling::operator::hand_off::{
    self, CampaignChange, CampaignState, Completion, Event, Question, State,
};
use crate::bindings::voice_calling::workflows::types::{DocketOutcome, RunError, RunOptions};
use crate::bindings::voice_calling::workflows_obelisk_schedule::parts as schedule;
use crate::contact;
use crate::pace::LimitedPauses;
use crate::sleep::sleep;
use voice_calling_obelisk_guest::campaign as guest;

/// The time for which a failed hand-off of an event is retried.
const NOTIFY_WITHIN_MS: u64 = 3 * 24 * 60 * 60_000;

/// Sends the notifications of one run or campaign, if its options ask for them.
pub struct Notifier {
    run: Option<String>,
}

impl Notifier {
    pub fn of(run: &str, options: &RunOptions) -> Self {
        let is_wanted = options.hand_off.unwrap_or(false);
        Self {
            run: is_wanted.then(|| run.to_owned()),
        }
    }

    /// Reports a question to a person.
    pub fn asked(&self, execution_id: String, question: guest::Question) {
        self.notify(|| {
            Event::Question(Question {
                execution_id,
                text: question.text,
                agent_id: question.agent_id,
                to_phone_number: question.to_phone_number,
                external_id: question.external_id,
            })
        });
    }

    /// Reports the end of the run.
    pub fn ended(&self, ending: &Result<DocketOutcome, RunError>) {
        self.notify(|| Event::Ended(completion(ending)));
    }

    /// Reports the end of a contact that is not called.
    pub fn excluded(&self, state: guest::State) {
        let completion = Completion {
            state: handed_off(state),
            docket_id: None,
            docket: None,
            delivery: None,
        };
        self.notify(|| Event::Ended(completion));
    }

    /// Reports that a campaign has paused itself or has ended. `order` is the stub of an order,
    /// another one for each change.
    pub fn changed(&self, state: CampaignState, reason: Option<String>, order: &str) {
        let execution_id = order.to_owned();
        self.notify(|| {
            Event::Campaign(CampaignChange {
                state,
                reason,
                execution_id,
            })
        });
    }

    /// Notifies in an execution of its own, so that the run does not wait for the hand-off.
    fn notify(&self, event: impl FnOnce() -> Event) {
        if let Some(run) = &self.run {
            schedule::notify_schedule(ScheduleAt::Now, run, &event());
        }
    }
}

/// Returns the notification of a run's end.
fn completion(ending: &Result<DocketOutcome, RunError>) -> Completion {
    let outcome = ending.as_ref().ok();
    Completion {
        state: handed_off(contact::state(ending)),
        docket_id: outcome.map(|it| it.docket_id.clone()),
        docket: outcome.and_then(|it| Some(it.docket.as_ref()?.raw_json.clone())),
        delivery: outcome.and_then(|it| Some(it.unverified.as_ref()?.raw_json.clone())),
    }
}

/// Returns a state as it is handed off.
fn handed_off(state: guest::State) -> State {
    match state {
        guest::State::Completed => State::Completed,
        guest::State::TimedOut => State::TimedOut,
        guest::State::NotCreated => State::NotCreated,
        guest::State::Spared => State::Spared,
        guest::State::Unknown | guest::State::Failed => State::Unknown,
        guest::State::GivenUp => State::GivenUp,
        guest::State::Duplicate => State::Duplicate,
        guest::State::Invalid => State::Invalid,
    }
}

/// `parts.notify`
pub fn notify(run: &str, event: &Event) -> Result<(), PartError> {
    let mut pauses = LimitedPauses::new(1_000, 3_600_000, NOTIFY_WITHIN_MS);
    while let Err(reason) = hand_off::notify(run, event) {
        let Some(pause_ms) = pauses.next_ms() else {
            log::error(&format!(
                "{run}: the hand-off failed for three days: {reason}"
            ));
            return Err(PartError::PermanentNotNotified(reason));
        };
        log::warn(&format!(
            "{run}: the hand-off failed and will be retried: {reason}"
        ));
        sleep(pause_ms);
    }
    Ok(())
}

//! The form in which an event is handed off.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::bindings::exports::voice_calling::operator::hand_off::{CampaignState, Event, State};

/// Returns the idempotency key of an event, which is the same in each attempt to send it.
pub fn key(run: &str, event: &Event) -> String {
    match event {
        Event::Question(question) => format!("{run}:question:{}", question.execution_id),
        Event::Ended(_) => format!("{run}:ended"),
        Event::Campaign(change) => format!("{run}:campaign:{}", change.execution_id),
    }
}

/// Returns the body of the request.
pub fn json(run: &str, event: &Event) -> Result<String, String> {
    let body = match event {
        Event::Question(question) => Body::Question {
            run,
            execution_id: &question.execution_id,
            text: &question.text,
            agent_id: question.agent_id,
            to_phone_number: &question.to_phone_number,
            external_id: question.external_id.as_deref(),
        },
        Event::Ended(completion) => Body::Ended {
            run,
            state: name(completion.state),
            docket_id: completion.docket_id.as_deref(),
            docket: document(&completion.docket),
            delivery: document(&completion.delivery),
        },
        Event::Campaign(change) => Body::Campaign {
            run,
            state: campaign_state(change.state),
            reason: change.reason.as_deref(),
            execution_id: &change.execution_id,
        },
    };
    serde_json::to_string(&body).map_err(|error| error.to_string())
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Body<'a> {
    Question {
        run: &'a str,
        execution_id: &'a str,
        text: &'a str,
        agent_id: i64,
        to_phone_number: &'a str,
        external_id: Option<&'a str>,
    },
    Ended {
        run: &'a str,
        state: &'static str,
        docket_id: Option<&'a str>,
        docket: Option<&'a RawValue>,
        delivery: Option<&'a RawValue>,
    },
    Campaign {
        run: &'a str,
        state: &'static str,
        reason: Option<&'a str>,
        execution_id: &'a str,
    },
}

/// Returns JSON as it was received, which the service or the webhook has parsed before.
fn document(text: &Option<String>) -> Option<&RawValue> {
    serde_json::from_str(text.as_deref()?).ok()
}

fn name(state: State) -> &'static str {
    match state {
        State::Completed => "completed",
        State::TimedOut => "timed_out",
        State::NotCreated => "not_created",
        State::Spared => "spared",
        State::Unknown => "unknown",
        State::GivenUp => "given_up",
        State::Duplicate => "duplicate",
        State::Invalid => "invalid",
    }
}

fn campaign_state(state: CampaignState) -> &'static str {
    match state {
        CampaignState::Paused => "paused",
        CampaignState::Ended => "ended",
        CampaignState::Stopped => "stopped",
        CampaignState::Failed => "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::exports::voice_calling::operator::hand_off::{
        CampaignChange, Completion, Question,
    };

    fn question() -> Event {
        Event::Question(Question {
            execution_id: "E_1.n:docket_2".to_owned(),
            text: "Is there a \"docket\"?".to_owned(),
            agent_id: 7,
            to_phone_number: "919876543210".to_owned(),
            external_id: None,
        })
    }

    fn ended(docket: Option<&str>, delivery: Option<&str>) -> Event {
        Event::Ended(Completion {
            state: State::TimedOut,
            docket_id: docket.map(|_| "d-1".to_owned()),
            docket: docket.map(str::to_owned),
            delivery: delivery.map(str::to_owned),
        })
    }

    #[test]
    fn a_question_says_what_is_to_be_answered() {
        assert_eq!(
            json("E_1", &question()).unwrap(),
            r#"{"event":"question","run":"E_1","execution_id":"E_1.n:docket_2","text":"Is there a \"docket\"?","agent_id":7,"to_phone_number":"919876543210","external_id":null}"#
        );
        assert_eq!(key("E_1", &question()), "E_1:question:E_1.n:docket_2");
    }

    #[test]
    fn each_pause_of_a_campaign_is_another_event() {
        let paused = Event::Campaign(CampaignChange {
            state: CampaignState::Paused,
            reason: Some("401".to_owned()),
            execution_id: "E_1.n:campaign_2".to_owned(),
        });
        assert_eq!(
            json("E_1", &paused).unwrap(),
            r#"{"event":"campaign","run":"E_1","state":"paused","reason":"401","execution_id":"E_1.n:campaign_2"}"#
        );
        assert_eq!(key("E_1", &paused), "E_1:campaign:E_1.n:campaign_2");
    }

    #[test]
    fn an_end_has_the_documents_as_they_came() {
        let event = ended(Some(r#"{"n": 1.10, "s":"\ud800"}"#), Some("[]"));
        assert_eq!(
            json("E_1", &event).unwrap(),
            r#"{"event":"ended","run":"E_1","state":"timed_out","docket_id":"d-1","docket":{"n": 1.10, "s":"\ud800"},"delivery":[]}"#
        );
        assert_eq!(
            json("E_1", &ended(None, None)).unwrap(),
            r#"{"event":"ended","run":"E_1","state":"timed_out","docket_id":null,"docket":null,"delivery":null}"#
        );
        assert_eq!(key("E_1", &event), "E_1:ended");
    }
}

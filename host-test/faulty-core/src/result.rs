//! Changes results, as the JSON of their records, on their way to the caller.

use crate::fault::Fault;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The id of a docket that no test requests.
const OTHER_ID: &str = "11111111-0d51-4f0c-9a63-2f1a5c0d9e11";

/// The change of results.
pub(crate) struct Change<'a> {
    pub(crate) fault: Fault,
    pub(crate) token: &'a str,
}

impl Change<'_> {
    /// Returns the result as the fault has it.
    pub(crate) fn applied<R: Serialize + DeserializeOwned>(&self, result: R) -> R {
        let mut json = serde_json::to_value(&result).expect("a record is JSON");
        let before = json.clone();
        self.walk(&mut json);
        match json == before {
            true => result,
            false => serde_json::from_value(json).expect("a changed record"),
        }
    }

    fn walk(&self, json: &mut Value) {
        match json {
            Value::Array(elements) => elements.iter_mut().for_each(|element| self.walk(element)),
            Value::Object(members) => {
                if let Some((from, to)) = self.mistaken_case(members)
                    && let Some(payload) = members.remove(from)
                {
                    members.insert(to.to_owned(), payload);
                }
                if let Some(kind) = self.mistaken_kind(members) {
                    members.insert("kind".to_owned(), kind.into());
                }
                for (name, value) in members {
                    self.member(name, value);
                    self.walk(value);
                }
            }
            _ => {}
        }
    }

    /// Returns the case of a variant, and the one it is confused with.
    fn mistaken_case(&self, variant: &Map<String, Value>) -> Option<(&'static str, &'static str)> {
        match self.fault {
            Fault::ConfirmsEverything => Some(("Contradicted", "Confirmed")),
            Fault::MistakesReadiness if variant.contains_key("Completed") => {
                Some(("Completed", "Pending"))
            }
            Fault::MistakesReadiness if variant.get("Pending").is_some_and(Value::is_object) => {
                Some(("Pending", "Completed"))
            }
            _ => None,
        }
    }

    /// Returns the kind that a failure is confused with.
    fn mistaken_kind(&self, failure: &Map<String, Value>) -> Option<&'static str> {
        failure
            .get("kind")
            .filter(|kind| **kind == "outcome-unknown")?;
        match (self.fault, failure["response"].is_null()) {
            (Fault::CallsSilenceHarmless, true) => Some("timed-out"),
            (Fault::CallsServerErrorsHarmless, false) => Some("unavailable"),
            _ => None,
        }
    }

    fn member(&self, name: &str, value: &mut Value) {
        match (self.fault, name, value) {
            (Fault::RoundsNumbers, "raw_json", Value::String(json)) => {
                if let Ok(parsed) = serde_json::from_str::<Value>(json) {
                    *json = parsed.to_string();
                }
            }
            (Fault::HidesAttempts, "attempts", Value::Array(attempts)) => {
                attempts.drain(..attempts.len().saturating_sub(1));
            }
            (Fault::ForgetsCreations, "may_have_created", flag)
            | (Fault::ForgetsDuplicates, "may_be_duplicate", flag) => *flag = false.into(),
            (Fault::MistakesNextSteps, "next_step", step) => *step = "refused".into(),
            (Fault::MistakesIds, "docket_id", id) => *id = OTHER_ID.into(),
            (Fault::CountsUnsentPolls, "polls", polls) => {
                *polls = polls.as_u64().map_or(1, |polls| polls + 1).into();
            }
            (Fault::DropsBodies, "body", Value::String(body)) => body.clear(),
            (Fault::LeaksToken, "message", Value::String(message)) => {
                message.push_str(&format!(" (auth_token: Bearer {})", self.token));
            }
            (Fault::LeaksEscapedToken, "message", Value::String(message)) => {
                let characters = self.token.chars();
                message.extend(characters.map(|one| format!("\\u{:04x}", u32::from(one))));
            }
            _ => {}
        }
    }
}

//! Functions that send nothing: a delivery to the webhook, phone numbers, and what an error means.

use crate::errors::thrown;
use crate::records::{read_json, write_record};
use napi::Result;
use napi_derive::napi;
use voice_calling::{Failure, FailureKind, Problem, webhooks};
use voice_calling_rules::{ContactRules, number};

/// Returns the completion that a delivery reports as JSON, or `null` if it is none.
#[napi]
pub(crate) fn parse_docket_completed(body: String) -> Result<String> {
    let parsed = webhooks::parse_docket_completed(&body).map_err(|error| thrown(&error))?;
    Ok(parsed.map_or("null".to_owned(), |completed| write_record(&completed)))
}

/// Returns a phone number as the service takes it.
#[napi]
pub(crate) fn normalize_number(text: String, country_code: Option<String>) -> Result<String> {
    let code = country_code.as_deref();
    let checked = code.map_or(Ok(()), |code| {
        number::check_country_code("country_code", code)
    });
    checked
        .and_then(|()| number::normalize("number", &text, code))
        .map_err(refused)
}

/// Returns `true` if a failure of this kind is permanent.
#[napi]
pub(crate) fn is_permanent(kind: String) -> bool {
    read_json::<FailureKind>(&format!("{kind:?}")).is_permanent()
}

/// Whom to call, and when.
#[napi]
pub struct NativeContactRules(ContactRules);

#[napi]
impl NativeContactRules {
    #[napi(constructor)]
    pub fn new(
        do_not_call: Option<Vec<String>>,
        country_code: Option<String>,
        hours: Option<String>,
        time_zone: Option<String>,
    ) -> Result<Self> {
        let code = country_code.as_deref();
        let (hours, time_zone) = (hours.as_deref(), time_zone.as_deref());
        let rules = ContactRules::new(do_not_call.as_deref(), code, hours, time_zone);
        rules.map(Self).map_err(refused)
    }

    /// Returns why a number may not be called, if so.
    #[napi]
    pub fn refusal(&self, to_phone_number: String, at_ms: f64) -> Option<String> {
        self.0.refusal(&to_phone_number, at_ms as u64)
    }
}

fn refused(problem: Problem) -> napi::Error {
    thrown(&Failure::from(problem).into())
}

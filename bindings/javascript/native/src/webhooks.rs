//! Functions that send nothing: a delivery to the webhook, and phone numbers.

use crate::errors::thrown;
use crate::records::write_record;
use napi::Result;
use napi_derive::napi;
use voice_calling::{Failure, webhooks};
use voice_calling_rules::number;

/// Returns the completion that a delivery reports as JSON, or `null` if it is none.
#[napi]
pub fn parse_docket_completed(body: String) -> Result<String> {
    let parsed = webhooks::parse_docket_completed(&body).map_err(|error| thrown(&error))?;
    Ok(parsed.map_or("null".to_owned(), |completed| write_record(&completed)))
}

/// Returns a phone number as the service takes it.
#[napi]
pub fn normalize_number(text: String, country_code: Option<String>) -> Result<String> {
    let code = country_code.as_deref();
    let checked = code.map_or(Ok(()), |code| {
        number::check_country_code("countryCode", code)
    });
    let number = checked.and_then(|()| number::normalize("number", &text, code));
    number.map_err(|problem| thrown(&Failure::from(problem).into()))
}

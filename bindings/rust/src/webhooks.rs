//! Deliveries to the webhook (API specification, section "Events").

use crate::error::Error;
use voice_calling_core::settings::DEFAULT_MAX_DELIVERY_BYTES;
use voice_calling_core::types::DocketCompleted;
use voice_calling_core::webhooks;

/// Parses the body of a delivery of at most 1 MiB. Returns `None` if it is JSON, but not the
/// completion of a docket. Deliveries are not signed, so that anyone may send one:
/// [`Client::verify_docket_completed`](crate::Client::verify_docket_completed) asks the service.
///
/// # Errors
/// Returns an error if it is not JSON, or the completion of a docket without an id.
pub fn parse_docket_completed(body: &str) -> Result<Option<DocketCompleted>, Error> {
    Ok(webhooks::parse_docket_completed(
        body,
        DEFAULT_MAX_DELIVERY_BYTES,
    )?)
}

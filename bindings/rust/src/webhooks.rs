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
///
/// # Examples
/// ```
/// use voice_calling::webhooks::parse_docket_completed;
///
/// let body = r#"{
///     "docket_id": "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11",
///     "call_insights": {"call_disposition": "INTERESTED"}
/// }"#;
/// let completed = parse_docket_completed(body)?.unwrap();
/// assert_eq!(completed.docket_id, "7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11");
/// # Ok::<_, voice_calling::Error>(())
/// ```
pub fn parse_docket_completed(body: &str) -> Result<Option<DocketCompleted>, Error> {
    Ok(webhooks::parse_docket_completed(
        body,
        DEFAULT_MAX_DELIVERY_BYTES,
    )?)
}

//! What the service reports by itself.

use super::Docket;
use serde::{Deserialize, Serialize};

/// What the service reports when a docket is completed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DocketCompleted {
    /// `docket_id`: which docket; a UUID. Deliveries are not known to be signed: use
    /// `verify_docket_completed` before you trust one.
    pub docket_id: String,
    /// `call_insights`: none if no attempt was answered.
    pub call_insights: Option<DocketInsights>,
    /// `call_context`: a JSON object, as given when the docket was created.
    pub call_context: Option<String>,
    /// `attempts`: JSON whose shape is not specified.
    pub attempts: Option<String>,
    /// `dashboard_url` of the last answered call; none if none was answered.
    pub dashboard_url: Option<String>,
    /// The whole payload as it came.
    pub raw_json: String,
}

/// Insights of a completed docket. (Those of a call are `call_insights`.)
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DocketInsights {
    /// `call_disposition`: the final outcome; its values are not specified.
    pub call_disposition: Option<String>,
    /// `call_metadata`: a JSON object, where the agent is configured for it.
    pub call_metadata: Option<String>,
}

/// What the service says about a delivery.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Verification {
    /// JSON, but not the completion of a docket.
    NotACompletion,
    /// The docket is completed, and nothing that it says contradicts the delivery.
    Confirmed(VerifiedCompletion),
    /// The docket is not completed, or disagrees with the delivery, which may be forged: do not act
    /// on it.
    Contradicted(VerifiedCompletion),
}

/// A delivery, and the docket as the service has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VerifiedCompletion {
    /// The delivery, as it was received.
    pub delivered: DocketCompleted,
    /// The docket, as the service returned it.
    pub docket: Docket,
    /// The members of the delivery that the docket contradicts; empty where it is confirmed.
    /// `status` where the docket is not completed.
    pub contradicted: Vec<String>,
    /// The members of the delivery that could not be verified: `call_insights`, `attempts`,
    /// `dashboard_url` and others that a docket as fetched does not have, and those that differ but
    /// may have changed since, such as `updated_at`.
    pub unverified: Vec<String>,
}

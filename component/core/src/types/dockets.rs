//! Dockets: business tasks, each of which groups the calls made for it.

use super::{Attempt, Problem};
use crate::problem::problem;
use serde::{Deserialize, Serialize};

/// A docket to be created: a business task that may need several calls. It makes a phone ring.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocketRequest {
    /// `agent_id`: see `agents.list_agents`.
    pub agent_id: i64,
    /// `to_phone_number`: exactly 12 ASCII digits, the country code included, no `+`:
    /// `910000000000`.
    pub to_phone_number: String,
    /// `extra_config.call_context`: a JSON object, free-form. The fetched docket and the webhook
    /// return it, so it is the place for an identifier of your own by which to find the docket
    /// again.
    pub call_context: String,
    /// A JSON object whose members are added to the request; those of its `extra_config` are added
    /// to `extra_config`. A member that this record has a field for is rejected.
    pub extra: Option<String>,
}

impl DocketRequest {
    /// Returns a request without context.
    ///
    /// # Examples
    /// ```
    /// # use voice_calling_core::types::DocketRequest;
    /// let request = DocketRequest::new(7, "910000000000");
    /// assert_eq!(request.call_context, "{}");
    /// ```
    pub fn new(agent_id: i64, to_phone_number: impl Into<String>) -> Self {
        Self {
            agent_id,
            to_phone_number: to_phone_number.into(),
            call_context: "{}".into(),
            ..Self::default()
        }
    }

    /// Sets the context to a value that serializes to a JSON object.
    ///
    /// # Errors
    /// Returns an error if the value cannot be serialized.
    ///
    /// # Examples
    /// ```
    /// use std::collections::BTreeMap;
    /// # use voice_calling_core::types::DocketRequest;
    /// let context = BTreeMap::from([("name", "Asha")]);
    /// let request = DocketRequest::new(7, "910000000000").with_call_context(&context)?;
    /// assert_eq!(request.call_context, r#"{"name":"Asha"}"#);
    /// # Ok::<_, voice_calling_core::types::Problem>(())
    /// ```
    pub fn with_call_context(mut self, context: &impl Serialize) -> Result<Self, Problem> {
        self.call_context = context_json(context)?;
        Ok(self)
    }
}

/// As [`DocketRequest`], for version 2 of the endpoint.
#[derive(Debug, Default, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DocketRequestV2 {
    /// `agent_id`: see `agents.list_agents`.
    pub agent_id: i64,
    /// `to_phone_number`: exactly 12 ASCII digits, the country code included, no `+`:
    /// `910000000000`.
    pub to_phone_number: String,
    /// `extra_config.call_context`: a JSON object, free-form. The fetched docket and the webhook
    /// return it, so it is the place for an identifier of your own by which to find the docket
    /// again.
    pub call_context: String,
    /// `external_id`: an identifier of your own, such as a CRM id. It is no idempotency key: a
    /// second request with it creates a second docket, as far as is known.
    pub external_id: Option<String>,
    /// A JSON object whose members are added to the request; those of its `extra_config` are added
    /// to `extra_config`. A member that this record has a field for is rejected.
    pub extra: Option<String>,
}

impl DocketRequestV2 {
    /// Returns a request without context.
    ///
    /// # Examples
    /// ```
    /// # use voice_calling_core::types::DocketRequestV2;
    /// let request = DocketRequestV2::new(7, "910000000000");
    /// assert_eq!(request.call_context, "{}");
    /// ```
    pub fn new(agent_id: i64, to_phone_number: impl Into<String>) -> Self {
        Self {
            agent_id,
            to_phone_number: to_phone_number.into(),
            call_context: "{}".into(),
            ..Self::default()
        }
    }

    /// Sets the context to a value that serializes to a JSON object.
    ///
    /// # Errors
    /// Returns an error if the value cannot be serialized.
    ///
    /// # Examples
    /// ```
    /// use std::collections::BTreeMap;
    /// # use voice_calling_core::types::DocketRequestV2;
    /// let context = BTreeMap::from([("name", "Asha")]);
    /// let request = DocketRequestV2::new(7, "910000000000").with_call_context(&context)?;
    /// assert_eq!(request.call_context, r#"{"name":"Asha"}"#);
    /// # Ok::<_, voice_calling_core::types::Problem>(())
    /// ```
    pub fn with_call_context(mut self, context: &impl Serialize) -> Result<Self, Problem> {
        self.call_context = context_json(context)?;
        Ok(self)
    }

    /// Sets the external id.
    #[must_use]
    pub fn with_external_id(mut self, external_id: impl Into<String>) -> Self {
        self.external_id = Some(external_id.into());
        self
    }
}

fn context_json(context: &impl Serialize) -> Result<String, Problem> {
    serde_json::to_string(context).map_err(|error| {
        let allowed = "a value that serializes to a JSON object";
        problem("call-context", error.to_string(), allowed)
    })
}

/// Where a docket stands. Transitions out of `open` are not specified.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum DocketStatus {
    /// `OPEN`: as version 2 creates it.
    Open,
    /// `IN_PROGRESS`: pending completion.
    InProgress,
    /// `COMPLETED`: no further calls are to be made.
    Completed,
    /// Any other text, as it came.
    Other(String),
}

/// The answer to the creation of a docket, version 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CreatedDocket {
    /// `docket_id`: a UUID. Keep it.
    pub docket_id: String,
    /// `status`: in progress, as a rule.
    pub status: Option<DocketStatus>,
    /// The whole answer as it came.
    pub raw_json: String,
    /// The service's id of the request: the header `x-request-id`, or else `request-id` or
    /// `x-correlation-id`.
    pub request_id: Option<String>,
    /// All attempts of this operation, in order; the last one succeeded.
    pub attempts: Vec<Attempt>,
    /// Whether an attempt before the last may have created as well: then there may be two of them.
    pub may_be_duplicate: bool,
}

/// The answer to the creation of a docket, version 2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CreatedDocketV2 {
    /// `docket_id`: a UUID. Keep it.
    pub docket_id: String,
    /// `status`: open, as a rule.
    pub status: Option<DocketStatus>,
    /// `created`. What `false` means is not specified.
    pub created: Option<bool>,
    /// The whole answer as it came.
    pub raw_json: String,
    /// The service's id of the request: the header `x-request-id`, or else `request-id` or
    /// `x-correlation-id`.
    pub request_id: Option<String>,
    /// All attempts of this operation, in order; the last one succeeded.
    pub attempts: Vec<Attempt>,
    /// Whether an attempt before the last may have created as well: then there may be two of them.
    pub may_be_duplicate: bool,
}

/// A docket as fetched. It has no insights: those come with the webhook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Docket {
    /// `docket_id`: a UUID.
    pub docket_id: String,
    /// `agent_name`: the agent that handles the docket.
    pub agent_name: Option<String>,
    /// `status`.
    pub status: Option<DocketStatus>,
    /// `call_type` of the agent.
    pub call_type: Option<String>,
    /// `from_number`: digits, the country code included.
    pub from_number: Option<String>,
    /// `to_phone_number`: 12 digits, the country code included.
    pub to_phone_number: Option<String>,
    /// `call_context`: a JSON object, as given when the docket was created.
    pub call_context: Option<String>,
    /// `external_id`: none if none was given.
    pub external_id: Option<String>,
    /// `closed_call_id`: the call that closed the docket. It is not known to be a task id.
    pub closed_call_id: Option<String>,
    /// `latest_call_id`: the most recent call. It is not known to be a task id.
    pub latest_call_id: Option<String>,
    /// `closure_reason`: `DISPOSITION` where the outcome of a call closed the docket; others are
    /// not specified.
    pub closure_reason: Option<String>,
    /// `outbound_call_count`.
    pub outbound_call_count: Option<i64>,
    /// `notification_status`: `SKIPPED` where no notification was sent; others are not specified.
    pub notification_status: Option<String>,
    /// `first_called_at`: ISO 8601 with fractional seconds, without a zone.
    pub first_called_at: Option<String>,
    /// `closed_at`: the same format.
    pub closed_at: Option<String>,
    /// `created_at`: the same format.
    pub created_at: Option<String>,
    /// `updated_at`: the same format.
    pub updated_at: Option<String>,
    /// The whole answer as it came.
    pub raw_json: String,
    /// The service's id of the request: the header `x-request-id`, or else `request-id` or
    /// `x-correlation-id`.
    pub request_id: Option<String>,
    /// All attempts of this operation, in order; the last one succeeded.
    pub attempts: Vec<Attempt>,
}

//! The tables at the end of the demo.

use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use voice_calling_host::types::{CallDetails, CallStatus, Docket};
use voice_calling_mock::{Endpoint, ReceivedRequest};

/// What the demo has to show.
#[derive(Default)]
pub(super) struct Report {
    pub(super) dockets: Vec<DocketRow>,
    pub(super) calls: Vec<CallRow>,
    /// Dispositions of the batch, and how many dockets had each.
    pub(super) batch: BTreeMap<String, usize>,
}

pub(super) struct DocketRow([String; 6]);

impl DocketRow {
    pub(super) fn new(version: &str, docket: &Docket, disposition: &str) -> Self {
        Self([
            version.to_owned(),
            docket.docket_id.clone(),
            docket.to_phone_number.clone().unwrap_or_default(),
            docket.outbound_call_count.unwrap_or_default().to_string(),
            docket.closure_reason.clone().unwrap_or_default(),
            disposition.to_owned(),
        ])
    }
}

pub(super) struct CallRow([String; 5]);

impl CallRow {
    /// A direct call, by its details.
    pub(super) fn of_details(details: &CallDetails) -> Self {
        let status = match &details.call_status {
            Some(CallStatus::Answered) => "ANSWERED",
            Some(CallStatus::NoAnswer) => "NO_ANSWER",
            Some(CallStatus::Busy) => "BUSY",
            Some(CallStatus::Other(other)) => other,
            None => "",
        };
        let insights = details.call_insights.as_ref();
        let interest = insights.and_then(|insights| insights.user_interest.as_ref());
        Self([
            "direct".to_owned(),
            details.to_number.clone().unwrap_or_default(),
            status.to_owned(),
            details.call_duration_s.unwrap_or_default().to_string(),
            interest
                .and_then(|interest| interest.status.clone())
                .unwrap_or_default(),
        ])
    }

    /// A call of a docket, as the mock's webhook has it.
    pub(super) fn of_attempt(number: &str, attempt: &Value) -> Self {
        Self([
            "docket".to_owned(),
            number.to_owned(),
            attempt["call_status"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            attempt["call_duration"].to_string(),
            String::new(),
        ])
    }

    /// How it ended, in the service's word.
    pub(super) fn status(&self) -> &str {
        &self.0[2]
    }
}

impl Report {
    /// All tables. `requests` are those that the service received.
    pub(super) fn tables(&self, requests: &[ReceivedRequest]) -> String {
        let mut text = String::new();
        let mut add = |title: &str, head: &[&str], rows: Vec<Vec<String>>| {
            let mut table = Table::new();
            table
                .load_preset(UTF8_FULL_CONDENSED)
                .set_header(head)
                .add_rows(rows);
            // Writing to a String does not fail.
            let _ = write!(text, "\n{title}\n{table}\n");
        };
        add(
            "Dockets",
            &[
                "version",
                "docket id",
                "number",
                "calls",
                "closed by",
                "disposition",
            ],
            self.dockets.iter().map(|row| row.0.to_vec()).collect(),
        );
        add(
            "Dockets of the batch",
            &["disposition", "dockets"],
            self.batch
                .iter()
                .map(|(name, count)| vec![name.clone(), count.to_string()])
                .collect(),
        );
        add(
            "Calls",
            &["made for", "number", "status", "seconds", "interest"],
            self.calls.iter().map(|row| row.0.to_vec()).collect(),
        );
        add(
            "HTTP statuses",
            &["endpoint", "statuses"],
            statuses(requests),
        );
        text
    }
}

/// For each endpoint, how often it answered what.
fn statuses(requests: &[ReceivedRequest]) -> Vec<Vec<String>> {
    let mut counts = BTreeMap::<Endpoint, BTreeMap<u16, usize>>::new();
    for request in requests {
        if let Some(endpoint) = request.endpoint {
            *counts
                .entry(endpoint)
                .or_default()
                .entry(request.answered.as_u16())
                .or_default() += 1;
        }
    }
    let row = |(endpoint, counts): (&Endpoint, &BTreeMap<u16, usize>)| {
        let counts: Vec<_> = counts
            .iter()
            .map(|(status, count)| format!("{status} × {count}"))
            .collect();
        vec![endpoint.to_string(), counts.join(", ")]
    };
    counts.iter().map(row).collect()
}

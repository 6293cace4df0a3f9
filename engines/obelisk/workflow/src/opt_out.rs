//! People who ask not to be called again, as the insights of their dockets say.

use serde_json::Value;
use voice_calling_core::types::DocketInsights;

use crate::bindings::obelisk::log::log;
use crate::bindings::voice_calling::once::records;
use crate::bindings::voice_calling::workflows::types::{DocketOutcome, OptOut};
use crate::sleep::retried;

impl OptOut {
    /// Records the number of a docket whose person opted out. From then on no run of the engine
    /// calls it.
    pub(crate) fn apply(&self, outcome: &DocketOutcome, to_phone_number: &str, run: &str) {
        let delivery = outcome.unverified.as_ref();
        let insights = delivery.and_then(|it| it.call_insights.as_ref());
        let Some(reason) = insights.and_then(|it| self.reason(it)) else {
            return;
        };
        let record = || records::opt_out(to_phone_number, run, &reason);
        if let Err(why) = retried(record, |_| true) {
            log::error(&format!(
                "the person called by {run} opted out ({reason}), which could not be recorded: {why}"
            ));
        }
    }

    /// Returns what opts out in these insights.
    fn reason(&self, insights: &DocketInsights) -> Option<String> {
        if let Some(found) = &insights.call_disposition
            && self.dispositions.iter().any(|it| is_same(it, found))
        {
            return Some(format!("call_disposition = {found}"));
        }
        let metadata: Value = serde_json::from_str(insights.call_metadata.as_deref()?).ok()?;
        let is_found = |value: &Value, wanted: &str| match value {
            Value::String(text) => is_same(text, wanted),
            value => is_same(&value.to_string(), wanted),
        };
        let mut wanted = self.metadata.iter();
        let found = wanted.find(|it| {
            let value = metadata.get(&it.name);
            value.is_some_and(|value| is_found(value, &it.value))
        })?;
        Some(format!("call_metadata.{} = {}", found.name, found.value))
    }
}

/// Compares values in either case of letters: to spare one number too many does no harm.
fn is_same(a: &str, b: &str) -> bool {
    a.trim().to_lowercase() == b.trim().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings::voice_calling::workflows::types::MetadataValue;

    #[test]
    fn a_person_opts_out_by_a_disposition_or_a_metadata_value() {
        let opt_out = OptOut {
            dispositions: vec!["DO_NOT_CALL".to_owned()],
            metadata: vec![MetadataValue {
                name: "opt_out".to_owned(),
                value: "true".to_owned(),
            }],
        };
        for (disposition, metadata, reason) in [
            (
                Some("Do_not_call "),
                None,
                Some("call_disposition = Do_not_call "),
            ),
            (Some("INTERESTED"), None, None),
            (
                None,
                Some(r#"{"opt_out":true}"#),
                Some("call_metadata.opt_out = true"),
            ),
            (
                None,
                Some(r#"{"opt_out":"TRUE"}"#),
                Some("call_metadata.opt_out = true"),
            ),
            (Some("BUSY"), Some(r#"{"opt_out":false}"#), None),
            (None, Some("[true]"), None),
            (None, Some("opt_out"), None),
            (None, None, None),
        ] {
            let insights = DocketInsights {
                call_disposition: disposition.map(str::to_owned),
                call_metadata: metadata.map(str::to_owned),
            };
            assert_eq!(opt_out.reason(&insights).as_deref(), reason, "{insights:?}");
        }
    }
}

//! The metadata of a call as a type of one's own, or else as the text that it came as.

use serde::Deserialize;
use voice_calling::{CallDetails, Client};

/// The metadata that the agent is configured for.
#[derive(Debug, PartialEq, Deserialize)]
pub struct Renewal {
    /// The amount that is due.
    pub amount: f64,
    /// The date until which it was paid.
    pub paid_until: Option<String>,
}

/// Returns the metadata, if there are some.
pub fn renewal(call: &CallDetails) -> Option<Result<Renewal, &str>> {
    let text = call.call_insights.as_ref()?.metadata.as_deref()?;
    Some(serde_json::from_str(text).map_err(|_| text))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let task_id = std::env::args().nth(1).ok_or("usage: insights TASK_ID")?;
    let details = Client::from_env()?.get_call_details(&task_id).await?;
    for call in &details.calls {
        println!("{:?}", renewal(call));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use voice_calling::testing::{Answer, ScriptedService};

    #[tokio::test]
    async fn metadata_of_another_form_than_expected_is_there_as_text() {
        let metadata = [r#"{"amount":0.10}"#, r#"{"amount":"a tenth"}"#];
        let calls = metadata.map(|it| format!(r#"{{"call_insights":{{"metadata":{it}}}}}"#));
        let service = ScriptedService::new();
        service.answer(Answer::status(200).text(format!("[{}]", calls.join(","))));
        let details = service.client().get_call_details("task-1").await.unwrap();
        let found: Vec<_> = details.calls.iter().map(renewal).collect();
        let expected = Renewal {
            amount: 0.1,
            paid_until: None,
        };
        assert_eq!(found, [Some(Ok(expected)), Some(Err(metadata[1]))]);
    }
}

//! The metadata of a call as a type of one's own, or else as the text that it came as.

use serde::Deserialize;
use voice_calling::{CallDetails, Client};

/// The metadata that the agent is configured for.
#[derive(Debug, PartialEq, Deserialize)]
pub struct Renewal {
    pub amount: f64,
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

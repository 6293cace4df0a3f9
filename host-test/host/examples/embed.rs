//! Creates a docket: `embed FILE URL`, with the token in `API_TOKEN`. Only the host of URL is
//! within the component's reach.

use std::sync::Arc;
use voice_calling_host::types::DocketRequestV2;
use voice_calling_host::{InstanceSettings, Outgoing, Plugin, PooledNetwork, Reach, Recorder};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, base_url] = arguments.as_slice() else {
        anyhow::bail!("usage: embed FILE URL, with the token in API_TOKEN");
    };
    let token = std::env::var("API_TOKEN")?;

    let plugin = Plugin::load(file.as_ref())?;
    let reach = Reach::of_url(base_url)?;
    let outgoing = Outgoing {
        network: Arc::new(PooledNetwork::new(reach.clone())?),
        reach,
        recorder: Recorder::default(),
    };
    let recorder = outgoing.recorder.clone();
    let environment = [
        ("VOICE_CALLING_BASE_URL", base_url),
        ("VOICE_CALLING_API_TOKEN", &token),
    ];
    let settings = InstanceSettings::new(environment, outgoing);
    let mut instance = plugin.instantiate(settings).await?;

    let request = DocketRequestV2 {
        agent_id: 7,
        to_phone_number: "919876543210".into(),
        call_context: r#"{"reference": "crm-1001"}"#.into(),
        external_id: Some("crm-1001".into()),
        extra: None,
    };
    // The outer result is the host's (a trap, a limit), the inner one the component's.
    match instance.create_docket_v2(&request).await? {
        Ok(docket) => println!("docket {} is {:?}", docket.docket_id, docket.status),
        Err(error) => println!("not created, or not known: {error:?}"),
    }
    for exchange in recorder.exchanges() {
        println!(
            "{} {}: {}",
            exchange.method, exchange.path_and_query, exchange.ending
        );
    }
    Ok(())
}

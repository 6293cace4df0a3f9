//! Creates a docket: `embed FILE NUMBER` calls the number, at the service that
//! `VOICE_CALLING_BASE_URL` and `VOICE_CALLING_API_TOKEN` name. FILE is `voice-calling.wasm`.

use anyhow::{Context, bail};
use std::env;
use voice_calling_host::types::DocketRequestV2;
use voice_calling_host::{InstanceSettings, Outgoing, Plugin, Trust};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [file, number] = arguments.as_slice() else {
        bail!("usage: embed FILE NUMBER");
    };
    let base_url = env::var("VOICE_CALLING_BASE_URL").context("VOICE_CALLING_BASE_URL")?;
    let token = env::var("VOICE_CALLING_API_TOKEN").context("VOICE_CALLING_API_TOKEN")?;

    // The component reaches the scheme, host and port of the base URL, and nothing else.
    let outgoing = Outgoing::to([base_url.as_str()], &Trust::default())?;
    let environment = [
        ("VOICE_CALLING_BASE_URL", base_url.as_str()),
        ("VOICE_CALLING_API_TOKEN", token.as_str()),
    ];
    let plugin = Plugin::load(file.as_ref())?;
    let settings = InstanceSettings::new(environment, outgoing);
    let mut instance = plugin.instantiate(settings).await?;

    let request = DocketRequestV2 {
        agent_id: 7,
        to_phone_number: number.clone(),
        call_context: r#"{"reference": "crm-1001"}"#.into(),
        external_id: Some("crm-1001".into()),
        extra: None,
    };
    // The outer result is the host's (a trap, a limit), the inner one the component's.
    let created = instance.create_docket_v2(&request, None).await?;
    match created {
        Ok(docket) => println!("docket {}", docket.docket_id),
        Err(error) => {
            let failure = error.failure();
            let message = failure.map_or("a call may exist", |it| &it.message);
            bail!("{}: {message}", error.kind());
        }
    }
    Ok(())
}

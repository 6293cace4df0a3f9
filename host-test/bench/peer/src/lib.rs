//! A component with one operation of the service, as one would write it with wstd, without retries,
//! limits, records of attempts or typed errors.

#![deny(unsafe_code)]

use bindings::{Created, Docket};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use wstd::http::{Body, Client, Request};
use wstd::time::Duration;

// The fields of the argument's record are passed one by one.
#[allow(unsafe_code, clippy::too_many_arguments)]
mod bindings {
    wit_bindgen::generate!({ path: "wit", world: "peer" });
    use super::Peer;
    export!(Peer);
}

/// The component's own time limit for an answer.
const TIMEOUT_S: u64 = 10;

#[derive(Serialize)]
struct NewDocket<'a> {
    agent_id: i64,
    to_phone_number: &'a str,
    extra_config: ExtraConfig<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    external_id: Option<&'a str>,
}

#[derive(Serialize)]
struct ExtraConfig<'a> {
    call_context: &'a RawValue,
}

#[derive(Deserialize)]
struct Answer {
    docket_id: String,
    status: Option<String>,
    created: Option<bool>,
}

struct Service {
    dockets: String,
    authorization: String,
}

thread_local! {
    static SERVICE: Service = Service::from_environment();
}

impl Service {
    fn from_environment() -> Self {
        let variables = wasip2::cli::environment::get_environment();
        let value = |name: &str| {
            let variable = variables.iter().find(|(variable, _)| variable == name);
            variable.map_or("", |(_, value)| value)
        };
        Self {
            dockets: format!("{}/api/v2/dockets", value("VOICE_CALLING_BASE_URL")),
            authorization: format!("Bearer {}", value("VOICE_CALLING_API_TOKEN")),
        }
    }

    fn request(&self, docket: &Docket) -> wstd::http::Result<Request<Body>> {
        let body = serde_json::to_vec(&NewDocket {
            agent_id: docket.agent_id,
            to_phone_number: &docket.to_phone_number,
            extra_config: ExtraConfig {
                call_context: serde_json::from_str(&docket.call_context)?,
            },
            external_id: docket.external_id.as_deref(),
        })?;
        Ok(Request::post(&self.dockets)
            .header("auth_token", &self.authorization)
            .header("content-type", "application/json")
            .header("accept", "application/json")
            .body(body.into())?)
    }
}

async fn create(docket: Docket) -> wstd::http::Result<Created> {
    let request = SERVICE.with(|service| service.request(&docket))?;
    let mut client = Client::new();
    let timeout = Duration::from_secs(TIMEOUT_S);
    client.set_connect_timeout(timeout);
    client.set_first_byte_timeout(timeout);
    client.set_between_bytes_timeout(timeout);
    let mut response = client.send(request).await?;
    let status = response.status();
    let body = response.body_mut().contents().await?;
    if !status.is_success() {
        return Err(wstd::http::Error::msg(format!(
            "the service answers {status}"
        )));
    }
    let Answer {
        docket_id,
        status,
        created,
    } = serde_json::from_slice(body)?;
    Ok(Created {
        docket_id,
        status,
        created,
    })
}

struct Peer;

impl bindings::Guest for Peer {
    fn create_docket(docket: Docket) -> Result<Created, String> {
        wstd::runtime::block_on(create(docket)).map_err(|error| error.to_string())
    }
}

//! A component with one operation of the service, as one would write it with wstd, without retries,
//! limits, records of attempts or typed errors.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use wstd::http::{Body, Client, Error, Request, Result};
use wstd::time::Duration;

// The arguments are passed as pointers and lengths.
#[allow(unsafe_code, clippy::too_many_arguments)]
mod bindings {
    wit_bindgen::generate!({ inline: "
        package voice-calling:bench;

        world wstd {
            /// `POST /api/v2/dockets`, once. Returns the docket's id, its status, and whether it was
            /// created; the error is a text.
            export create-docket: func(
                agent-id: s64, to-phone-number: string, call-context: string, external-id: option<string>,
            ) -> result<tuple<string, option<string>, option<bool>>, string>;
        }
    " });
    use super::Service;
    export!(Service);
}

/// The component's own time limit for an answer.
const TIMEOUT_S: u64 = 10;

#[derive(Serialize)]
struct Docket {
    agent_id: i64,
    to_phone_number: String,
    extra_config: ExtraConfig,
    #[serde(skip_serializing_if = "Option::is_none")]
    external_id: Option<String>,
}

#[derive(Serialize)]
struct ExtraConfig {
    call_context: Box<RawValue>,
}

#[derive(Deserialize)]
struct Created {
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

    fn request(&self, docket: &Docket) -> Result<Request<Body>> {
        Ok(Request::post(&self.dockets)
            .header("auth_token", &self.authorization)
            .header("content-type", "application/json")
            .header("accept", "application/json")
            .body(serde_json::to_vec(docket)?.into())?)
    }
}

async fn create(docket: &Docket) -> Result<Created> {
    let request = SERVICE.with(|service| service.request(docket))?;
    let mut client = Client::new();
    let timeout = Duration::from_secs(TIMEOUT_S);
    client.set_connect_timeout(timeout);
    client.set_first_byte_timeout(timeout);
    client.set_between_bytes_timeout(timeout);
    let mut response = client.send(request).await?;
    let status = response.status();
    let body = response.body_mut().contents().await?;
    match status.is_success() {
        true => Ok(serde_json::from_slice(body)?),
        false => Err(Error::msg(format!("the service answers {status}"))),
    }
}

impl bindings::Guest for Service {
    fn create_docket(
        agent_id: i64,
        to_phone_number: String,
        call_context: String,
        external_id: Option<String>,
    ) -> std::result::Result<(String, Option<String>, Option<bool>), String> {
        let call_context =
            RawValue::from_string(call_context).map_err(|error| error.to_string())?;
        let docket = Docket {
            agent_id,
            to_phone_number,
            extra_config: ExtraConfig { call_context },
            external_id,
        };
        let created =
            wstd::runtime::block_on(create(&docket)).map_err(|error| error.to_string())?;
        Ok((created.docket_id, created.status, created.created))
    }
}

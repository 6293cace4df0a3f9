//! A client on reqwest in place of the crate's own network.

use voice_calling::transport::{
    Delivery, Limits, RequestBody, ResponseBody, SendError, Sending, Transport, http,
};
use voice_calling::{Client, Error};

pub struct Reqwest(pub reqwest::Client);

impl Transport for Reqwest {
    fn send(&self, request: http::Request<RequestBody>, _limits: Limits) -> Sending {
        let request = request.map(reqwest::Body::wrap).try_into();
        let sending = request.map(|request| self.0.execute(request));
        Box::pin(async {
            let sent = async { sending?.await }.await;
            let response = sent.map_err(|error: reqwest::Error| SendError {
                delivery: match error.is_connect() {
                    true => Delivery::NotSent,
                    false => Delivery::Unknown,
                },
                message: error.without_url().to_string(),
            })?;
            Ok(http::Response::from(response).map(ResponseBody::new))
        })
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let provider = rustls::crypto::ring::default_provider();
    provider.install_default().expect("no other provider");
    let http = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never());
    let http = http.build().expect("the settings of the HTTP client");
    let client = Client::builder()
        .base_url("http://127.0.0.1:18080")
        .api_token("mock-token-0001")
        .transport(Reqwest(http))
        .build()?;
    println!("{:?}", client.list_agents("org-1").await?);
    Ok(())
}

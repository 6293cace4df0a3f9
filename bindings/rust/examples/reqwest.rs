//! A client on reqwest in place of the crate's own network.

use voice_calling::transport::{
    Delivery, Limits, RequestBody, ResponseBody, SendError, Sending, Transport, http,
};
use voice_calling::{Client, Error};

/// The transport.
struct Reqwest(reqwest::Client);

impl Transport for Reqwest {
    fn send(&self, request: http::Request<RequestBody>, _limits: Limits) -> Sending {
        let request = request.map(reqwest::Body::wrap).try_into();
        let sending = request.map(|request| self.0.execute(request));
        Box::pin(async {
            let sent = async { sending?.await }.await;
            let response = sent.map_err(|error: reqwest::Error| {
                let delivery = match error.is_connect() {
                    true => Delivery::NotSent,
                    false => Delivery::Unknown,
                };
                SendError::new(delivery, error.without_url().to_string())
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

#[cfg(test)]
mod tests {
    use super::*;
    use voice_calling::DocketRequestV2;
    use voice_calling_peer::{Behaviour, ClosedPort, Peer};

    #[tokio::test]
    async fn a_create_goes_once_whatever_the_library_would_send_again() {
        let provider = rustls::crypto::ring::default_provider();
        provider.install_default().expect("no other provider");
        let created = r#"{"docket_id":"7f8d3b0e-0d51-4f0c-9a63-2f1a5c0d9e11"}"#;
        let peer = Peer::start([Behaviour::Keep(created), Behaviour::CloseAfterReading]);
        let (peer, closed) = (peer.await.unwrap(), ClosedPort::bind().unwrap());
        for (base_url, requests, may_have_created) in [
            (peer.base_url(), 1, None),
            (peer.base_url(), 2, Some(true)),
            (closed.base_url(), 2, Some(false)),
        ] {
            let retry = reqwest::retry::for_host("127.0.0.1").no_budget();
            let retry = retry.max_retries_per_request(3);
            let retry = retry.classify_fn(|attempt| attempt.retryable());
            let http = reqwest::Client::builder().retry(retry).build().unwrap();
            let client = Client::builder()
                .base_url(base_url)
                .api_token("t")
                .max_attempts(1)
                .transport(Reqwest(http))
                .build()
                .unwrap();
            let request = DocketRequestV2::new(7, "910000000001");
            let error = client.create_docket_v2(&request).await.err();
            assert_eq!(error.map(|it| it.may_have_created()), may_have_created);
            assert_eq!(peer.requests().len(), requests);
        }
    }
}

//! Delivers notifications, only to this machine and private networks.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, anyhow, ensure};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::uri::{Authority, Scheme};
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::net::lookup_host;
use tokio::sync::watch;
use uuid::Uuid;

use super::fault::Fault;

/// The time limit for a receiver's answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// The memory that deliveries may take, in bytes.
const MOST_DELIVERY_BYTES: usize = 32 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Notification {
    /// The docket that it reports.
    pub(super) about: Uuid,
    pub(super) body: String,
    /// The time at which the docket was completed.
    pub(super) at: SystemTime,
    /// The fault of the docket's number.
    pub(super) fault: Option<Fault>,
    /// Changes when the mock is reset: the docket is then forgotten.
    pub(super) resets: watch::Receiver<u64>,
}

/// A notification that was sent, or could not be.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The docket that it reports.
    pub docket_id: Uuid,
    /// The JSON text.
    pub body: String,
    /// The receiver's status, or the reason why there is none.
    pub outcome: Result<StatusCode, String>,
}

/// The newest deliveries.
#[derive(Default)]
pub(super) struct Deliveries {
    /// The number of all deliveries so far.
    pub(super) count: usize,
    pub(super) newest: VecDeque<Delivery>,
    bytes: usize,
}

impl Deliveries {
    /// Keeps a delivery, and drops the oldest ones that there is no room for.
    pub(super) fn keep(&mut self, delivery: Delivery) {
        let size = |delivery: &Delivery| 256 + delivery.body.len();
        self.count += 1;
        self.bytes += size(&delivery);
        self.newest.push_back(delivery);
        while self.bytes > MOST_DELIVERY_BYTES && self.newest.len() > 1 {
            self.bytes -= self.newest.pop_front().as_ref().map_or(0, size);
        }
    }
}

/// A receiver of notifications.
pub(super) struct Webhook {
    authority: Authority,
    path_and_query: String,
    /// The client keeps no connections.
    client: Client<HttpConnector, Full<Bytes>>,
}

impl Webhook {
    pub(super) fn at(url: &str) -> Result<Self> {
        let read = || {
            let uri: Uri = url.parse()?;
            let is_http = uri.scheme() == Some(&Scheme::HTTP);
            ensure!(is_http, "its scheme is not http");
            let authority = uri.authority().context("it has no host")?.clone();
            let has_user = authority.as_str().contains('@');
            ensure!(!has_user, "it has a user name, which is not sent");
            let host = authority.host();
            let address = host.trim_start_matches('[').trim_end_matches(']').parse();
            ensure!(
                address.map_or(true, is_near),
                "its host {host:?} is neither this machine nor in a private network"
            );
            let path_and_query = uri.path_and_query().map_or("/", |path| path.as_str());
            Ok(Self {
                path_and_query: path_and_query.to_owned(),
                authority,
                client: Client::builder(TokioExecutor::new())
                    .pool_max_idle_per_host(0)
                    .build_http(),
            })
        };
        read().context("the webhook URL, which may contain a secret, is rejected")
    }

    pub(super) async fn deliver(&self, body: &str) -> Result<StatusCode> {
        let sent = async { self.post(&self.addresses().await?, body).await };
        tokio::time::timeout(ANSWER_TIMEOUT, sent)
            .await
            .context("the receiver did not answer in time")?
    }

    /// Sends to the first address that accepts a connection: `localhost` may be an IPv6 address
    /// first, at which the receiver does not listen.
    async fn post(&self, addresses: &[SocketAddr], body: &str) -> Result<StatusCode> {
        let host = self.authority.host();
        let mut outcome = Err(anyhow!(
            "{host} resolves neither to this machine nor to a private network"
        ));
        for address in addresses {
            let request = Request::post(format!("http://{address}{}", self.path_and_query))
                .header(HOST, self.authority.as_str())
                .header(CONTENT_TYPE, "application/json")
                .body(Full::from(body.to_owned()))?;
            match self.client.request(request).await {
                Err(error) if error.is_connect() => outcome = Err(error.into()),
                sent => {
                    let response = sent?;
                    let status = response.status();
                    response.into_body().collect().await?;
                    return Ok(status);
                }
            }
        }
        outcome
    }

    /// Returns the host's addresses: what a name resolves to is checked as well.
    async fn addresses(&self) -> Result<Vec<SocketAddr>> {
        let host = self.authority.host();
        let port = self.authority.port_u16().unwrap_or(80);
        let addresses = lookup_host(format!("{host}:{port}")).await?;
        Ok(addresses.filter(|it| is_near(it.ip())).collect())
    }
}

/// Returns `true` for an address of this machine or of a private network, such as that of a
/// container.
fn is_near(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_loopback() || address.is_private(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unique_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::Webhook;
    use voice_calling_peer::{Behaviour, ClosedPort, Peer};

    #[test]
    fn a_webhook_is_on_this_machine_or_in_a_private_network() {
        for url in [
            "http://127.0.0.1:8080/hook",
            "http://127.9.9.9",
            "http://localhost:1/a?b=c",
            "http://[::1]:8080/",
            "http://172.17.0.1/hook",
            "http://[fd00::1]/",
            "http://app:9000/hook",
        ] {
            assert!(Webhook::at(url).is_ok(), "{url}");
        }
        for url in [
            "http://192.0.2.1/hook",
            "http://127.0.0.1@192.0.2.1/",
            "http://user:password@127.0.0.1/",
            "http://172.32.0.1/",
            "http://[2001:db8::1]/",
            "http://[::ffff:192.0.2.1]/",
            "http://0.0.0.0/",
            "https://127.0.0.1/",
            "127.0.0.1:8080",
            "/hook",
            "",
        ] {
            let error = Webhook::at(url).err();
            let error = format!("{:#}", error.expect(url));
            assert!(!error.contains("password"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_name_is_checked_when_it_is_resolved() {
        let mut webhook = Webhook::at("http://localhost:1/").unwrap();
        assert!(!webhook.addresses().await.unwrap().is_empty());
        webhook.authority = "192.0.2.1:1".parse().unwrap();
        let error = webhook.deliver("{}").await.unwrap_err().to_string();
        assert!(error.contains("neither to this machine"), "{error}");
    }

    #[tokio::test]
    async fn the_next_address_of_a_name_is_tried_if_one_refuses_the_connection() {
        let closed = ClosedPort::bind().unwrap();
        let answer = b"HTTP/1.1 204 No Content\r\n\r\n".to_vec();
        let receiver = Peer::start([Behaviour::Send(answer)]).await.unwrap();
        let webhook = Webhook::at("http://localhost:9000/hook").unwrap();
        let addresses = [closed.address(), receiver.address()];
        assert_eq!(webhook.post(&addresses, "{}").await.unwrap(), 204);
        let requests = receiver.requests();
        let host = requests[0].header("host");
        assert_eq!((requests.len(), &*host.unwrap()), (1, "localhost:9000"));
    }
}

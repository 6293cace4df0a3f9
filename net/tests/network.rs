//! Requests to services on loopback, and by proxies there.

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio_rustls::TlsAcceptor;
use voice_calling_net::{Error, Incoming, Network, Proxies, Trust};

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const A_MOMENT: Duration = Duration::from_millis(100);
const LONG: Duration = Duration::from_secs(60);

fn network(trust: &Trust, proxies: Proxies) -> Network<Full<Bytes>> {
    Network::new(trust.client().unwrap(), proxies)
}

/// Trusts this authority alone.
fn only(authority: &str) -> Trust {
    Trust {
        authorities: Some(authority.into()),
        ..Trust::default()
    }
}

async fn post(network: &Network<Full<Bytes>>, url: &str) -> Result<Response<Incoming>, Error> {
    let request = Request::post(url).body(Full::from("{}")).unwrap();
    network.send(request, LONG).await
}

async fn text(response: Response<Incoming>) -> String {
    let body = response.into_body().collect().await.unwrap();
    String::from_utf8(body.to_bytes().into()).unwrap()
}

/// A peer on loopback that answers the first request of each connection, which it keeps.
#[derive(Clone)]
struct Peer {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Peer {
    /// `tls` is that of the service behind the first answer, if there is one, or else of the peer.
    async fn start(answers: &[&str], tls: Option<ServerConfig>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let peer = Self {
            port: listener.local_addr().unwrap().port(),
            requests: Arc::default(),
        };
        let answers: Vec<_> = answers.iter().map(ToString::to_string).collect();
        let tls = tls.map(|tls| TlsAcceptor::from(Arc::new(tls)));
        let this = peer.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(this.clone().serve(stream, answers.clone(), tls.clone()));
            }
        });
        peer
    }

    async fn serve(self, mut stream: TcpStream, answers: Vec<String>, tls: Option<TlsAcceptor>) {
        let (last, first) = answers.split_last().unwrap();
        if let [first] = first {
            self.answer(&mut stream, first).await;
        }
        match tls {
            None => self.answer(&mut stream, last).await,
            Some(tls) => {
                if let Ok(mut stream) = tls.accept(stream).await {
                    self.answer(&mut stream, last).await;
                }
            }
        }
    }

    async fn answer(&self, stream: &mut (impl AsyncRead + AsyncWrite + Unpin), answer: &str) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return,
            }
        }
        let head = String::from_utf8(head).unwrap();
        let is_create = head.starts_with("POST");
        self.requests.lock().unwrap().push(head);
        if is_create {
            stream.read_exact(&mut [0; 2]).await.unwrap();
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

/// A certificate with its key, both in PEM.
type Identity = (String, KeyPair);

/// An authority in PEM, and the certificates that it has issued for a name.
fn authority_and(names: &[&str]) -> (String, Vec<Identity>) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let issued = names.iter().map(|name| {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_string()]).unwrap();
        (params.signed_by(&key, &authority).unwrap().pem(), key)
    });
    (authority.pem(), issued.collect())
}

fn server((certificate, key): &Identity, clients: Option<&str>) -> ServerConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = ServerConfig::builder_with_provider(provider.clone());
    let tls = tls.with_safe_default_protocol_versions().unwrap();
    let tls = match clients {
        None => tls.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            let authority = CertificateDer::from_pem_slice(authority.as_bytes());
            roots.add(authority.unwrap()).unwrap();
            let clients = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            tls.with_client_cert_verifier(clients.build().unwrap())
        }
    };
    let chain = CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
    tls.with_single_cert(vec![chain], key).unwrap()
}

#[tokio::test]
async fn only_the_given_authorities_are_trusted_and_a_client_proves_itself() {
    let (authority, issued) = authority_and(&["localhost", "client"]);
    let [service, client] = &issued[..] else {
        unreachable!()
    };
    let tls = server(service, Some(&authority));
    let peer = Peer::start(&[OK], Some(tls)).await;
    let url = format!("https://localhost:{}", peer.port);
    let identity = format!("{}{}", client.0, client.1.serialize_pem());
    let trust = Trust {
        client_certificate: Some(identity.into()),
        ..only(&authority)
    };
    let shown = "Trust { has_authorities: true, has_client_certificate: true }";
    assert_eq!(format!("{trust:?}"), shown);
    let response = post(&network(&trust, Proxies::none()), &url).await;
    assert_eq!(text(response.unwrap()).await, "ok");

    let (other, _) = authority_and(&[]);
    for trust in [only(&other), Trust::default()] {
        let error = post(&network(&trust, Proxies::none()), &url).await;
        let error = error.unwrap_err();
        assert!(
            error.is_unsent() && error.to_string().contains("certificate"),
            "{error}"
        );
    }
    assert_eq!(peer.requests().len(), 1);
}

#[test]
fn a_broken_certificate_or_key_is_refused() {
    let (authority, _) = authority_and(&[]);
    for pem in [
        "",
        "no PEM",
        "-----BEGIN CERTIFICATE-----\n?\n-----END CERTIFICATE-----",
    ] {
        assert!(only(pem).client().is_err(), "{pem}");
    }
    for pem in [&*authority, ""] {
        let trust = Trust {
            client_certificate: Some(pem.into()),
            ..Trust::default()
        };
        assert!(trust.client().is_err(), "{pem}");
    }
}

/// Runs the next test in a process of its own, since the environment is that of all.
#[tokio::test]
async fn the_systems_trust_and_its_proxies_come_from_the_environment() {
    let (authority, issued) = authority_and(&["localhost"]);
    let peer = Peer::start(&[OK], Some(server(&issued[0], None))).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), authority).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--ignored", "--exact", "in_this_environment"]);
    child.env("SSL_CERT_FILE", file.path());
    child.env("ALL_PROXY", "socks://127.0.0.1:9");
    child.env("PEER", format!("https://localhost:{}", peer.port));
    let ended = tokio::task::spawn_blocking(move || child.output().unwrap());
    let ended = ended.await.unwrap();
    assert!(ended.status.success(), "{ended:?}");
    assert_eq!(peer.requests().len(), 1);
}

#[tokio::test]
#[ignore = "for the environment of the test before"]
async fn in_this_environment() {
    let elsewhere = "https://api.example".parse().unwrap();
    assert!(Proxies::from_env().of(&elsewhere).is_err());
    let network = network(&Trust::default(), Proxies::from_env());
    let url = std::env::var("PEER").unwrap();
    assert_eq!(text(post(&network, &url).await.unwrap()).await, "ok");
}

#[tokio::test]
async fn a_proxy_that_refuses_a_tunnel_has_got_nothing_of_the_request() {
    for status in [
        "403 Forbidden",
        "404 Not Found",
        "407 Proxy Authentication Required",
        "502 Bad Gateway",
    ] {
        let refusal = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n");
        let proxy = Peer::start(&[&refusal], None).await;
        let url = format!("http://me:secret@127.0.0.1:{}", proxy.port);
        let network = network(&Trust::default(), Proxies::all(&url));
        let error = post(&network, "https://api.example/x").await.unwrap_err();
        assert!(
            error.is_unsent() && !error.to_string().contains("secret"),
            "{error}"
        );
        assert_eq!(
            error.to_string(),
            format!("the proxy refused a tunnel: {status}")
        );
        let requests = proxy.requests();
        let [connect] = &requests[..] else {
            panic!("{requests:?}")
        };
        assert!(connect.starts_with("CONNECT api.example:443 HTTP/1.1\r\n"));
        // me:secret
        assert!(connect.contains("Basic bWU6c2VjcmV0"), "{connect}");
    }
}

#[tokio::test]
async fn a_request_goes_through_a_tunnel_and_in_clear_text_as_the_proxy_wants_it() {
    let (authority, issued) = authority_and(&["api.example"]);
    let trust = only(&authority);
    let established = "HTTP/1.1 200 Connection established\r\n\r\n";
    let tls = server(&issued[0], None);
    let tunnel = Peer::start(&[established, OK], Some(tls)).await;
    let plain = Peer::start(&[OK], None).await;
    for (proxy, url, line) in [
        (tunnel, "https://api.example/x", "POST /x HTTP/1.1\r\n"),
        (
            plain,
            "http://api.example/x",
            "POST http://api.example/x HTTP/1.1\r\n",
        ),
    ] {
        let proxies = Proxies::all(&format!("me:secret@127.0.0.1:{}", proxy.port));
        let response = post(&network(&trust, proxies), url).await.unwrap();
        assert_eq!(text(response).await, "ok");
        let sent = proxy.requests();
        assert!(sent.last().unwrap().starts_with(line), "{sent:?}");
        assert!(sent[0].contains("Basic bWU6c2VjcmV0"), "{sent:?}");
        let shows_password_to_the_service = sent.len() == 2 && sent[1].contains("bWU6");
        assert!(!shows_password_to_the_service, "{sent:?}");
    }
}

/// A host that drops SYNs, since its queue is full, with the connections that fill it.
async fn silent_host() -> (String, Vec<TcpStream>, tokio::net::TcpListener) {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut queue = Vec::new();
    // Linux keeps one more than the queue is long.
    for _ in 0..2 {
        queue.push(TcpStream::connect(address).await.unwrap());
    }
    while let Ok(Ok(stream)) = tokio::time::timeout(A_MOMENT, TcpStream::connect(address)).await {
        queue.push(stream);
    }
    (format!("http://{address}"), queue, listener)
}

#[tokio::test]
async fn each_request_has_its_own_time_for_a_connection() {
    let (silent, _queue, _listener) = silent_host().await;
    // It accepts connections, and does not answer the handshake.
    let mute = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mute_tls = format!("https://{}", mute.local_addr().unwrap());
    let proxy = Proxies::all(&format!("http://{}", mute.local_addr().unwrap()));
    let direct = network(&Trust::default(), Proxies::none());
    let proxied = network(&Trust::default(), proxy);
    for (network, url) in [
        (&direct, &*silent),
        (&direct, &mute_tls),
        (&proxied, "https://api.example"),
    ] {
        let request = || Request::post(url).body(Full::from("{}")).unwrap();
        let began = Instant::now();
        let patient = network.send(request(), LONG);
        let hurried = network.send(request(), A_MOMENT);
        tokio::select! {
            _ = patient => panic!("{url}: the long time has ended first"),
            ended = hurried => {
                let error = ended.unwrap_err();
                assert!(error.is_unsent(), "{error}");
                assert!(began.elapsed() < LONG / 2, "{url}");
            }
        }
    }
}

#[tokio::test]
async fn what_was_given_to_a_connection_may_have_left_and_nothing_else() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let network = network(&Trust::default(), Proxies::none());
    let reads = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_u8().await.unwrap();
    };
    let (sent, ()) = tokio::join!(post(&network, &url), reads);
    assert!(!sent.unwrap_err().is_unsent());
    // Bound and not listened on, it refuses connections.
    let closed = TcpSocket::new_v4().unwrap();
    closed.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}", closed.local_addr().unwrap());
    assert!(post(&network, &url).await.unwrap_err().is_unsent());
}

#[tokio::test]
async fn only_the_addresses_that_the_filter_permits_are_used() {
    let peer = Peer::start(&[OK], None).await;
    let url = format!("http://localhost:{}", peer.port);
    for permits in [true, false] {
        let tls = Trust::default().client().unwrap();
        let filter = move |name: &str, _| name == "localhost" && permits;
        let network = Network::with_address_filter(tls, Proxies::none(), filter);
        let sent = post(&network, &url).await;
        assert_eq!(sent.is_ok(), permits);
        if let Err(error) = sent {
            assert!(
                error.is_unsent() && error.to_string().contains("no address"),
                "{error}"
            );
        }
    }
}

#[tokio::test]
async fn a_head_of_64_kib_is_read() {
    let long = "v".repeat(65_536 - 100);
    let answer = OK.replace("200 OK\r\n", &format!("200 OK\r\nx-long: {long}\r\n"));
    let peer = Peer::start(&[&answer], None).await;
    let network = network(&Trust::default(), Proxies::none());
    let response = post(&network, &format!("http://127.0.0.1:{}", peer.port)).await;
    assert_eq!(response.unwrap().headers()["x-long"], *long);
}

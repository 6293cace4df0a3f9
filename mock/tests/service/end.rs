//! The end of a mock.

use super::*;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use voice_calling_mock::{Control, Endpoint, Fault, Pace};
use voice_calling_peer::ClosedPort;

#[tokio::test]
async fn a_dropped_mock_leaves_nothing_running() {
    let receiver = peer(Behaviour::Silence).await;
    // Kept from others, who might take it between the two mocks.
    let port = ClosedPort::bind().unwrap();
    let mut options = notifying(&receiver);
    options.address = port.address();
    options.pace = Pace::Every(Duration::from_millis(1));
    let (mock, client) = started(options).await;
    client.docket(&docket_body()).await;
    until_received(&receiver).await;
    mock.on_next(Endpoint::MakeCall, Fault::hang());
    let mut stream = TcpStream::connect(mock.address()).await.unwrap();
    let request = b"POST /make_call HTTP/1.1\r\nhost: mock\r\ncontent-length: 0\r\n\r\n";
    stream.write_all(request).await.unwrap();
    until(async || mock.requests_to(Endpoint::MakeCall).len() == 1).await;
    drop(mock);
    let mut answer = Vec::new();
    let _closed_or_reset = soon(stream.read_to_end(&mut answer)).await;
    assert!(answer.is_empty());
    let again = Options {
        address: port.address(),
        ..Options::default()
    };
    MockService::start(again).await.expect("the port is free");
}

#[tokio::test]
async fn a_dropped_control_ends_its_connections_and_holds_no_mock() {
    let (mock, _client) = with(|_| ()).await;
    let mock = Arc::new(mock);
    let control = Control::start(mock.clone(), ([127, 0, 0, 1], 0).into()).await;
    let control = control.unwrap();
    let host = control.url().strip_prefix("http://").unwrap();
    let mut streams = Vec::new();
    for path in ["/events", "/health"] {
        let mut stream = TcpStream::connect(host).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        assert!(soon(stream.read_u8()).await.is_ok());
        streams.push(stream);
    }
    drop(control);
    for mut stream in streams {
        let _closed_or_reset = soon(stream.read_to_end(&mut Vec::new())).await;
    }
    until(async || Arc::strong_count(&mock) == 1).await;
}

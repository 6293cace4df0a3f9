//! The end of a mock.

use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use voice_calling_mock::{Endpoint, Fault, Pace};
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

//! The start and the end of a mock, and its bounded memory.

use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use voice_calling_mock::{Endpoint, Fault, Pace, RepeatedExternalId};

#[tokio::test]
async fn a_dropped_mock_leaves_nothing_running() {
    let receiver = peer(Behaviour::Silence).await;
    let mut options = notifying(&receiver);
    options.pace = Pace::Every(Duration::from_millis(1));
    let (mock, client) = started(options).await;
    client.docket(&docket_body()).await;
    until_received(&receiver).await;
    mock.on_next(Endpoint::MakeCall, Fault::hang());
    let mut stream = TcpStream::connect(mock.address()).await.unwrap();
    let request = b"POST /make_call HTTP/1.1\r\nhost: mock\r\ncontent-length: 0\r\n\r\n";
    stream.write_all(request).await.unwrap();
    until(async || mock.requests_to(Endpoint::MakeCall).len() == 1).await;
    let port = mock.address().port();
    drop(mock);
    let mut answer = Vec::new();
    let _closed_or_reset = soon(stream.read_to_end(&mut answer)).await;
    assert!(answer.is_empty());
    let again = Options {
        port,
        ..Options::default()
    };
    MockService::start(again).await.expect("the port is free");
}

#[tokio::test]
async fn the_oldest_dockets_and_calls_that_are_over_are_forgotten_and_none_that_goes_on() {
    let (mock, client) = with(|options| {
        options.kept = Some(2);
        options.repeated_external_id = RepeatedExternalId::SameDocket;
    })
    .await;
    let body = |external_id: &str| docket_body().replace("crm-1", external_id);
    let open = client.docket(&body("open")).await;
    let first = client.docket(&body("first")).await;
    mock.complete_docket(&first).unwrap();
    let call = client.call().await;
    mock.place_next_call(&call).unwrap();
    assert_eq!(client.fetch(&first).await["status"], "COMPLETED");
    assert_eq!(client.docket(&body("first")).await, first);

    let second = client.docket(&body("second")).await;
    mock.complete_docket(&second).unwrap();
    assert_eq!(client.get(&format!("{V1}/{first}")).await.status, 404);
    assert_eq!(client.details(&call).await.status, 200);
    assert_ne!(client.docket(&body("first")).await, first);

    let third = client.docket(&body("third")).await;
    mock.complete_docket(&third).unwrap();
    assert_eq!(client.details(&call).await.status, 404);
    for docket in [second, third] {
        assert_eq!(client.fetch(&docket).await["status"], "COMPLETED");
    }
    assert_eq!(client.fetch(&open).await["status"], "OPEN");
    mock.complete_docket(&open).unwrap();
    assert_eq!((mock.requests().len(), mock.phones_rung().len()), (2, 2));
}

#[tokio::test]
async fn what_goes_on_is_never_forgotten_and_has_a_bound() {
    let (mock, client) = with(|options| options.kept = Some(1)).await;
    let mut ids = Vec::new();
    for index in 10..30 {
        let body = docket_body().replace("3210", &format!("32{index}"));
        ids.push(client.docket(&body).await);
    }
    let full = client.post(V2, &docket_body()).await;
    assert_eq!(full.status, 503);
    assert!(full.text().contains("no room"), "{}", full.text());
    for id in &ids {
        assert_eq!(client.fetch(id).await["status"], "OPEN");
    }
    mock.complete_docket(&ids[0]).unwrap();
    client.docket(&docket_body()).await;
}

//! Requests as sent over the network, and the options that the host receives with them.

use crate::stage::{NUMBER, Operation, Script, Step, TOKEN, instance, instance_at, pooled, run_in};
use std::time::Duration;
use voice_calling_mock::{Behaviour, RawPeer};
use wasmtime_wasi_http::RequestOptions;

/// Returns the body that a function sends; `None` for a GET.
fn body(operation: Operation) -> Option<String> {
    let docket = format!(
        r#""agent_id":7,"to_phone_number":"{NUMBER}","extra_config":{{"call_context":{{}}}}"#
    );
    Some(match operation {
        Operation::CreateAgent => r#"{"agent_name":"renewals","tools":null}"#.to_owned(),
        Operation::MakeCall => {
            format!(r#"{{"from_agent_name":"renewals","to_phone_number":"{NUMBER}"}}"#)
        }
        Operation::CreateDocket | Operation::CreateDocketV2 => format!("{{{docket}}}"),
        Operation::CreateDocketsV2 => {
            format!(r#"{{{docket},"external_id":"00000000-0000-4000-8000-000000000000"}}"#)
        }
        _ => return None,
    })
}

/// Returns a request with its headers in alphabetical order.
fn in_order(request: &[u8]) -> String {
    let request = String::from_utf8_lossy(request);
    let (head, body) = request.split_once("\r\n\r\n").expect("a head");
    let mut head: Vec<_> = head.lines().collect();
    head[1..].sort_unstable();
    format!("{}\n\n{body}", head.join("\n"))
}

#[tokio::test]
async fn the_request_of_every_function_is_on_the_wire_whole() {
    for &operation in Operation::ALL {
        let answer = operation.satisfying();
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{answer}",
            answer.len()
        );
        let peer = RawPeer::start([Behaviour::Send(answer.into_bytes())])
            .await
            .unwrap();
        let base_url = format!("{}/tenant/a", peer.base_url());
        let mut instance = instance_at(&base_url, &[], pooled()).await;
        run_in(&mut instance, operation).await.unwrap();

        let line = operation.request_line();
        let (method, path) = line.split_once(' ').unwrap();
        let accept = match path.starts_with("/api/v1/dockets/") {
            true => "accept: application/json\n",
            false => "",
        };
        let (content, body) = body(operation).map_or_else(Default::default, |body| {
            let bytes = body.len();
            (
                format!("content-length: {bytes}\ncontent-type: application/json\n"),
                body,
            )
        });
        let expected = format!(
            "{method} /tenant/a{path} HTTP/1.1\n{accept}auth_token: Bearer {TOKEN}\n{content}host: {}\n\n{body}",
            peer.address(),
        );
        let requests: Vec<_> = peer.requests().iter().map(|it| in_order(it)).collect();
        assert_eq!(requests, [expected], "{operation}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_host_receives_the_timeouts() {
    let timeouts = |connect_ms, attempt_ms| RequestOptions {
        connect_timeout: Some(Duration::from_millis(connect_ms)),
        first_byte_timeout: Some(Duration::from_millis(attempt_ms)),
        between_bytes_timeout: Some(Duration::from_millis(attempt_ms)),
    };
    let set = [("CONNECT_TIMEOUT_MS", "70"), ("ATTEMPT_TIMEOUT_MS", "900")];
    for &operation in Operation::ALL {
        // The time of a wait bounds them as well: a connection gets three quarters of it.
        let usual = match operation.is_wait() {
            true => timeouts(1_125, 1_500),
            false => timeouts(3_000, 10_000),
        };
        for (settings, expected) in [(&[][..], usual), (&set, timeouts(70, 900))] {
            let script = Script::new([Step::ok(operation.satisfying())]);
            let mut instance = instance(settings, script.outgoing()).await;
            run_in(&mut instance, operation).await.unwrap();
            assert_eq!(script.sent()[0].options, expected, "{operation}");
        }
    }
}

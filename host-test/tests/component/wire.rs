//! Requests as sent over the network, and the options that the host receives with them.

use crate::stage::{
    FREE_FORM, NUMBER, Operation, Script, Step, TOKEN, docket_v2, instance, instance_at, pooled,
    returned, run, run_in,
};
use std::time::Duration;
use voice_calling_host::types::DocketRequestV2;
use voice_calling_mock::{Behaviour, MockService, Options, RawPeer};
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
async fn scheme_host_port_and_path_are_those_of_the_base_url() {
    for (base_url, origin) in [
        ("http://127.0.0.1", "http://127.0.0.1"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
        (
            "http://LocalHost:8080/tenant/%7Ea/v3",
            "http://localhost:8080/tenant/%7Ea/v3",
        ),
        ("https://[::1]/tenant/", "https://[::1]/tenant"),
    ] {
        for operation in Operation::READ_AND_CREATE {
            let script = Script::new([Step::ok(operation.satisfying())]);
            run(&script, operation, &[("BASE_URL", base_url)])
                .await
                .unwrap();
            let path = operation.request_line();
            let (_, path) = path.split_once(' ').unwrap();
            assert_eq!(script.sent()[0].uri.to_string(), format!("{origin}{path}"));
        }
    }
}

#[tokio::test]
async fn free_form_json_goes_and_comes_unharmed_also_a_megabyte_of_it() {
    let mock = MockService::start(Options::default())
        .await
        .expect("the mock service");
    let (base_url, token) = (mock.base_url(), mock.token());
    let mut instance = instance_at(&base_url, &[("API_TOKEN", &token)], pooled()).await;
    let large = format!(r#"{{"note":"{}"}}"#, "\u{e4}\\n".repeat(240_000));
    for call_context in [FREE_FORM, &large] {
        let request = DocketRequestV2 {
            call_context: call_context.to_owned(),
            ..docket_v2()
        };
        let created = returned(instance.create_docket_v2(&request, None))
            .await
            .unwrap();
        let docket = returned(instance.get_docket(&created.docket_id, None))
            .await
            .unwrap();
        assert!(docket.call_context.as_deref() == Some(call_context));
        assert!(docket.raw_json.contains(call_context));
    }
    assert_eq!(mock.phones_rung(), [NUMBER; 2]);
}

#[tokio::test(start_paused = true)]
async fn the_host_is_told_the_timeouts() {
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

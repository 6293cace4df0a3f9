//! A token that can be recognised appears in its header and nowhere else.

use crate::failure::outcome;
use crate::operation::Operation::{CreateDocketV2, ListAgents};
use crate::operation::Run;
use crate::operation::{Operation, returned};
use crate::script::{Piece, Script, Step};
use crate::stage::Stage;
use std::fmt::Debug;
use voice_calling_mock::Fault;
use wasmtime_wasi_http::p2::bindings::http::types::ErrorCode;

const CANARY: &str = "canary-5f1e0c77a1b2";

/// The canary or half of it.
fn assert_hidden(shown: &(impl Debug + ?Sized), what: impl Debug) {
    let shown = format!("{shown:?}");
    assert!(!shown.contains("canary-5"), "{what:?}: {shown}");
}

async fn stage() -> Stage {
    Stage::changed(|options| options.token = CANARY.into()).await
}

#[tokio::test]
async fn every_request_has_the_token_in_its_header_and_nowhere_else() {
    for operation in Operation::ALL {
        let stage = stage().await;
        let endpoint = operation.endpoint();
        stage.mock.on_next(endpoint, Fault::status(503));
        let mut instance = stage.instance_with(&[("LOG", "attempts")]).await;
        // Reads of what the mock has not are answered with an error.
        let result = operation.run(&mut instance).await;
        assert_hidden(&result, operation);
        assert_hidden(&instance.stderr(), operation);
        assert_hidden(&stage.recorder(), operation);
        let requests = stage.mock.requests();
        assert_eq!(requests.len(), 2, "{operation:?}");
        for request in &requests {
            let expected = format!("Bearer {CANARY}");
            assert_eq!(request.header_values("auth_token"), [expected.as_bytes()]);
            assert_hidden(&request.path_and_query, operation);
            assert_hidden(&request.body_text(), operation);
            for (name, value) in &request.headers {
                let value = String::from_utf8_lossy(value);
                if name != "auth_token" {
                    assert_hidden(&value, name);
                }
            }
        }
    }
}

#[tokio::test]
async fn a_token_that_the_service_echoes_is_masked_in_every_error() {
    for status in [
        200, 201, 302, 401, 403, 404, 408, 410, 422, 425, 429, 500, 503, 600,
    ] {
        for operation in Operation::ALL {
            // Whatever is answered to a new agent is the answer.
            if operation == Operation::CreateAgent && status < 300 {
                continue;
            }
            let stage = stage().await;
            let echo = format!("wrong: Bearer {CANARY}; {CANARY}");
            let fault = Fault::status(status)
                .body("text/plain", echo)
                .header("x-request-id", format!("{CANARY}/1"));
            stage.mock.on_next(operation.endpoint(), fault);
            let settings = [("MAX_ATTEMPTS", "1"), ("LOG", "attempts")];
            let mut instance = stage.instance_with(&settings).await;
            let error = operation.run(&mut instance).await.unwrap_err();
            assert_hidden(&error, (status, operation));
            assert_hidden(&instance.stderr(), operation);
            assert_hidden(&stage.recorder(), operation);
            // A wait goes on after what may pass, and ends with another error.
            let kept = error.response().filter(|kept| kept.status == status);
            let Some(kept) = kept else {
                assert!(operation.is_wait(), "{operation:?} {status}");
                continue;
            };
            assert_eq!(
                kept.body, "wrong: Bearer [api token]; [api token]",
                "{status}"
            );
            let request_id = kept.request_id.as_deref();
            assert_eq!(request_id, Some("[api token]/1"), "{status}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_is_masked_however_json_escapes_it() {
    let token = "can+ary/5f1e\"0c77";
    let escaped: String = token
        .chars()
        .map(|c| format!("\\u{:04X}", u32::from(c)))
        .collect();
    for echo in [
        r#"can\u002Bary\/5f1e\"0c77"#.to_owned(),
        r#"can\u002bary/5f1e\u00220c77"#.to_owned(),
        escaped.to_lowercase().replace("\\U", "\\u"),
        escaped,
    ] {
        let script = Script::new([Step::status(401).body(format!(r#"{{"token":"{echo}"}}"#))]);
        let settings = [("API_TOKEN", token)];
        let error = script.run(CreateDocketV2, &settings).await.unwrap_err();
        let body = &error.response().unwrap().body;
        assert_eq!(body, r#"{"token":"[api token]"}"#, "{echo}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_half_of_the_token_stays_where_a_body_is_cut() {
    let half = &CANARY[..12];
    let cut = |before: usize, text: &str| {
        let bytes = format!("{}{text}", "x".repeat(before)).into_bytes();
        let end = Piece::Break(ErrorCode::ConnectionTerminated);
        Step::status(422).pieces([Piece::Bytes(bytes.into()), end])
    };
    for step in [
        cut(0, half),
        cut(8_185, CANARY),
        cut(8_192 - 12, half),
        cut(65_536 - 12, CANARY),
        Step::status(422).body(format!("{}{CANARY}{CANARY}", "x".repeat(8_180))),
    ] {
        let script = Script::new([step]);
        let settings = [("API_TOKEN", CANARY)];
        let error = script.run(CreateDocketV2, &settings).await.unwrap_err();
        assert_hidden(&error, ());
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_in_the_hosts_own_message_is_masked() {
    for code in [
        ErrorCode::InternalError(Some(format!("header auth_token: Bearer {CANARY}"))),
        ErrorCode::HttpRequestDenied,
    ] {
        for operation in Operation::READ_AND_CREATE {
            let script = Script::new([Step::fail(code.clone())]);
            let settings = [("API_TOKEN", CANARY), ("LOG", "attempts")];
            let mut instance = script.instance(&settings).await;
            let error = operation.run(&mut instance).await.unwrap_err();
            assert_hidden(&error, operation);
            assert_hidden(&instance.stderr(), operation);
            assert!(!instance.stderr().is_empty());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_refused_is_not_told() {
    for token in [
        format!("Bearer {CANARY}"),
        format!("{CANARY}\n"),
        format!(" {CANARY}"),
        format!("{CANARY}\u{e9}"),
    ] {
        let script = Script::new([Step::ok("[]")]);
        let settings = [("API_TOKEN", token.as_str()), ("LOG", "attempts")];
        let mut instance = script.instance(&settings).await;
        let error = ListAgents.run(&mut instance).await;
        assert_eq!(outcome(&error), "permanent-configuration");
        assert_hidden(&error, &token);
        assert_hidden(&instance.stderr(), &token);
    }
}

#[tokio::test(start_paused = true)]
async fn user_information_in_the_base_url_is_not_told() {
    let script = Script::new([Step::ok("[]")]);
    let settings = [("BASE_URL", "https://user:canary-5f1e0c77a1b2@api.example")];
    let error = script.run(ListAgents, &settings).await.unwrap_err();
    assert_hidden(&error, ());
}

#[tokio::test(start_paused = true)]
async fn a_successful_answer_is_never_changed() {
    let agents = format!(r#"[{{"agent_id":7,"agent_name":"{CANARY}"}}]"#);
    let script = Script::new([Step::ok(agents)]);
    let mut instance = script.instance(&[("API_TOKEN", CANARY)]).await;
    let agents = returned(instance.list_agents("org-1", None)).await.unwrap();
    assert_eq!(agents.agents[0].agent_name.as_deref(), Some(CANARY));
    assert!(agents.raw_json.contains(CANARY));
}

//! The token is in its header and nowhere else, and the log contains nothing of a call.

use crate::stage::{DOCKET_ID, NUMBER, Operation, Script, Step, instance, returned, run_in};
use serde_json::Value;

const CANARY: &str = "canary-5f1e0c77a1b2";

/// The half of the token that is searched for.
const HALF: &str = "canary-5";

const SETTINGS: [(&str, &str); 2] = [("API_TOKEN", CANARY), ("LOG", "attempts")];

/// Asserts that stderr has a line of JSON for each attempt, and no secrets.
fn assert_log(stderr: &str, path: &str) {
    let line = |line| serde_json::from_str::<Value>(line).expect("a line of JSON");
    let lines: Vec<Value> = stderr.lines().map(line).collect();
    let statuses: Vec<_> = lines.iter().map(|line| &line["status"]).collect();
    assert_eq!(statuses, [503, 200], "{stderr}");
    assert!(lines.iter().all(|line| line["path"] == path), "{stderr}");
    for secret in [HALF, NUMBER, DOCKET_ID, "org-1", "task-1", "renewals"] {
        assert!(!stderr.contains(secret), "{secret} in {stderr}");
    }
}

#[tokio::test(start_paused = true)]
async fn every_request_has_the_token_in_its_header_and_nowhere_else_and_the_log_has_no_secret() {
    for &operation in Operation::ALL {
        let refused = Step::status(503)
            .header("retry-after", "0")
            .body(format!("wrong: {CANARY}"));
        let script = Script::new([refused, Step::ok(operation.satisfying())]);
        let settings = [
            &SETTINGS[..],
            &[("BACKOFF_MS", "1"), ("MAX_BACKOFF_MS", "1")],
        ]
        .concat();
        let mut instance = instance(&settings, script.outgoing()).await;
        let answered = run_in(&mut instance, operation).await.unwrap();
        assert!(!format!("{answered:?}").contains(HALF), "{answered:?}");
        for sent in script.sent() {
            assert_eq!(sent.header("auth_token"), format!("Bearer {CANARY}"));
            let headers = sent.headers.iter().filter(|(name, _)| name != "auth_token");
            let headers: Vec<_> = headers.collect();
            let body = String::from_utf8_lossy(&sent.body);
            let rest = format!("{} {headers:?} {body}", sent.uri);
            assert!(!rest.contains(HALF), "{operation}: {rest}");
        }
        let line = operation.request_line();
        let (_, path) = line.split_once(' ').unwrap();
        let path = path
            .replace(DOCKET_ID, "{docket_id}")
            .replace("task-1", "{task_id}")
            .replace("org-1", "{organization_id}");
        assert_log(&instance.stderr(), &path);
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_log_stderr_is_silent() {
    for &operation in Operation::ALL {
        let script = Script::new([Step::status(503), Step::status(400)]);
        let mut instance = instance(&[("BACKOFF_MS", "1")], script.outgoing()).await;
        run_in(&mut instance, operation).await.unwrap_err();
        assert_eq!(instance.stderr(), "", "{operation}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_successful_answer_is_never_changed() {
    let agents = format!(r#"[{{"agent_id":7,"agent_name":"{CANARY}"}}]"#);
    let script = Script::new([Step::ok(agents.clone())]);
    let mut instance = instance(&SETTINGS, script.outgoing()).await;
    let listed = returned(instance.list_agents("org-1", None)).await.unwrap();
    assert_eq!(listed.agents[0].agent_name.as_deref(), Some(CANARY));
    assert_eq!(listed.raw_json, agents);
}

//! The log contains neither the token nor anything of a call. (The check proves that the token is in
//! its header and nowhere else.)

use crate::stage::{DOCKET_ID, NUMBER, Operation, Script, Step, instance, run_in};
use serde_json::Value;

const CANARY: &str = "canary-5f1e0c77a1b2";

/// Asserts that stderr has a line of JSON for each attempt, and no secrets.
fn assert_log(stderr: &str, path: &str) {
    let line = |line| serde_json::from_str::<Value>(line).expect("a line of JSON");
    let lines: Vec<Value> = stderr.lines().map(line).collect();
    let statuses: Vec<_> = lines.iter().map(|line| &line["status"]).collect();
    assert_eq!(statuses, [503, 200], "{stderr}");
    assert!(lines.iter().all(|line| line["path"] == path), "{stderr}");
    for secret in [
        &CANARY[..8],
        NUMBER,
        DOCKET_ID,
        "org-1",
        "task-1",
        "renewals",
    ] {
        assert!(!stderr.contains(secret), "{secret} in {stderr}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_log_has_a_line_for_each_attempt_and_no_secret() {
    for &operation in Operation::ALL {
        let refused = Step::status(503)
            .header("retry-after", "0")
            .body(format!("wrong: {CANARY}"));
        let script = Script::new([refused, Step::ok(operation.satisfying())]);
        let settings = [
            ("API_TOKEN", CANARY),
            ("LOG", "attempts"),
            ("BACKOFF_MS", "1"),
            ("MAX_BACKOFF_MS", "1"),
        ];
        let mut instance = instance(&settings, script.outgoing()).await;
        run_in(&mut instance, operation).await.unwrap();
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

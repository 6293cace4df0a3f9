use super::*;
use crate::simulation::DOCKET_ID;

const NUMBER: &str = "919876543210";

#[test]
fn a_record_contains_no_name_and_no_number() {
    let claim = Claim {
        item: None,
        key: "k".into(),
        function: "calls.make-call",
        arguments: vec![("to_phone_number".into(), format!("\"{NUMBER}\""))],
        lasts_ms: 1,
        departure: Departure::default(),
    };
    for found in [NUMBER, "+91 98765 43210", "9876543210"] {
        let error = problem("to-phone-number", found, "another");
        let outcome = claim.failed(&Failure::from(error));
        let message = "an error whose message has the phone number";
        assert_eq!(
            (outcome.state, outcome.message.as_deref()),
            (State::Free, Some(message))
        );
    }
    let error = problem("call-context", "a duplicate name", "each name once");
    let message = claim.failed(&Failure::from(error)).message.unwrap();
    assert!(message.contains("a duplicate name"), "{message}");
    assert!(
        !Claim {
            arguments: Vec::new(),
            ..claim.clone()
        }
        .contains_number(NUMBER)
    );
    let docket = format!(r#""docket_id":"{DOCKET_ID}","status":"OPEN","created":true"#);
    let echo = r#""to":"\u0039\u0031 98765-43210","auth":"Bearer simulated-token","name":"Ann""#;
    for (function, body, recorded) in [
        (
            "dockets.create-docket-v2",
            &*format!("\u{feff}{{{echo},{docket}}}"),
            &*format!("{{{docket}}}"),
        ),
        (
            "calls.make-call",
            r#"{"to":"9","task_id":"t-1"}"#,
            r#"{"task_id":"t-1"}"#,
        ),
        (
            "agents.create-agent",
            r#"{"agent_id":7,"name":"a"}"#,
            r#"{"agent_id":7}"#,
        ),
        ("agents.create-agent", "created", "{}"),
    ] {
        let claim = Claim {
            function,
            ..claim.clone()
        };
        assert_eq!(claim.succeeded(body).answer.as_deref(), Some(recorded));
    }
}

#[test]
fn the_id_of_what_was_created_is_recorded_in_the_form_of_its_function() {
    for (function, id, answer) in [
        (
            "dockets.create-docket",
            DOCKET_ID,
            Some(format!(r#"{{"docket_id":"{DOCKET_ID}"}}"#)),
        ),
        ("dockets.create-docket", "7", None),
        (
            "calls.make-call",
            "t \"1\"",
            Some(r#"{"task_id":"t \"1\""}"#.to_owned()),
        ),
        ("calls.make-call", "", None),
        (
            "agents.create-agent",
            "7",
            Some(r#"{"agent_id":7}"#.to_owned()),
        ),
        ("agents.create-agent", "seven", None),
    ] {
        let recorded = recorded_id(function, id);
        assert_eq!(recorded.as_ref().ok(), answer.as_ref(), "{function} {id}");
        match recorded {
            Ok(answer) => assert_eq!(created_id(function, &answer).as_deref(), Some(id)),
            Err(problem) => assert_eq!(problem.subject, "created-id"),
        }
    }
}

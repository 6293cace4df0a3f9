//! The answer to `calls.make-call`.

use crate::answer::{MayHaveCreated, assert_kept};
use crate::members::{Members, json_of};
use crate::service::{Service, client, run};
use voice_calling_core::types::CallRequest;

/// Whatever is beside it, the task id of a call is returned if its details can be had with it: a phone is ringing.
pub fn call_started(data: &[u8]) {
    let service = Service::answering(200, data);
    let client = client(&service);
    let json = json_of(data).unwrap_or_default();
    let task_id = Members::of(&json).identifier("task_id").filter(is_task_id);
    let request = CallRequest {
        from_agent_name: Some("renewals".to_owned()),
        to_phone_number: "919876543210".to_owned(),
        call_context: Vec::new(),
        extra: None,
    };
    match run(client.make_call(&request, None)) {
        Ok(call) => {
            assert_eq!(Some(&call.task_id), task_id.as_ref());
            assert!(!call.may_be_duplicate && call.attempts.len() == 1);
            assert_eq!(call.raw_json, json);
        }
        Err(error) => {
            assert_eq!(task_id, None, "a call is lost");
            assert_kept(&error, data, MayHaveCreated::Yes);
        }
    }
}

/// Whether a path can carry it.
fn is_task_id(text: &String) -> bool {
    let encoded = |c: char| match c {
        '-' | '.' | '_' | '~' => 1,
        c if c.is_ascii_alphanumeric() => 1,
        c => 3 * c.len_utf8(),
    };
    let is_control = |c: char| c < ' ' || ('\u{7f}'..'\u{a0}').contains(&c);
    text != "."
        && text != ".."
        && !text.contains(is_control)
        && text.chars().map(encoded).sum::<usize>() <= 4_096
}

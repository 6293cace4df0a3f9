//! The answer to `calls.make-call`.

use crate::answer::assert_kept;
use crate::members::{Members, json_of};
use crate::service::{Service, client, run};
use voice_calling_core::types::CallRequest;

/// Whatever is beside it, the task id of a call is returned: a phone is ringing.
pub fn call_started(data: &[u8]) {
    let service = Service::answering(200, data);
    let client = client(&service);
    let json = json_of(data).unwrap_or_default();
    let came = Members::of(&json);
    let request = CallRequest {
        from_agent_name: Some("renewals".to_owned()),
        to_phone_number: "919876543210".to_owned(),
        call_context: None,
        extra: None,
    };
    match run(client.make_call(&request)) {
        Ok(call) => {
            assert_eq!(Some(&call.task_id), came.identifier("task_id").as_ref());
            assert_eq!(call.raw_json, json);
        }
        Err(error) => {
            assert_eq!(came.identifier("task_id"), None, "a call is lost");
            assert_kept(&error, data);
        }
    }
}

//! The operator's activities of campaigns as shipped, over HTTP: contacts, do-not-call check,
//! hand-off.

mod contact;
mod do_not_call;
mod lines;
mod table;

use bindings::exports::voice_calling::operator::{check, contacts, hand_off};
use lines::Limits;
use voice_calling_core::types::DocketRequestV2;
use voice_calling_obelisk_guest::{self as guest, Method, Request, Uri, send};

#[allow(unsafe_code)]
mod bindings {
    wit_bindgen::generate!({
        path: ["../../../wit/types", "../../../wit", "wit", "../once/wit", "../wit", "../worlds"],
        world: "voice-calling:obelisk/operator",
        with: { "voice-calling:types/types@0.2.0": voice_calling_core::types },
        additional_derives: [Clone, PartialEq, serde::Serialize],
        generate_all,
    });
    use super::Operator;
    export!(Operator);
}

const DO_NOT_CALL_URL: &str = "VOICE_CALLING_DO_NOT_CALL_URL";
const HAND_OFF_URL: &str = "VOICE_CALLING_HAND_OFF_URL";

/// The variable holds a placeholder, which the engine replaces in the request.
const HAND_OFF_TOKEN: &str = "VOICE_CALLING_HAND_OFF_TOKEN";

/// The time limit for an answer. The locks in the deployment are longer.
const ANSWER_MS: u64 = 15_000;

/// The limits of a page, as the interface states them.
const PAGE: Limits = Limits {
    contacts: 500,
    json_bytes: 262_144,
};

/// The largest size of a source, which is read as a whole for each page of it.
const SOURCE_BYTES: usize = 16 * 1_048_576;

const LIST_BYTES: usize = 8 * 1_048_576;

/// An ignored answer is read up to this size, so that the connection can be reused.
const IGNORED_BYTES: usize = 65_536;

struct Operator;

impl contacts::Guest for Operator {
    fn page(source: String, position: u64) -> Result<contacts::ContactsPage, String> {
        let source = get("the source", &source, SOURCE_BYTES)?;
        lines::page(&source, position, PAGE)
    }
}

impl check::Guest for Operator {
    fn may_call(_run: String, request: DocketRequestV2) -> Result<check::Verdict, String> {
        let mut verdicts = Self::preview(vec![request.to_phone_number])?;
        Ok(verdicts.remove(0))
    }

    fn preview(to_phone_numbers: Vec<String>) -> Result<Vec<check::Verdict>, String> {
        let Some(address) = variable(DO_NOT_CALL_URL) else {
            return Ok(vec![check::Verdict::Allowed; to_phone_numbers.len()]);
        };
        let list = get(DO_NOT_CALL_URL, &address, LIST_BYTES)?;
        let verdict = |number: &String| match do_not_call::has(&list, number)? {
            true => Ok(check::Verdict::Spared("on the do-not-call list".to_owned())),
            false => Ok(check::Verdict::Allowed),
        };
        let verdicts: Result<_, String> = to_phone_numbers.iter().map(verdict).collect();
        verdicts.map_err(|reason| format!("{DO_NOT_CALL_URL}: {reason}"))
    }
}

impl hand_off::Guest for Operator {
    fn notify(key: String, event: String) -> Result<(), String> {
        let address = variable(HAND_OFF_URL)
            .ok_or_else(|| format!("{HAND_OFF_URL} is not set: no hand-off"))?;
        let wrong = |reason: String| format!("{HAND_OFF_URL}, idempotency-key {key}: {reason}");
        let mut post = Request::builder()
            .method(Method::POST)
            .uri(url(HAND_OFF_URL, &address)?)
            .header("content-type", "application/json")
            .header("idempotency-key", &key);
        if let Some(token) = variable(HAND_OFF_TOKEN) {
            post = post.header("authorization", format!("Bearer {token}"));
        }
        let post = post.body(event);
        let post = post.map_err(|error| wrong(error.to_string()))?;
        let answer = send(post, ANSWER_MS, IGNORED_BYTES);
        match answer.map_err(wrong)?.status {
            200..300 => Ok(()),
            // The body is left out: it may repeat what was sent.
            status => Err(wrong(format!(
                "the answer is {status}; expected 200 to 299"
            ))),
        }
    }
}

/// Returns an environment variable. An empty one counts as not set.
fn variable(name: &str) -> Option<String> {
    let environment = wasip2::cli::environment::get_environment();
    let value = guest::variable(&environment, name);
    (!value.is_empty()).then(|| value.to_owned())
}

/// Returns the file at a URL. A longer one than `most_bytes` is an error, as are other answers.
fn get(name: &str, address: &str, most_bytes: usize) -> Result<Vec<u8>, String> {
    let wrong = |reason: String| format!("{name}: {reason}");
    let request = Request::get(url(name, address)?)
        .header("accept-encoding", "identity")
        .body(String::new())
        .map_err(|error| wrong(error.to_string()))?;
    let answer = send(request, ANSWER_MS, most_bytes).map_err(wrong)?;
    match answer.status {
        200 if answer.is_cut => Err(wrong(format!("more than {most_bytes} bytes"))),
        200 => Ok(answer.body),
        status => Err(wrong(format!("the answer is {status}; expected 200"))),
    }
}

/// Parses a URL to request. The error does not show it, since it may contain a secret.
fn url(name: &str, text: &str) -> Result<Uri, String> {
    let url = text.parse::<Uri>().ok();
    let url = url.filter(|url| matches!(url.scheme_str(), Some("http" | "https")));
    url.ok_or_else(|| format!("{name} does not begin with http:// or https://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_one_of_http() {
        for text in [
            "http://127.0.0.1:1/a?b=c",
            "https://files.example/contacts.jsonl",
        ] {
            assert!(url("source", text).is_ok(), "{text}");
        }
        for text in [
            "",
            "contacts.jsonl",
            "/contacts.jsonl",
            "ftp://a/b",
            "http://",
            "https:///a",
        ] {
            let error = url("source", text).unwrap_err();
            assert!(error.starts_with("source "), "{text}");
        }
    }
}

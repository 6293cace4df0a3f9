//! What holds for every answer of the service that is read as JSON.

use crate::members::is_json;
use crate::service::TOKEN;
use voice_calling_core::types::RequestError;

/// How much of a body an error keeps.
const KEPT_BODY_BYTES: usize = 8_192;

/// Whether an answer is one to a create.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MayHaveCreated {
    Yes,
    No,
}

/// A body that is not understood becomes an error that keeps its beginning, and never
/// the token.
pub(crate) fn assert_kept(error: &RequestError, body: &[u8], created: MayHaveCreated) {
    let RequestError::PermanentUnexpectedResponse(failure) = error else {
        panic!("a body that is not understood became {error:?}");
    };
    assert_eq!(failure.may_have_created, created == MayHaveCreated::Yes);
    let response = failure.response.as_ref().expect("the answer");
    assert!(failure.message.starts_with("unexpected response: "));
    assert_eq!((response.status, failure.attempts.len()), (200, 1));
    assert!(response.body.len() <= KEPT_BODY_BYTES);
    assert!(!failure.message.contains(TOKEN));
    let written = serde_json::to_string(TOKEN).expect("a text is JSON");
    let written = &written[1..written.len() - 1];
    let text = String::from_utf8_lossy(body);
    for token in [TOKEN, written, &written.replace('/', "\\/")] {
        assert!(!response.body.contains(token), "the token is shown");
    }
    // A token that is cut is masked too, if this much of it came.
    let masked_from = text
        .char_indices()
        .map(|(index, _)| index)
        .find(|index| begins_with(&text[*index..], &TOKEN[..8]));
    let kept_bytes = KEPT_BODY_BYTES.min(masked_from.unwrap_or(KEPT_BODY_BYTES));
    let kept = &text[..text.floor_char_boundary(kept_bytes)];
    assert!(response.body.starts_with(kept), "the body is not kept");
    if masked_from.is_none() {
        assert_eq!(response.body, kept);
        assert_eq!(response.body_cut, kept.len() < text.len());
    }
}

/// Whether a text begins with these characters, each of them escaped in any way or not.
fn begins_with(text: &str, characters: &str) -> bool {
    let mut rest = characters.chars();
    let Some(first) = rest.next() else {
        return true;
    };
    let escape = format!("\\u{:04x}", u32::from(first));
    let is_escaped = text
        .get(..6)
        .is_some_and(|six| six.eq_ignore_ascii_case(&escape));
    let after = [
        text.strip_prefix(first),
        text.strip_prefix('\\')
            .and_then(|text| text.strip_prefix(first)),
        is_escaped.then(|| &text[6..]),
    ];
    after
        .into_iter()
        .flatten()
        .any(|text| begins_with(text, rest.as_str()))
}

/// JSON that is passed on is the very text that came.
pub(crate) fn assert_passed_on(passed_on: &Option<String>, came: Option<&str>) {
    assert_eq!(passed_on.as_deref(), came);
    if let Some(json) = passed_on {
        assert!(is_json(json), "{json:?} is no JSON");
    }
}

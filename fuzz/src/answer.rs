//! What holds for every answer of the service that is read as JSON.

use crate::members::is_json;
use crate::service::TOKEN;
use voice_calling_core::types::RequestError;

/// How much of a body an error keeps.
const KEPT_BODY_BYTES: usize = 8_192;

/// A body that is not understood becomes an error that keeps its beginning, and never
/// the token.
pub(crate) fn assert_kept(error: &RequestError, body: &[u8]) {
    let RequestError::PermanentUnexpectedResponse(failure) = error else {
        panic!("a body that is not understood became {error:?}");
    };
    let response = &failure.response;
    assert!(
        failure
            .message
            .starts_with("the answer cannot be understood: ")
    );
    assert_eq!((response.status, failure.attempts.len()), (200, 1));
    assert!(response.body.len() <= KEPT_BODY_BYTES);
    assert!(!failure.message.contains(TOKEN));
    let written = serde_json::to_string(TOKEN).expect("a text is JSON");
    let written = &written[1..written.len() - 1];
    let text = String::from_utf8_lossy(body);
    let mut masked_from = None;
    for token in [TOKEN, written, &written.replace('/', "\\/")] {
        assert!(!response.body.contains(token), "the token is shown");
        // A token that is cut is masked too, if this much of it came.
        let found = text.find(&token[..8]);
        masked_from = masked_from.into_iter().chain(found).min();
    }
    let kept_bytes = KEPT_BODY_BYTES.min(masked_from.unwrap_or(KEPT_BODY_BYTES));
    let kept = &text[..text.floor_char_boundary(kept_bytes)];
    assert!(response.body.starts_with(kept), "the body is not kept");
    if masked_from.is_none() {
        assert_eq!(response.body, kept);
        assert_eq!(response.body_cut, kept.len() < text.len());
    }
}

/// JSON that is passed on is the very text that came.
pub(crate) fn assert_passed_on(passed_on: &Option<String>, came: Option<&str>) {
    assert_eq!(passed_on.as_deref(), came);
    if let Some(json) = passed_on {
        assert!(is_json(json), "{json:?} is no JSON");
    }
}

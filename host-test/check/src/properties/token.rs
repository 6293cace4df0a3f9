//! Checks that the token is in its header and nowhere else.

use crate::scenario::{CANARY, Run};
use voice_calling_host::types::RequestError;

/// Returns the requests in which the token is missing from its header or appears elsewhere.
pub(super) fn misplaced(run: &Run) -> Vec<String> {
    let mut found = Vec::new();
    for sent in &run.sent {
        let value = sent.header("auth_token");
        if value != format!("Bearer {CANARY}") {
            found.push(format!("the header auth_token is {value:?}"));
        }
        let mut others = sent.headers.iter().filter(|(name, _)| name != "auth_token");
        let body = String::from_utf8_lossy(&sent.body);
        if others.any(|(_, value)| shows_token(value))
            || shows_token(&sent.uri.to_string())
            || shows_token(&body)
        {
            found.push("the token is in a request outside of its header".to_owned());
        }
    }
    found
}

/// Returns the places at which results or the log contain the token.
pub(super) fn leaks(run: &Run) -> Vec<String> {
    let mut found = Vec::new();
    match &run.returned {
        Err(error) if shows_token(error) => found.push("the token is in a panic".to_owned()),
        Ok(returned) => {
            let errors = returned.iter().filter_map(|one| one.as_ref().err());
            let leaking = errors.filter(|error| texts(error).into_iter().any(shows_token));
            found.extend(leaking.map(|it| format!("the token is in an error ({})", it.kind())));
        }
        Err(_) => {}
    }
    if shows_token(&run.stderr) {
        found.push("the token is on stderr".to_owned());
    }
    found
}

fn texts(error: &RequestError) -> Vec<&str> {
    let Some(failure) = error.failure() else {
        return Vec::new();
    };
    let mut texts = vec![failure.message.as_str()];
    if let Some(problem) = &failure.problem {
        texts.extend([problem.subject.as_str(), &problem.found, &problem.allowed]);
    }
    if let Some(response) = &failure.response {
        texts.push(&response.body);
        texts.extend(response.request_id.as_deref());
    }
    texts.extend(
        failure
            .attempts
            .iter()
            .filter_map(|one| one.transport_error.as_deref()),
    );
    texts
}

/// Returns `true` if a text contains any eight bytes of the token, as they are or escaped as JSON,
/// once or twice.
pub(super) fn shows_token(text: &str) -> bool {
    let shows = |text: &str| {
        let parts = CANARY.as_bytes().windows(8);
        let mut parts = parts.filter_map(|part| std::str::from_utf8(part).ok());
        parts.any(|part| text.contains(part))
    };
    let once = unescaped(text);
    shows(text) || once != text && (shows(&once) || shows(&unescaped(&once)))
}

/// Resolves the escapes of JSON in a text.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once('\\') {
        plain.push_str(before);
        let code = escape.strip_prefix('u').and_then(|hex| hex.get(..4));
        let code = code.and_then(|hex| u32::from_str_radix(hex, 16).ok());
        rest = match (code.and_then(char::from_u32), escape.chars().next()) {
            (Some(character), _) => {
                plain.push(character);
                &escape[5..]
            }
            (None, Some(character)) => {
                plain.push(character);
                &escape[character.len_utf8()..]
            }
            (None, None) => escape,
        };
    }
    plain + rest
}

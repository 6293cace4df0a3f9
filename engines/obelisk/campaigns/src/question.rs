//! A person's answer to the question whether a docket exists.

use serde::{Deserialize, Serialize};

/// The answer, in the engine's form: `{"ok": "<docket id>"}` or `{"err": "<reason>"}`.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// This docket exists.
    Ok(String),
    /// There is none, for this reason.
    Err(String),
}

/// Parses the body of a request. The error says what is allowed.
pub fn read(body: &[u8]) -> Result<Decision, String> {
    const ALLOWED: &str = r#"allowed: {"ok": "<docket id>"} or {"err": "<reason>"}"#;
    match serde_json::from_slice(body) {
        Ok(Decision::Ok(text) | Decision::Err(text)) if text.trim().is_empty() => {
            Err(format!("the text is empty; {ALLOWED}"))
        }
        Ok(decision) => Ok(decision),
        Err(error) => Err(format!("{error}; {ALLOWED}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_a_docket_or_a_reason() {
        let ok = Decision::Ok("d-1".to_owned());
        assert_eq!(read(br#"{"ok": "d-1"}"#), Ok(ok));
        let err = Decision::Err("none".to_owned());
        assert_eq!(read(br#"{"err": "none"}"#), Ok(err));
        for body in [
            "",
            "{}",
            r#""ok""#,
            r#"{"ok": ""}"#,
            r#"{"err": " "}"#,
            r#"{"ok": 7}"#,
            r#"{"ok": "d-1", "err": "none"}"#,
            r#"{"yes": "d-1"}"#,
        ] {
            let refused = read(body.as_bytes()).unwrap_err();
            assert!(refused.contains("allowed: "), "{body}: {refused}");
        }
    }
}

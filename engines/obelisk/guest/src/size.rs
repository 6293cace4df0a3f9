//! Limits on external texts. With them, no value that the engine stores for a docket exceeds 1 MiB:
//! engines may refuse more (Obelisk 0.42, by default).

/// The limit for a delivery, and for an answer of the service (`VOICE_CALLING_MAX_RESPONSE_BYTES`
/// of the deployment). The largest value is the completion that a run receives: both of them, as
/// strings in a JSON text that is itself a JSON string, so that a quotation mark takes four bytes.
pub const MOST_DOCUMENT_BYTES: usize = 122_880;

/// The limit for the call context of a docket. As a string in the service's answers, a character of
/// it may take three times as many bytes, and those must stay below [`MOST_DOCUMENT_BYTES`].
pub(crate) const MOST_CONTEXT_BYTES: usize = 32_768;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Completion;

    const STORED_VALUE_BYTES: usize = 1_048_576;

    #[test]
    fn the_deployment_allows_answers_of_that_size() {
        let deployment = include_str!("../../deployment.toml");
        let allowed = format!(
            r#"{{ key = "VOICE_CALLING_MAX_RESPONSE_BYTES", value = "{MOST_DOCUMENT_BYTES}" }}"#
        );
        // Of reads, and of the webhook.
        assert_eq!(deployment.matches(&allowed).count(), 2, "{allowed}");
    }

    #[test]
    fn what_a_run_is_told_can_be_stored_whatever_it_is() {
        for worst in ["\"", "\\", "\n"] {
            let document = worst.repeat(MOST_DOCUMENT_BYTES);
            let completion = Completion {
                docket: document.clone(),
                delivery: document,
            };
            let stored = serde_json::json!({ "ok": completion.to_text() }).to_string();
            assert!(
                stored.len() <= STORED_VALUE_BYTES,
                "{worst:?}: {}",
                stored.len()
            );
        }
    }

    #[test]
    fn an_answer_of_the_service_has_room_for_the_largest_context() {
        // Two bytes in UTF-8, and six if a service escapes everything but ASCII.
        let context = "ü".repeat(MOST_CONTEXT_BYTES / 2);
        let escaped = r"\u00fc".len() * context.chars().count();
        assert!(escaped + 16_384 <= MOST_DOCUMENT_BYTES, "{escaped}");
    }
}

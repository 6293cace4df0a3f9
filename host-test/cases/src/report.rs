//! What a client reports of a case.

use super::expected::cut;
use super::json::Json;

/// What a client's caller got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A value.
    Value(Json),
    /// An error.
    Error(Json),
}

/// What a client reports of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Report {
    /// It was played.
    Played {
        /// What the caller got.
        outcome: Outcome,
        /// The lines that were logged, which only a case with a fault of the program has.
        log: Vec<String>,
    },
    /// The language has no such step, for this reason.
    NotHad(String),
}

impl Report {
    /// Reads `{"value": …}` or `{"error": …}`, either perhaps with `"log": ["…"]`, or
    /// `{"not_had": "…"}`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let members = match Json::parse(text) {
            Ok(Json::Object(members)) => members,
            Ok(other) => return Err(format!("found {}; {ALLOWED}", cut(&other))),
            Err(error) => return Err(format!("not JSON: {error}; {ALLOWED}")),
        };
        let (mut outcomes, mut log) = (Vec::new(), Vec::new());
        for (name, json) in members {
            match (name.as_str(), json) {
                ("value", json) => outcomes.push(Outcome::Value(json)),
                ("error", json) => outcomes.push(Outcome::Error(json)),
                ("not_had", Json::Text(reason)) => return Ok(Self::NotHad(reason)),
                ("log", Json::Array(lines)) => {
                    log.extend(lines.iter().map(|line| line.to_string()));
                }
                (name, _) => return Err(format!("found the member {name:?}; {ALLOWED}")),
            }
        }
        match (outcomes.pop(), outcomes.pop()) {
            (Some(outcome), None) => Ok(Self::Played { outcome, log }),
            _ => Err(format!("found no outcome, or more than one; {ALLOWED}")),
        }
    }
}

const ALLOWED: &str = "allowed: {\"value\": …} or {\"error\": {…}}, each perhaps with \
     \"log\": [\"…\"], or {\"not_had\": \"…\"}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_that_has_not_one_outcome_is_refused() {
        for (text, told) in [
            ("", "not JSON"),
            ("[]", "found []"),
            ("{}", "found no outcome, or more than one"),
            (
                r#"{"value": 1, "error": {}}"#,
                "found no outcome, or more than one",
            ),
            (r#"{"values": 1}"#, r#"found the member "values""#),
            (r#"{"value": 1, "log": "x"}"#, r#"found the member "log""#),
        ] {
            let error = Report::parse(text).unwrap_err();
            assert!(
                error.starts_with(told) && error.ends_with(ALLOWED),
                "{error}"
            );
        }
    }
}

//! The report of a client on a case.

use super::json::Json;
use serde::Deserialize;

/// The report of a client on a case.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Written")]
pub enum Report {
    /// The case was played.
    Played {
        /// The value or the error that the caller received.
        outcome: Result<Json, Json>,
        /// The logged lines, which only a case with a fault of the program has.
        log: Vec<String>,
    },
    /// The language does not support the case, for this reason.
    NotHad(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default, deserialize_with = "super::json::even_null")]
    value: Option<Json>,
    error: Option<Json>,
    #[serde(default)]
    log: Vec<Json>,
    not_had: Option<String>,
}

impl TryFrom<Written> for Report {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let outcome = match (written.value, written.error, written.not_had) {
            (Some(value), None, None) => Ok(value),
            (None, Some(error), None) => Err(error),
            (None, None, Some(reason)) => return Ok(Self::NotHad(reason)),
            _ => return Err("it must have one of `value`, `error` and `not_had`"),
        };
        let log = written.log.iter().map(Json::to_string).collect();
        Ok(Self::Played { outcome, log })
    }
}

//! The service's reaction to one request.

use super::json::{Json, even_null};
use anyhow::{Context, Result, bail, ensure};
use http::StatusCode;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::fmt::Write;
use voice_calling_peer::Behaviour;

/// The number of bytes that a cut body lacks.
const CUT_BYTES: usize = 32;

/// The service's reaction to one request: an answer, or one of the ways to give none.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Box<RawValue>")]
pub struct Step {
    pub(crate) behaviour: Behaviour,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenAnswer {
    status: Option<u16>,
    cut: Option<u16>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "even_null")]
    body: Option<Json>,
    text: Option<String>,
    latin1: Option<String>,
}

impl TryFrom<Box<RawValue>> for Step {
    type Error = anyhow::Error;

    fn try_from(written: Box<RawValue>) -> Result<Self> {
        let behaviour = match written.get() {
            "\"reset\"" => Behaviour::ResetAfterReading,
            "\"close\"" => Behaviour::CloseAfterReading,
            "\"half-head\"" => Behaviour::HalfHead,
            "\"silence\"" => Behaviour::Silence,
            text if text.starts_with('{') => Behaviour::Send(answer(serde_json::from_str(text)?)?),
            other => bail!(
                "found {other}; allowed: an answer, \"reset\", \"close\", \"half-head\", \"silence\""
            ),
        };
        Ok(Self { behaviour })
    }
}

impl Step {
    /// Returns the id that the answer says was created.
    pub(crate) fn created_id(&self) -> Option<String> {
        let Behaviour::Send(bytes) = &self.behaviour else {
            return None;
        };
        let (_, body) = std::str::from_utf8(bytes).ok()?.split_once("\r\n\r\n")?;
        let answer = Json::parse(body).ok()?;
        let id = answer.get("docket_id").or(answer.get("task_id"))?;
        id.as_text().map(str::to_owned)
    }

    /// Returns the answer to a request that no case expects.
    pub(crate) fn beyond_the_script() -> Self {
        Self::answer(599, r#"{"detail":"no case expects this request"}"#)
    }

    pub(crate) fn answer(status: u16, json: &str) -> Self {
        Self {
            behaviour: Behaviour::Send(with_head(status, &BTreeMap::new(), json.into(), 0)),
        }
    }
}

fn answer(written: WrittenAnswer) -> Result<Vec<u8>> {
    let body = match (written.body, written.text, written.latin1) {
        (None, None, None) => Vec::new(),
        (Some(body), None, None) => body.to_string().into_bytes(),
        (None, Some(text), None) => text.into_bytes(),
        (None, None, Some(text)) => {
            let bytes = text.chars().map(u8::try_from);
            bytes
                .collect::<Result<_, _>>()
                .context("latin1: a character beyond U+00FF")?
        }
        _ => bail!("only one of `body`, `text` and `latin1`"),
    };
    let (status, lacking) = match (written.status, written.cut) {
        (Some(status), None) => (status, 0),
        (None, Some(status)) => (status, CUT_BYTES),
        _ => bail!("either `status` or `cut`"),
    };
    ensure!(
        (200..=999).contains(&status),
        "the status {status}; allowed: 200 to 999"
    );
    Ok(with_head(status, &written.headers, body, lacking))
}

/// Returns the bytes of an answer. It closes the connection: a connection that is kept open could
/// break just when the next request is sent.
fn with_head(
    status: u16,
    headers: &BTreeMap<String, String>,
    body: Vec<u8>,
    lacking: usize,
) -> Vec<u8> {
    let reason = StatusCode::from_u16(status).ok();
    let reason = reason
        .and_then(|status| status.canonical_reason())
        .unwrap_or("Unknown");
    let mut head = format!("HTTP/1.1 {status} {reason}\r\n");
    let mut header = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = write!(head, "{name}: {value}\r\n");
    };
    header("connection", "close");
    if !headers.contains_key("content-type") {
        header("content-type", "application/json");
    }
    for (name, value) in headers {
        header(name, value);
    }
    // These two statuses never have a body.
    if !matches!(status, 204 | 304) {
        header("content-length", &(body.len() + lacking).to_string());
    }
    head.push_str("\r\n");
    let mut bytes = head.into_bytes();
    bytes.extend(body);
    bytes
}

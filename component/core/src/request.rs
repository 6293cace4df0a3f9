//! The service's endpoints, and requests to them before they are addressed.

use crate::json::Record;
use crate::settings::Settings;
use crate::transport::{Method, Request};
use crate::types::InvalidInput;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// An endpoint of the service, with the name of the function that uses it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) function: &'static str,
    pub(crate) method: Method,
    /// The path, with names in braces for what varies.
    pub(crate) path: &'static str,
}

impl Endpoint {
    pub(crate) const fn get(function: &'static str, path: &'static str) -> Self {
        Self {
            function,
            method: Method::Get,
            path,
        }
    }

    pub(crate) const fn post(function: &'static str, path: &'static str) -> Self {
        Self {
            function,
            method: Method::Post,
            path,
        }
    }
}

/// What an operation asks for.
#[derive(Debug)]
pub(crate) struct ApiRequest {
    pub(crate) endpoint: &'static Endpoint,
    path_and_query: String,
    accept_json: bool,
    body: Option<String>,
    max_response_bytes: usize,
}

impl ApiRequest {
    /// A reading request; `value` takes the place of what is in braces.
    pub(crate) fn read(endpoint: &'static Endpoint, value: &str) -> Self {
        let (before, _) = endpoint.path.split_once('{').unwrap_or((endpoint.path, ""));
        Self {
            endpoint,
            path_and_query: format!("{before}{}", encode_segment(value)),
            accept_json: false,
            body: None,
            max_response_bytes: usize::MAX,
        }
    }

    /// Reads no more of an answer than this, whatever the settings allow.
    pub(crate) fn reading_at_most(mut self, bytes: usize) -> Self {
        self.max_response_bytes = bytes;
        self
    }

    /// How much of an answer is read.
    pub(crate) fn max_response_bytes(&self, settings: &Settings) -> usize {
        self.max_response_bytes.min(settings.max_response_bytes)
    }

    /// Adds `Accept: application/json`.
    pub(crate) fn accepting_json(mut self) -> Self {
        self.accept_json = true;
        self
    }

    /// A creating request with a JSON body.
    pub(crate) fn create(
        endpoint: &'static Endpoint,
        body: &Record<'_>,
        settings: &Settings,
    ) -> Result<Self, InvalidInput> {
        let body = body.to_json()?;
        if body.len() > settings.max_request_bytes {
            return Err(InvalidInput {
                field: "request".to_owned(),
                found: format!("{} bytes of JSON", body.len()),
                allowed: format!(
                    "at most VOICE_CALLING_MAX_REQUEST_BYTES, which is {}",
                    settings.max_request_bytes
                ),
            });
        }
        Ok(Self {
            endpoint,
            path_and_query: endpoint.path.to_owned(),
            accept_json: false,
            body: Some(body),
            max_response_bytes: usize::MAX,
        })
    }

    /// Addresses the request to the service and signs it with the token.
    pub(crate) fn address(&self, settings: &Settings) -> Request {
        let base_url = &settings.base_url;
        let mut headers = vec![("auth_token", settings.token.header_value())];
        if self.accept_json {
            headers.push(("accept", "application/json".to_owned()));
        }
        if let Some(body) = &self.body {
            headers.push(("content-type", "application/json".to_owned()));
            headers.push(("content-length", body.len().to_string()));
        }
        Request {
            method: self.endpoint.method,
            scheme: base_url.scheme(),
            authority: base_url.authority().to_owned(),
            path_and_query: format!("{}{}", base_url.path(), self.path_and_query),
            headers,
            body: self.body.clone().unwrap_or_default().into_bytes(),
        }
    }
}

/// All but the unreserved characters of RFC 3986, so that no value can leave its
/// segment of a path or its place in a query.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

fn encode_segment(value: &str) -> String {
    utf8_percent_encode(value, RESERVED).to_string()
}

/// An identifier that goes into a path or a query.
pub(crate) fn check_identifier(field: &str, value: &str) -> Result<(), InvalidInput> {
    let found = match value {
        "" => "an empty text".to_owned(),
        "." | ".." => format!("{value:?}, which a path cannot carry"),
        _ => return check_no_control(field, value),
    };
    Err(InvalidInput {
        field: field.to_owned(),
        found,
        allowed: "a text that is not empty, `.` or `..`".to_owned(),
    })
}

/// A text of the caller that must say something.
pub(crate) fn check_not_empty(field: &str, value: &str) -> Result<(), InvalidInput> {
    if value.is_empty() {
        return Err(InvalidInput {
            field: field.to_owned(),
            found: "an empty text".to_owned(),
            allowed: "a text that is not empty".to_owned(),
        });
    }
    Ok(())
}

/// A text without control characters, line breaks among them.
pub(crate) fn check_no_control(field: &str, value: &str) -> Result<(), InvalidInput> {
    match value.chars().enumerate().find(|(_, c)| c.is_control()) {
        None => Ok(()),
        Some((index, control)) => Err(InvalidInput {
            field: field.to_owned(),
            found: format!("{control:?} as character {}", index + 1),
            allowed: "a text without control characters".to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stays_within_its_segment() {
        for (value, encoded) in [
            ("task-1_.~", "task-1_.~"),
            ("a/b", "a%2Fb"),
            ("?x=1#y", "%3Fx%3D1%23y"),
            ("100%", "100%25"),
            ("\u{e4} \u{1f4de}", "%C3%A4%20%F0%9F%93%9E"),
            ("a&b=c+d", "a%26b%3Dc%2Bd"),
            ("...", "..."),
        ] {
            assert_eq!(encode_segment(value), encoded);
            assert!(check_identifier("task-id", value).is_ok());
        }
    }

    #[test]
    fn values_that_no_path_can_carry_are_refused() {
        for (value, found) in [
            ("", "an empty text"),
            (".", "\".\", which a path cannot carry"),
            ("..", "\"..\", which a path cannot carry"),
            ("a\r\nb", "'\\r' as character 2"),
            ("\u{0}", "'\\0' as character 1"),
            ("a\u{85}", "'\\u{85}' as character 2"),
        ] {
            let problem = check_identifier("task-id", value).unwrap_err();
            assert_eq!(
                (problem.field.as_str(), problem.found.as_str()),
                ("task-id", found)
            );
        }
    }
}

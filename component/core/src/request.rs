//! The service's endpoints, and requests to them before they are addressed.

use crate::departure::Departure;
use crate::problem::problem;
use crate::record::Record;
use crate::settings::AccountSettings;
use crate::transport::{Method, Request};
use crate::types::Problem;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The number of bytes that the response to a create may have beyond its escaped request.
pub(crate) const CREATED_BYTES: usize = 1_048_576;

/// The maximum length of a byte that is escaped in JSON.
const ESCAPED_BYTES: usize = 6;

/// The maximum length of a value in a path or a query. Servers accept some 8000 bytes of path and
/// query together.
const MAX_VALUE_BYTES: usize = 4_096;

/// An endpoint of the service, with the name of the function that uses it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) function: &'static str,
    pub(crate) method: Method,
    /// The path, with the names of its variables in braces.
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

/// A request of an operation, not yet addressed.
pub(crate) struct ApiRequest {
    pub(crate) endpoint: &'static Endpoint,
    path_and_query: String,
    accept_json: bool,
    body: Option<String>,
    pub(crate) item: Option<u32>,
    /// The number of bytes that the response to a create may have beyond its escaped request.
    created_bytes: usize,
    pub(crate) departure: Departure,
}

impl ApiRequest {
    /// Builds a read; `value` replaces the braces in the path, and `argument` names it in errors.
    pub(crate) fn read(
        endpoint: &'static Endpoint,
        argument: &str,
        value: &str,
    ) -> Result<Self, Problem> {
        let (before, _) = endpoint.path.split_once('{').unwrap_or((endpoint.path, ""));
        Ok(Self {
            endpoint,
            path_and_query: format!("{before}{}", encode_value(argument, value)?),
            accept_json: false,
            body: None,
            item: None,
            created_bytes: CREATED_BYTES,
            departure: Departure::default(),
        })
    }

    /// Returns the maximum number of bytes read from a response. The response to a create has an
    /// id, which must not be lost, and may repeat its request, each byte of which JSON may escape
    /// in six. A smaller `MAX_RESPONSE_BYTES` is the caller's own limit, and counts for creates too.
    pub(crate) fn max_response_bytes(&self, settings: &AccountSettings) -> usize {
        let created = self
            .body
            .as_ref()
            .map(|body| self.created_bytes + ESCAPED_BYTES * body.len());
        created
            .unwrap_or(usize::MAX)
            .min(settings.max_response_bytes)
    }

    pub(crate) fn accepting_json(mut self) -> Self {
        self.accept_json = true;
        self
    }

    /// Builds a create with a JSON body.
    pub(crate) fn create(
        endpoint: &'static Endpoint,
        body: &Record<'_>,
        settings: &AccountSettings,
    ) -> Result<Self, Problem> {
        let limit = settings.max_request_bytes;
        let too_large = |bytes: usize, of_what: &str| {
            let allowed = format!("at most VOICE_CALLING_MAX_REQUEST_BYTES, which is {limit}");
            problem("request", format!("{bytes} bytes of {of_what}"), allowed)
        };
        // This avoids copying a text that is far too large.
        if body.text_bytes() > limit {
            return Err(too_large(body.text_bytes(), "text"));
        }
        let body = body.to_json();
        if body.len() > limit {
            return Err(too_large(body.len(), "JSON"));
        }
        Ok(Self {
            endpoint,
            path_and_query: endpoint.path.to_owned(),
            accept_json: false,
            body: Some(body),
            item: None,
            created_bytes: CREATED_BYTES,
            departure: Departure::default(),
        })
    }

    pub(crate) fn body(&self) -> Option<&str> {
        self.body.as_deref()
    }

    /// Sets the index of the request in its batch, and the number of bytes that its response may
    /// have beyond its escaped request.
    pub(crate) fn with_item(mut self, index: usize, created_bytes: usize) -> Self {
        self.item = index.try_into().ok();
        self.created_bytes = created_bytes;
        self
    }

    /// Addresses the request to the service and signs it with the token.
    pub(crate) fn address(&self, settings: &AccountSettings) -> Request {
        let base_url = &settings.base_url;
        let mut headers = vec![
            ("auth_token", settings.token.header_value()),
            // A guest cannot read an answer that is compressed.
            ("accept-encoding", "identity".to_owned()),
        ];
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
            item: self.item,
            departure: self.departure.clone(),
        }
    }
}

/// All characters but the unreserved ones of RFC 3986, so that no value can leave its segment of a
/// path or its place in a query.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Encodes a value for a path or a query, and checks that it is short enough for servers.
fn encode_value(argument: &str, value: &str) -> Result<String, Problem> {
    let encoded = match value.len() {
        0..=MAX_VALUE_BYTES => utf8_percent_encode(value, RESERVED).to_string(),
        _ => value.to_owned(),
    };
    match encoded.len() {
        0..=MAX_VALUE_BYTES => Ok(encoded),
        bytes => Err(problem(
            argument,
            format!("{bytes} bytes"),
            format!("at most {MAX_VALUE_BYTES} bytes, percent-encoded"),
        )),
    }
}

/// Checks an identifier for a path.
pub(crate) fn check_identifier(argument: &str, value: &str) -> Result<(), Problem> {
    let found = match value {
        "" => "an empty string".to_owned(),
        "." | ".." => format!("{value:?}, which cannot be part of a path"),
        _ => return check_no_control(argument, value),
    };
    let allowed = "a non-empty string other than `.` and `..`";
    Err(problem(argument, found, allowed))
}

/// Checks that a text is not empty.
pub(crate) fn check_not_empty(argument: &str, value: &str) -> Result<(), Problem> {
    match value.is_empty() {
        true => Err(problem(argument, "an empty string", "a non-empty string")),
        false => Ok(()),
    }
}

/// Checks that a text contains no control characters, line breaks included.
pub(crate) fn check_no_control(argument: &str, value: &str) -> Result<(), Problem> {
    match value.chars().enumerate().find(|(_, c)| c.is_control()) {
        None => Ok(()),
        Some((index, control)) => Err(problem(
            argument,
            format!("{control:?} at position {}", index + 1),
            "a string without control characters",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Value;
    use crate::record::Field;
    use crate::simulation::settings;

    const READ: Endpoint = Endpoint::get("f", "/call_details/{task_id}");
    const CREATE: Endpoint = Endpoint::post("g", "/make_call");

    fn create(text: &str, variables: &[(&str, &str)]) -> Result<ApiRequest, Problem> {
        let body = Record::new(vec![("text", Field::Text(text))]);
        ApiRequest::create(&CREATE, &body, &settings(variables))
    }

    #[test]
    fn a_value_that_is_too_long_for_a_path_when_it_is_encoded_is_refused() {
        for (value, bytes) in [
            ("a".repeat(4_096), None),
            ("a".repeat(4_097), Some("4097 bytes")),
            ("/".repeat(1_365), None),
            ("/".repeat(1_366), Some("4098 bytes")),
        ] {
            let problem = ApiRequest::read(&READ, "task-id", &value).err();
            assert_eq!(problem.as_ref().map(|problem| &*problem.found), bytes);
            assert!(problem.is_none_or(|problem| problem.subject == "task-id"));
        }
    }

    #[test]
    fn an_identifier_that_cannot_be_part_of_a_path_is_refused() {
        for (value, found) in [
            ("", "an empty string"),
            (".", "\".\", which cannot be part of a path"),
            ("..", "\"..\", which cannot be part of a path"),
            ("t\u{7f}", "'\\u{7f}' at position 2"),
        ] {
            let problem = check_identifier("task-id", value).unwrap_err();
            assert_eq!((&*problem.subject, &*problem.found), ("task-id", found));
        }
    }

    #[test]
    fn a_request_larger_than_the_setting_is_refused() {
        let limit = [("MAX_REQUEST_BYTES", "20")];
        assert!(create("123456789", &limit).is_ok());
        for (text, bytes) in [
            ("1234567890", "21 bytes of JSON"),
            ("\"\"\"\"\"", "21 bytes of JSON"),
            ("123456789012345678901234567890", "30 bytes of text"),
        ] {
            let problem = create(text, &limit).err().unwrap();
            assert_eq!((&*problem.subject, &*problem.found), ("request", bytes));
            assert!(problem.allowed.contains("MAX_REQUEST_BYTES, which is 20"));
        }
    }

    #[test]
    fn every_request_asks_for_an_answer_that_is_not_compressed() {
        let settings = settings(&[]);
        let read = ApiRequest::read(&READ, "task-id", "t").unwrap();
        for request in [read, create("x", &[]).unwrap()] {
            let headers = request.address(&settings).headers;
            assert!(headers.contains(&("accept-encoding", "identity".into())));
        }
    }

    #[test]
    fn the_limit_of_a_response_depends_on_the_request_of_a_create_and_on_the_setting() {
        let read = ApiRequest::read(&READ, "task-id", "t").unwrap();
        let created = create("x", &[]).unwrap();
        assert_eq!(read.max_response_bytes(&settings(&[])), 8_388_608);
        assert_eq!(
            created.max_response_bytes(&settings(&[])),
            1_048_576 + 6 * 12
        );
        let small = settings(&[("MAX_RESPONSE_BYTES", "9")]);
        assert_eq!(read.max_response_bytes(&small), 9);
        assert_eq!(created.max_response_bytes(&small), 9);
    }

    #[test]
    fn the_length_of_the_texts_of_a_record_is_at_most_that_of_its_json() {
        let text = r#"{"a":[1,"\u00e4"]}"#;
        let texts = [("k".to_owned(), "v".to_owned())];
        let inner = || Record::new(vec![("in", Field::Texts(&texts)), ("out", Field::Absent)]);
        let record = Record::new(vec![
            ("text", Field::Text("\u{e4}\"\n")),
            ("json", Field::Json(Value::parse(text).unwrap())),
            ("null", Field::Null),
            ("integer", Field::Integer(-1)),
            ("object", Field::Object(inner())),
            ("extensible", Field::Extensible(inner())),
        ]);
        let record = record.with_extra("extra", Some(text)).ok().unwrap();
        let bytes = 4 + text.len() + 2 + 2 + r#"[1,"\u00e4"]"#.len();
        assert_eq!(record.text_bytes(), bytes);
        assert!(record.text_bytes() <= record.to_json().len());
    }
}

//! The report of a client on a case, and whether the client did what the case expects. Pure.

use super::accounting::unaccounted;
use super::case::{Case, ExpectedRequest};
use super::difference::{Null, cut, differences};
use super::json::Json;
use serde::Deserialize;
use voice_calling_peer::Request;

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
    Unsupported(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default, deserialize_with = "super::json::even_null")]
    value: Option<Json>,
    error: Option<Json>,
    #[serde(default)]
    log: Vec<Json>,
    unsupported: Option<String>,
}

impl TryFrom<Written> for Report {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        let outcome = match (written.value, written.error, written.unsupported) {
            (Some(value), None, None) => Ok(value),
            (None, Some(error), None) => Err(error),
            (None, None, Some(reason)) => return Ok(Self::Unsupported(reason)),
            _ => return Err("it must have one of `value`, `error` and `unsupported`"),
        };
        let log = written.log.iter().map(Json::to_string).collect();
        Ok(Self::Played { outcome, log })
    }
}

/// Returns the differences between a client's actions and a case, one line for each place.
pub(crate) fn judge(case: &Case, received: &[Request], report: &Report) -> Vec<String> {
    let may_be_missing = case.program.is_some() || case.once.is_some();
    let (outcome, log) = match report {
        Report::Unsupported(_) if may_be_missing => return Vec::new(),
        Report::Unsupported(reason) => return vec![format!("not played: {reason}")],
        Report::Played { outcome, log } => (outcome, log),
    };
    let expected = &case.requests;
    if let Some(program) = case.program {
        // Unsent requests need no account: a program may leave a batch before its last request.
        let (mut found, _) = matched(expected, received);
        let (Ok(outcome) | Err(outcome)) = outcome;
        let steps = case.service.steps();
        found.extend(unaccounted(program, received, steps, outcome, log));
        return found;
    }
    let mut found = match case.in_any_order() {
        true => {
            let (unexpected, missing) = matched(expected, received);
            [unexpected, missing].concat()
        }
        false => of_requests(expected, received),
    };
    found.extend(of_outcome(case, outcome));
    found
}

fn of_outcome(case: &Case, outcome: &Result<Json, Json>) -> Vec<String> {
    let other = |at: &str, expected: &Json, kind: &str, found: &Json| {
        let (expected, found) = (cut(expected), cut(found));
        vec![format!(
            "{at}: expected {expected}, found the {kind} {found}"
        )]
    };
    let (at, expected, found) = match (&case.value, &case.error, outcome) {
        (Some(expected), _, Ok(found)) => ("value", expected, found),
        (_, Some(expected), Err(found)) => ("error", expected, found),
        (Some(expected), _, Err(found)) => return other("value", expected, "error", found),
        (_, Some(expected), Ok(found)) => return other("error", expected, "value", found),
        (None, None, _) => return Vec::new(),
    };
    differences(at, expected, Some(found), Null::MayBeMissing)
}

fn of_requests(expected: &[ExpectedRequest], received: &[Request]) -> Vec<String> {
    let mut differing = Vec::new();
    for index in 0..expected.len().max(received.len()) {
        let at = format!("requests[{index}]");
        match (expected.get(index), received.get(index)) {
            (Some(expected), Some(received)) => {
                differing.extend(of_request(&at, expected, received))
            }
            (Some(expected), None) => differing.push(lacks(&at, expected)),
            (None, received) => differing.extend(received.map(|received| has(&at, received))),
        }
    }
    differing
}

/// Matches requests in any order: each received request stands for an expected one that it does not
/// differ from. Returns the received requests beyond those, and the expected ones that are missing.
fn matched(expected: &[ExpectedRequest], received: &[Request]) -> (Vec<String>, Vec<String>) {
    let mut missing: Vec<_> = expected.iter().enumerate().collect();
    let mut unexpected = Vec::new();
    for (index, received) in received.iter().enumerate() {
        let fits = |(_, expected): &(usize, &ExpectedRequest)| {
            of_request("", expected, received).is_empty()
        };
        match missing.iter().position(fits) {
            Some(position) => drop(missing.remove(position)),
            None => unexpected.push(has(&format!("requests[{index}]"), received)),
        }
    }
    let missing = missing.into_iter();
    let missing = missing.map(|(index, expected)| lacks(&format!("requests[{index}]"), expected));
    (unexpected, missing.collect())
}

fn lacks(at: &str, expected: &ExpectedRequest) -> String {
    format!(
        "{at}: expected {} {}, found nothing",
        expected.method, expected.path
    )
}

/// Describes a request that is not expected.
pub(crate) fn has(at: &str, received: &Request) -> String {
    let body = String::from_utf8_lossy(&received.body);
    let shown = format!("{} {} {body}", received.method, received.path);
    format!("{at}: expected nothing, found {}", cut(&shown.trim_end()))
}

fn of_request(at: &str, expected: &ExpectedRequest, received: &Request) -> Vec<String> {
    let mut differing = Vec::new();
    for (name, expected, found) in [
        ("method", &expected.method, &received.method),
        ("path", &expected.path, &received.path),
    ] {
        if expected != found {
            differing.push(format!("{at}.{name}: expected {expected}, found {found}"));
        }
    }
    for (name, expected) in &expected.headers {
        let at = format!("{at}.headers.{name}");
        let found = received.header(name).map(Json::Text);
        match (expected, found) {
            (Some(expected), found) => {
                differing.extend(differences(&at, expected, found.as_ref(), Null::IsAValue));
            }
            (None, Some(found)) => differing.push(format!("{at}: expected nothing, found {found}")),
            (None, None) => {}
        }
    }
    differing.extend(of_body(&format!("{at}.body"), expected, &received.body));
    differing
}

fn of_body(at: &str, expected: &ExpectedRequest, found: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(found);
    if let Some(expected) = &expected.body {
        return match Json::parse(&text) {
            Ok(json) => differences(at, expected, Some(&json), Null::IsAValue),
            Err(error) => vec![format!("{at}: not JSON ({error}): {}", cut(&text))],
        };
    }
    let expected = expected.text.as_deref().unwrap_or_default();
    match expected.as_bytes() == found {
        true => Vec::new(),
        false => vec![format!(
            "{at}: expected the text {:?}, found {:?}",
            cut(&expected),
            cut(&text)
        )],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Table;

    const REQUESTS: &str = r#"[
        {"method": "POST", "path": "/a", "headers": {"auth_token": "Bearer t", "authorization": null}, "body": {"id": 7, "tools": null}},
        {"method": "POST", "path": "/b", "text": "{\"id\": 7}"},
        {"method": "GET", "path": "/c"}
    ]"#;

    /// The requests that were sent, one per line.
    const SENT: &str = r#"POST | /a | auth_token: Bearer t | {"tools": null, "id": 7.0}
        POST | /b | auth_token: Bearer t | {"id": 7}
        GET | /c | auth_token: Bearer t | "#;

    fn judged(requests: &str, outcome: &str, sent: &str, found: &str) -> Vec<String> {
        let text = format!(
            r#"[{{"name": "n", "operation": "agents.list-agents", "arguments": {{}},
                "service": ["close", "close", "close"], "requests": {requests}, {outcome}}}]"#
        );
        let case = Table::parse("n.json", &text).unwrap().cases.remove(0);
        let received = |line: &str| {
            let [method, path, headers, body] = line.split(" | ").collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let headers = headers.split(", ").filter_map(|it| it.split_once(": "));
            Request {
                method: method.trim().to_owned(),
                path: path.to_owned(),
                headers: headers
                    .map(|(name, value)| (name.into(), value.into()))
                    .collect(),
                body: body.into(),
                ..Request::default()
            }
        };
        let received: Vec<_> = sent.lines().map(received).collect();
        judge(&case, &received, &serde_json::from_str(found).unwrap())
    }

    /// Replaces a part of what was found. A row contains the part, its replacement, and the
    /// beginning of the first difference.
    fn judge_replaced(right: &str, judged: impl Fn(&str) -> Vec<String>, rows: &str) {
        assert_eq!(judged(right), [""; 0]);
        for row in rows.trim().lines() {
            let [from, to, message] = row.trim_start().split(" => ").collect::<Vec<_>>()[..] else {
                panic!("{row}")
            };
            assert!(right.contains(from), "{from}");
            let differences = judged(&right.replacen(from, to, 1));
            assert!(differences[0].starts_with(message), "{to}: {differences:?}");
        }
    }

    #[test]
    fn every_difference_of_requests_is_reported_by_its_place() {
        let judged = |sent: &str| judged(REQUESTS, r#""value": 1"#, sent, r#"{"value": 1}"#);
        judge_replaced(
            SENT,
            judged,
            r#"
            POST => PUT => requests[0].method: expected POST, found PUT
            /a => /a? => requests[0].path: expected /a, found /a?
            Bearer t => Bearer u => requests[0].headers.auth_token: expected "Bearer t", found "Bearer u"
            auth_token: Bearer t =>  => requests[0].headers.auth_token: expected "Bearer t", found nothing
            Bearer t => Bearer t, authorization: x => requests[0].headers.authorization: expected nothing, found "x"
            7.0 => 8 => requests[0].body.id: expected 7, found 8
            "tools": null,  =>  => requests[0].body.tools: expected null, found nothing
            7.0 => 7, "id": 7 => requests[0].body.id (again): expected nothing, found 7
            7.0 => 7, "x": null => requests[0].body.x: expected nothing, found null
            7.0} => 7 => requests[0].body: not JSON (EOF while parsing an object
            {"id": 7} => {"id":7} => requests[1].body: expected the text "{\"id\": 7}", found "{\"id\":7}"
            {"id": 7} =>  => requests[1].body: expected the text "{\"id\": 7}", found ""
            "#,
        );
        let more = format!("{SENT}{{}}\nPOST | /a |  | {{}}");
        assert_eq!(
            judged(&more),
            [
                r#"requests[2].body: expected the text "", found "{}""#,
                "requests[3]: expected nothing, found POST /a {}",
            ]
        );
        let (fewer, _) = SENT.rsplit_once('\n').unwrap();
        assert_eq!(
            judged(fewer),
            ["requests[2]: expected GET /c, found nothing"]
        );
    }

    #[test]
    fn where_their_order_does_not_matter_requests_are_still_counted() {
        let case = r#""settings": {"MAX_IN_FLIGHT": "2"}, "value": 1"#;
        let judged = |lines: &[&str]| judged(REQUESTS, case, &lines.join("\n"), r#"{"value": 1}"#);
        let [a, b, c] = SENT.lines().collect::<Vec<_>>()[..] else {
            panic!("{SENT}")
        };
        assert_eq!(judged(&[c, b, a]), [""; 0]);
        assert_eq!(
            judged(&[c, b, a, c]),
            ["requests[3]: expected nothing, found GET /c"]
        );
        assert_eq!(
            judged(&[c, a, c]),
            [
                "requests[2]: expected nothing, found GET /c",
                "requests[1]: expected POST /b, found nothing",
            ]
        );
    }

    #[test]
    fn every_difference_of_a_value_is_reported_by_its_place() {
        let expected = r#""value": {"id": 9007199254740993, "text": "ä", "list": [1, {"none": null}],
            "is": {"$is": "integer"}, "part": {"$contains": "within"},
            "call_context": "{\"b\":0.10,\"a\":1}", "raw_json": {"$compact": {"a": [1, 2]}}}"#;
        let found = r#"{"value": {"id": 9007199254740993, "text": "ä", "list": [1.0, {}],
            "is": 0, "part": "within", "call_context": {"a": 1, "b": 0.1}, "raw_json": "{\"a\":[1,2]}", "new": null}}"#;
        judge_replaced(
            found,
            |found| judged(REQUESTS, expected, SENT, found),
            r#"
            9007199254740993 => 9007199254740992 => value.id: expected 9007199254740993, found 9007199254740992
            "text": "ä" => "text": "a" => value.text: expected "ä", found "a"
            "text": "ä",  =>  => value.text: expected "ä", found null
            [1.0, {}] => [{}, 1] => value.list[0]: expected 1, found {}
            [1.0, {}] => [1] => value.list[1]: expected {"none":null}, found nothing
            [1.0, {}] => [1, {}, 2] => value.list[2]: expected nothing, found 2
            {} => {"none": 1} => value.list[1].none: expected null, found 1
            "is": 0 => "is": -1 => value.is: expected {"$is":"integer"}, found -1
            "is": 0,  =>  => value.is: expected {"$is":"integer"}, found null
            within => without => value.part: expected {"$contains":"within"}
            {"a": 1, "b": 0.1} => {"a": 1, "b": 0.11} => value.call_context.b: expected 0.10, found 0.11
            {"a": 1, "b": 0.1} => "{\"a\":1,\"b\":0.10}" => value.call_context: expected "{\"b\":0.10
            "{\"a\":[1,2]}" => "{\"a\":[1, 2]}" => value.raw_json: expected "{\"a\":[1,2]}"
            "{\"a\":[1,2]}" => {"a":[1,2]} => value.raw_json: expected "{\"a\":[1,2]}"
            "new": null => "new": 1 => value.new: expected nothing, found 1
            "#,
        );
    }
}

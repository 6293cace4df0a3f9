//! Whether a client did what a case expects: pure, over what was seen.

use super::accounting::unaccounted;
use super::case::{Case, ExpectedBody, ExpectedOutcome, ExpectedRequest};
use super::expected::{Null, cut, differences};
use super::json::Json;
use super::report::{Outcome, Report};
use super::request::Received;

/// How what a client did differs from what the case expects, one line for each place.
pub fn judge(case: &Case, received: &[Received], report: &Report) -> Vec<String> {
    let (outcome, log) = match (report, case.program) {
        (Report::NotHad(_), Some(_)) => return Vec::new(),
        (Report::NotHad(reason), None) => return vec![format!("not played: {reason}")],
        (Report::Played { outcome, log }, _) => (outcome, log),
    };
    let expected = &case.requests.expected;
    let Some(program) = case.program else {
        let mut found = match case.requests.in_any_order {
            true => of_requests_in_any_order(expected, received),
            false => of_requests(expected, received),
        };
        found.extend(of_outcome(&case.outcome, outcome));
        return found;
    };
    // What is not sent needs no account: a program may leave a batch before its last request.
    let (mut found, _) = matched(expected, received);
    found.extend(unaccounted(
        program,
        received,
        case.service.steps(),
        outcome,
        log,
    ));
    found
}

fn of_outcome(expected: &ExpectedOutcome, found: &Outcome) -> Vec<String> {
    match (expected, found) {
        (ExpectedOutcome::Value(expected), Outcome::Value(found)) => {
            differences("value", expected, Some(found), Null::MayBeMissing)
        }
        (ExpectedOutcome::Error(expected), Outcome::Error(found)) => {
            match expected.lone_member().filter(|case| !found.has(case)) {
                Some(case) => vec![format!("error: expected {case}, found {}", cut(found))],
                None => differences("error", expected, Some(found), Null::MayBeMissing),
            }
        }
        // It is judged by what the service received.
        (ExpectedOutcome::Accounted, _) => Vec::new(),
        (ExpectedOutcome::Value(expected), Outcome::Error(found)) => {
            vec![format!(
                "value: expected {}, found the error {}",
                cut(expected),
                cut(found)
            )]
        }
        (ExpectedOutcome::Error(expected), Outcome::Value(found)) => {
            vec![format!(
                "error: expected {}, found the value {}",
                cut(expected),
                cut(found)
            )]
        }
    }
}

fn of_requests(expected: &[ExpectedRequest], received: &[Received]) -> Vec<String> {
    let mut told = Vec::new();
    for index in 0..expected.len().max(received.len()) {
        let at = format!("requests[{index}]");
        match (expected.get(index), received.get(index)) {
            (Some(expected), Some(received)) => told.extend(of_request(&at, expected, received)),
            (Some(expected), None) => told.push(lacks(&at, expected)),
            (None, received) => told.extend(received.map(|received| has(&at, received))),
        }
    }
    told
}

fn of_requests_in_any_order(expected: &[ExpectedRequest], received: &[Received]) -> Vec<String> {
    let (mut unexpected, missing) = matched(expected, received);
    unexpected.extend(missing);
    unexpected
}

/// Where the order does not matter, each request that was received stands for one that is
/// expected and does not differ from it. Returns what was received beyond that, and what was not
/// received.
fn matched(expected: &[ExpectedRequest], received: &[Received]) -> (Vec<String>, Vec<String>) {
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

/// What is said of a request that is not expected.
pub(crate) fn has(at: &str, received: &Received) -> String {
    let body = String::from_utf8_lossy(&received.body);
    let shown = format!("{} {} {body}", received.method, received.path);
    format!("{at}: expected nothing, found {}", cut(&shown.trim_end()))
}

fn of_request(at: &str, expected: &ExpectedRequest, received: &Received) -> Vec<String> {
    let mut told = Vec::new();
    for (name, expected, found) in [
        ("method", &expected.method, &received.method),
        ("path", &expected.path, &received.path),
    ] {
        if expected != found {
            told.push(format!("{at}.{name}: expected {expected}, found {found}"));
        }
    }
    for (name, expected) in &expected.headers {
        let at = format!("{at}.headers.{name}");
        let found = received.header(name).map(Json::Text);
        match (expected, found) {
            (Some(expected), found) => {
                told.extend(differences(&at, expected, found.as_ref(), Null::IsAValue));
            }
            (None, Some(found)) => told.push(format!("{at}: expected nothing, found {found}")),
            (None, None) => {}
        }
    }
    told.extend(of_body(
        &format!("{at}.body"),
        &expected.body,
        &received.body,
    ));
    told
}

fn of_body(at: &str, expected: &ExpectedBody, found: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(found);
    match expected {
        ExpectedBody::Empty if found.is_empty() => Vec::new(),
        ExpectedBody::Empty => vec![format!("{at}: expected nothing, found {}", cut(&text))],
        ExpectedBody::Text(expected) if expected.as_bytes() == found => Vec::new(),
        ExpectedBody::Text(expected) => {
            vec![format!(
                "{at}: expected the text {}, found {}",
                cut(expected),
                cut(&text)
            )]
        }
        ExpectedBody::Json(expected) => match Json::parse(&text) {
            Ok(json) => differences(at, expected, Some(&json), Null::IsAValue),
            Err(error) => vec![format!("{at}: not JSON ({error}): {}", cut(&text))],
        },
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

    fn case(requests: &str, outcome: &str) -> Case {
        let text = format!(
            r#"[{{"name": "n", "operation": "agents.list-agents", "arguments": {{}},
                "service": ["close", "close", "close"], "requests": {requests}, {outcome}}}]"#
        );
        Table::parse("n.json", &text).unwrap().cases.remove(0)
    }

    fn request(method: &str, path: &str, body: &str) -> Received {
        Received {
            method: method.to_owned(),
            path: path.to_owned(),
            headers: vec![("auth_token".to_owned(), "Bearer t".to_owned())],
            body: body.as_bytes().to_vec(),
        }
    }

    fn sent() -> Vec<Received> {
        vec![
            request("POST", "/a", r#"{"tools": null, "id": 7.0}"#),
            request("POST", "/b", r#"{"id": 7}"#),
            request("GET", "/c", ""),
        ]
    }

    fn played(value: Json) -> Report {
        Report::Played {
            outcome: Outcome::Value(value),
            log: Vec::new(),
        }
    }

    type Change = fn(&mut Vec<Received>);

    fn of_sent(change: impl FnOnce(&mut Vec<Received>)) -> Vec<String> {
        let mut sent = sent();
        change(&mut sent);
        judge(
            &case(REQUESTS, r#""value": 1"#),
            &sent,
            &played(Json::Number("1".into())),
        )
    }

    fn of_outcome(expected: &str, found: &str) -> Vec<String> {
        judge(
            &case(REQUESTS, expected),
            &sent(),
            &Report::parse(found).unwrap(),
        )
    }

    #[test]
    fn who_does_what_is_expected_differs_in_nothing() {
        assert_eq!(of_sent(|_| ()), [""; 0]);
    }

    #[test]
    fn each_way_in_which_requests_differ_is_told_by_its_place() {
        let changed: [(Change, &[&str]); 13] = [
            (
                |sent| drop(sent.pop()),
                &["requests[2]: expected GET /c, found nothing"],
            ),
            (
                |sent| sent.push(request("POST", "/a", "{}")),
                &["requests[3]: expected nothing, found POST /a {}"],
            ),
            (
                |sent| sent.swap(1, 2),
                &[
                    "requests[1].method: expected POST, found GET",
                    "requests[1].path: expected /b, found /c",
                    "requests[1].body: expected the text {\"id\": 7}, found ",
                    "requests[2].method: expected GET, found POST",
                    "requests[2].path: expected /c, found /b",
                    "requests[2].body: expected nothing, found {\"id\": 7}",
                ],
            ),
            (
                |sent| sent[0].path.push('?'),
                &["requests[0].path: expected /a, found /a?"],
            ),
            (
                |sent| sent[0].method = "PUT".into(),
                &["requests[0].method: expected POST, found PUT"],
            ),
            (
                |sent| sent[0].headers[0].1.push('!'),
                &["requests[0].headers.auth_token: expected \"Bearer t\", found \"Bearer t!\""],
            ),
            (
                |sent| sent[0].headers.clear(),
                &["requests[0].headers.auth_token: expected \"Bearer t\", found nothing"],
            ),
            (
                |sent| sent[0].headers.push(("authorization".into(), "x".into())),
                &["requests[0].headers.authorization: expected nothing, found \"x\""],
            ),
            (
                |sent| sent[0].body = br#"{"tools": null, "id": 8}"#.into(),
                &["requests[0].body.id: expected 7, found 8"],
            ),
            (
                |sent| sent[0].body = br#"{"id": 7}"#.into(),
                &["requests[0].body.tools: expected null, found nothing"],
            ),
            (
                |sent| sent[0].body = br#"{"id": 6, "tools": null, "id": 7, "x": null}"#.into(),
                &[
                    "requests[0].body.id (again): expected nothing, found 7",
                    "requests[0].body.x: expected nothing, found null",
                ],
            ),
            (
                |sent| sent[0].body = b"{".into(),
                &["requests[0].body: not JSON (EOF while parsing an object at line 1 column 1): {"],
            ),
            (
                |sent| sent[1].body = br#"{"id":7}"#.into(),
                &["requests[1].body: expected the text {\"id\": 7}, found {\"id\":7}"],
            ),
        ];
        for (change, told) in changed {
            assert_eq!(of_sent(change), told);
        }
    }

    #[test]
    fn where_their_order_does_not_matter_requests_are_still_counted() {
        let case = case(
            &format!(r#"{{"$in_any_order": {REQUESTS}}}"#),
            r#""value": null"#,
        );
        let judged = |sent: &[Received]| judge(&case, sent, &played(Json::Null));
        let mut sent = sent();
        sent.reverse();
        assert_eq!(judged(&sent), [""; 0]);
        sent.push(sent[0].clone());
        assert_eq!(
            judged(&sent),
            ["requests[3]: expected nothing, found GET /c"]
        );
        sent.remove(1);
        assert_eq!(
            judged(&sent),
            [
                "requests[2]: expected nothing, found GET /c",
                "requests[1]: expected POST /b, found nothing",
            ]
        );
    }

    /// Replaces something in what was found; a row says what, by what, and how the first
    /// difference then begins.
    fn judge_replaced(expected: &str, found: &str, rows: &str) {
        assert_eq!(of_outcome(expected, found), [""; 0]);
        for row in rows.trim().lines() {
            let [right, wrong, told] = row.trim_start().split(" => ").collect::<Vec<_>>()[..]
            else {
                panic!("{row}")
            };
            assert!(found.contains(right), "{right}");
            let differences = of_outcome(expected, &found.replacen(right, wrong, 1));
            assert!(differences[0].starts_with(told), "{wrong}: {differences:?}");
        }
    }

    #[test]
    fn each_way_in_which_a_value_differs_is_told_by_its_place() {
        let expected = r#""value": {"id": 9007199254740993, "text": "ä", "list": [1, {"none": null}],
            "is": {"$is": "integer"}, "told": {"$contains": "within"}, "one": {"$one_of": ["a", null]},
            "call_context": "{\"b\":0.10,\"a\":1}", "raw_json": {"$compact": {"a": [1, 2]}}}"#;
        let found = r#"{"value": {"id": 9007199254740993, "text": "ä", "list": [1.0, {}],
            "is": 0, "told": "within", "call_context": {"a": 1, "b": 0.1}, "raw_json": "{\"a\":[1,2]}", "new": null}}"#;
        judge_replaced(
            expected,
            found,
            r#"
            9007199254740993 => 9007199254740992 => value.id: expected 9007199254740993, found 9007199254740992
            "text": "ä" => "text": "a" => value.text: expected "ä", found "a"
            "text": "ä",  =>  => value.text: expected "ä", found null
            [1.0, {}] => [{}, 1] => value.list[0]: expected 1, found {}
            [1.0, {}] => [1] => value.list[1]: expected {"none":null}, found nothing
            [1.0, {}] => [1, {}, 2] => value.list[2]: expected nothing, found 2
            {} => {"none": 1} => value.list[1].none: expected null, found 1
            "is": 0 => "is": -1 => value.is: expected a whole number, found -1
            "is": 0,  =>  => value.is: expected a whole number, found null
            within => without => value.told: expected a string with "within" in it
            "told" => "one": "b", "told" => value.one: expected "a" or null, found "b"
            {"a": 1, "b": 0.1} => {"a": 1, "b": 0.11} => value.call_context.b: expected 0.10, found 0.11
            {"a": 1, "b": 0.1} => "{\"a\":1,\"b\":0.10}" => value.call_context: expected "{\"b\":0.10
            "{\"a\":[1,2]}" => "{\"a\":[1, 2]}" => value.raw_json: expected "{\"a\":[1,2]}"
            "{\"a\":[1,2]}" => {"a":[1,2]} => value.raw_json: expected "{\"a\":[1,2]}"
            "new": null => "new": 1 => value.new: expected nothing, found 1
            "#,
        );
    }

    #[test]
    fn an_error_differs_by_its_case_and_by_its_attempts() {
        let expected = r#""error": {"unavailable": {"attempts": [{"status": 503}, {"transport_error": {"$is": "text"}}]}}"#;
        let found = r#"{"error": {"unavailable": {"attempts": [{"status": 503, "started_ms": 0, "duration_ms": 7},
            {"status": null, "transport_error": "x", "started_ms": 8, "duration_ms": 1}]}}}"#;
        judge_replaced(
            expected,
            found,
            r#"
            unavailable => timed_out => error: expected unavailable, found {"timed_out":
            503 => 500 => error.unavailable.attempts[0].status: expected 503, found 500
            "status": null => "status": 200 => error.unavailable.attempts[1].status: expected nothing, found 200
            "started_ms": 0,  =>  => error.unavailable.attempts[0].started_ms: expected a whole number, found null
            {"error":  => {"value":  => error: expected {
            "#,
        );
        let differences = of_outcome(r#""value": 1"#, r#"{"error": {"timed_out": {}}}"#);
        assert_eq!(
            differences,
            [r#"value: expected 1, found the error {"timed_out":{}}"#]
        );
    }
}

//! The run of one client through the table: the requests of each case, and its judgement.

use super::case::{Case, Once, Table};
use super::judgement::{Report, has, judge};
use super::program::Program;
use super::step::Step;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;
use voice_calling_peer::Request;

/// The run of a client through the table.
pub(crate) struct Run {
    table: Arc<Table>,
    /// The walks by the ids of the cases.
    walks: Vec<Walk>,
}

/// The progress of one case.
#[derive(Default)]
struct Walk {
    received: Vec<Request>,
    judged: Option<Judged>,
}

struct Judged {
    report: Report,
    /// The number of requests at that time.
    requests: usize,
}

/// A case as handed to a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The position of the case in the table.
    pub id: usize,
    /// The case's name.
    pub name: String,
    /// Whether the packages on the Rust client play it.
    #[serde(default)]
    pub edge: bool,
    /// Interface and function, such as `calls.make-call`.
    pub operation: String,
    /// The arguments, as they were written.
    pub arguments: Box<RawValue>,
    /// All variables, by their full names.
    pub settings: BTreeMap<String, String>,
    /// The key, for a create with a key in a ledger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub once: Option<Once>,
    /// The fault of the caller's own program, such as an interrupt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
}

/// The results of a run.
#[derive(Debug, Default, Serialize, PartialEq, Eq)]
pub struct Summary {
    /// The number of cases in the table.
    pub cases: usize,
    /// The number of judged cases.
    pub judged: usize,
    /// The cases in which the client failed.
    pub failed: Vec<Failed>,
    /// Names of the cases that the language does not support, with reasons.
    pub unsupported: Vec<(String, String)>,
    /// Names of the cases that were not judged.
    pub not_judged: Vec<String>,
}

/// A case in which a client failed.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub struct Failed {
    /// The position of the case in the table.
    pub id: usize,
    /// The file that it comes from.
    pub file: String,
    /// The case's name.
    pub name: String,
    /// The differences, one line for each place.
    pub differences: Vec<String>,
}

impl Run {
    pub(crate) fn new(table: Arc<Table>) -> Self {
        let walks = table.cases.iter().map(|_| Walk::default()).collect();
        Self { table, walks }
    }

    /// Returns the tasks of a client; `base_url` returns the URL of a case's service.
    pub(crate) fn tasks(&self, base_url: impl Fn(usize, &Case) -> String) -> Vec<Task> {
        let cases = self.table.cases.iter().enumerate();
        let tasks = cases.map(|(id, case)| Task {
            id,
            name: case.name.clone(),
            edge: case.edge,
            operation: case.operation.clone(),
            arguments: case.arguments.clone(),
            settings: case.variables(&base_url(id, case)),
            once: case.once.clone(),
            program: case.program,
        });
        tasks.collect()
    }

    /// Records a request, and returns the service's reaction. Returns `None` if the case does not
    /// exist.
    pub(crate) fn receive(&mut self, id: usize, request: Request) -> Option<Step> {
        let walk = self.walks.get_mut(id)?;
        let number = walk.received.len();
        walk.received.push(request);
        let step = self.table.cases[id].service.steps().get(number).cloned();
        Some(step.unwrap_or_else(Step::beyond_the_script))
    }

    /// Returns `true` if every expected request was received, or `None` if the case does not exist.
    pub(crate) fn has_all_requests(&self, id: usize) -> Option<bool> {
        let case = self.table.cases.get(id)?;
        let expected = match case.program {
            // The program may end before the rest of a batch is sent.
            Some(program) => usize::from(program.lets_the_request_out()),
            None => case.requests.len(),
        };
        Some(self.walks[id].received.len() >= expected)
    }

    /// Judges a client's report on a case, once.
    pub(crate) fn judge(&mut self, id: usize, report: Report) -> Result<Vec<String>, String> {
        let Some(walk) = self.walks.get_mut(id) else {
            return Err(format!("unknown case {id}"));
        };
        if walk.judged.is_some() {
            return Err(
                "this case was already judged in this run: use another run name".to_owned(),
            );
        }
        let differences = judge(&self.table.cases[id], &walk.received, &report);
        let requests = walk.received.len();
        walk.judged = Some(Judged { report, requests });
        Ok(differences)
    }

    pub(crate) fn summary(&self) -> Summary {
        let mut summary = Summary {
            cases: self.walks.len(),
            ..Summary::default()
        };
        for (id, (walk, case)) in self.walks.iter().zip(&self.table.cases).enumerate() {
            let Some(judged) = &walk.judged else {
                summary.not_judged.push(case.name.clone());
                continue;
            };
            summary.judged += 1;
            if let Report::Unsupported(reason) = &judged.report {
                summary
                    .unsupported
                    .push((case.name.clone(), reason.clone()));
            }
            let differences = walk.differences(judged, case);
            if !differences.is_empty() {
                summary.failed.push(Failed {
                    id,
                    file: case.file.clone(),
                    name: case.name.clone(),
                    differences,
                });
            }
        }
        summary
    }
}

impl Walk {
    /// Returns the differences from the case, by all that was received so far.
    fn differences(&self, judged: &Judged, case: &Case) -> Vec<String> {
        if case.program.is_some() {
            // A client that is interrupted does not wait until the service has read its request:
            // that may be received after the outcome, which accounts for it.
            return judge(case, &self.received, &judged.report);
        }
        let mut differences = judge(case, &self.received[..judged.requests], &judged.report);
        let late = self.received.iter().enumerate().skip(judged.requests);
        differences.extend(late.map(|(index, request)| {
            has(&format!("requests[{index}] (after the outcome)"), request)
        }));
        differences
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use voice_calling_peer::Behaviour;

    fn run() -> Run {
        let case = |name: &str, rest: &str| {
            format!(
                r#"{{"name": "{name}", "operation": "agents.list-agents",
                    "arguments": {{"organization_id": 1.0}}, {rest}, "value": null}}"#
            )
        };
        let sends = r#""service": ["close"], "requests": [{"method": "GET", "path": "/a"}]"#;
        let cases = [
            case("sends", sends),
            case("sends nothing", r#""requests": []"#),
        ];
        let table = Table::parse("a.json", &format!("[{}]", cases.join(","))).unwrap();
        Run::new(Arc::new(table))
    }

    fn request(method: &str, body: &str) -> Request {
        Request {
            method: method.to_owned(),
            path: "/a".to_owned(),
            body: body.into(),
            ..Request::default()
        }
    }

    fn done(log: &[&str]) -> Report {
        Report::Played {
            outcome: Ok(Json::Null),
            log: log.iter().map(|line| (*line).to_owned()).collect(),
        }
    }

    #[test]
    fn each_request_gets_the_next_step_and_then_599_and_a_case_is_judged_once() {
        let mut run = run();
        assert_eq!(run.summary().not_judged, ["sends", "sends nothing"]);
        assert_eq!(run.has_all_requests(0), Some(false));
        let step = run.receive(0, request("GET", "")).unwrap();
        assert_eq!(step.behaviour, Behaviour::CloseAfterReading);
        assert_eq!(run.has_all_requests(0), Some(true));
        let step = run.receive(0, request("GET", "")).unwrap();
        assert!(
            matches!(step.behaviour, Behaviour::Send(answer) if answer.starts_with(b"HTTP/1.1 599 "))
        );
        let differences = run.judge(0, done(&[])).unwrap();
        assert_eq!(differences, ["requests[1]: expected nothing, found GET /a"]);
        assert!(
            run.judge(0, done(&[]))
                .unwrap_err()
                .contains("already judged")
        );
        assert_eq!(run.judge(2, done(&[])).unwrap_err(), "unknown case 2");
        let summary = run.summary();
        assert_eq!((summary.cases, summary.judged), (2, 1));
        assert_eq!(summary.failed[0].name, "sends");

        // A request after the outcome is a failure.
        assert_eq!(run.judge(1, done(&[])).unwrap(), [""; 0]);
        run.receive(1, request("GET", ""));
        assert_eq!(
            run.summary().failed[1].differences,
            ["requests[0] (after the outcome): expected nothing, found GET /a"]
        );
    }

    #[test]
    fn what_an_interrupted_client_had_sent_may_come_after_the_outcome_and_is_accounted_for() {
        let row = r#"[{"name": "interrupted", "operation": "bulk.create-dockets-v2",
            "arguments": {"requests": [], "timeout_ms": 1},
            "program": {"does": "interrupt", "at": ["head"]},
            "service": [{"status": 200, "body": {"docket_id": "d-0"}},
                        {"status": 200, "body": {"docket_id": "d-1"}}],
            "requests": [{"method": "POST", "path": "/a", "body": {"external_id": "crm-0"}},
                         {"method": "POST", "path": "/a", "body": {"external_id": "crm-1"}}]}]"#;
        let create =
            |external_id: &str| request("POST", &format!(r#"{{"external_id":"{external_id}"}}"#));
        for (log, failures) in [(&["crm-0", "crm-1"][..], 0), (&["crm-0"], 1)] {
            let table = Table::parse("program.json", row).unwrap();
            let mut run = Run::new(Arc::new(table));
            run.receive(0, create("crm-0"));
            assert_eq!(run.judge(0, done(log)).unwrap(), [""; 0]);
            run.receive(0, create("crm-1"));
            assert_eq!(run.summary().failed.len(), failures);
            // No create may be sent twice, not even late.
            run.receive(0, create("crm-1"));
            assert_eq!(run.summary().failed.len(), 1);
        }
    }
}

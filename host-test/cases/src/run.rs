//! One client's walk through the table: what was received in each case, and how it was judged.

use super::answer::Step;
use super::case::{Case, Table};
use super::judgement::{has, judge};
use super::program::Program;
use super::report::Report;
use super::request::Received;
use serde::Serialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A run of the table.
pub(crate) struct Run {
    table: Arc<Table>,
    /// By the ids of the cases.
    walks: Vec<Walk>,
}

/// What was seen of one case.
#[derive(Default)]
struct Walk {
    received: Vec<Received>,
    judged: Option<Judged>,
}

struct Judged {
    report: Report,
    differences: Vec<String>,
    /// How many requests there were by then.
    requests: usize,
}

/// A case as a client gets it.
#[derive(Serialize)]
pub(crate) struct Task<'a> {
    id: usize,
    name: &'a str,
    operation: &'a str,
    arguments: &'a RawValue,
    settings: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<Program>,
}

/// How a run went.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub(crate) struct Summary {
    cases: usize,
    judged: usize,
    failed: Vec<Failed>,
    /// Names and reasons.
    not_had: Vec<(String, String)>,
    not_judged: Vec<String>,
}

/// A case in which a client did something else than it should.
#[derive(Debug, Serialize, PartialEq, Eq)]
struct Failed {
    id: usize,
    file: String,
    name: String,
    differences: Vec<String>,
}

impl Run {
    pub(crate) fn new(table: Arc<Table>) -> Self {
        let walks = table.cases.iter().map(|_| Walk::default()).collect();
        Self { table, walks }
    }

    /// What a client must do; `base_url` says where the service of a case is.
    pub(crate) fn tasks(&self, base_url: impl Fn(usize, &Case) -> String) -> Vec<Task<'_>> {
        let cases = self.table.cases.iter().enumerate();
        let tasks = cases.map(|(id, case)| Task {
            id,
            name: &case.name,
            operation: &case.operation,
            arguments: &case.arguments,
            settings: case.variables(&base_url(id, case)),
            program: case.program,
        });
        tasks.collect()
    }

    /// Takes note of a request, and says what the service does with it. None where there is no
    /// such case.
    pub(crate) fn receive(&mut self, id: usize, request: Received) -> Option<Step> {
        let walk = self.walks.get_mut(id)?;
        let number = walk.received.len();
        walk.received.push(request);
        let step = self.table.cases[id].service.steps().get(number).cloned();
        Some(step.unwrap_or_else(Step::beyond_the_script))
    }

    /// Whether every request that is expected has come. None where there is no such case.
    pub(crate) fn has_all_requests(&self, id: usize) -> Option<bool> {
        let case = self.table.cases.get(id)?;
        let expected = match case.program {
            // It may be over before the rest of a batch was sent.
            Some(program) => usize::from(program.lets_the_request_out()),
            None => case.requests.expected.len(),
        };
        Some(self.walks[id].received.len() >= expected)
    }

    /// Judges what a client made of a case, once.
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
        walk.judged = Some(Judged {
            report,
            differences: differences.clone(),
            requests: walk.received.len(),
        });
        Ok(differences)
    }

    /// How the run went until now.
    pub(crate) fn summary(&self) -> Summary {
        let mut summary = Summary {
            cases: self.walks.len(),
            judged: 0,
            failed: Vec::new(),
            not_had: Vec::new(),
            not_judged: Vec::new(),
        };
        for (id, (walk, case)) in self.walks.iter().zip(&self.table.cases).enumerate() {
            let Some(judged) = &walk.judged else {
                summary.not_judged.push(case.name.clone());
                continue;
            };
            summary.judged += 1;
            if let Report::NotHad(reason) = &judged.report {
                summary.not_had.push((case.name.clone(), reason.clone()));
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
    /// How the client differs by all that has come until now.
    fn differences(&self, judged: &Judged, case: &Case) -> Vec<String> {
        if case.program.is_some() {
            // A client that is interrupted does not wait until the service has read what it
            // sent: such a request may come after the outcome, and is accounted for by it.
            return judge(case, &self.received, &judged.report);
        }
        let late = self.received.iter().enumerate().skip(judged.requests);
        let late = late.map(|(index, request)| {
            has(&format!("requests[{index}] (after the outcome)"), request)
        });
        judged.differences.iter().cloned().chain(late).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use crate::report::Outcome;
    use voice_calling_mock::Behaviour;

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

    fn request() -> Received {
        Received {
            method: "GET".to_owned(),
            path: "/a".to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    const DONE: Report = Report::Played {
        outcome: Outcome::Value(Json::Null),
        log: Vec::new(),
    };

    #[test]
    fn a_client_is_told_what_to_do_and_not_what_is_expected() {
        let run = run();
        let tasks = run.tasks(|id, _| format!("http://service/{id}"));
        let told = serde_json::to_string(&tasks[1]).unwrap();
        assert_eq!(
            told,
            r#"{"id":1,"name":"sends nothing","operation":"agents.list-agents","arguments":{"organization_id": 1.0},"settings":{"VOICE_CALLING_API_TOKEN":"mock-token-0001","VOICE_CALLING_BACKOFF_MS":"1","VOICE_CALLING_BASE_URL":"http://service/1","VOICE_CALLING_MAX_BACKOFF_MS":"1"}}"#
        );
    }

    #[test]
    fn each_request_gets_the_next_step_and_then_599() {
        let mut run = run();
        assert_eq!(run.has_all_requests(0), Some(false));
        let step = run.receive(0, request()).unwrap();
        assert_eq!(step.behaviour, Behaviour::CloseAfterReading);
        assert_eq!(run.has_all_requests(0), Some(true));
        for (id, step) in [
            (0, run.receive(0, request())),
            (1, run.receive(1, request())),
        ] {
            let Some(Behaviour::Send(answer)) = step.map(|step| step.behaviour) else {
                panic!("case {id}")
            };
            assert!(answer.starts_with(b"HTTP/1.1 599 "));
            let differences = run.judge(id, DONE).unwrap();
            assert_eq!(
                differences,
                [format!(
                    "requests[{}]: expected nothing, found GET /a",
                    1 - id
                )]
            );
        }
        assert!(run.receive(2, request()).is_none());
        assert_eq!(run.has_all_requests(2), None);
    }

    #[test]
    fn the_summary_names_what_was_not_judged_and_what_failed() {
        let mut run = run();
        assert_eq!(run.summary().not_judged, ["sends", "sends nothing"]);
        assert_eq!(
            run.judge(0, DONE).unwrap(),
            ["requests[0]: expected GET /a, found nothing"]
        );
        let summary = run.summary();
        assert_eq!((summary.cases, summary.judged), (2, 1));
        assert_eq!(summary.not_judged, ["sends nothing"]);
        assert_eq!(
            (summary.failed.len(), summary.failed[0].name.as_str()),
            (1, "sends")
        );
    }

    #[test]
    fn a_case_is_judged_once_and_what_is_sent_later_is_a_failure() {
        let mut run = run();
        assert_eq!(run.judge(1, DONE).unwrap(), [""; 0]);
        assert_eq!(run.summary().failed, []);
        assert!(run.judge(1, DONE).unwrap_err().contains("already judged"));
        assert_eq!(run.judge(2, DONE).unwrap_err(), "unknown case 2");
        run.receive(1, request());
        let failed = run.summary().failed;
        assert_eq!(
            failed[0].differences,
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
            "requests": [{"method": "POST", "path": "/d", "body": {"external_id": "crm-0"}},
                         {"method": "POST", "path": "/d", "body": {"external_id": "crm-1"}}]}]"#;
        let create = |number: usize| Received {
            method: "POST".to_owned(),
            path: "/d".to_owned(),
            headers: Vec::new(),
            body: format!(r#"{{"external_id":"crm-{number}"}}"#).into_bytes(),
        };
        let logged = |number: usize| format!("crm-{number} may have been created");
        for (log, failures) in [(vec![logged(0), logged(1)], 0), (vec![logged(0)], 1)] {
            let table = Table::parse("program.json", row).unwrap();
            let mut run = Run::new(Arc::new(table));
            run.receive(0, create(0));
            let report = Report::Played {
                outcome: Outcome::Value(Json::Null),
                log,
            };
            assert_eq!(run.judge(0, report).unwrap(), [""; 0]);
            run.receive(0, create(1));
            assert_eq!(run.summary().failed.len(), failures);
            // No create is sent twice, also late.
            run.receive(0, create(1));
            assert_eq!(run.summary().failed.len(), 1);
        }
    }
}

//! What an operation has gone through, request by request, as the service saw it, and
//! what a component that is right makes of it. This is the table of the README written
//! a second time, from the service's side, so that the component can be judged by it.

use super::scenario::{Records, Run, Satisfies, Turn};
use crate::error_codes::{Meaning, meaning};
use crate::operation::{Operation, external_id};
use crate::script::{Heard, HeardBody, Sent};
use httpdate::parse_http_date;
use std::time::{Duration, UNIX_EPOCH};

/// The requests of one operation, or of one item of a batch.
pub struct Trace<'a> {
    run: &'a Run,
    /// In the order in which they were sent.
    pub attempts: Vec<Attempt<'a>>,
}

/// A request and what came of it.
#[derive(Clone, Copy)]
pub struct Attempt<'a> {
    /// The request.
    pub sent: &'a Sent,
    turn: &'a Turn,
    /// Whether a timer of the guest may have run out at the very moment at which the
    /// service did something: either may have come first.
    pub on_the_edge: bool,
}

/// Whether a record of a scenario has this member. It is looked for as it is written
/// there, since not every reader of JSON understands all that stands beside it.
pub fn has(json: &str, name: &str, value: &str) -> bool {
    json.contains(&format!("\"{name}\":\"{value}\""))
}

/// What an attempt came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It never left.
    NotSent,
    /// It never will.
    Denied,
    /// Nobody knows.
    Unknown,
    /// A status, and so much of the body.
    Status(u16, HeardBody),
}

impl<'a> Trace<'a> {
    /// That of each item of a batch; of every other operation, its own.
    pub fn all(run: &'a Run) -> Vec<Trace<'a>> {
        if run.scenario.operation != Operation::CreateDocketsV2 || run.scenario.arguments.items == 1
        {
            return vec![Self::of(run, run.sent.iter())];
        }
        let ids: Vec<_> = run.sent.iter().map(Sent::external_id).collect();
        let of_item = |index| {
            let id = external_id(index);
            let sent = run.sent.iter().zip(&ids);
            Self::of(run, sent.filter(|(_, of)| **of == id).map(|(sent, _)| sent))
        };
        (0..run.scenario.arguments.items).map(of_item).collect()
    }

    fn of(run: &'a Run, sent: impl Iterator<Item = &'a Sent>) -> Self {
        let mut attempts: Vec<Attempt> = Vec::new();
        for sent in sent {
            let ended_ms = sent.ended_ms.unwrap_or(run.ended_ms);
            let near = |edge_ms: u64| edge_ms.abs_diff(ended_ms) <= 1;
            // Where the service had nothing to do at that moment, it was the guest's timer.
            let acted = sent.acted_ms.is_some_and(near);
            let settings = &run.scenario.settings;
            // Each poll of a wait has a deadline of its own, which begins with any of them.
            let mut began_ms = attempts.iter().map(|before| before.sent.at_ms);
            let on_the_edge = acted
                && ended_ms > sent.at_ms
                && (near(sent.at_ms + settings.attempt_timeout_ms)
                    || near(sent.at_ms + settings.deadline_ms)
                    || near(run.scenario.arguments.timeout_ms.into())
                    || began_ms.any(|began_ms| near(began_ms + settings.deadline_ms)));
            attempts.push(Attempt {
                sent,
                turn: &run.scenario.turns[sent.step],
                on_the_edge,
            });
        }
        Self { run, attempts }
    }

    /// Only the last requests, so many.
    pub fn last(&self, count: usize) -> Trace<'a> {
        let skipped = self.attempts.len().saturating_sub(count);
        Trace {
            run: self.run,
            attempts: self.attempts[skipped..].to_vec(),
        }
    }

    /// Whether it is not certain what the guest has seen.
    pub fn on_the_edge(&self) -> bool {
        self.attempts.iter().any(|attempt| attempt.on_the_edge)
    }

    /// The cases of `request-error` in which it may end; `ok` is success.
    pub fn allowed_cases(&self) -> Vec<&'static str> {
        let Some(last) = self.attempts.last() else {
            return vec!["timed-out"];
        };
        let create = self.run.scenario.operation.is_create();
        match last.outcome() {
            Outcome::Denied => vec!["permanent-configuration"],
            Outcome::Unknown if create => vec!["permanent-outcome-unknown"],
            Outcome::Status(200..=299, HeardBody::Whole) => match &last.turn.satisfies {
                Satisfies::No => vec!["permanent-unexpected-response"],
                Satisfies::Yes(_) => vec!["ok"],
                Satisfies::Perhaps(_) => vec!["ok", "permanent-unexpected-response"],
            },
            Outcome::Status(200..=299, _) if create => vec!["permanent-unexpected-response"],
            // What was given up was too large, or it was late and may be repeated.
            Outcome::Status(200..=299, HeardBody::Begun) => {
                vec!["permanent-unexpected-response", self.given_up()]
            }
            Outcome::Status(401 | 403, _) => vec!["permanent-unauthorized"],
            Outcome::Status(404 | 410, _) => vec!["permanent-not-found"],
            Outcome::Status(408 | 500..=599, _)
                if create && self.run.scenario.settings.create_retry_not_sent =>
            {
                vec!["permanent-outcome-unknown"]
            }
            Outcome::Status(status, _) if !(200..=599).contains(&status) => {
                vec!["permanent-unexpected-response"]
            }
            _ if last.may_be_repeated(self.run) => vec![self.given_up()],
            _ => vec!["permanent-rejected"],
        }
    }

    /// The case when no attempt or no time is left.
    fn given_up(&self) -> &'static str {
        let create = self.run.scenario.operation.is_create();
        let mut refusal = None;
        let mut sent = false;
        for attempt in &self.attempts {
            match attempt.outcome() {
                Outcome::Status(408 | 500..=599, _) => refusal = Some("unavailable"),
                // After the server error of a create something may exist.
                Outcome::Status(429 | 425, _) if !(create && refusal == Some("unavailable")) => {
                    refusal = Some("rate-limited");
                }
                _ => {}
            }
            sent |= !matches!(attempt.outcome(), Outcome::NotSent);
        }
        refusal.unwrap_or(if sent { "timed-out" } else { "unreachable" })
    }
}

impl Attempt<'_> {
    /// What it came to.
    pub fn outcome(&self) -> Outcome {
        match &self.sent.heard {
            Heard::Nothing => Outcome::Unknown,
            Heard::Answer(status, body) => Outcome::Status(*status, *body),
            Heard::Failure(code) => match meaning(code) {
                Meaning::NotSent => Outcome::NotSent,
                Meaning::Denied => Outcome::Denied,
                Meaning::Unknown => Outcome::Unknown,
            },
        }
    }

    /// Whether another may follow.
    pub fn may_be_repeated(&self, run: &Run) -> bool {
        let create = run.scenario.operation.is_create();
        match self.outcome() {
            Outcome::NotSent | Outcome::Status(429 | 425, _) => true,
            Outcome::Status(408 | 500..=599, _) => {
                !(create && run.scenario.settings.create_retry_not_sent)
            }
            Outcome::Unknown => !create,
            Outcome::Status(200..=299, body) => !create && body != HeardBody::Whole,
            Outcome::Denied | Outcome::Status(..) => false,
        }
    }

    /// When it had ended. Unit: milliseconds since the service began.
    pub fn ended_ms(&self) -> Option<u64> {
        self.sent.ended_ms
    }

    /// How long the service asks to wait after it, in milliseconds; none where it does not.
    pub fn asked_ms(&self, run: &Run) -> Option<u64> {
        let Outcome::Status(..) = self.outcome() else {
            return None;
        };
        let value = self.turn.step.header_value("retry-after")?;
        let value = std::str::from_utf8(value).ok()?.trim();
        if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
            let seconds: u64 = value.parse().unwrap_or(u64::MAX);
            return Some(seconds.saturating_mul(1_000));
        }
        let date = parse_http_date(value)
            .ok()?
            .duration_since(UNIX_EPOCH)
            .ok()?;
        let now = Duration::from_secs(run.scenario.unix_time_s)
            + Duration::from_millis(self.sent.ended_ms?);
        Some(u64::try_from(date.saturating_sub(now).as_millis()).unwrap_or(u64::MAX))
    }

    /// Whether its answer ends a wait.
    pub fn is_ready(&self) -> bool {
        let Outcome::Status(200..=299, HeardBody::Whole) = self.outcome() else {
            return false;
        };
        let records = self.records().unwrap_or_default();
        let ready = |json: &String| {
            has(json, "status", "COMPLETED")
                || has(json, "call_status", "BUSY")
                || has(json, "call_status", "NO_ANSWER")
        };
        !records.is_empty() && records.iter().all(ready)
    }

    /// What the records of its answer are, where it satisfies the operation.
    pub fn records(&self) -> Option<Vec<String>> {
        match &self.turn.satisfies {
            Satisfies::No => None,
            Satisfies::Yes(Records::These(records))
            | Satisfies::Perhaps(Records::These(records)) => Some(records.clone()),
            Satisfies::Yes(Records::Whole) | Satisfies::Perhaps(Records::Whole) => {
                let body = self.turn.step.whole_body(&self.sent.external_id())?;
                let record = String::from_utf8_lossy(&body);
                Some(vec![
                    record.trim_start_matches('\u{feff}').trim().to_owned(),
                ])
            }
        }
    }
}

//! The progress of a campaign.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::value::RawValue;
use voice_calling_obelisk_guest::CampaignSummary;
use voice_calling_obelisk_guest::campaign::Order;

use crate::campaign::{self, Segment, Try};
use crate::engine::{Executions, Status};
use crate::row::{Ending, State};

/// Earlier creations say nothing about how the campaign goes on.
const WINDOW: SignedDuration = SignedDuration::from_mins(10);

/// `GET /campaigns/:id`
#[derive(Debug, Serialize)]
pub struct Progress {
    /// The campaign's execution id.
    pub campaign: String,
    pub state: CampaignState,
    /// Why the campaign failed, as the engine's JSON of `campaign-error`; or, as a string, why it
    /// paused itself.
    pub error: Option<Box<RawValue>>,
    pub counts: Counts,
    /// The number of contacts; `None` while the source is still being read.
    pub total: Option<u32>,
    /// The number of those that have no final state.
    pub remaining: Option<u32>,
    /// An estimate of the end: RFC 3339. `None` if it is unknown.
    pub ends_at: Option<String>,
    /// The questions that wait for a person.
    pub questions: Vec<Question>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CampaignState {
    /// Nothing is dispatched yet. Indistinguishable from any other running workflow.
    Beginning,
    Running,
    Paused,
    /// The campaign was stopped, and dockets are still open.
    Stopping,
    Stopped,
    Ended,
    Failed,
}

#[derive(Debug, Default, Serialize)]
pub struct Counts {
    /// The members of `campaign-summary`, over all contacts that have ended.
    #[serde(flatten)]
    pub ended: CampaignSummary,
    /// Active runs that have begun a creation.
    pub open: u32,
    /// Active runs that have not begun a creation.
    pub waiting: u32,
    /// Runs that certainly created nothing and whose contact is dispatched again, in active
    /// segments.
    pub again: u32,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Question {
    /// The stub execution that receives the answer.
    pub execution_id: String,
    /// The run that asks: `obelisk_execution_id` in the context of the docket, if one exists.
    pub run: String,
}

impl Counts {
    fn count(&mut self, state: State) {
        let ended = &mut self.ended;
        *match state {
            State::Completed => &mut ended.completed,
            State::TimedOut => &mut ended.timed_out,
            State::NotCreated => &mut ended.not_created,
            State::Spared => &mut ended.spared,
            State::Unknown => &mut ended.unknown,
            State::Failed => &mut ended.failed,
            State::Duplicate => &mut ended.duplicate,
            State::Invalid => &mut ended.invalid,
        } += 1;
    }
}

/// Returns the progress of a campaign, or `None` if no campaign has that id.
pub fn of<E: Executions>(engine: &E, id: &str) -> Option<Progress> {
    if !campaign::exists(engine, id) {
        return None;
    }
    let control = campaign::control(engine, id);
    let mut progress = Progress {
        campaign: id.to_owned(),
        state: CampaignState::Failed,
        error: None,
        counts: Counts::default(),
        total: control.total,
        remaining: None,
        ends_at: None,
        questions: Vec::new(),
    };
    match engine.status(id) {
        Status::Ok => {
            progress.state = match control.last_order() {
                Some(Order::Stop) => CampaignState::Stopped,
                _ => CampaignState::Ended,
            };
        }
        Status::Missing | Status::Err | Status::Cancelled | Status::Failed => {
            let error = engine.result(id);
            progress.error = error.and_then(|error| RawValue::from_string(error).ok());
        }
        Status::Pending | Status::Going => {
            progress.state = match control.last_order() {
                Some(Order::Pause) => CampaignState::Paused,
                Some(Order::Stop) => CampaignState::Stopping,
                Some(Order::Resume) => CampaignState::Running,
                None if !campaign::has_begun(engine, id) => CampaignState::Beginning,
                None => CampaignState::Running,
            };
            let reason = control.reason();
            progress.error = reason.and_then(|it| serde_json::value::to_raw_value(it).ok());
        }
    }
    for segment in campaign::segments(engine, id, &control) {
        progress.add_segment(engine, &segment);
    }
    let ended = progress.counts.ended.sum();
    progress.remaining = control.total.map(|total| total.saturating_sub(ended));
    Some(progress)
}

impl Progress {
    fn add_segment<E: Executions>(&mut self, engine: &E, segment: &Segment) {
        if segment.status == Status::Ok
            && let Some(json) = engine.result(&segment.id)
            && let Ok(summary) = serde_json::from_str::<CampaignSummary>(&json)
        {
            self.counts.ended += summary;
            return;
        }
        for (id, run) in segment.runs(engine) {
            match run {
                Try::Going => {
                    *match campaign::has_begun_creation(engine, &id) {
                        true => &mut self.counts.open,
                        false => &mut self.counts.waiting,
                    } += 1;
                    let questions = campaign::questions(engine, &id);
                    self.questions.extend(questions.map(|question| Question {
                        execution_id: question,
                        run: id.clone(),
                    }));
                }
                Try::Failed => self.counts.count(State::Failed),
                Try::Returned(Ending::Ended(row)) => self.counts.count(row.state),
                Try::Returned(Ending::Again(_)) => self.counts.again += 1,
            }
        }
    }
}

/// Returns when all contacts will have ended if they go on as fast as creations were begun at
/// `begun`, the last one first. Returns `None` if there are too few to know how fast that is.
pub fn estimated_end(remaining: u32, begun: &[Timestamp], now: Timestamp) -> Option<Timestamp> {
    let is_recent = |at: &&Timestamp| now.duration_since(**at) <= WINDOW;
    let recent: Vec<_> = begun.iter().take_while(is_recent).collect();
    let took = now.duration_since(**recent.last()?);
    if recent.len() < 2 {
        return None;
    }
    let ms = took.as_millis() * i128::from(remaining) / recent.len() as i128;
    let left = SignedDuration::from_millis(ms.try_into().ok()?);
    now.checked_add(left).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::engine::tests::{Tree, completed};

    const SUMMARY: &str = r#"{"completed":90,"timed_out":1,"not_created":2,"spared":3,"unknown":4,
        "failed":0,"not_begun":0,"duplicate":5,"invalid":6,"callable":7}"#;

    fn written(tree: &Tree) -> serde_json::Value {
        serde_json::to_value(of(tree, "C")).unwrap()
    }

    #[test]
    fn segments_that_ended_are_counted_by_their_summaries_and_others_by_their_runs() {
        let tree = Tree::default()
            .and("C", Status::Going)
            .returned("C.n:total_1", r#""127""#)
            .returned("C.n:campaign_1", r#""{\"Rest\":{\"held\":2}}""#)
            .returned("C.n:segment_1", SUMMARY)
            // Not read, since its segment has ended.
            .and("C.n:segment_1.n:open_1", Status::Pending)
            .and("C.n:segment_1.n:open_2", Status::Going)
            .and("C.n:segment_2", Status::Going)
            .and("C.n:segment_2.n:open_1", Status::Pending)
            // The slots that it holds come before its contacts.
            .returned("C.n:segment_2.n:open_2", r#""""#)
            .and("C.n:segment_2.n:open_3", Status::Pending)
            .returned("C.n:segment_2.n:open_4", &completed(100))
            .returned("C.n:segment_2.n:open_5", r#"{"again":{"index":101}}"#)
            // It has begun its creation: its second claim is taken.
            .and("C.n:segment_2.n:open_6", Status::Going)
            .and("C.n:segment_2.n:open_6.n:claim_1", Status::Err)
            .and("C.n:segment_2.n:open_6.n:claim_2", Status::Ok)
            .and("C.n:segment_2.n:open_6.n:docket_1", Status::Pending)
            .and("C.n:segment_2.n:open_6.n:docket_2", Status::Cancelled)
            .and("C.n:segment_2.n:open_6.n:docket_3", Status::Ok)
            .and("C.n:segment_2.n:open_6.n:docket_4", Status::Pending)
            // This one has not.
            .and("C.n:segment_2.n:open_7", Status::Going)
            .and("C.n:segment_2.n:open_7.n:claim_1", Status::Err)
            .and("C.n:segment_2.n:open_7.n:claim_2", Status::Pending)
            .and("C.n:segment_2.n:open_8", Status::Pending)
            .returned("C.n:segment_2.n:open_9", "{}")
            // A failed segment, whose summary is lost.
            .returned("C.n:campaign_2", r#""pause E_1""#)
            .returned("C.n:campaign_3", r#""resume E_2""#)
            .returned("C.n:campaign_4", r#""{\"Rest\":{\"held\":0}}""#)
            .and("C.n:segment_3", Status::Failed)
            .and("C.n:segment_3.n:open_1", Status::Pending)
            .and("C.n:segment_3.n:open_2", Status::Failed)
            // Its slots are not known yet.
            .and("C.n:segment_4", Status::Going)
            .and("C.n:segment_4.n:open_1", Status::Pending)
            .and("C.n:segment_4.n:open_2", Status::Pending);
        assert_eq!(
            written(&tree),
            json!({
                "campaign": "C",
                "state": "running",
                "error": null,
                "counts": {
                    "completed": 91, "timed_out": 1, "not_created": 2, "spared": 3, "unknown": 4,
                    "failed": 2, "not_begun": 0, "duplicate": 5, "invalid": 6, "callable": 7, "open": 1, "waiting": 2, "again": 1,
                },
                "total": 127,
                "remaining": 6,
                "ends_at": null,
                "questions": [{
                    "execution_id": "C.n:segment_2.n:open_6.n:docket_4",
                    "run": "C.n:segment_2.n:open_6",
                }],
            })
        );
    }

    #[test]
    fn a_campaign_that_has_ended_counts_the_runs_of_a_segment_that_failed() {
        let tree = Tree::default()
            .returned("C", SUMMARY)
            .returned("C.n:campaign_1", r#""{\"Rest\":{\"held\":0}}""#)
            .and("C.n:campaign_2", Status::Cancelled)
            .returned("C.n:segment_1", SUMMARY)
            .and("C.n:segment_2", Status::Failed)
            .and("C.n:segment_2.n:open_1", Status::Pending)
            .returned("C.n:segment_2.n:open_2", &completed(100));
        let progress = written(&tree);
        assert_eq!(progress["state"], "ended");
        assert_eq!(progress["remaining"], json!(null));
        assert_eq!(progress["counts"]["completed"], 91);
        let stopped = written(&tree.returned("C.n:campaign_2", r#""stop E_1""#));
        assert_eq!(stopped["state"], "stopped");
    }

    #[test]
    fn the_state_follows_the_last_order() {
        let begun = || {
            Tree::default()
                .and("C", Status::Going)
                .and("C.n:campaign_1", Status::Pending)
                .and("C.n:segment_1", Status::Going)
        };
        let state = |tree: Tree| of(&tree, "C").unwrap().state;
        let ordered =
            |order: &str| begun().returned("C.n:campaign_1", &format!(r#""{order} E_1""#));
        assert_eq!(state(begun()), CampaignState::Running);
        assert_eq!(state(ordered("pause")), CampaignState::Paused);
        assert_eq!(state(ordered("resume")), CampaignState::Running);
        assert_eq!(state(ordered("stop")), CampaignState::Stopping);
        let new = Tree::default().and("C", Status::Pending);
        assert_eq!(state(new), CampaignState::Beginning);
    }

    #[test]
    fn a_campaign_that_failed_says_why() {
        let error = r#"{"permanent_invalid_input":{"subject":"options.max-open"}}"#;
        let refused = Tree::default()
            .ended("C", Status::Err, error)
            .and("C.n:campaign_1", Status::Cancelled);
        let progress = written(&refused);
        assert_eq!(progress["state"], "failed");
        let problem = &progress["error"]["permanent_invalid_input"];
        assert_eq!(problem["subject"], "options.max-open");
        let tree = Tree::default()
            .ended("C", Status::Failed, r#""execution_failed""#)
            .and("C.n:campaign_1", Status::Pending)
            .and("C.n:segment_1", Status::Going)
            .and("C.n:segment_1.n:open_1", Status::Pending)
            .and("C.n:segment_1.n:open_2", Status::Going);
        assert_eq!(written(&tree)["counts"]["waiting"], 1);
    }

    #[test]
    fn other_executions_are_no_campaigns() {
        let of = |tree: Tree| of(&tree, "C").is_none();
        assert!(of(Tree::default()));
        assert!(of(Tree::default().returned("C", r#"{"docket_id":"d"}"#)));
        assert!(of(Tree::default().returned("C", r#""delivered""#)));
        let given_up = r#"{"permanent_given_up":"no"}"#;
        assert!(of(Tree::default().ended("C", Status::Err, given_up)));
    }

    #[test]
    fn the_rest_takes_as_long_as_the_last_minutes_say() {
        let at = |second: i64| Timestamp::from_second(10_000 + second).unwrap();
        let end = |remaining, begun: &[i64]| {
            let begun: Vec<_> = begun.iter().map(|second| at(*second)).collect();
            estimated_end(remaining, &begun, at(1_000))
        };
        assert_eq!(end(30, &[990, 980]), Some(at(1_300)));
        assert_eq!(end(0, &[990, 980]), Some(at(1_000)));
        // What is older than ten minutes does not count.
        assert_eq!(end(30, &[990, 980, 399]), Some(at(1_300)));
        for begun in [&[][..], &[990], &[399, 398]] {
            assert_eq!(end(30, begun), None, "{begun:?}");
        }
    }
}

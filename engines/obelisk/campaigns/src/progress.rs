//! The progress of a campaign: what its last segment began with, and the news since.

use jiff::{SignedDuration, Timestamp, Unit};
use serde::Serialize;
use serde_json::{Value, json};
use voice_calling_obelisk_guest::campaign::{
    self as guest, CampaignState, CampaignSummary, News, Order, Row, SEGMENTS, State, Tally, child,
};
use voice_calling_obelisk_guest::{Api, Ending, Page, Response, RunId};

use crate::campaign::Campaign;

/// Earlier creations say nothing about how the campaign goes on.
const WINDOW: SignedDuration = SignedDuration::from_mins(10);

/// The number of responses that are read at a time.
pub(crate) const LENGTH: u32 = 500;

/// The maximum number of questions that are shown. Each costs a request.
const QUESTIONS: u32 = 50;

/// The function of the questions to people.
const QUESTION: &str = "voice-calling:waits/person@0.2.0.decision";

/// `GET /campaigns/:id`
#[derive(Debug, Serialize)]
pub(crate) struct Progress {
    /// The campaign's execution id.
    pub campaign: String,
    pub state: CampaignState,
    /// Why the campaign failed, as the engine's JSON of `campaign-error`; or, as a string, why it
    /// paused itself.
    pub error: Option<Value>,
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

#[derive(Debug, Default, Serialize)]
pub(crate) struct Counts {
    /// The members of `campaign-summary`, over all contacts that have ended.
    #[serde(flatten)]
    pub ended: CampaignSummary,
    /// The dockets that exist, or may, and have not ended.
    open: u32,
}

#[derive(Debug, Serialize)]
pub(crate) struct Question {
    /// The stub execution that receives the answer.
    pub execution_id: String,
    /// The run that asks: `obelisk_execution_id` in the context of the docket, if one exists.
    pub run: String,
    /// When the creation was known to be in doubt: RFC 3339.
    asked_at: String,
    /// The request that was sent, and what to do.
    #[serde(flatten)]
    question: guest::Question,
}

/// Returns the progress of a campaign, or `None` if no campaign has that id. The error is a reason
/// for people.
pub(crate) fn of(api: &Api, id: &RunId, now: Timestamp) -> Result<Option<Progress>, String> {
    let Some(ending) = api.ending(id.as_str())? else {
        return Ok(None);
    };
    let campaign = Campaign::read(api, id)?;
    let Some((state, error)) = state(&campaign, ending) else {
        return Ok(None);
    };
    let mut news = Reports::default();
    if let Some((segment, rest)) = &campaign.last {
        news.tally = rest.tally;
        let segment = child(id.as_str(), SEGMENTS, *segment);
        if campaign.done.is_none() {
            each_response(api, &segment, |it| {
                news.apply(it);
                true
            })?;
        }
    }
    let tally = campaign.done.unwrap_or(news.tally);
    let remaining = campaign.total;
    let remaining = remaining.map(|total| total.saturating_sub(tally.ended.sum()));
    let ends_at = match (state, remaining) {
        (CampaignState::Running, Some(1..)) => estimated_end(remaining, &news.created, now),
        _ => None,
    };
    let questions = match tally.doubts > 0 && campaign.done.is_none() {
        true => questions(api, id)?,
        false => Vec::new(),
    };
    Ok(Some(Progress {
        campaign: id.to_string(),
        state,
        error,
        counts: Counts {
            ended: tally.ended,
            open: tally.open,
        },
        total: campaign.total,
        remaining,
        ends_at: ends_at.map(|end| end.to_string()),
        questions,
    }))
}

/// Returns the state of a campaign, and why it failed or paused itself.
fn state(campaign: &Campaign, ending: Ending) -> Option<(CampaignState, Option<Value>)> {
    let order = campaign.last_order();
    match ending {
        // Another execution.
        Ending::Ok | Ending::Err(_) if !campaign.has_begun => None,
        Ending::Ok if order == Some(Order::Stop) => Some((CampaignState::Stopped, None)),
        Ending::Ok => Some((CampaignState::Ended, None)),
        Ending::Err(error) => Some((CampaignState::Failed, Some(error))),
        Ending::None => {
            let state = match order {
                Some(Order::Pause) => CampaignState::Paused,
                Some(Order::Stop) => CampaignState::Stopping,
                Some(Order::Resume) => CampaignState::Running,
                None if !campaign.has_begun => CampaignState::Beginning,
                None => CampaignState::Running,
            };
            Some((state, campaign.reason().map(|it| json!(it))))
        }
    }
}

/// The reports that a segment has received from its contacts.
#[derive(Debug, Default)]
struct Reports {
    tally: Tally,
    /// When dockets were created, in order.
    created: Vec<Timestamp>,
}

impl Reports {
    fn apply(&mut self, response: &Response) {
        if response.has_failed {
            return self.tally.count(State::Failed);
        }
        let text = response.text.as_deref().unwrap_or_default();
        if let Ok(news) = serde_json::from_str::<News>(text) {
            self.tally.apply(&news);
            if news == News::Created {
                self.created
                    .extend(response.created_at.parse::<Timestamp>());
            }
        } else if let Ok(rows) = serde_json::from_str::<Vec<Row>>(text) {
            rows.iter().for_each(|row| self.tally.count(row.state));
        }
    }
}

/// Reads the responses of a segment one after another, while `goes_on`. Returns `false` if there are
/// none.
pub(crate) fn each_response(
    api: &Api,
    segment: &str,
    mut goes_on: impl FnMut(&Response) -> bool,
) -> Result<bool, String> {
    let mut after = 0;
    loop {
        let page = api.responses(segment, Page::After(after, LENGTH))?;
        let Some(last) = page.last() else {
            return Ok(after > 0);
        };
        after = last.cursor;
        if !page.iter().all(&mut goes_on) || page.len() < LENGTH as usize {
            return Ok(true);
        }
    }
}

/// Returns the open questions of a campaign.
pub(crate) fn questions(api: &Api, campaign: &RunId) -> Result<Vec<Question>, String> {
    let open = api.open(campaign, QUESTION, QUESTIONS)?;
    let question = |it: voice_calling_obelisk_guest::Listed| {
        let params = api.params(&it.execution_id).ok()?;
        let run = it.execution_id.rsplit_once('.')?.0.to_owned();
        Some(Question {
            question: serde_json::from_str(params.first()?.as_str()?).ok()?,
            execution_id: it.execution_id,
            run,
            asked_at: it.created_at,
        })
    };
    Ok(open.into_iter().filter_map(question).collect())
}

/// Returns when all contacts will have ended if they go on as fast as dockets were created, to the
/// second. Returns `None` if there are too few to know how fast that is.
fn estimated_end(
    remaining: Option<u32>,
    created: &[Timestamp],
    now: Timestamp,
) -> Option<Timestamp> {
    let is_recent = |at: &&Timestamp| now.duration_since(**at) <= WINDOW;
    let recent: Vec<_> = created.iter().filter(is_recent).collect();
    if recent.len() < 2 {
        return None;
    }
    let took = now.duration_since(**recent.first()?);
    let ms = took.as_millis() * i128::from(remaining?) / recent.len() as i128;
    let left = SignedDuration::from_millis(ms.try_into().ok()?);
    now.checked_add(left).ok()?.round(Unit::Second).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::tests::{campaign, response};
    use voice_calling_obelisk_guest::campaign::{Setback, to_text};
    use voice_calling_obelisk_guest::failure;

    fn ended(state: State) -> News {
        News::Ended(Box::new(Row::failed(None, state)))
    }

    #[test]
    fn a_segment_is_counted_by_its_news() {
        let setback = |failure| {
            News::Setback(Box::new(Setback {
                failure,
                order: None,
                gate: String::new(),
            }))
        };
        let mut reports = Reports::default();
        for news in [
            News::Created,
            News::Created,
            setback(failure::unknown("")),
            setback(failure::unreachable("")),
            News::NotSent,
            ended(State::Completed),
            News::EndedBefore(State::Spared),
            ended(State::GivenUp),
            News::Again(Box::default()),
        ] {
            reports.apply(&response("", Some(to_text(&news))));
        }
        let excluded = [State::Invalid, State::Duplicate].map(|it| Row::failed(None, it));
        reports.apply(&response("", Some(to_text(&excluded))));
        for other in [None, Some("hand over".to_owned())] {
            reports.apply(&response("", other));
        }
        reports.apply(&Response {
            has_failed: true,
            ..response("", None)
        });
        let expected = Tally {
            ended: CampaignSummary {
                completed: 1,
                not_created: 1,
                spared: 1,
                failed: 1,
                duplicate: 1,
                invalid: 1,
                ..CampaignSummary::default()
            },
            open: 1,
            doubts: 1,
        };
        assert_eq!((reports.tally, reports.created.len()), (expected, 2));
    }

    #[test]
    fn the_state_follows_the_end_and_the_last_order() {
        use CampaignState::{Beginning, Ended, Failed, Paused, Running, Stopped, Stopping};
        let begun = &*to_text(&guest::Handover::Rest(1, Box::default()));
        let refused = Ending::Err(json!({ "permanent_invalid_input": {} }));
        for (texts, ending, expected) in [
            (&[][..], Ending::None, Some(Beginning)),
            (&[], Ending::Ok, None),
            (&[], refused, None),
            (&[begun], Ending::None, Some(Running)),
            (&[begun, "pause operator 1"], Ending::None, Some(Paused)),
            (&[begun, "resume operator 1"], Ending::None, Some(Running)),
            (&[begun, "stop operator 1"], Ending::None, Some(Stopping)),
            (&[begun, "stop operator 1"], Ending::Ok, Some(Stopped)),
            (&[begun], Ending::Ok, Some(Ended)),
            (&[begun], Ending::Err(json!("x")), Some(Failed)),
        ] {
            let case = format!("{texts:?} {ending:?}");
            let found = state(&campaign(texts), ending).map(|it| it.0);
            assert_eq!(found, expected, "{case}");
        }
        let paused = campaign(&[begun, "pause no \"token\""]);
        let (_, error) = state(&paused, Ending::None).unwrap();
        assert_eq!(error, Some(json!("no \"token\"")));
    }

    #[test]
    fn the_rest_takes_as_long_as_the_last_minutes_say() {
        let at = |second: i64| Timestamp::from_second(10_000 + second).unwrap();
        let end = |remaining, created: &[i64]| {
            let created: Vec<_> = created.iter().map(|second| at(*second)).collect();
            estimated_end(Some(remaining), &created, at(1_000))
        };
        assert_eq!(end(30, &[980, 990]), Some(at(1_300)));
        assert_eq!(end(0, &[980, 990]), Some(at(1_000)));
        // What is older than ten minutes does not count.
        assert_eq!(end(30, &[399, 980, 990]), Some(at(1_300)));
        for created in [&[][..], &[990], &[398, 399]] {
            assert_eq!(end(30, created), None, "{created:?}");
        }
    }
}

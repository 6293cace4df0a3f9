//! What the stubs of a campaign say of it: the orders, and where its segments are.

use voice_calling_obelisk_guest::campaign::{CAMPAIGN, Handover, Order, Rest, Tally, child};
use voice_calling_obelisk_guest::{Api, Page, Response, RunId};

/// The number of responses that are read at a time. The last handover is among the last few.
const LENGTH: u32 = 20;

/// The state of a campaign at the beginning of its last segment, and what came since.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Campaign {
    /// Whether the execution is a campaign that has begun.
    pub has_begun: bool,
    /// The last order, and its origin or reason.
    pub order: Option<(Order, String)>,
    /// The last segment, and what its predecessor left.
    pub last: Option<(u32, Rest)>,
    /// The counts of a campaign that has ended.
    pub done: Option<Tally>,
    /// The number of contacts, once all have been read.
    pub total: Option<u32>,
}

impl Campaign {
    /// Reads the last responses of an execution, until they say where its segments are.
    pub(crate) fn read(api: &Api, id: &RunId) -> Result<Self, String> {
        let mut campaign = Self::default();
        let mut before = u32::MAX;
        while campaign.last.is_none() {
            let page = api.responses(id.as_str(), Page::Before(before, LENGTH))?;
            let Some(first) = page.first() else { break };
            before = first.cursor;
            page.iter().rev().for_each(|it| campaign.apply(id, it));
        }
        Ok(campaign)
    }

    /// Applies a response, the last one first.
    fn apply(&mut self, id: &RunId, response: &Response) {
        self.has_begun |= response.id == child(id.as_str(), CAMPAIGN, 1);
        let Some(text) = &response.text else { return };
        if let Some((order, by)) = Order::read(text) {
            self.order.get_or_insert((order, by.to_owned()));
            return;
        }
        match serde_json::from_str(text) {
            Ok(Handover::Done(tally)) => self.done = Some(tally),
            Ok(Handover::Page {
                first,
                numbers,
                is_last: true,
            }) if self.last.is_none() => {
                self.total.get_or_insert(first + numbers.len() as u32);
            }
            Ok(Handover::Rest(segment, rest)) if self.last.is_none() => {
                if rest.position.is_none() {
                    self.total.get_or_insert(rest.index);
                }
                self.last = Some((segment, *rest));
                self.has_begun = true;
            }
            _ => {}
        }
    }

    pub(crate) fn last_order(&self) -> Option<Order> {
        self.order.as_ref().map(|(order, _)| *order)
    }

    /// Returns the reason why the campaign paused itself.
    pub(crate) fn reason(&self) -> Option<&str> {
        match self.order.as_ref()? {
            (Order::Pause, by) => Order::reason(by),
            _ => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use voice_calling_obelisk_guest::campaign::to_text;

    pub(crate) const ID: &str = "E_01JA1Z3KQ4T2X8V5R6M7N8P9QA";

    pub(crate) fn response(id: &str, text: Option<String>) -> Response {
        Response {
            cursor: 1,
            created_at: "2026-01-05T00:00:00Z".to_owned(),
            id: id.to_owned(),
            text,
            has_failed: false,
        }
    }

    /// Returns what these texts say, the last of which came last.
    pub(crate) fn campaign(texts: &[&str]) -> Campaign {
        let id = RunId::read(ID).unwrap();
        let mut campaign = Campaign::default();
        for text in texts.iter().rev() {
            campaign.apply(&id, &response("", Some((*text).to_owned())));
        }
        campaign
    }

    fn rest(segment: u32, index: u32, position: Option<u64>) -> String {
        let rest = Rest {
            index,
            position,
            ..Rest::default()
        };
        to_text(&Handover::Rest(segment, Box::new(rest)))
    }

    #[test]
    fn the_last_order_counts_whatever_else_is_written_beside_it() {
        use Order::{Pause, Resume, Stop};
        for (texts, order, reason) in [
            ("pause operator 1|by hand", Some(Pause), None),
            (
                "pause operator 1|pause the answer is 404",
                Some(Pause),
                Some("the answer is 404"),
            ),
            (
                "pause the answer is 404|resume the pause is over",
                Some(Resume),
                None,
            ),
            ("resume operator 1|stop operator 2", Some(Stop), None),
            ("", None, None),
        ] {
            let campaign = campaign(&texts.split('|').collect::<Vec<_>>());
            assert_eq!(campaign.last_order(), order, "{texts:?}");
            assert_eq!(campaign.reason(), reason, "{texts:?}");
        }
    }

    #[test]
    fn the_last_handover_says_which_segment_runs_and_how_many_contacts_there_are() {
        let page = |is_last| {
            to_text(&Handover::Page {
                first: 500,
                numbers: vec![None; 20],
                is_last,
            })
        };
        let (begun, more) = (rest(1, 0, Some(0)), rest(2, 500, Some(9)));
        let last = |texts: &[&str]| {
            let campaign = campaign(texts);
            (campaign.last.map(|it| it.0), campaign.total)
        };
        assert_eq!(last(&[]), (None, None));
        assert_eq!(last(&[&rest(1, 7, None)]), (Some(1), Some(7)));
        assert_eq!(last(&[&begun, &page(false), &more]), (Some(2), None));
        assert_eq!(last(&[&begun, &more, &page(true)]), (Some(2), Some(520)));
        let end = to_text(&Handover::Done(Tally::default()));
        let ended = campaign(&[&begun, &more, &page(true), &end]);
        assert_eq!(
            (ended.done, ended.total),
            (Some(Tally::default()), Some(520))
        );
    }
}

//! Many dockets: runs the segments of a campaign one after another and applies orders to them.

use std::collections::VecDeque;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use voice_calling_obelisk_guest::campaign::{
    CAMPAIGN, CampaignState, Handover, NUMBERS, OPEN, ORDER, Order, Rest, SEGMENTS, Tally, child,
    to_text,
};
use voice_calling_obelisk_guest::{CampaignSummary, OVER};

use crate::bindings::exports::voice_calling::workflows::campaign::CampaignError;
use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::execution::{DelayId, ExecutionId, ResponseId, StubError};
use crate::bindings::obelisk::workflow::workflow_support as engine;
use crate::bindings::voice_calling::waits_obelisk_ext::campaign as waits;
use crate::bindings::voice_calling::waits_obelisk_stub::campaign as stubs;
use crate::bindings::voice_calling::workflows::campaign_types::{CampaignOptions, Contacts};
use crate::bindings::voice_calling::workflows_obelisk_ext::parts;
use crate::dispatch::Mode;
use crate::entry::{self, Duplicate, Numbers};
use crate::notifier::Notifier;
use crate::plan;
use crate::segment::Plan;
use crate::sleep::{after, sleep};
use crate::waiting::Inbox;

/// `campaign.run-campaign`
pub(crate) fn run(
    contacts: Contacts,
    options: CampaignOptions,
) -> Result<CampaignSummary, CampaignError> {
    let checked = plan::check(&contacts, &options);
    // Begun even if the options are refused: a campaign is recognized by its first stub.
    let (mut campaign, mut rest) = Campaign::begin(contacts, options);
    if let Err(problem) = checked {
        campaign.take_no_orders();
        campaign.changed(CampaignState::Failed, Some(&problem.to_string()));
        return Err(CampaignError::PermanentInvalidInput(problem));
    }
    campaign.show(&rest);
    let tally = loop {
        match campaign.run_segment(rest) {
            Ok(it) => rest = it,
            Err(tally) => break tally,
        }
    };
    campaign.take_no_orders();
    campaign.await_segments();
    let state = match (&campaign.lost, campaign.mode) {
        (Some(_), _) => CampaignState::Failed,
        (None, Mode::Stopped) => CampaignState::Stopped,
        (None, Mode::Running | Mode::Paused) => CampaignState::Ended,
    };
    campaign.changed(state, campaign.lost.as_deref());
    Ok(tally.ended)
}

/// The campaign's answer to the numbers of a page.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub duplicates: Vec<Duplicate>,
    /// The stub that receives what the segment leaves.
    pub handover: String,
}

/// Reads the answer to a stub. Returns `None` if the stub was cancelled, or answered, by hand.
pub(crate) fn read<T: DeserializeOwned, E>(answer: Result<Result<String, String>, E>) -> Option<T> {
    serde_json::from_str(&answer.ok()?.ok()?).ok()
}

struct Campaign {
    id: String,
    options: CampaignOptions,
    source: Option<String>,
    numbers: Numbers,
    mode: Mode,
    /// Whether an operator has resumed the campaign since the last segment began.
    is_resumed: bool,
    /// Collects orders and the handovers of segments.
    inbox: Inbox,
    order: ExecutionId,
    segments: Inbox,
    segment: u32,
    /// The timer that ends a pause of limited length.
    end_of_pause: Option<DelayId>,
    /// Why contacts are in no result.
    lost: Option<String>,
}

impl Campaign {
    /// Begins a campaign, and returns the input of its first segment.
    fn begin(contacts: Contacts, mut options: CampaignOptions) -> (Self, Rest) {
        if plan::only_checks(&options) {
            options.run.hand_off = None;
        }
        let id = engine::execution_id_current().id;
        let inbox = Inbox::named(CAMPAIGN);
        let order = waits::order_submit(&inbox.set, &id);
        let (entries, source) = match contacts {
            Contacts::Listed(entries) => (entries, None),
            Contacts::Source(source) => (Vec::new(), Some(source)),
        };
        let country_code = options.country_code.as_deref();
        let contact = |(index, entry)| entry::contact(index, entry, country_code);
        let mut listed: Vec<_> = (0..).zip(entries).map(contact).collect();
        let mut numbers = Numbers::default();
        if !plan::allows_duplicates(&options) {
            let known: Vec<_> = listed.iter().map(entry::number).collect();
            entry::exclude(&mut listed, &numbers.add(0, &known));
        }
        let rest = Rest {
            index: listed.len() as u32,
            queue: listed.into(),
            position: source.as_ref().map(|_| 0),
            ..Rest::default()
        };
        let campaign = Self {
            id,
            options,
            source,
            numbers,
            mode: Mode::Running,
            is_resumed: false,
            inbox,
            order,
            segments: Inbox::named(SEGMENTS),
            segment: 0,
            end_of_pause: None,
            lost: None,
        };
        (campaign, rest)
    }

    /// Shows how the campaign begins, as if a segment had left it, to those who read its stubs.
    fn show(&mut self, rest: &Rest) {
        let shown = Rest {
            queue: VecDeque::new(),
            ..rest.clone()
        };
        let stub = waits::note_submit(&self.inbox.set, &self.id);
        let _ = stubs::note_stub(&stub, Ok(&to_text(&Handover::Rest(1, Box::new(shown)))));
    }

    /// Runs the next segment until it hands over. The error is the count of all contacts: nothing is
    /// left.
    fn run_segment(&mut self, mut rest: Rest) -> Result<Rest, Tally> {
        self.segment += 1;
        if std::mem::take(&mut self.is_resumed) {
            rest.breaker.forgive();
            rest.creations = 0;
        }
        let known = rest.tally;
        let mut handover = waits::note_submit(&self.inbox.set, &self.id_of(self.segment));
        let plan = Plan {
            source: self.source.clone(),
            options: self.options.clone(),
            rest,
            mode: self.mode,
            gate: self.order.id.clone(),
            handover: handover.id.clone(),
            segment: self.segment,
        };
        parts::run_segment_submit(&self.segments.set, &to_text(&plan));
        loop {
            match self.inbox.next() {
                ResponseId::DelayId(delay) if self.end_of_pause.as_ref() == Some(&delay) => {
                    // Resumes as if an operator had ordered it.
                    let resume = Order::Resume.to_text("the pause is over");
                    let _ = stubs::order_stub(&self.order, Ok(&resume));
                }
                // The end of a pause that an order has ended before.
                ResponseId::DelayId(_) => {}
                ResponseId::ExecutionId(id) if id == handover => {
                    match read(waits::note_get(&id)) {
                        Some(Handover::Page { first, numbers, .. }) => {
                            match self.answer(first, &numbers) {
                                Some(next) => handover = next,
                                None => return Err(known),
                            }
                        }
                        Some(Handover::Rest(_, rest)) => return Ok(*rest),
                        Some(Handover::Done(tally)) => return Err(tally),
                        // The stub was cancelled by hand: open dockets continue, and nothing more is
                        // begun.
                        None => {
                            self.report_lost(
                                "the rest of a segment is lost: the campaign begins nothing more"
                                    .to_owned(),
                            );
                            return Err(known);
                        }
                    }
                }
                ResponseId::ExecutionId(id) if id == self.order => {
                    self.take(waits::order_get(&id).ok());
                }
                // What the campaign has shown itself.
                ResponseId::ExecutionId(_) => {}
            }
        }
    }

    /// Answers a segment that has read a page. Returns the stub of its handover, or `None` if the
    /// answer cannot be delivered.
    fn answer(&mut self, first: u32, numbers: &[Option<u64>]) -> Option<ExecutionId> {
        let duplicates = match plan::allows_duplicates(&self.options) {
            true => Vec::new(),
            false => self.numbers.add(first, numbers),
        };
        let segment = self.id_of(self.segment);
        let handover = waits::note_submit(&self.inbox.set, &segment);
        let text = to_text(&Answer {
            duplicates,
            handover: handover.id.clone(),
        });
        let stub = ExecutionId {
            id: child(&segment, NUMBERS, 1),
        };
        // The segment has submitted it before it sent the page.
        let answered = stubs::note_stub(&stub, Ok(&text));
        if let Err(error) = &answered {
            log::error(&format!("cannot deliver to {}: {error:?}", stub.id));
        }
        answered.ok().map(|()| handover)
    }

    /// Reports that contacts are in no result.
    fn report_lost(&mut self, reason: String) {
        log::error(&reason);
        self.lost = Some(reason);
    }

    /// Reports that the campaign has paused itself or has ended.
    fn changed(&self, state: CampaignState, reason: Option<&str>) {
        Notifier::of(&self.id, &self.options.run).changed(state, reason, &self.order.id);
    }

    /// Applies an order. The current segment hands over to one that begins under it.
    fn take(&mut self, answer: Option<Result<String, String>>) {
        let text = answer.and_then(Result::ok).unwrap_or_default();
        let order = Order::read(&text);
        if order.is_some() {
            self.end_of_pause = None;
        }
        match order {
            Some((Order::Pause, by)) => {
                self.mode = Mode::Paused;
                if let Some(reason) = Order::reason(by) {
                    self.changed(CampaignState::Paused, Some(reason));
                }
                let end = Order::pause_ms(by);
                let end = end.map(|ms| engine::submit_delay(&self.inbox.set, after(ms)));
                self.end_of_pause = end;
            }
            Some((Order::Resume, by)) => {
                self.mode = Mode::Running;
                self.is_resumed |= Order::reason(by).is_none();
            }
            Some((Order::Stop, _)) => self.mode = Mode::Stopped,
            // The stub was cancelled, or answered by hand.
            None => log::warn("an order cannot be read and is ignored"),
        }
        // The new stub is the gate of all further grants; after a stop nothing is granted.
        if self.mode != Mode::Stopped {
            self.order = waits::order_submit(&self.inbox.set, &self.id);
        }
        self.notify_segment();
    }

    fn notify_segment(&self) {
        let order = ExecutionId {
            id: child(&self.id_of(self.segment), OPEN, ORDER),
        };
        // The segment may have handed over already, or may have the order already: its successor
        // receives it at its start.
        while let Err(StubError::ExecutionNotFound) = stubs::note_stub(&order, Ok("hand over")) {
            // The segment has not begun yet.
            sleep(200);
        }
    }

    /// Answers its own stub; see [`crate::waiting::Waiting`].
    fn take_no_orders(&self) {
        // A conflict means that the stub has an answer already.
        let _ = stubs::order_stub(&self.order, Err(OVER));
    }

    fn id_of(&self, segment: u32) -> String {
        child(&self.id, SEGMENTS, segment)
    }

    fn await_segments(&mut self) {
        for _ in 0..self.segment {
            let id = self.segments.next_execution();
            if !matches!(parts::run_segment_get(&id), Ok(Ok(()))) {
                self.report_lost(format!("{} has failed: dockets may exist", id.id));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::tests::untried;
    use voice_calling_obelisk_guest::campaign::News;

    #[test]
    fn news_are_read_as_they_were_written_and_what_is_written_by_hand_is_nothing() {
        let news = News::Again(Box::new(untried(7)));
        assert_eq!(read::<News, ()>(Ok(Ok(to_text(&news)))), Some(news));
        for other in [Ok("by hand".to_owned()), Err("execution_failed".to_owned())] {
            assert_eq!(read::<News, ()>(Ok(other)), None);
        }
    }
}

//! Many dockets: runs the segments of a campaign one after another and applies orders to them.

use voice_calling_obelisk_guest::campaign::{
    CAMPAIGN, NUMBERS, OPEN, Order, SEGMENTS, TOTAL, child,
};
use voice_calling_obelisk_guest::{CampaignSummary, OVER};

use crate::bindings::exports::voice_calling::workflows::campaign::CampaignError;
use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::execution::{DelayId, ExecutionId, ResponseId, StubError};
use crate::bindings::obelisk::types::join_set::JoinSet;
use crate::bindings::obelisk::workflow::workflow_support as engine;
use crate::bindings::voice_calling::operator::hand_off::CampaignState;
use crate::bindings::voice_calling::waits_obelisk_ext::campaign as waits;
use crate::bindings::voice_calling::waits_obelisk_stub::campaign as stubs;
use crate::bindings::voice_calling::workflows::campaign_types::{
    CampaignOptions, Contacts, Mode, Rest, SegmentPlan,
};
use crate::bindings::voice_calling::workflows_obelisk_ext::parts;
use crate::entry::{self, Duplicate, Numbers};
use crate::grants::NOTHING;
use crate::handover::{Answer, Handover, read, to_text};
use crate::notifier::Notifier;
use crate::plan;
use crate::sleep::{after, sleep};
use crate::waiting::{Inbox, join_set};

/// `campaign.run-campaign`
pub fn run(contacts: Contacts, options: CampaignOptions) -> Result<CampaignSummary, CampaignError> {
    let checked = plan::check(&contacts, &options);
    // Begun even if the options are refused: a campaign is recognized by its first stub.
    let (mut campaign, mut rest) = Campaign::begin(contacts, options);
    if let Err(problem) = checked {
        campaign.take_no_orders();
        campaign.changed(CampaignState::Failed, Some(problem.to_string()));
        return Err(CampaignError::PermanentInvalidInput(problem));
    }
    while let Handover::Rest(it) = campaign.run_segment(rest) {
        rest = it;
    }
    campaign.take_no_orders();
    let summary = campaign.sum();
    let state = match (&campaign.lost, campaign.mode) {
        (Some(_), _) => CampaignState::Failed,
        (None, Mode::Stopped) => CampaignState::Stopped,
        (None, Mode::Running | Mode::Paused) => CampaignState::Ended,
    };
    campaign.changed(state, campaign.lost.clone());
    Ok(summary)
}

struct Campaign {
    id: String,
    options: CampaignOptions,
    source: Option<String>,
    numbers: Numbers,
    mode: Mode,
    /// Collects orders and the handovers of segments.
    inbox: Inbox,
    order: ExecutionId,
    /// The stub that receives the number of contacts, and its join set.
    total: ExecutionId,
    _totals: JoinSet,
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
        let totals = join_set(TOTAL);
        let total = waits::total_submit(&totals, &id);
        let (entries, source) = match contacts {
            Contacts::Listed(entries) => (entries, None),
            Contacts::Source(source) => (Vec::new(), Some(source)),
        };
        if source.is_none() {
            let _ = stubs::total_stub(&total, Ok(&entries.len().to_string()));
        }
        let country_code = options.country_code.as_deref();
        let contact = |(index, entry)| entry::contact(index, entry, country_code);
        let mut listed: Vec<_> = (0..).zip(entries).map(contact).collect();
        let mut numbers = Numbers::default();
        if !plan::allows_duplicates(&options) {
            let known: Vec<_> = listed.iter().map(entry::number).collect();
            entry::exclude(&mut listed, &numbers.add(0, &known));
        }
        let rest = Rest {
            queue: listed,
            position: source.as_ref().map(|_| 0),
            index: 0,
            held: 0,
            given: NOTHING,
        };
        let campaign = Self {
            id,
            options,
            source,
            numbers,
            mode: Mode::Running,
            inbox,
            order,
            total,
            _totals: totals,
            segments: Inbox::named(SEGMENTS),
            segment: 0,
            end_of_pause: None,
            lost: None,
        };
        (campaign, rest)
    }

    /// Runs the next segment until it hands over.
    fn run_segment(&mut self, rest: Rest) -> Handover {
        self.segment += 1;
        let mut handover = waits::handover_submit(&self.inbox.set, &self.id_of(self.segment));
        let plan = SegmentPlan {
            rest,
            mode: self.mode,
            gate: self.order.id.clone(),
            handover: handover.id.clone(),
            successor: self.id_of(self.segment + 1),
        };
        let source = self.source.as_deref();
        parts::run_segment_submit(&self.segments.set, source, &self.options, &plan);
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
                    handover = match self.left(read(waits::handover_get(&id))) {
                        Handover::Page { first, numbers } => {
                            let duplicates = self.numbers.add(first, &numbers);
                            match self.answer(duplicates) {
                                Some(next) => next,
                                None => return Handover::Done,
                            }
                        }
                        left => return left,
                    };
                }
                ResponseId::ExecutionId(id) if id == self.order => {
                    self.take(waits::order_get(&id).ok());
                }
                // Nothing else is ever submitted to the set.
                ResponseId::ExecutionId(_) => {}
            }
        }
    }

    /// Returns the handover of a segment, unless its stub was cancelled by hand: then open dockets
    /// continue, and nothing more is begun.
    fn left(&mut self, handover: Option<Handover>) -> Handover {
        handover.unwrap_or_else(|| {
            self.report_lost(
                "the rest of a segment is lost: the campaign begins nothing more".to_owned(),
            );
            Handover::Done
        })
    }

    /// Answers a segment that has read a page. Returns the stub of its handover, or `None` if the
    /// answer cannot be delivered.
    fn answer(&self, duplicates: Vec<Duplicate>) -> Option<ExecutionId> {
        let segment = self.id_of(self.segment);
        let handover = waits::handover_submit(&self.inbox.set, &segment);
        let text = to_text(&Answer {
            duplicates,
            handover: handover.id.clone(),
        });
        let stub = ExecutionId {
            id: child(&segment, NUMBERS, 1),
        };
        // The segment has submitted it before it sent the page.
        let answered = stubs::handover_stub(&stub, Ok(&text));
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
    fn changed(&self, state: CampaignState, reason: Option<String>) {
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
                    self.changed(CampaignState::Paused, Some(reason.to_owned()));
                }
                let end = Order::pause_ms(by);
                let end = end.map(|ms| engine::submit_delay(&self.inbox.set, after(ms)));
                self.end_of_pause = end;
            }
            Some((Order::Resume, _)) => self.mode = Mode::Running,
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
            id: child(&self.id_of(self.segment), OPEN, 1),
        };
        // The segment may have handed over already, or may have the order already: its successor
        // receives it at its start.
        while let Err(StubError::ExecutionNotFound) = stubs::order_stub(&order, Ok("hand over")) {
            // The segment has not begun yet.
            sleep(200);
        }
    }

    /// Answers its own stub; see [`crate::waiting::Waiting`].
    fn take_no_orders(&self) {
        // A conflict means that the stub has an answer already.
        let _ = stubs::order_stub(&self.order, Err(OVER));
        let _ = stubs::total_stub(&self.total, Err(OVER));
    }

    fn id_of(&self, segment: u32) -> String {
        child(&self.id, SEGMENTS, segment)
    }

    /// Returns the sum of all segments' summaries.
    fn sum(&mut self) -> CampaignSummary {
        let mut total = CampaignSummary::default();
        for _ in 0..self.segment {
            let id = self.segments.next_execution();
            match parts::run_segment_get(&id) {
                Ok(Ok(summary)) => total += summary,
                _ => self.report_lost(format!("{} has failed: dockets may exist", id.id)),
            }
        }
        total
    }
}

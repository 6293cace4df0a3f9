//! One segment of a campaign, which dispatches its contacts as slots, hours, pace, failures and
//! orders allow.
//!
//! News are passed on. For each report that a segment still expects when it hands over, its
//! successor submits a stub, which the segment answers when the report comes. So no history is longer
//! than a segment's contacts and its slots, no slot is counted twice, and the last segment knows
//! everything.

use serde::{Deserialize, Serialize};
use voice_calling_core::Decision;
use voice_calling_core::types::NextStep;
use voice_calling_obelisk_guest::campaign::{
    Contact, FIRST_NEWS, Handover, MOST_CONTACTS, NUMBERS, News, OPEN, Order, Rest, Row, Setback,
    State, child, to_text,
};
use voice_calling_obelisk_guest::failure::unreachable;
use voice_calling_obelisk_guest::{OVER, RunId};

use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::execution::{DelayId, ExecutionId, ResponseId, StubError};
use crate::bindings::obelisk::workflow::workflow_support as engine;
use crate::bindings::voice_calling::once::dockets::{Grant, NumberLimits};
use crate::bindings::voice_calling::once::records;
use crate::bindings::voice_calling::operator::{check, contacts};
use crate::bindings::voice_calling::waits_obelisk_ext::campaign as waits;
use crate::bindings::voice_calling::waits_obelisk_stub::campaign as stubs;
use crate::bindings::voice_calling::workflows::campaign_types::CampaignOptions;
use crate::bindings::voice_calling::workflows_obelisk_ext::parts;
use crate::campaign::{Answer, read};
use crate::contact::Work;
use crate::dispatch::{Dispatch, Mode, Step, reads_on};
use crate::entry;
use crate::error::describe;
use crate::grants::{Grants, Turn};
use crate::notifier::Notifier;
use crate::orders;
use crate::pace::{CREATE_WITHIN_MS, LimitedPauses};
use crate::plan;
use crate::sleep::{after, now_ms, retried, sleep};
use crate::waiting::Inbox;

/// The segment itself waits for a grant that begins later than this, so that it can receive orders.
const LONGEST_AHEAD_MS: u64 = 60_000;

/// The longest time until the turns are looked at again.
const LONGEST_WAIT_MS: u64 = 24 * 3_600_000;

/// The work of one segment.
#[derive(Serialize, Deserialize)]
pub(crate) struct Plan {
    pub source: Option<String>,
    pub options: CampaignOptions,
    pub rest: Rest,
    pub mode: Mode,
    /// The stub into which the next order goes: the gate of all grants.
    pub gate: String,
    /// The stub that receives what is left.
    pub handover: String,
    /// The index of this segment.
    pub segment: u32,
}

/// `parts.run-segment`
pub(crate) fn run(plan: Plan) {
    let mut segment = Segment::begin(plan);
    segment.read();
    if plan::only_checks(&segment.options) {
        segment.check();
    }
    segment.settle_excluded();
    loop {
        match segment.dispatch.next(&segment.rest) {
            Step::Begin => {
                if !segment.begin_first() {
                    return segment.hand_over();
                }
            }
            Step::Wait => segment.wait(),
            Step::HandOver => return segment.hand_over(),
            Step::End => return segment.end(),
        }
    }
}

struct Segment {
    dispatch: Dispatch,
    options: CampaignOptions,
    source: Option<String>,
    grants: Grants,
    rest: Rest,
    /// The index in [`OPEN`] of the first stub and run of the segment's own.
    first_own: u32,
    /// The current time; `None` if it is out of date.
    now_ms: Option<u64>,
    id: String,
    index: u32,
    /// The join set of everything the segment waits for.
    inbox: Inbox,
    order: ExecutionId,
    excluded: ExecutionId,
    /// The timer of the next grant, or of the next attempt to read the source.
    opening: Option<DelayId>,
    gate: String,
    handover: ExecutionId,
}

impl Segment {
    /// The stubs are submitted in the order in which others count on them.
    fn begin(plan: Plan) -> Self {
        let inbox = Inbox::named(OPEN);
        let id = engine::execution_id_current().id;
        let order = waits::note_submit(&inbox.set, &id);
        let excluded = waits::note_submit(&inbox.set, &id);
        let rest = plan.rest;
        for _ in 0..rest.due {
            waits::note_submit(&inbox.set, &id);
        }
        let options = plan.options;
        let grants = Grants::read(options.hours.as_ref(), options.per_minute, rest.given);
        Self {
            dispatch: Dispatch {
                mode: plan.mode,
                max_open: options.max_open,
                begun: 0,
                is_ordered: false,
                is_halted: false,
            },
            grants: grants.expect("options that were checked"),
            options,
            source: plan.source,
            first_own: FIRST_NEWS + rest.due,
            rest,
            now_ms: None,
            id,
            index: plan.segment,
            inbox,
            order,
            excluded,
            opening: None,
            gate: plan.gate,
            handover: ExecutionId { id: plan.handover },
        }
    }

    /// Reads a page if the segment has no contacts that can be called, and there are more. Retries
    /// for as long as a creation is retried, unless an order comes meanwhile.
    fn read(&mut self) {
        let (Some(source), Some(position)) = (self.source.clone(), self.rest.position) else {
            return;
        };
        let mut pauses = LimitedPauses::new(1_000, 60_000, self.create_within_ms());
        while self.dispatch.mode == Mode::Running
            && reads_on(&self.rest)
            && !self.dispatch.is_ordered
        {
            let reason = match page(&source, position) {
                Ok(page) => return self.take(page),
                Err(reason) => reason,
            };
            let Some(pause_ms) = pauses.next_ms() else {
                return self.pause(&describe(&unreachable(reason)));
            };
            log::warn(&format!("the source cannot be read: {reason}"));
            self.open_after(pause_ms);
            while self.opening.is_some() && !self.dispatch.is_ordered {
                self.wait();
            }
        }
    }

    fn create_within_ms(&self) -> u64 {
        let within_ms = self.options.run.create_within_ms;
        within_ms.unwrap_or(CREATE_WITHIN_MS)
    }

    /// Pauses the campaign until an operator resumes it. The order comes back as any other.
    fn pause(&mut self, reason: &str) {
        self.order(&Order::Pause.to_text(reason));
    }

    fn order(&mut self, order: &str) {
        if !self.dispatch.is_halted && !self.dispatch.is_ordered {
            self.dispatch.is_halted = true;
            orders::give(&self.gate, order);
        }
    }

    /// Counts the contacts that would be called, and leaves those that would not: they have results.
    fn check(&mut self) {
        let it = self.dispatch;
        if it.mode != Mode::Running || it.is_ordered || it.is_halted {
            return;
        }
        let queue = self.rest.queue.iter();
        let allowed = queue.filter(|it| it.excluded.is_none());
        let numbers: Vec<_> = allowed
            .map(|it| it.request.to_phone_number.clone())
            .collect();
        if !numbers.is_empty() {
            let preview = || match check::preview(&numbers)? {
                verdicts if verdicts.len() == numbers.len() => Ok(verdicts),
                verdicts => Err(format!(
                    "`check.preview` returned {} verdicts for {} numbers",
                    verdicts.len(),
                    numbers.len()
                )),
            };
            match retried(preview, |_| true) {
                Ok(verdicts) => entry::spare(&mut self.rest.queue, verdicts),
                Err(reason) => return self.pause(&describe(&unreachable(reason))),
            }
        }
        let queue = &mut self.rest.queue;
        let before = queue.len();
        queue.retain(|it| it.excluded.is_some());
        self.rest.tally.ended.callable += (before - queue.len()) as u32;
    }

    /// Reports the contacts that are never called.
    fn settle_excluded(&mut self) {
        let rows = entry::take_excluded(&mut self.rest.queue);
        for row in &rows {
            self.rest.tally.count(row.state);
            let contact = format!("{}:{}", self.id, row.index.unwrap_or_default());
            Notifier::of(&contact, &self.options.run).excluded(row.state);
        }
        let _ = stubs::note_stub(&self.excluded, Ok(&to_text(&rows)));
    }

    fn take(&mut self, page: contacts::ContactsPage) {
        self.rest.position = page.next;
        let country_code = self.options.country_code.as_deref();
        let contact = |(index, entry)| entry::contact(index, entry, country_code);
        let first = self.rest.index;
        let mut contacts: Vec<_> = (first..).zip(page.entries).map(contact).collect();
        self.rest.index += contacts.len() as u32;
        if !self.exclude_duplicates(first, &mut contacts) {
            log::error("it is not known which contacts are duplicates: nothing more is begun");
            self.dispatch.mode = Mode::Stopped;
        }
        self.rest.queue.extend(contacts);
    }

    /// Excludes the contacts of a page whose numbers the campaign knows. Returns `false` if the
    /// campaign cannot be asked, because a stub was cancelled by hand.
    fn exclude_duplicates(&mut self, first: u32, contacts: &mut [Contact]) -> bool {
        // A segment reads one page.
        let mut inbox = Inbox::named(NUMBERS);
        let answer = waits::note_submit(&inbox.set, &self.id);
        let page = Handover::Page {
            first,
            numbers: contacts.iter().map(entry::number).collect(),
            is_last: self.rest.position.is_none(),
        };
        if !self.leave(&page) {
            return false;
        }
        inbox.next_execution();
        let Some(answer) = read::<Answer, _>(waits::note_get(&answer)) else {
            return false;
        };
        entry::exclude(contacts, &answer.duplicates);
        self.handover = ExecutionId {
            id: answer.handover,
        };
        true
    }

    /// Begins the contact in the queue that may be called first, or waits for its time. Returns
    /// `false` if more contacts are to be read meanwhile.
    fn begin_first(&mut self) -> bool {
        let now_ms = match self.now_ms {
            Some(now_ms) => now_ms,
            // Each question for the time makes the history longer.
            None if self.grants.are_for_any_time(&self.rest.queue) => 0,
            None => *self.now_ms.insert(now_ms()),
        };
        let Some((position, turn)) = self.grants.first(&self.rest.queue, now_ms) else {
            return true;
        };
        let ahead_ms = turn.ms().saturating_sub(now_ms);
        let wait_ms = match turn {
            Turn::NotBefore(_) => ahead_ms,
            Turn::Granted(_) if ahead_ms > LONGEST_AHEAD_MS => ahead_ms - LONGEST_AHEAD_MS / 2,
            Turn::Granted(_) => 0,
        };
        if wait_ms > 0 {
            if reads_on(&self.rest) {
                return false;
            }
            self.wait_for_turn(position, wait_ms.min(LONGEST_WAIT_MS));
        } else if self.may_create() {
            self.submit(position, now_ms);
        }
        true
    }

    /// Returns `true` if the next creation may begin. Otherwise waits for one in flight, or pauses the
    /// campaign.
    fn may_create(&mut self) -> bool {
        let most = self.options.max_creations.unwrap_or(u32::MAX);
        if self.rest.creations >= most {
            // One in flight may create nothing.
            match self.rest.due > self.rest.held {
                true => self.wait(),
                false => self.pause(&format!("max_creations: {most} dockets were created")),
            }
            return false;
        }
        match self.rest.breaker.decide() {
            Decision::Begin => return true,
            Decision::Wait => self.wait(),
            Decision::Stop(reason) => self.pause(&reason),
        }
        false
    }

    /// Submits the run of a contact, after the stub of its news.
    fn submit(&mut self, position: usize, now_ms: u64) {
        let Some(contact) = self.rest.queue.remove(position) else {
            return;
        };
        let granted = self.grants.next(contact.time_zone.as_deref(), now_ms);
        let not_before_ms = match granted.opens_ms {
            // The child sleeps until then.
            opens_ms if opens_ms > now_ms => opens_ms,
            _ => 0,
        };
        let work = Work {
            contact,
            options: self.options.run.clone(),
            grant: Grant {
                not_before_ms,
                not_after_ms: granted.closes_ms,
                gate: self.gate.clone(),
                per_number: self.options.per_number.map(|it| NumberLimits {
                    max_calls: it.max_calls,
                    gap_ms: it.gap_ms,
                }),
            },
            news: waits::note_submit(&self.inbox.set, &self.id).id,
        };
        parts::run_contact_submit(&self.inbox.set, &to_text(&work));
        self.rest.creations += 1;
        self.rest.held += 1;
        self.rest.due += 2;
        self.dispatch.begun += 1;
    }

    /// Waits for the turn of the contact at `position`, or until a contact comes back that may have
    /// an earlier one.
    fn wait_for_turn(&mut self, position: usize, ms: u64) {
        self.open_after(ms);
        let of = |it: &Contact| (it.time_zone.clone(), it.not_before_ms);
        let awaited = of(&self.rest.queue[position]);
        let mut length = self.rest.queue.len();
        while self.opening.is_some() && !self.dispatch.is_ordered {
            self.wait();
            let mut back = self.rest.queue.iter().skip(length);
            if back.any(|it| of(it) != awaited) {
                self.opening = None;
            }
            length = self.rest.queue.len();
        }
    }

    fn open_after(&mut self, ms: u64) {
        self.opening = Some(engine::submit_delay(&self.inbox.set, after(ms)));
    }

    /// Waits until something happens.
    fn wait(&mut self) {
        self.now_ms = None;
        if let Some(news) = self.next() {
            self.apply(news);
        }
    }

    /// Returns the news of the next event, if it has some.
    fn next(&mut self) -> Option<News> {
        match self.inbox.next() {
            ResponseId::DelayId(delay) => {
                if self.opening.as_ref() == Some(&delay) {
                    self.opening = None;
                }
                None
            }
            ResponseId::ExecutionId(id) if id == self.order => {
                self.dispatch.is_ordered = true;
                None
            }
            ResponseId::ExecutionId(id) if id == self.excluded => None,
            ResponseId::ExecutionId(id) => Some(self.news(&id)),
        }
    }

    /// Returns the news in a stub, or of a run that has ended.
    fn news(&self, id: &ExecutionId) -> News {
        let first_own = self.first_own;
        let index = id.id.rsplit_once('_').and_then(|it| it.1.parse().ok());
        let index: u32 = index.unwrap_or_default();
        // Stubs can be cancelled by hand.
        if index < first_own {
            let news = read(waits::note_get(id));
            return news.unwrap_or(News::EndedBefore(State::Failed));
        }
        // Each run follows its stub.
        if (index - first_own).is_multiple_of(2) {
            return read(waits::note_get(id)).unwrap_or(News::NotSent);
        }
        if let Ok(Ok(text)) = parts::run_contact_get(id)
            && let Ok(news) = serde_json::from_str(&text)
        {
            return news;
        }
        log::error(&format!("{} has failed: a docket may exist", id.id));
        let stub = ExecutionId {
            id: child(&self.id, OPEN, index - 1),
        };
        // A conflict means that it was reported before.
        let _ = stubs::note_stub(&stub, Ok(&to_text(&News::NotSent)));
        News::Ended(Box::new(Row::failed(Some(id.id.clone()), State::Failed)))
    }

    fn apply(&mut self, news: News) {
        self.rest.tally.apply(&news);
        self.rest.due -= 1;
        let breaker = &mut self.rest.breaker;
        match news {
            News::Created => breaker.on_success(),
            News::NotSent => {
                breaker.on_nothing_sent();
                self.rest.creations = self.rest.creations.saturating_sub(1);
            }
            News::Setback(setback) => self.set_back(&setback),
            News::Ended(_) | News::EndedBefore(_) => self.free_slot(),
            News::Again(contact) => {
                self.free_slot();
                self.rest.queue.push_back(*contact);
            }
        }
    }

    fn free_slot(&mut self) {
        self.rest.held = self.rest.held.saturating_sub(1);
    }

    fn set_back(&mut self, setback: &Setback) {
        let breaker = &mut self.rest.breaker;
        // An order came after the creation was granted: the setting may have been right since.
        let is_late = setback.gate != self.gate;
        match setback.failure.next_step {
            // The contact is tried again, at growing pauses.
            NextStep::RetryLater => breaker.on_nothing_sent(),
            NextStep::FixSetting if is_late => breaker.on_nothing_sent(),
            _ => breaker.on_failure(&setback.failure),
        }
        if setback.failure.next_step != NextStep::Unknown {
            self.rest.creations = self.rest.creations.saturating_sub(1);
        }
        if let Some(order) = &setback.order
            && !is_late
        {
            self.order(order);
        }
    }

    /// Leaves the rest to the successor, then passes on all news.
    fn hand_over(mut self) {
        let rest = Rest {
            given: self.grants.given(),
            ..self.rest.clone()
        };
        if !self.leave(&Handover::Rest(self.index + 1, Box::new(rest))) {
            return self.stop();
        }
        // Further orders go to the successor.
        self.take_no_orders();
        for nth in 0..self.rest.due {
            let news = loop {
                if let Some(news) = self.next() {
                    break news;
                }
            };
            self.pass_on(nth, news);
        }
    }

    /// Answers a stub of the successor.
    fn pass_on(&self, nth: u32, news: News) {
        let news = match news {
            // The row is in the results of this segment.
            News::Ended(row) => News::EndedBefore(row.state),
            news => news,
        };
        let successor = self.id.rsplit_once('_').map_or("", |it| it.0);
        let successor = format!("{successor}_{}", self.index + 1);
        let stub = ExecutionId {
            id: child(&successor, OPEN, FIRST_NEWS + nth),
        };
        loop {
            match stubs::note_stub(&stub, Ok(&to_text(&news))) {
                Ok(()) => return,
                // The successor has not begun yet.
                Err(StubError::ExecutionNotFound) => sleep(500),
                // The stub was cancelled by hand.
                Err(error) => {
                    log::error(&format!("cannot deliver to {}: {error:?}", stub.id));
                    return;
                }
            }
        }
    }

    /// Ends the campaign: all of its contacts have ended.
    fn end(mut self) {
        self.rest.tally.ended.not_begun += self.rest.queue.len() as u32;
        self.leave(&Handover::Done(self.rest.tally));
        self.take_no_orders();
    }

    /// Answers its own stub; see [`crate::waiting::Waiting`].
    fn take_no_orders(&self) {
        // A conflict means that the stub has an answer already.
        let _ = stubs::note_stub(&self.order, Err(OVER));
    }

    /// Begins nothing more: the handover stub was cancelled by hand.
    fn stop(mut self) {
        self.dispatch.mode = Mode::Stopped;
        while self.dispatch.next(&self.rest) != Step::End {
            self.wait();
        }
        self.end();
    }

    /// Hands what is left to the campaign. Returns `false` if that fails.
    fn leave(&self, handover: &Handover) -> bool {
        let delivered = stubs::note_stub(&self.handover, Ok(&to_text(handover)));
        if let Err(error) = &delivered {
            let id = &self.handover.id;
            log::error(&format!("cannot deliver to {id} what is left: {error:?}"));
        }
        delivered.is_ok()
    }
}

/// Reads and checks a page of the source.
fn page(source: &str, position: u64) -> Result<contacts::ContactsPage, String> {
    let page = match RunId::read(source) {
        Some(campaign) => records::not_created(campaign.as_str(), position)?,
        None => contacts::page(source, position)?,
    };
    match &page {
        page if page.entries.len() > MOST_CONTACTS => Err(format!(
            "a page has {} contacts; at most {MOST_CONTACTS} are allowed",
            page.entries.len()
        )),
        page if page.next.is_some_and(|next| next <= position) => {
            Err(format!("the next position is not after {position}"))
        }
        _ => Ok(page),
    }
}

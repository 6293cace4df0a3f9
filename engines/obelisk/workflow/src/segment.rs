//! One segment of a campaign, which dispatches its contacts as slots, hours, pace and orders allow.
//!
//! Slots are passed on. For each slot that a segment and its predecessors still hold when it hands
//! over, the successor submits a stub, which the segment answers when the slot becomes free. So no
//! history is longer than a segment's contacts and its slots, and no slot is counted twice.

use std::collections::VecDeque;

use voice_calling_obelisk_guest::campaign::{MOST_CONTACTS, NUMBERS, OPEN, TOTAL, child};
use voice_calling_obelisk_guest::failure::unreachable;
use voice_calling_obelisk_guest::{CampaignSummary, OVER};

use crate::bindings::obelisk::log::log;
use crate::bindings::obelisk::types::execution::{DelayId, ExecutionId, ResponseId, StubError};
use crate::bindings::obelisk::workflow::workflow_support as engine;
use crate::bindings::voice_calling::once::dockets::Grant;
use crate::bindings::voice_calling::operator::{check, contacts};
use crate::bindings::voice_calling::waits_obelisk_ext::campaign as waits;
use crate::bindings::voice_calling::waits_obelisk_stub::campaign as stubs;
use crate::bindings::voice_calling::workflows::campaign_types::{
    CampaignOptions, Contact, Ending, Mode, Rest, SegmentPlan,
};
use crate::bindings::voice_calling::workflows_obelisk_ext::parts;
use crate::dispatch::{Dispatch, Step};
use crate::entry;
use crate::error::describe;
use crate::grants::{Grants, Turn};
use crate::handover::{Answer, Handover, Slot, read, to_text};
use crate::orders;
use crate::pace::{CREATE_WITHIN_MS, LimitedPauses};
use crate::plan;
use crate::sleep::{after, now_ms, retried, sleep};
use crate::waiting::Inbox;

/// The segment itself waits for a grant that begins later than this, so that it can receive orders.
const LONGEST_AHEAD_MS: u64 = 60_000;

/// The longest time until the turns are looked at again.
const LONGEST_WAIT_MS: u64 = 24 * 3_600_000;

/// `parts.run-segment`
pub fn run(source: Option<String>, options: CampaignOptions, plan: SegmentPlan) -> CampaignSummary {
    let mut segment = Segment::begin(options, plan);
    segment.read(source.as_deref());
    if plan::only_checks(&segment.options) {
        segment.check();
    }
    loop {
        match segment.dispatch.next() {
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
    grants: Grants,
    /// The current time; `None` if it is out of date.
    now_ms: Option<u64>,
    /// The join set of everything the segment waits for.
    inbox: Inbox,
    order: ExecutionId,
    slots: Vec<ExecutionId>,
    /// The timer of the next grant, or of the next attempt to read the source.
    opening: Option<DelayId>,
    index: u32,
    gate: String,
    handover: ExecutionId,
    successor: String,
    summary: CampaignSummary,
}

impl Segment {
    /// The order's stub is submitted first; the slots' stubs follow.
    fn begin(options: CampaignOptions, plan: SegmentPlan) -> Self {
        let inbox = Inbox::named(OPEN);
        let id = engine::execution_id_current().id;
        let order = waits::order_submit(&inbox.set, &id);
        let rest = plan.rest;
        let slots = (0..rest.held).map(|_| waits::slot_submit(&inbox.set, &id));
        let slots = slots.collect();
        let grants = Grants::read(options.hours.as_ref(), options.per_minute, rest.given);
        Self {
            dispatch: Dispatch {
                queue: VecDeque::from(rest.queue),
                mode: plan.mode,
                position: rest.position,
                busy: rest.held,
                max_open: options.max_open,
                begun: 0,
                is_ordered: false,
            },
            grants: grants.expect("options that were checked"),
            options,
            now_ms: None,
            inbox,
            order,
            slots,
            opening: None,
            index: rest.index,
            gate: plan.gate,
            handover: ExecutionId { id: plan.handover },
            successor: plan.successor,
            summary: CampaignSummary::default(),
        }
    }

    /// Reads a page if the segment has no contacts that can be called, and there are more. Retries
    /// for as long as a creation is retried, unless an order comes meanwhile.
    fn read(&mut self, source: Option<&str>) {
        let (Some(source), Some(position)) = (source, self.dispatch.position) else {
            return;
        };
        let within_ms = self.options.run.create_within_ms;
        let mut pauses = LimitedPauses::new(1_000, 60_000, within_ms.unwrap_or(CREATE_WITHIN_MS));
        while self.dispatch.mode == Mode::Running
            && self.dispatch.reads_on()
            && !self.dispatch.is_ordered
        {
            let reason = match page(source, position) {
                Ok(page) => return self.take(page),
                Err(reason) => reason,
            };
            let Some(pause_ms) = pauses.next_ms() else {
                return self.pause(reason);
            };
            log::warn(&format!("the source cannot be read: {reason}"));
            self.open_after(pause_ms);
            while self.opening.is_some() && !self.dispatch.is_ordered {
                self.wait();
            }
        }
    }

    /// Pauses the campaign until an operator resumes it.
    fn pause(&mut self, reason: String) {
        orders::pause(&self.gate, &describe(&unreachable(reason)));
        while !self.dispatch.is_ordered {
            self.wait();
        }
    }

    /// Counts the contacts that would be called, and leaves those that would not: they have results.
    fn check(&mut self) {
        if self.dispatch.mode != Mode::Running || self.dispatch.is_ordered {
            return;
        }
        let number = |it: &Contact| it.request.to_phone_number.clone();
        let allowed = self
            .dispatch
            .queue
            .iter()
            .filter(|it| it.excluded.is_none());
        let numbers: Vec<_> = allowed.map(number).collect();
        if numbers.is_empty() {
            return;
        }
        let preview = || match check::preview(&numbers)? {
            verdicts if verdicts.len() == numbers.len() => Ok(verdicts),
            verdicts => Err(format!(
                "`check.preview` returned {} verdicts for {} numbers",
                verdicts.len(),
                numbers.len()
            )),
        };
        let verdicts = match retried(preview, |_| true) {
            Ok(verdicts) => verdicts,
            Err(reason) => return self.pause(reason),
        };
        self.summary.callable += entry::keep_excluded(&mut self.dispatch.queue, verdicts);
    }

    fn take(&mut self, page: contacts::ContactsPage) {
        self.dispatch.position = page.next;
        let country_code = self.options.country_code.as_deref();
        let contact = |(index, entry)| entry::contact(index, entry, country_code);
        let first = self.index;
        let mut contacts: Vec<_> = (first..).zip(page.entries).map(contact).collect();
        self.index += contacts.len() as u32;
        if !plan::allows_duplicates(&self.options) && !self.exclude_duplicates(first, &mut contacts)
        {
            log::error("it is not known which contacts are duplicates: nothing more is begun");
            self.dispatch.mode = Mode::Stopped;
        }
        self.dispatch.queue.extend(contacts);
        if self.dispatch.position.is_none() {
            self.report_total();
        }
    }

    /// Reports the number of contacts, which are known now, to the campaign: the parent of the gate.
    fn report_total(&self) {
        let campaign = self.gate.rsplit_once('.').map_or("", |it| it.0);
        let total = ExecutionId {
            id: child(campaign, TOTAL, 1),
        };
        let _ = stubs::total_stub(&total, Ok(&self.index.to_string()));
    }

    /// Excludes the contacts of a page whose numbers the campaign knows. Returns `false` if the
    /// campaign cannot be asked, because a stub was cancelled by hand.
    fn exclude_duplicates(&mut self, first: u32, contacts: &mut [Contact]) -> bool {
        let numbers: Vec<_> = contacts.iter().map(entry::number).collect();
        if numbers.iter().all(Option::is_none) {
            return true;
        }
        // A segment reads one page.
        let mut inbox = Inbox::named(NUMBERS);
        let id = engine::execution_id_current().id;
        let answer = waits::handover_submit(&inbox.set, &id);
        if !self.leave(&Handover::Page { first, numbers }) {
            return false;
        }
        inbox.next_execution();
        let Some(answer) = read::<Answer, _>(waits::handover_get(&answer)) else {
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
            None if self.grants.are_for_any_time(&self.dispatch.queue) => 0,
            None => *self.now_ms.insert(now_ms()),
        };
        let Some((position, turn)) = self.grants.first(&self.dispatch.queue, now_ms) else {
            return true;
        };
        let ahead_ms = turn.ms().saturating_sub(now_ms);
        let wait_ms = match turn {
            Turn::NotBefore(_) => ahead_ms,
            Turn::Granted(_) if ahead_ms > LONGEST_AHEAD_MS => ahead_ms - LONGEST_AHEAD_MS / 2,
            Turn::Granted(_) => 0,
        };
        if wait_ms > 0 {
            if self.dispatch.reads_on() {
                return false;
            }
            self.wait_for_turn(position, wait_ms.min(LONGEST_WAIT_MS));
            return true;
        }
        let Some(contact) = self.dispatch.queue.remove(position) else {
            return true;
        };
        let mut grant = Grant {
            not_before_ms: 0,
            not_after_ms: 0,
            gate: self.gate.clone(),
        };
        if contact.excluded.is_none() {
            let granted = self.grants.next(contact.time_zone.as_deref(), now_ms);
            grant.not_after_ms = granted.closes_ms;
            if granted.opens_ms > now_ms {
                // The child sleeps until then.
                grant.not_before_ms = granted.opens_ms;
            }
        }
        parts::run_contact_submit(&self.inbox.set, &contact, self.options.run, &grant);
        self.dispatch.busy += 1;
        self.dispatch.begun += 1;
        true
    }

    /// Waits for the turn of the contact at `position`, or until a contact comes back that may have
    /// an earlier one.
    fn wait_for_turn(&mut self, position: usize, ms: u64) {
        self.open_after(ms);
        let of = |it: &Contact| (it.time_zone.clone(), it.not_before_ms);
        let awaited = of(&self.dispatch.queue[position]);
        let mut length = self.dispatch.queue.len();
        while self.opening.is_some() && !self.dispatch.is_ordered {
            self.wait();
            let came_back = self
                .dispatch
                .queue
                .iter()
                .skip(length)
                .any(|it| of(it) != awaited);
            if came_back {
                self.opening = None;
            }
            length = self.dispatch.queue.len();
        }
    }

    fn open_after(&mut self, ms: u64) {
        self.opening = Some(engine::submit_delay(&self.inbox.set, after(ms)));
    }

    /// Waits until something happens.
    fn wait(&mut self) {
        self.now_ms = None;
        if let Some(Some(contact)) = self.next() {
            self.dispatch.queue.push_back(contact);
        }
    }

    /// Processes the next event. Returns the slot that it freed, if any.
    fn next(&mut self) -> Option<Slot> {
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
            ResponseId::ExecutionId(id) => {
                self.dispatch.busy -= 1;
                Some(match self.slots.contains(&id) {
                    true => read::<Slot, _>(waits::slot_get(&id)).flatten(),
                    false => self.ended(&id),
                })
            }
        }
    }

    /// Counts a child that has ended, or returns its contact for another dispatch.
    fn ended(&mut self, id: &ExecutionId) -> Slot {
        match parts::run_contact_get(id) {
            Ok(Ok(Ending::Again(contact))) => return Some(contact),
            Ok(Ok(Ending::Ended(row))) => plan::count(&mut self.summary, row.state),
            // A docket may exist.
            _ => {
                log::error(&format!("{} has failed: a docket may exist", id.id));
                self.summary.failed += 1;
            }
        }
        None
    }

    /// Leaves the rest to the successor, then passes on each slot that becomes free.
    fn hand_over(mut self) -> CampaignSummary {
        let rest = Handover::Rest(Rest {
            queue: self.dispatch.queue.iter().cloned().collect(),
            position: self.dispatch.position,
            index: self.index,
            held: self.dispatch.busy,
            given: self.grants.given(),
        });
        if !self.leave(&rest) {
            return self.stop();
        }
        // Further orders go to the successor.
        self.take_no_orders();
        for slot in 1..=self.dispatch.busy {
            let again = loop {
                if let Some(again) = self.next() {
                    break again;
                }
            };
            if !self.pass_on(slot, &again) {
                // The successor's slot was cancelled by hand and is free because of that.
                self.summary.not_begun += u32::from(again.is_some());
            }
        }
        self.summary
    }

    /// Answers the stub of a slot in the successor, whose first stub is the order's. Returns
    /// `false` if the answer cannot be delivered.
    fn pass_on(&self, slot: u32, again: &Slot) -> bool {
        let text = to_text(again);
        let stub = ExecutionId {
            id: child(&self.successor, OPEN, slot + 1),
        };
        loop {
            match stubs::slot_stub(&stub, Ok(&text)) {
                Ok(()) => return true,
                // The successor has not begun yet.
                Err(StubError::ExecutionNotFound) => sleep(500),
                Err(error) => {
                    log::error(&format!("cannot deliver to {}: {error:?}", stub.id));
                    return false;
                }
            }
        }
    }

    /// Ends the segment once all of its contacts have ended.
    fn end(mut self) -> CampaignSummary {
        self.summary.not_begun += self.dispatch.queue.len() as u32;
        self.leave(&Handover::Done);
        self.take_no_orders();
        self.summary
    }

    /// Answers its own stub; see [`crate::waiting::Waiting`].
    fn take_no_orders(&self) {
        // A conflict means that the stub has an answer already.
        let _ = stubs::order_stub(&self.order, Err(OVER));
    }

    /// Begins nothing more: the handover stub was cancelled by hand.
    fn stop(mut self) -> CampaignSummary {
        self.dispatch.mode = Mode::Stopped;
        while self.dispatch.next() != Step::End {
            self.wait();
        }
        self.end()
    }

    /// Hands what is left to the campaign. Returns `false` if that fails.
    fn leave(&self, handover: &Handover) -> bool {
        let delivered = stubs::handover_stub(&self.handover, Ok(&to_text(handover)));
        if let Err(error) = &delivered {
            let id = &self.handover.id;
            log::error(&format!("cannot deliver to {id} what is left: {error:?}"));
        }
        delivered.is_ok()
    }
}

/// Reads and checks a page of the source.
fn page(source: &str, position: u64) -> Result<contacts::ContactsPage, String> {
    let page = contacts::page(source, position)?;
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

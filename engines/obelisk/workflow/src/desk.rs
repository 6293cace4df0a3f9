//! What a segment of a campaign does next: decided here, over plain data.

use std::collections::VecDeque;

use crate::bindings::voice_calling::workflows::campaign_types::{Contact, Stance};

/// The contacts that a segment has to dispatch, and how many may be open.
pub struct Desk {
    pub queue: VecDeque<Contact>,
    pub stance: Stance,
    /// Whether there are contacts behind this segment.
    pub more: bool,
    /// How many slots are taken, by this segment or one before it.
    pub busy: u32,
    pub max_open: u32,
    /// Whether an order has come.
    pub is_ordered: bool,
}

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Begin the first of the queue.
    Dispatch,
    /// Until a slot is free, or an order comes.
    Wait,
    /// Leave the rest to the next segment.
    HandOver,
    /// All have ended.
    End,
}

impl Desk {
    pub fn next(&self) -> Step {
        let is_running = self.stance == Stance::Running;
        let has_slot = self.busy < self.max_open;
        let has_rest = self.more || !self.queue.is_empty();
        match self.stance {
            Stance::Stopped if self.busy == 0 => Step::End,
            Stance::Stopped => Step::Wait,
            _ if self.is_ordered => Step::HandOver,
            _ if !has_rest && self.busy == 0 => Step::End,
            _ if is_running && self.queue.is_empty() && self.more => Step::HandOver,
            _ if is_running && !self.queue.is_empty() && has_slot => Step::Dispatch,
            _ => Step::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use voice_calling_core::types::DocketRequestV2;

    fn desk(queued: u32, busy: u32) -> Desk {
        let contact = |index| Contact {
            index,
            request: DocketRequestV2 {
                agent_id: 7,
                to_phone_number: "919876543210".to_owned(),
                call_context: "{}".to_owned(),
                external_id: None,
                extra: None,
            },
            waited_ms: 0,
            tries: 0,
        };
        Desk {
            queue: (0..queued).map(contact).collect(),
            stance: Stance::Running,
            more: false,
            busy,
            max_open: 2,
            is_ordered: false,
        }
    }

    #[test]
    fn nobody_is_called_without_a_slot_or_against_an_order() {
        for queued in 0..3 {
            for busy in 0..4 {
                for more in [false, true] {
                    for stance in [Stance::Running, Stance::Paused, Stance::Stopped] {
                        for is_ordered in [false, true] {
                            let desk = Desk {
                                stance,
                                more,
                                is_ordered,
                                ..desk(queued, busy)
                            };
                            let may =
                                queued > 0 && busy < 2 && stance == Stance::Running && !is_ordered;
                            assert_eq!(desk.next() == Step::Dispatch, may);
                            // A campaign ends when all slots are free.
                            assert!(desk.next() != Step::End || busy == 0);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_segment_leaves_what_is_behind_it_and_ends_when_nothing_is() {
        let more = |desk: Desk| Desk { more: true, ..desk };
        assert_eq!(more(desk(0, 2)).next(), Step::HandOver);
        assert_eq!(more(desk(1, 1)).next(), Step::Dispatch);
        assert_eq!(more(desk(1, 2)).next(), Step::Wait);
        assert_eq!(desk(0, 1).next(), Step::Wait);
        assert_eq!(desk(0, 0).next(), Step::End);
        let paused = |desk: Desk| Desk {
            stance: Stance::Paused,
            ..desk
        };
        assert_eq!(paused(more(desk(0, 0))).next(), Step::Wait);
        assert_eq!(paused(desk(1, 0)).next(), Step::Wait);
        assert_eq!(paused(desk(0, 0)).next(), Step::End);
        let stopped = |desk: Desk| Desk {
            stance: Stance::Stopped,
            ..desk
        };
        assert_eq!(stopped(more(desk(5, 1))).next(), Step::Wait);
        assert_eq!(stopped(more(desk(5, 0))).next(), Step::End);
    }
}

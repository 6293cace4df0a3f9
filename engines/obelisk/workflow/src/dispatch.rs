//! Decides over plain data what a segment of a campaign does next.

use std::collections::VecDeque;

use crate::bindings::voice_calling::workflows::campaign_types::{Contact, Mode};

/// The contacts that a segment has to dispatch, and how many dockets may be open.
pub struct Dispatch {
    pub queue: VecDeque<Contact>,
    pub mode: Mode,
    /// Whether there are contacts beyond this segment.
    pub more: bool,
    /// The number of slots held by this segment and its predecessors.
    pub busy: u32,
    pub max_open: u32,
    /// Whether an order has come.
    pub is_ordered: bool,
}

/// The next step of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Begin the first contact in the queue.
    Begin,
    /// Wait until a slot is free or an order comes.
    Wait,
    /// Leave the rest to the next segment.
    HandOver,
    /// End: all contacts have ended.
    End,
}

impl Dispatch {
    pub fn next(&self) -> Step {
        let is_running = self.mode == Mode::Running;
        let has_slot = self.busy < self.max_open;
        let has_rest = self.more || !self.queue.is_empty();
        match self.mode {
            Mode::Stopped if self.busy == 0 => Step::End,
            Mode::Stopped => Step::Wait,
            _ if self.is_ordered => Step::HandOver,
            _ if !has_rest && self.busy == 0 => Step::End,
            _ if is_running && self.queue.is_empty() && self.more => Step::HandOver,
            _ if is_running && !self.queue.is_empty() && has_slot => Step::Begin,
            _ => Step::Wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{self, tests::request};

    fn dispatch(queued: u32, busy: u32) -> Dispatch {
        let contact = |index| plan::contact(index, request());
        Dispatch {
            queue: (0..queued).map(contact).collect(),
            mode: Mode::Running,
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
                    for mode in [Mode::Running, Mode::Paused, Mode::Stopped] {
                        for is_ordered in [false, true] {
                            let dispatch = Dispatch {
                                mode,
                                more,
                                is_ordered,
                                ..dispatch(queued, busy)
                            };
                            let may =
                                queued > 0 && busy < 2 && mode == Mode::Running && !is_ordered;
                            assert_eq!(dispatch.next() == Step::Begin, may);
                            // A campaign ends only when all slots are free.
                            assert!(dispatch.next() != Step::End || busy == 0);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_segment_leaves_what_is_behind_it_and_ends_when_nothing_is() {
        for (queued, busy, more, mode, expected) in [
            (0, 2, true, Mode::Running, Step::HandOver),
            (1, 1, true, Mode::Running, Step::Begin),
            (1, 2, true, Mode::Running, Step::Wait),
            (0, 1, false, Mode::Running, Step::Wait),
            (0, 0, false, Mode::Running, Step::End),
            (0, 0, true, Mode::Paused, Step::Wait),
            (1, 0, false, Mode::Paused, Step::Wait),
            (0, 0, false, Mode::Paused, Step::End),
            (5, 1, true, Mode::Stopped, Step::Wait),
            (5, 0, true, Mode::Stopped, Step::End),
        ] {
            let dispatch = Dispatch {
                mode,
                more,
                ..dispatch(queued, busy)
            };
            assert_eq!(dispatch.next(), expected, "{queued} {busy} {more} {mode:?}");
        }
    }
}

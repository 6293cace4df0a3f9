//! Decides over plain data what a segment of a campaign does next.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use voice_calling_obelisk_guest::campaign::Contact;

use crate::entry;

/// The maximum size of the contacts that wait for a time of their own, which each segment passes on
/// to the next one: as JSON, of some 250 bytes for each contact.
const MOST_SET_ASIDE_BYTES: usize = 262_144;

/// The maximum number of runs that a segment begins, since all are in its history.
const MOST_BEGUN: u32 = 1_000;

/// Whether creations are begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    Running,
    /// Not until the next order.
    Paused,
    /// Not any more.
    Stopped,
}

/// The contacts that a segment has to dispatch, and how many dockets may be open.
pub struct Dispatch {
    pub queue: VecDeque<Contact>,
    pub mode: Mode,
    /// Where the source continues; `None` if it was read to its end, or there is none.
    pub position: Option<u64>,
    /// The number of slots held by this segment and its predecessors.
    pub busy: u32,
    /// The number of news that these have not reported yet.
    pub due: u32,
    pub max_open: u32,
    /// The number of runs that the segment has begun.
    pub begun: u32,
    /// Whether an order has come.
    pub is_ordered: bool,
    /// Whether the segment has paused the campaign, and waits for that order.
    pub is_halted: bool,
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
        let more = self.position.is_some();
        let has_rest = more || !self.queue.is_empty();
        match self.mode {
            Mode::Stopped if self.due == 0 => Step::End,
            Mode::Stopped => Step::Wait,
            _ if self.is_ordered => Step::HandOver,
            _ if !has_rest && self.due == 0 => Step::End,
            _ if self.is_halted => Step::Wait,
            _ if is_running && self.queue.is_empty() && more => Step::HandOver,
            _ if is_running && !self.queue.is_empty() && self.begun >= MOST_BEGUN => Step::HandOver,
            _ if is_running && !self.queue.is_empty() && has_slot => Step::Begin,
            _ => Step::Wait,
        }
    }

    /// Returns `true` if more contacts are to be read while none in the queue can be called: all of
    /// them wait for a time of their own, and they are not too many.
    pub fn reads_on(&self) -> bool {
        let size = |it: &Contact| serde_json::to_string(it).map_or(0, |json| json.len());
        self.position.is_some()
            && self.queue.iter().all(entry::is_set_aside)
            && self.queue.iter().map(size).sum::<usize>() < MOST_SET_ASIDE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::tests::untried;

    fn dispatch(queued: u32, busy: u32) -> Dispatch {
        Dispatch {
            queue: (0..queued).map(untried).collect(),
            mode: Mode::Running,
            position: None,
            busy,
            due: busy,
            max_open: 2,
            begun: 0,
            is_ordered: false,
            is_halted: false,
        }
    }

    #[test]
    fn no_one_is_called_without_a_slot_or_against_an_order() {
        for queued in 0..3 {
            for busy in 0..4 {
                for more in [false, true] {
                    for mode in [Mode::Running, Mode::Paused, Mode::Stopped] {
                        for is_ordered in [false, true] {
                            let dispatch = Dispatch {
                                mode,
                                position: more.then_some(0),
                                is_ordered,
                                ..dispatch(queued, busy)
                            };
                            let may =
                                queued > 0 && busy < 2 && mode == Mode::Running && !is_ordered;
                            assert_eq!(dispatch.next() == Step::Begin, may);
                            // A campaign ends only when all slots are free.
                            assert!(dispatch.next() != Step::End || busy == 0);
                            let halted = Dispatch {
                                is_halted: true,
                                ..dispatch
                            };
                            assert_ne!(halted.next(), Step::Begin);
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
                position: more.then_some(0),
                ..dispatch(queued, busy)
            };
            assert_eq!(dispatch.next(), expected, "{queued} {busy} {more} {mode:?}");
        }
    }

    #[test]
    fn a_segment_that_has_begun_many_leaves_the_others() {
        let begun = |begun, mode| Dispatch {
            begun,
            mode,
            ..dispatch(1, 0)
        };
        assert_eq!(begun(MOST_BEGUN - 1, Mode::Running).next(), Step::Begin);
        assert_eq!(begun(MOST_BEGUN, Mode::Running).next(), Step::HandOver);
        assert_eq!(begun(MOST_BEGUN, Mode::Paused).next(), Step::Wait);
    }

    #[test]
    fn contacts_that_wait_for_their_own_time_do_not_stop_the_others_until_they_are_many() {
        let with = |more: bool, contacts: Vec<Contact>| Dispatch {
            position: more.then_some(0),
            queue: contacts.into(),
            ..dispatch(0, 0)
        };
        let later = || Contact {
            not_before_ms: 1,
            ..untried(0)
        };
        let abroad = || Contact {
            time_zone: Some("America/New_York".to_owned()),
            ..untried(1)
        };
        assert!(with(true, vec![]).reads_on());
        assert!(with(true, vec![later(), abroad()]).reads_on());
        assert!(!with(true, vec![later(), untried(1)]).reads_on());
        assert!(!with(false, vec![later()]).reads_on());
        assert!(with(true, vec![later(); 1_000]).reads_on());
        assert!(!with(true, vec![later(); 2_000]).reads_on());
    }
}

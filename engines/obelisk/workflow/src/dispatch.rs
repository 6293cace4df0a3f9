//! Decides over plain data what a segment of a campaign does next.

use serde::{Deserialize, Serialize};
use voice_calling_obelisk_guest::campaign::{Contact, Rest};

use crate::entry;

/// The maximum size of the contacts that wait for a time of their own, which each segment passes on
/// to the next one: as JSON, of some 250 bytes for each contact.
const MOST_SET_ASIDE_BYTES: usize = 262_144;

/// The maximum number of runs that a segment begins, since all are in its history.
const MOST_BEGUN: u32 = 1_000;

/// Whether creations are begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Mode {
    Running,
    /// Not until the next order.
    Paused,
    /// Not any more.
    Stopped,
}

/// The limits of a segment.
#[derive(Clone, Copy)]
pub(crate) struct Dispatch {
    pub mode: Mode,
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
pub(crate) enum Step {
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
    pub(crate) fn next(&self, rest: &Rest) -> Step {
        let is_running = self.mode == Mode::Running;
        let has_slot = rest.held < self.max_open;
        let more = rest.position.is_some();
        let has_rest = more || !rest.queue.is_empty();
        match self.mode {
            Mode::Stopped if rest.due == 0 => Step::End,
            Mode::Stopped => Step::Wait,
            _ if self.is_ordered => Step::HandOver,
            _ if !has_rest && rest.due == 0 => Step::End,
            _ if self.is_halted => Step::Wait,
            _ if is_running && rest.queue.is_empty() && more => Step::HandOver,
            _ if is_running && !rest.queue.is_empty() && self.begun >= MOST_BEGUN => Step::HandOver,
            _ if is_running && !rest.queue.is_empty() && has_slot => Step::Begin,
            _ => Step::Wait,
        }
    }
}

/// Returns `true` if more contacts are to be read while none in the queue can be called: all of
/// them wait for a time of their own, and they are not too many.
pub(crate) fn reads_on(rest: &Rest) -> bool {
    let size = |it: &Contact| serde_json::to_string(it).map_or(0, |json| json.len());
    rest.position.is_some()
        && rest.queue.iter().all(entry::is_set_aside)
        && rest.queue.iter().map(size).sum::<usize>() < MOST_SET_ASIDE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::tests::untried;

    const RUNNING: Dispatch = Dispatch {
        mode: Mode::Running,
        max_open: 2,
        begun: 0,
        is_ordered: false,
        is_halted: false,
    };

    fn rest(queued: u32, held: u32, more: bool) -> Rest {
        Rest {
            queue: (0..queued).map(untried).collect(),
            position: more.then_some(0),
            held,
            due: held,
            ..Rest::default()
        }
    }

    #[test]
    fn no_one_is_called_without_a_slot_or_against_an_order() {
        for queued in 0..3 {
            for held in 0..4 {
                for more in [false, true] {
                    let rest = rest(queued, held, more);
                    for mode in [Mode::Running, Mode::Paused, Mode::Stopped] {
                        for is_ordered in [false, true] {
                            let dispatch = Dispatch {
                                mode,
                                is_ordered,
                                ..RUNNING
                            };
                            let next = dispatch.next(&rest);
                            let may =
                                queued > 0 && held < 2 && mode == Mode::Running && !is_ordered;
                            assert_eq!(next == Step::Begin, may);
                            // A campaign ends only when all slots are free.
                            assert!(next != Step::End || held == 0);
                            let halted = Dispatch {
                                is_halted: true,
                                ..dispatch
                            };
                            assert_ne!(halted.next(&rest), Step::Begin);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_segment_leaves_what_is_behind_it_and_ends_when_nothing_is() {
        for (queued, held, more, mode, begun, expected) in [
            (0, 2, true, Mode::Running, 0, Step::HandOver),
            (1, 1, true, Mode::Running, 0, Step::Begin),
            (1, 2, true, Mode::Running, 0, Step::Wait),
            (0, 1, false, Mode::Running, 0, Step::Wait),
            (0, 0, false, Mode::Running, 0, Step::End),
            (0, 0, true, Mode::Paused, 0, Step::Wait),
            (1, 0, false, Mode::Paused, 0, Step::Wait),
            (0, 0, false, Mode::Paused, 0, Step::End),
            (5, 1, true, Mode::Stopped, 0, Step::Wait),
            (5, 0, true, Mode::Stopped, 0, Step::End),
            // One that has begun many leaves the others.
            (1, 0, false, Mode::Running, MOST_BEGUN - 1, Step::Begin),
            (1, 0, false, Mode::Running, MOST_BEGUN, Step::HandOver),
            (1, 0, false, Mode::Paused, MOST_BEGUN, Step::Wait),
        ] {
            let dispatch = Dispatch {
                mode,
                begun,
                ..RUNNING
            };
            let next = dispatch.next(&rest(queued, held, more));
            assert_eq!(next, expected, "{queued} {held} {more} {mode:?} {begun}");
        }
    }

    #[test]
    fn contacts_that_wait_for_their_own_time_do_not_stop_the_others_until_they_are_many() {
        let reads_on = |more: bool, contacts: Vec<Contact>| {
            reads_on(&Rest {
                queue: contacts.into(),
                ..rest(0, 0, more)
            })
        };
        let later = || Contact {
            not_before_ms: 1,
            ..untried(0)
        };
        let abroad = || Contact {
            time_zone: Some("America/New_York".to_owned()),
            ..untried(1)
        };
        assert!(reads_on(true, vec![]));
        assert!(reads_on(true, vec![later(), abroad()]));
        assert!(!reads_on(true, vec![later(), untried(1)]));
        assert!(!reads_on(false, vec![later()]));
        assert!(reads_on(true, vec![later(); 1_000]));
        assert!(!reads_on(true, vec![later(); 2_000]));
    }
}

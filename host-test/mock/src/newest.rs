//! A list that drops its oldest entries.

use std::collections::VecDeque;

/// The maximum size of a list that does not keep everything, in bytes.
const MOST_BYTES: usize = 32 * 1024 * 1024;

/// The newest entries, in order.
#[derive(Clone, Debug)]
pub(super) struct Newest<T> {
    /// The entries, each with its size.
    entries: VecDeque<(T, usize)>,
    bytes: usize,
    /// The maximum number of entries; `None` keeps all.
    most: Option<usize>,
    /// The number of entries that were added, including dropped ones.
    came: usize,
}

impl<T> Newest<T> {
    pub(super) fn new(most: Option<usize>) -> Self {
        Self {
            entries: VecDeque::new(),
            bytes: 0,
            most,
            came: 0,
        }
    }

    /// Adds an entry of `bytes` bytes, and returns the entries that are dropped for it.
    pub(super) fn push(&mut self, entry: T, bytes: usize) -> Vec<T> {
        self.came += 1;
        self.bytes += bytes;
        self.entries.push_back((entry, bytes));
        let mut forgotten = Vec::new();
        while let Some(most) = self.most
            && (self.entries.len() > most || self.bytes > MOST_BYTES)
            && let Some((oldest, bytes)) = self.entries.pop_front()
        {
            self.bytes -= bytes;
            forgotten.push(oldest);
        }
        forgotten
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.entries.iter().map(|(entry, _)| entry)
    }

    /// Returns the number of entries that were added.
    pub(super) fn came(&self) -> usize {
        self.came
    }

    /// Returns the number of entries that are kept.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the entry that was added as number `number`, from 1.
    pub(super) fn numbered(&self, number: usize) -> Option<&T> {
        Some(&self.entries.get(self.index(number)?)?.0)
    }

    pub(super) fn numbered_mut(&mut self, number: usize) -> Option<&mut T> {
        let index = self.index(number)?;
        Some(&mut self.entries.get_mut(index)?.0)
    }

    fn index(&self, number: usize) -> Option<usize> {
        number.checked_sub(self.came - self.entries.len() + 1)
    }
}

impl<T: Clone> Newest<T> {
    pub(super) fn to_vec(&self) -> Vec<T> {
        self.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_BYTES, Newest};

    #[test]
    fn the_oldest_entries_go_for_those_that_are_too_many_or_too_large() {
        let half = MOST_BYTES / 2;
        for (most, bytes, expected) in [
            (None, MOST_BYTES, &[1, 2, 3][..]),
            (Some(3), half, &[2, 3]),
            (Some(3), 1, &[1, 2, 3]),
            (Some(2), 1, &[2, 3]),
            (Some(0), 1, &[]),
        ] {
            let mut newest = Newest::new(most);
            let forgotten = [1, 2, 3].map(|entry| newest.push(entry, bytes)).concat();
            assert_eq!([forgotten, newest.to_vec()].concat(), [1, 2, 3]);
            assert_eq!((newest.to_vec(), newest.came()), (expected.to_vec(), 3));
            let numbered = [1, 2, 3].map(|number| newest.numbered(number).copied());
            let kept: Vec<_> = numbered.into_iter().flatten().collect();
            assert_eq!(kept, expected);
        }
    }
}

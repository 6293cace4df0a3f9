//! A list that forgets its oldest entries.

use std::collections::VecDeque;

/// What came last, in order.
#[derive(Clone, Debug)]
pub(super) struct Newest<T> {
    entries: VecDeque<T>,
    /// How many entries are kept; none: all.
    most: Option<usize>,
    /// How many entries came, forgotten ones included.
    came: usize,
}

impl<T> Newest<T> {
    pub(super) fn new(most: Option<usize>) -> Self {
        Self {
            entries: VecDeque::new(),
            most,
            came: 0,
        }
    }

    /// Adds an entry, and gives the one that is forgotten for it.
    pub(super) fn push(&mut self, entry: T) -> Option<T> {
        self.came += 1;
        self.entries.push_back(entry);
        let is_one_too_many = self.most.is_some_and(|most| self.entries.len() > most);
        is_one_too_many.then(|| self.entries.pop_front()).flatten()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter()
    }

    pub(super) fn came(&self) -> usize {
        self.came
    }
}

impl<T: Clone> Newest<T> {
    pub(super) fn to_vec(&self) -> Vec<T> {
        self.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Newest;

    #[test]
    fn the_oldest_entry_goes_for_each_that_is_too_many() {
        for (most, expected, forgotten) in [
            (None, &[1, 2, 3][..], [None, None, None]),
            (Some(3), &[1, 2, 3], [None, None, None]),
            (Some(2), &[2, 3], [None, None, Some(1)]),
            (Some(0), &[], [Some(1), Some(2), Some(3)]),
        ] {
            let mut newest = Newest::new(most);
            assert_eq!([1, 2, 3].map(|entry| newest.push(entry)), forgotten);
            assert_eq!((newest.to_vec(), newest.came()), (expected.to_vec(), 3));
        }
    }
}

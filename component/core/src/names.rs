//! Names in sorted order, and the values that belong to each.

use std::borrow::Cow;
use std::collections::BinaryHeap;

/// Returns texts in sorted order, each with its index; equal texts keep their order. A heap is the
/// standard library's smallest way to sort, and its time is bounded for any texts.
pub(crate) fn sorted<'a>(texts: impl Iterator<Item = Cow<'a, str>>) -> Vec<(Cow<'a, str>, usize)> {
    let heap: BinaryHeap<_> = texts.zip(0..).collect();
    heap.into_sorted_vec()
}

/// Values by name; several may have the same name.
pub(crate) struct ByName<'a, V>(Vec<(Cow<'a, str>, Vec<V>)>);

impl<'a, V: Copy> ByName<'a, V> {
    /// Groups the values, each of which has the name at its index.
    pub(crate) fn new(names: impl Iterator<Item = Cow<'a, str>>, values: &[V]) -> Self {
        let mut by_name: Vec<(_, Vec<_>)> = Vec::new();
        for (name, index) in sorted(names) {
            match by_name.last_mut() {
                Some((last, values_of_last)) if *last == name => values_of_last.push(values[index]),
                _ => by_name.push((name, vec![values[index]])),
            }
        }
        Self(by_name)
    }

    /// Removes all values of a name and returns them in their order.
    pub(crate) fn remove(&mut self, name: &str) -> Vec<V> {
        match self
            .0
            .binary_search_by(|(known, _)| known.as_ref().cmp(name))
        {
            Ok(index) => std::mem::take(&mut self.0[index].1),
            Err(_) => Vec::new(),
        }
    }
}

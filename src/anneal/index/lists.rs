//! Lists of the slots of every anchor, made when a search goes through them.

use crate::code::packed::Packed;
use std::ops::Range;

/// Slots by anchor, ascending, one list after the other.
pub struct Lists {
    /// Where each begins, and where the last ends.
    starts: Vec<u32>,
    slots: Vec<u32>,
}

impl Lists {
    /// Of the anchors that vectors belong to.
    pub fn of(labels: &Packed, clusters: usize) -> Self {
        let mut starts = vec![0; clusters + 1];
        labels.iter().for_each(|label| starts[label as usize + 1] += 1);
        for list in 0..clusters {
            starts[list + 1] += starts[list];
        }
        let mut next = starts.clone();
        let mut slots = vec![0; labels.count()];
        for (slot, label) in labels.iter().enumerate() {
            let place = &mut next[label as usize];
            slots[*place as usize] = slot as u32;
            *place += 1;
        }
        Self { starts, slots }
    }

    /// Places of a list's slots among all.
    pub fn range(&self, list: usize) -> Range<usize> {
        self.starts[list] as usize..self.starts[list + 1] as usize
    }

    /// Slots of a list.
    #[inline]
    pub fn of_list(&self, list: usize) -> &[u32] {
        &self.slots[self.range(list)]
    }

    /// Where each list begins among all slots, and where the last ends.
    pub fn starts(&self) -> &[u32] {
        &self.starts
    }

    /// Slots of all lists.
    pub fn slots(&self) -> &[u32] {
        &self.slots
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        4 * (self.starts.capacity() + self.slots.capacity())
    }
}

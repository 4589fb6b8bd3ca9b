//! Values under handles: slots are used again, and a handle of a value that is gone finds nothing.
//!
//! A handle is a slot's index in its low bits and, above them, a generation that grows whenever the slot's value is removed. A slot
//! whose generations are used up rests until there is no other, so that no handle comes back before there were four thousand
//! million: who holds a stale one, as a garbage collector may for minutes, names nobody else's value with it.

use std::collections::VecDeque;

/// Bits of a handle that are the slot's index.
const INDEX_BITS: u32 = 22;
const INDEX: u32 = (1 << INDEX_BITS) - 1;
/// Handles of one slot.
#[cfg(test)]
const GENERATIONS: usize = 1 << (u32::BITS - INDEX_BITS);

/// A place for a value, under the handle that its next or present value has.
struct Slot<T> {
    handle: u32,
    value: Option<T>,
}

/// Values by handle. Its memory is that of the most values that it had at once, and of a slot for every 1,024 that are gone.
pub struct Slab<T> {
    slots: Vec<Slot<T>>,
    /// Empty slots, in the order in which they became empty: the later a slot is used again, the longer stale handles are known.
    empty: VecDeque<u32>,
    /// Those that had all their handles, likewise.
    worn: VecDeque<u32>,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), empty: VecDeque::new(), worn: VecDeque::new() }
    }
}

impl<T> Slab<T> {
    /// Values that it can have at once.
    pub const MOST: usize = 1 << INDEX_BITS;

    /// Whether there is no handle for another value.
    pub fn is_full(&self) -> bool {
        self.empty.is_empty() && self.worn.is_empty() && self.slots.len() == Self::MOST
    }

    /// Takes a value; gives its handle.
    ///
    /// # Panics
    /// Where it [is full](Self::is_full).
    pub fn insert(&mut self, value: T) -> u32 {
        let index = match self.empty.pop_front() {
            Some(index) => index,
            None if self.slots.len() < Self::MOST => {
                self.slots.push(Slot { handle: self.slots.len() as u32, value: None });
                self.slots.len() as u32 - 1
            }
            None => self.worn.pop_front().unwrap_or_else(|| panic!("more than {} values live at once", Self::MOST)),
        };
        let slot = &mut self.slots[index as usize];
        slot.value = Some(value);
        slot.handle
    }

    /// The value of a handle; none if the handle is stale.
    pub fn get(&self, handle: u32) -> Option<&T> {
        self.slots.get((handle & INDEX) as usize).filter(|slot| slot.handle == handle)?.value.as_ref()
    }

    /// The value of a handle, to change; none if the handle is stale.
    pub fn get_mut(&mut self, handle: u32) -> Option<&mut T> {
        self.slots.get_mut((handle & INDEX) as usize).filter(|slot| slot.handle == handle)?.value.as_mut()
    }

    /// Gives the value back, whose handle is stale from now on.
    pub fn remove(&mut self, handle: u32) -> Option<T> {
        let slot = self.slots.get_mut((handle & INDEX) as usize).filter(|slot| slot.handle == handle)?;
        let value = slot.value.take()?;
        slot.handle = handle.wrapping_add(1 << INDEX_BITS);
        let is_worn = slot.handle <= INDEX;
        if is_worn { &mut self.worn } else { &mut self.empty }.push_back(handle & INDEX);
        Some(value)
    }

    /// All values with their handles, slot by slot.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.slots.iter().filter_map(|slot| Some((slot.handle, slot.value.as_ref()?)))
    }

    /// All values, slot by slot, to change.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().filter_map(|slot| slot.value.as_mut())
    }

    /// The handles of all values, slot by slot.
    pub fn handles(&self) -> Vec<u32> {
        self.iter().map(|(handle, _)| handle).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_used_again_and_stale_handles_find_nothing() {
        let mut slab = Slab::default();
        let first = slab.insert("first");
        let other = slab.insert("other");
        let mut stale = Vec::new();
        let mut handle = first;
        for _ in 0..1000 {
            assert!(slab.remove(handle).is_some());
            stale.push(handle);
            handle = slab.insert("again");
        }
        assert_eq!((slab.slots.len(), slab.empty.len()), (2, 0));
        for old in stale {
            assert_eq!(slab.get(old), None);
            assert_eq!(slab.get_mut(old), None);
            assert_eq!(slab.remove(old), None);
        }
        assert_eq!((slab.get(handle), slab.get(other)), (Some(&"again"), Some(&"other")));
        assert_eq!(slab.handles(), vec![handle, other]);
        assert_eq!(slab.get(7), None);
    }

    #[test]
    fn a_handle_does_not_come_back() {
        let mut slab = Slab::default();
        let mut seen = std::collections::HashSet::new();
        for _ in 0..3 * GENERATIONS {
            let handle = slab.insert(());
            assert!(seen.insert(handle));
            assert!(slab.remove(handle).is_some());
        }
        assert_eq!((slab.slots.len(), slab.empty.len(), slab.worn.len()), (3, 0, 3));
    }

    #[test]
    fn the_slot_that_is_empty_longest_is_used_first() {
        let mut slab = Slab::default();
        let handles: Vec<u32> = (0..3).map(|value| slab.insert(value)).collect();
        for handle in [2, 0, 1] {
            slab.remove(handles[handle]);
        }
        let again: Vec<u32> = (3..6).map(|value| slab.insert(value) & INDEX).collect();
        assert_eq!(again, [2, 0, 1]);
    }
}

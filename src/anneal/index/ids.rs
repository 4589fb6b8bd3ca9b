//! Ids in a file: how many follow each other that are there, how many that are not, and so on, each in seven bits a byte (LEB128). Vectors that
//! were taken out cost a byte or two a run, not four bytes for each that stays.
//!
//! In memory they take nothing while they are 0, 1, 2…, and otherwise 2 + ⌈log₂(end / count)⌉ bits each, about (Elias and Fano; Vigna, *Quasi-succinct
//! indices*, 2013): the lower bits of every id one after the other, and the upper ones as gaps in unary.

use crate::code::packed::Packed;
use leastwise_base::memory;
use std::ops::Range;

/// Ids whose place among the upper bits is kept: one in so many.
const EVERY: usize = 128;

/// Ascending ids, by their places.
#[derive(Clone, Debug)]
pub struct Ids {
    count: usize,
    /// None where they are 0, 1, 2…
    sparse: Option<Sparse>,
}

#[derive(Clone, Debug)]
struct Sparse {
    /// Lower bits.
    low: Packed,
    width: u32,
    /// A bit at (id >> width) + place for every id.
    high: Vec<u64>,
    /// That of every 128th.
    marks: Vec<u64>,
}

impl Sparse {
    /// Of none yet, for so many ids below `end`.
    fn new(count: usize, end: u32) -> Self {
        let width = (end as usize / count.max(1)).max(1).ilog2();
        Self { low: Packed::new(width), width, high: Vec::new(), marks: Vec::new() }
    }

    fn push(&mut self, id: u32) {
        let place = self.low.count();
        let bit = u64::from(id >> self.width) + place as u64;
        if place.is_multiple_of(EVERY) {
            self.marks.push(bit);
        }
        self.low.push(id & ((1_u64 << self.width) - 1) as u32);
        let word = (bit / 64) as usize;
        if word >= self.high.len() {
            let more = word + 1 - self.high.len();
            let _ = memory::grow(&mut self.high, more, "ids");
            self.high.resize(word + 1, 0);
        }
        self.high[word] |= 1 << (bit % 64);
    }

    fn get(&self, place: usize) -> u32 {
        let (mark, mut left) = (self.marks[place / EVERY], (place % EVERY) as u32);
        let mut at = (mark / 64) as usize;
        let mut word = self.high[at] & (!0 << (mark % 64));
        while word.count_ones() <= left {
            left -= word.count_ones();
            at += 1;
            word = self.high[at];
        }
        (0..left).for_each(|_| word &= word - 1);
        self.id(place, at, word)
    }

    /// The id of a place, whose bit is the lowest of this word.
    fn id(&self, place: usize, at: usize, word: u64) -> u32 {
        let bit = at * 64 + word.trailing_zeros() as usize;
        ((bit - place) << self.width) as u32 | self.low.get(place)
    }
}

impl Ids {
    /// 0, 1, 2…
    pub fn whole(count: usize) -> Self {
        Self { count, sparse: None }
    }

    /// Ids that ascend.
    pub fn of(ids: &[u32]) -> Self {
        let mut all = Self::whole(ids.len());
        if let Some(&last) = ids.last().filter(|&&last| last as usize >= ids.len()) {
            let mut sparse = Sparse::new(ids.len(), last);
            ids.iter().for_each(|&id| sparse.push(id));
            sparse.high.shrink_to_fit();
            all.sparse = Some(sparse);
        }
        all
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// True if they are 0, 1, 2…
    pub fn is_whole(&self) -> bool {
        self.sparse.is_none()
    }

    /// Id of a place.
    #[inline]
    pub fn get(&self, place: usize) -> u32 {
        self.sparse.as_ref().map_or(place as u32, |sparse| sparse.get(place))
    }

    /// Place of an id.
    pub fn find(&self, id: u32) -> Option<usize> {
        if self.is_whole() {
            return Some(id as usize).filter(|&place| place < self.count);
        }
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle) < id {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Some(low).filter(|&place| place < self.count && self.get(place) == id)
    }

    /// All in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u32> + '_ {
        let (mut at, mut word) = (0, self.sparse.as_ref().and_then(|sparse| sparse.high.first().copied()).unwrap_or(0));
        (0..self.count).map(move |place| {
            let Some(sparse) = &self.sparse else { return place as u32 };
            while word == 0 {
                at += 1;
                word = sparse.high[at];
            }
            let id = sparse.id(place, at, word);
            word &= word - 1;
            id
        })
    }

    /// Appends ids that follow the last one.
    pub fn extend(&mut self, ids: Range<u32>) {
        if self.is_whole() && ids.start as usize != self.count {
            let mut sparse = Sparse::new(self.count + ids.len(), ids.end);
            (0..self.count as u32).for_each(|id| sparse.push(id));
            self.sparse = Some(sparse);
        }
        self.count += ids.len();
        self.sparse.iter_mut().for_each(|sparse| ids.clone().for_each(|id| sparse.push(id)));
    }

    /// Keeps those that a mask says.
    pub fn retain(&mut self, kept: &[bool]) {
        let ids: Vec<u32> = self.iter().zip(kept).filter(|(_, kept)| **kept).map(|(id, _)| id).collect();
        *self = Self::of(&ids);
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        self.sparse.as_ref().map_or(0, |sparse| sparse.low.memory() + 8 * (sparse.high.capacity() + sparse.marks.capacity()))
    }
}

/// Runs of ascending ids from 0 on: there, not there, there…
fn runs(ids: impl Iterator<Item = u32>) -> impl Iterator<Item = u32> {
    let mut ids = ids.peekable();
    let (mut next, mut is_there) = (0_u32, false);
    std::iter::from_fn(move || {
        is_there = !is_there;
        let &id = ids.peek()?;
        if !is_there {
            let gap = id - next;
            next = id;
            return Some(gap);
        }
        let mut count = 0;
        while ids.next_if_eq(&next).is_some() {
            (count, next) = (count + 1, next.saturating_add(1));
        }
        Some(count)
    })
}

pub fn pack(ids: impl Iterator<Item = u32>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for mut run in runs(ids) {
        while run > 127 {
            bytes.push(run as u8 | 128);
            run >>= 7;
        }
        bytes.push(run as u8);
    }
    bytes
}

/// So many ids below `end`; nothing where bytes are not what [`pack`] makes of them.
pub fn unpack(bytes: &[u8], count: usize, end: u32) -> Option<Vec<u32>> {
    let mut ids = Vec::with_capacity(count);
    let (mut next, mut is_there, mut bytes) = (0_u32, true, bytes.iter());
    while ids.len() < count {
        let mut run = 0_u64;
        for shift in (0..35).step_by(7) {
            let byte = *bytes.next()?;
            run |= u64::from(byte & 127) << shift;
            if byte < 128 {
                // Neither zeros at its end nor a run of nothing within.
                if (byte == 0 && shift > 0) || (run == 0 && next > 0) {
                    return None;
                }
                break;
            }
        }
        let last = next.checked_add(u32::try_from(run).ok()?).filter(|&last| last <= end)?;
        if is_there {
            if run > (count - ids.len()) as u64 {
                return None;
            }
            ids.extend(next..last);
        }
        (next, is_there) = (last, !is_there);
    }
    bytes.next().is_none().then_some(ids)
}

#[cfg(test)]
mod tests {
    use super::Ids;

    #[test]
    fn ids_are_found_by_place_and_place_by_id() {
        for step in [1_usize, 2, 3, 50, 5000] {
            for first in [0_u32, 1, 777] {
                let mut ids: Vec<u32> = (first..).step_by(step).take(700).collect();
                let mut packed = Ids::of(&ids);
                assert_eq!(packed.is_whole(), step == 1 && first == 0);
                let next = ids[699] + 10;
                ids.extend(next..next + 300);
                packed.extend(next..next + 300);
                assert_eq!(packed.iter().collect::<Vec<_>>(), ids);
                for (place, &id) in ids.iter().enumerate() {
                    assert_eq!((packed.get(place), packed.find(id)), (id, Some(place)));
                    let is_next = ids.get(place + 1) == Some(&(id + 1));
                    assert_eq!(packed.find(id + 1), is_next.then_some(place + 1));
                }
                let kept: Vec<bool> = (0..1000).map(|place| place % 7 != 3).collect();
                packed.retain(&kept);
                let left: Vec<u32> = ids.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(id, _)| *id).collect();
                assert_eq!(packed.iter().collect::<Vec<_>>(), left);
                // 2 + log₂(end / count) bits each, and a little.
                let bits = 2.2 + (f64::from(next + 300) / kept.iter().filter(|kept| **kept).count() as f64).log2().ceil();
                assert!(packed.memory() as f64 <= 1.13 * 1000.0 * bits / 8.0 + 128.0, "{} bytes of step {step}", packed.memory());
            }
        }
        let far = Ids::of(&[u32::MAX - 1]);
        assert_eq!((far.get(0), far.find(u32::MAX - 1), far.find(0)), (u32::MAX - 1, Some(0), None));
        assert!(far.memory() < 64);
    }
}

//! Twins of a stable counting sort: `keys`, `tally`, `spread`, `offsets`, `scatter`.

use super::super::super::{Bindings, Work};
use crate::real::Real;
use leastwise_recording::binding::{STATE, VECTOR_IN};

/// A dispatch of `tally` or `scatter`: its items, and where the table has what belongs to them.
struct Sort {
    items: usize,
    keys: usize,
    block: usize,
    counts: usize,
    keys_at: usize,
    shift: u32,
    mask: u32,
    numbers_at: Option<usize>,
}

impl Sort {
    fn new(words: &[u32]) -> Self {
        let [items, keys, block, counts, keys_at] = std::array::from_fn(|word| words[word] as usize);
        let numbers_at = (words[8] != 0).then_some(words[7] as usize);
        Self { items, keys, block, counts, keys_at, shift: words[5], mask: words[6], numbers_at }
    }

    /// The numbers of a workgroup's items, their keys, and where the key's count of this block is.
    fn each(&self, group: u32, table: &mut [u32], mut work: impl FnMut(&mut [u32], usize, usize, usize)) {
        let begin = (group as usize * self.block).min(self.items);
        for place in begin..(begin + self.block).min(self.items) {
            let number = self.numbers_at.map_or(place, |numbers| table[numbers + place] as usize);
            let key = (table[self.keys_at + number] >> self.shift & self.mask) as usize;
            work(table, number, key, self.counts + group as usize * self.keys + key);
        }
    }
}

/// How often every key stands in each block.
pub fn tally<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    if bindings.read(STATE)[work.params.words[9] as usize] != R::ZERO {
        return;
    }
    let (sort, table) = (Sort::new(&work.params.words), bindings.index_mut());
    for group in work.groups.clone() {
        sort.each(group, table, |table, _, _, count| table[count] += 1);
    }
}

/// Counts of blocks become where their items begin among all of the key.
pub fn spread<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [blocks, keys, counts, totals, guard, ..] = work.params.words.map(|word| word as usize);
    if bindings.read(STATE)[guard] != R::ZERO {
        return;
    }
    let table = bindings.index_mut();
    for key in work.items() {
        let mut sum = 0;
        for block in 0..blocks {
            let count = std::mem::replace(&mut table[counts + block * keys + key], sum);
            sum += count;
        }
        table[totals + key] = sum;
    }
}

/// Where each key's items begin, and where all end.
pub fn offsets<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [keys, totals, begins, guard, ..] = work.params.words.map(|word| word as usize);
    if bindings.read(STATE)[guard] != R::ZERO {
        return;
    }
    let (table, mut place) = (bindings.index_mut(), 0);
    for key in 0..keys {
        table[begins + key] = place;
        place += table[totals + key];
    }
    table[begins + keys] = place;
}

/// Every item's number goes to its place.
pub fn scatter<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [begins, sorted] = [10, 11].map(|word| work.params.words[word] as usize);
    if bindings.read(STATE)[work.params.words[9] as usize] != R::ZERO {
        return;
    }
    let (sort, table) = (Sort::new(&work.params.words), bindings.index_mut());
    for group in work.groups.clone() {
        sort.each(group, table, |table, number, key, count| {
            let place = table[begins + key] + table[count];
            table[count] += 1;
            table[sorted + place as usize] = number as u32;
        });
    }
}

/// Distances as what they are sorted by.
pub fn keys<R: Real>(work: &Work, mut bindings: Bindings<R>) {
    let [at, guard, ..] = work.params.words.map(|word| word as usize);
    if bindings.read(STATE)[guard] != R::ZERO {
        return;
    }
    let (nearest, table) = (bindings.read(VECTOR_IN), bindings.index_mut());
    for i in work.items() {
        table[at + i] = (nearest[i].to_f64() as f32).to_bits();
    }
}

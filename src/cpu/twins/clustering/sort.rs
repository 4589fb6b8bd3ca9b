//! Twins of a stable counting sort: `keys`, `tally`, `spread`, `offsets`, `scatter`.

use crate::Workgroups;
use crate::real::Real;
use leastwise_kernels as kernels;

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

/// The same of the arguments of either.
macro_rules! sort_of {
    ($args:expr) => {
        Sort {
            items: $args.items as usize,
            keys: $args.key_count as usize,
            block: $args.block as usize,
            counts: $args.counts as usize,
            keys_at: $args.keys as usize,
            shift: $args.shift,
            mask: $args.mask,
            numbers_at: ($args.numbered != 0).then_some($args.numbers as usize),
        }
    };
}

impl Sort {
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
pub fn tally<R: Real>(work: &Workgroups, args: kernels::clustering::sort::Tally, bindings: kernels::clustering::sort::TallySlices<R>) {
    if bindings.state[args.guard as usize] != R::ZERO {
        return;
    }
    let (sort, table) = (sort_of!(args), bindings.table);
    for group in work.groups.clone() {
        sort.each(group, table, |table, _, _, count| table[count] += 1);
    }
}

/// Counts of blocks become where their items begin among all of the key.
pub fn spread<R: Real>(work: &Workgroups, args: kernels::clustering::sort::Spread, bindings: kernels::clustering::sort::SpreadSlices<R>) {
    let [blocks, keys, counts, totals, guard] =
        [args.blocks, args.key_count, args.block_counts, args.counts, args.guard].map(|word| word as usize);
    if bindings.state[guard] != R::ZERO {
        return;
    }
    let table = bindings.table;
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
pub fn offsets<R: Real>(_: &Workgroups, args: kernels::clustering::sort::Offsets, bindings: kernels::clustering::sort::OffsetsSlices<R>) {
    let [keys, totals, begins, guard] = [args.key_count, args.counts, args.beginnings, args.guard].map(|word| word as usize);
    if bindings.state[guard] != R::ZERO {
        return;
    }
    let (table, mut place) = (bindings.table, 0);
    for key in 0..keys {
        table[begins + key] = place;
        place += table[totals + key];
    }
    table[begins + keys] = place;
}

/// Every item's number goes to its place.
pub fn scatter<R: Real>(
    work: &Workgroups,
    args: kernels::clustering::sort::Scatter,
    bindings: kernels::clustering::sort::ScatterSlices<R>,
) {
    let [begins, sorted] = [args.beginnings, args.sorted].map(|word| word as usize);
    if bindings.state[args.guard as usize] != R::ZERO {
        return;
    }
    let (sort, table) = (sort_of!(args), bindings.table);
    for group in work.groups.clone() {
        sort.each(group, table, |table, number, key, count| {
            let place = table[begins + key] + table[count];
            table[count] += 1;
            table[sorted + place as usize] = number as u32;
        });
    }
}

/// Distances as what they are sorted by.
pub fn keys<R: Real>(work: &Workgroups, args: kernels::clustering::sort::Keys, bindings: kernels::clustering::sort::KeysSlices<R>) {
    let [at, guard] = [args.keys, args.guard].map(|word| word as usize);
    if bindings.state[guard] != R::ZERO {
        return;
    }
    let (nearest, table) = (bindings.nearest, bindings.table);
    for i in work.items() {
        table[at + i] = (nearest[i].to_f64() as f32).to_bits();
    }
}

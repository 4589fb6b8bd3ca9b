//! A stable counting sort.

use super::{Members, Table, guard};
use crate::twins::harness::Case;
use crate::twins::value::Random;
use leastwise::kernels::{Arguments, StaticKernel, clustering::sort};

/// What is sorted: by all of a key or some bits of it, with numbers or without.
struct Sort {
    table: Table,
    items: usize,
    block: usize,
    keys: usize,
    keys_at: usize,
    shift: u32,
    mask: u32,
    numbers_at: Option<usize>,
    /// Of every item, in order, its number and key.
    list: Vec<(u32, usize)>,
}

impl Sort {
    fn new(size: usize, group: usize, numbered: bool, random: &mut Random) -> Self {
        let mut table = Table::new(random);
        let block = [1, group, group + 3, 5 * group, size.max(1)][random.below(5) as usize].max(size.div_ceil(40));
        // Labels by all their bits, or the bits of reals by some of them.
        let (keys, shift, mask) = match random.below(3) {
            0 => (70, 0, u32::MAX),
            1 => (256, [0, 8, 24][random.below(3) as usize], 255),
            _ => (16, 4, 15),
        };
        let several = 1 + random.below(keys) / 2;
        let stored = size + 17;
        let shifted = |random: &mut Random| {
            let key = random.below(several);
            if mask == u32::MAX { key } else { key << shift | random.below(1 << shift) | (random.below(1 << 8) << 24 & !(mask << shift)) }
        };
        let all: Vec<u32> = (0..stored).map(|_| shifted(random)).collect();
        let keys_at = table.part(all.iter().copied());
        let mut numbers: Vec<u32> = (0..stored as u32).collect();
        if numbered {
            random.shuffle(&mut numbers);
        }
        numbers.truncate(size);
        let numbers_at = numbered.then(|| table.part(numbers.iter().copied()));
        let list = numbers.into_iter().map(|number| (number, (all[number as usize] >> shift & mask) as usize)).collect();
        Self { table, items: size, block, keys: keys as usize, keys_at, shift, mask, numbers_at, list }
    }

    fn name(&self) -> String {
        let numbered = if self.numbers_at.is_some() { "with numbers" } else { "without numbers" };
        format!("blocks of {}, {} keys, shifted by {}, {numbered}", self.block, self.keys, self.shift)
    }

    fn blocks(&self) -> usize {
        self.items.div_ceil(self.block)
    }

    /// How often every key stands in each block.
    fn counts(&self) -> Vec<Vec<u32>> {
        let of = |items: &[(u32, usize)]| {
            let mut counts = vec![0; self.keys];
            items.iter().for_each(|item| counts[item.1] += 1);
            counts
        };
        self.list.chunks(self.block).map(of).collect()
    }

    /// The arguments of `scatter`, which begin with those of `tally`.
    fn args(&self, counts: usize, guard: u32, [beginnings, sorted]: [usize; 2]) -> sort::Scatter {
        let [items, key_count, block, counts, keys] = [self.items, self.keys, self.block, counts, self.keys_at].map(|word| word as u32);
        let numbers = self.numbers_at.unwrap_or(0xffff_fff0) as u32;
        let [beginnings, sorted] = [beginnings, sorted].map(|word| word as u32);
        let (shift, mask, numbered) = (self.shift, self.mask, self.numbers_at.is_some().into());
        sort::Scatter { items, key_count, block, counts, keys, shift, mask, numbers, numbered, guard, beginnings, sorted }
    }
}

pub fn tally(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |numbered: bool| {
        let mut sort = Sort::new(size, group, numbered, random);
        let mut case = Case::new(StaticKernel::ClusteringSortTally, sort.name());
        let expected = sort.counts().concat();
        let counts = sort.table.part(vec![0; expected.len()]);
        let guard = guard(&mut case, random, &[]);
        let words = sort.args(counts, guard, [0, 0]).words();
        case.dispatch((sort.blocks() * group) as u32, sort::Tally::of(words));
        case.indices(sort.table.0);
        expected.into_iter().enumerate().for_each(|(i, count)| case.expect_index(counts + i, count));
        case
    };
    [false, true].map(case).into()
}

pub fn spread(size: usize, random: &mut Random) -> Case {
    let blocks = [1, 2, 7][random.below(3) as usize];
    let mut table = Table::new(random);
    let before: Vec<u32> = (0..blocks * size).map(|_| random.below(9)).collect();
    let counts = table.part(before.iter().copied());
    let totals = table.unwritten(size);
    let mut case = Case::new(StaticKernel::ClusteringSortSpread, format!("{blocks} blocks"));
    let guard = guard(&mut case, random, &[]);
    case.dispatch(
        size as u32,
        sort::Spread { blocks: blocks as u32, key_count: size as u32, block_counts: counts as u32, counts: totals as u32, guard },
    );
    case.indices(table.0);
    for key in 0..size {
        let before = |block: usize| (0..block).map(|block| before[block * size + key]).sum();
        (0..blocks).for_each(|block| case.expect_index(counts + block * size + key, before(block)));
        case.expect_index(totals + key, before(blocks));
    }
    case
}

pub fn offsets(size: usize, random: &mut Random) -> Case {
    let mut table = Table::new(random);
    let counts: Vec<u32> = (0..size).map(|_| random.below(9)).collect();
    let totals = table.part(counts.iter().copied());
    let begins = table.unwritten(size + 1);
    let mut case = Case::of_one_group(StaticKernel::ClusteringSortOffsets, "");
    let guard = guard(&mut case, random, &[]);
    case.dispatch(1, sort::Offsets { key_count: size as u32, counts: totals as u32, beginnings: begins as u32, guard });
    case.indices(table.0);
    let mut place = 0;
    for (key, count) in counts.iter().chain(&[0]).enumerate() {
        case.expect_index(begins + key, place);
        place += count;
    }
    case
}

pub fn scatter(size: usize, group: usize, random: &mut Random) -> Vec<Case> {
    let case = |numbered: bool| {
        let mut sort = Sort::new(size, group, numbered, random);
        let mut case = Case::new(StaticKernel::ClusteringSortScatter, sort.name());
        let of_blocks = sort.counts();
        let keys: Vec<u32> = sort.list.iter().map(|item| item.1 as u32).collect();
        let sorted = Members::new(&keys, sort.keys, 0..size);
        // As `spread` leaves them.
        let before = |block: usize, key: usize| of_blocks[..block].iter().map(|counts| counts[key]).sum::<u32>();
        let bases: Vec<u32> =
            (0..sort.blocks()).flat_map(|block| (0..sort.keys).map(move |key| (block, key))).map(|(b, k)| before(b, k)).collect();
        let counts = sort.table.part(bases);
        let begins = sort.table.part(sorted.begins.iter().copied());
        let places = sort.table.unwritten(size);
        let guard = guard(&mut case, random, &[]);
        case.dispatch((sort.blocks() * group) as u32, sort.args(counts, guard, [begins, places]));
        case.indices(sort.table.0);
        for (block, of_block) in of_blocks.iter().enumerate() {
            for (key, count) in of_block.iter().enumerate() {
                case.expect_index(counts + block * sort.keys + key, before(block, key) + count);
            }
        }
        sorted.list.iter().enumerate().for_each(|(place, item)| case.expect_index(places + place, sort.list[*item as usize].0));
        case
    };
    [false, true].map(case).into()
}

pub fn keys(size: usize, random: &mut Random) -> Case {
    let nearest: Vec<f64> = (0..size)
        .map(|i| match i % 5 {
            0 => 0.0,
            1 => random.within(1e-30, 1e-29),
            2 => random.within(1e29, 1e30),
            _ => random.within(0.0, 2.0),
        })
        .collect();
    let mut table = Table::new(random);
    let at = table.unwritten(size);
    let mut case = Case::new(StaticKernel::ClusteringSortKeys, "");
    let guard = guard(&mut case, random, &[]);
    case.dispatch(size as u32, sort::Keys { keys: at as u32, guard });
    case.indices(table.0);
    nearest.iter().enumerate().for_each(|(i, distance)| case.expect_index(at + i, (*distance as f32).to_bits()));
    case.reals(sort::Keys::NEAREST, nearest);
    case
}

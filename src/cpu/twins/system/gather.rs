//! Twin of `shaders/system/gather.wgsl`.

use crate::Workgroups;
use crate::real::Real;
use crate::threads::{self, Pieces};
use leastwise_kernels as kernels;
use leastwise_program::NEGATIVE;
use std::ops::Range;

/// total\[v\] += the contributions of the instances that v takes part in, in the order of the incidence list.
pub fn gather<R: Real>(work: &Workgroups, args: kernels::system::Gather, bindings: kernels::system::GatherSlices<R>) {
    let (width, map, starts, ids, entries, bits, stride, base, guard, stores) =
        (args.width, args.columns, args.starts, args.ids, args.entries, args.slot_bits, args.length, args.first, args.guard, args.store);
    if bindings.state[guard as usize] != R::ZERO {
        return;
    }
    let (incidence, columns, total) = (bindings.incidence, bindings.columns, bindings.total);
    let (width, items) = (width as usize, work.items());
    if items.is_empty() {
        return;
    }
    let list = List {
        starts: &incidence[starts as usize..],
        ids: &incidence[ids as usize..],
        entries: &incidence[entries as usize..],
        bits,
        map: &incidence[map as usize..(map as usize + (width << bits)).min(incidence.len())],
        columns,
        stride: stride as usize,
        stores: stores != 0,
    };
    // Rows are in ascending order of their variables, so the rows of a task write a stretch of their own.
    let (rows, base) = (items.start / width..items.end.div_ceil(width), base as usize);
    if bits == 0 && rows.len() == 1 && list.starts[rows.end] - list.starts[rows.start] == 1 {
        return list.one(&mut total[base + list.ids[rows.start] as usize * width..], rows.start, width, items);
    }
    let mut total = Pieces::new(total);
    let entries = (list.starts[rows.end] - list.starts[rows.start]) as usize;
    let tasks = threads::cut_by(rows.clone(), (entries * width).div_ceil(rows.len().max(1))).map(|rows| {
        let (first, last) = (list.ids[rows.start] as usize, list.ids[rows.end - 1] as usize);
        (total.take(base + first * width..base + (last + 1) * width), rows)
    });
    threads::each(tasks.collect(), entries * width, |(total, rows)| {
        // Components do not meet, so as many are summed at a time as fit the processor's registers.
        for first in (0..width).step_by(3) {
            match width - first {
                1 => list.sum::<1>(total, width, first, rows.clone(), &items),
                2 => list.sum::<2>(total, width, first, rows.clone(), &items),
                _ => list.sum::<3>(total, width, first, rows.clone(), &items),
            }
        }
    });
}

/// An incidence list and the columns that it leads to.
struct List<'a, R> {
    starts: &'a [u32],
    ids: &'a [u32],
    entries: &'a [u32],
    bits: u32,
    map: &'a [u32],
    columns: &'a [R],
    stride: usize,
    stores: bool,
}

/// Where `W` components of a slot's contribution are: empty where there is none.
struct Contribution<'a, R, const W: usize> {
    columns: [&'a [R]; W],
    signs: [R; W],
}

impl<'a, R: Real> List<'a, R> {
    /// The components of one contribution that are among `items`: those of a problem with one instance, of which there may be many.
    fn one(&self, total: &mut [R], row: usize, width: usize, items: Range<usize>) {
        let instance = self.entries[self.starts[row] as usize] as usize;
        let components = items.start - row * width..items.end - row * width;
        for (to, &code) in total[components.clone()].iter_mut().zip(&self.map[components]) {
            if code == 0 {
                // An absent contribution adds +0, which changes no sum.
                if self.stores {
                    *to = R::ZERO;
                }
                continue;
            }
            let value = self.columns[((code & !NEGATIVE) as usize - 1) * self.stride + instance];
            let sum = R::ZERO + if code & NEGATIVE == 0 { R::ONE } else { -R::ONE } * value;
            *to = if self.stores { sum } else { *to + sum };
        }
    }

    fn contribution<const W: usize>(&self, codes: &[u32]) -> Contribution<'a, R, W> {
        let column = |code: u32| {
            // Words past the last slot are decoded too, and never used: whatever they say must not overflow.
            let start = ((code & !NEGATIVE) as usize).wrapping_sub(1).wrapping_mul(self.stride);
            self.columns.get(start..).unwrap_or_default()
        };
        Contribution {
            columns: std::array::from_fn(|k| if codes[k] == 0 { &[][..] } else { column(codes[k]) }),
            signs: std::array::from_fn(|k| if codes[k] & NEGATIVE == 0 { R::ONE } else { -R::ONE }),
        }
    }

    /// Components `first .. first + W` of the rows, where they are among `items`. `total` begins with the first row's variable.
    fn sum<const W: usize>(&self, total: &mut [R], width: usize, first: usize, rows: Range<usize>, items: &Range<usize>) {
        let slots: Vec<_> = self.map.chunks_exact(width).map(|codes| self.contribution::<W>(&codes[first..])).collect();
        let begin = self.ids[rows.start];
        for row in rows {
            let entries = &self.entries[self.starts[row] as usize..self.starts[row + 1] as usize];
            let sums = match &slots[..] {
                [slot] => slot.sum(entries, self.bits),
                _ => self.sum_of_slots(&slots, entries),
            };
            let to = &mut total[(self.ids[row] - begin) as usize * width + first..][..W];
            for (k, (to, sum)) in to.iter_mut().zip(sums).enumerate() {
                // A row may begin in the workgroup before or end in the next one.
                if items.contains(&(row * width + first + k)) {
                    *to = if self.stores { sum } else { *to + sum };
                }
            }
        }
    }

    fn sum_of_slots<const W: usize>(&self, slots: &[Contribution<R, W>], entries: &[u32]) -> [R; W] {
        let mut sums = [R::ZERO; W];
        let slot_mask = (1u32 << self.bits) - 1;
        for &entry in entries {
            slots[(entry & slot_mask) as usize].add(&mut sums, entry >> self.bits);
        }
        sums
    }
}

impl<R: Real, const W: usize> Contribution<'_, R, W> {
    #[inline(always)]
    fn add(&self, sums: &mut [R; W], instance: u32) {
        for ((sum, column), sign) in sums.iter_mut().zip(self.columns).zip(self.signs) {
            if let Some(&value) = column.get(instance as usize) {
                *sum += sign * value;
            }
        }
    }

    /// All entries being those of this slot.
    #[inline(always)]
    fn sum(&self, entries: &[u32], bits: u32) -> [R; W] {
        let mut sums = [R::ZERO; W];
        entries.iter().for_each(|entry| self.add(&mut sums, entry >> bits));
        sums
    }
}

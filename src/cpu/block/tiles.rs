//! Products by owners, on the CPU: the programs of several tiles at a time, whose columns stay in the cache until the rows
//! are added up.

use super::parts::{self, Part};
use super::{BlockProgram, precision};
use crate::real::Real;
use crate::{Bindings, Evaluator, Pieces, Workgroups};
use leastwise_program::{NEGATIVE, OwnSlot, OwnerArguments, OwnerProgram, Store};
use leastwise_recording::binding::*;
use std::cell::RefCell;
use std::ops::Range;

/// Instances of a part, about: their tiles fit the second-level cache.
const PART: usize = 2048;

thread_local! {
    /// The columns of the rows that a thread is at. Kept, since clearing new ones is a few hundredths of the product.
    pub(super) static TILE: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Gives back what the calling thread keeps, for one whose end nothing else notices.
#[cfg(all(target_arch = "wasm32", target_feature = "atomics"))]
pub fn forget_tile() {
    TILE.take();
}

/// Product JᵀWJ·p by owners ([`OwnerProgram`]) on the CPU.
pub struct TileProgram {
    block: BlockProgram,
    /// Words before the owners in the index buffer: the header, then so many columns.
    header: usize,
    column: usize,
    tile: usize,
    crossing: usize,
    slots: Vec<OwnSlot>,
    adds: bool,
}

/// The instances of some tiles, what is stored for others, instance by instance, and the owners' parts of q.
struct Rows<'a, R> {
    items: Range<usize>,
    crossing: &'a mut [R],
    owned: Vec<&'a mut [R]>,
}

impl TileProgram {
    /// The interpreter's form of a program by owners.
    pub fn new(owner: &OwnerProgram) -> Self {
        Self {
            block: BlockProgram::new(&owner.program),
            header: owner.program.header as usize,
            column: owner.column as usize,
            tile: owner.tile as usize,
            crossing: owner.crossing_columns as usize,
            slots: owner.slots.clone(),
            adds: owner.adds,
        }
    }

    /// The program of the instances, which may be run by a module.
    #[cfg(target_arch = "wasm32")]
    pub fn block(&self) -> &BlockProgram {
        &self.block
    }

    /// Computes the tiles of `work`, a workgroup each.
    pub fn run<R: Real>(&self, work: &Workgroups, mut bindings: Bindings<R>, evaluator: Evaluator) {
        let groups = work.groups.start as usize..work.groups.end as usize;
        if groups.is_empty() || self.block.guard.is_some_and(|element| bindings.read(STATE)[element as usize] != R::ZERO) {
            return;
        }
        let OwnerArguments { instances, tiles, .. } = OwnerArguments::of(work.params.words);
        let (count, tiles) = (instances as usize, tiles as usize);
        let (index, jacobian) = (bindings.words(INDEX), bindings.read(JACOBIAN));
        let inputs = self.block.inputs(&mut bindings, index, jacobian, count);
        let owners = &index[self.header + self.column * count..][..count];
        // Two words a tile: its first row, and its first instance.
        let starts: Vec<u32> = (groups.start..=groups.end).map(|tile| index[tiles + 2 * tile + 1]).collect();
        let items = starts[0] as usize..starts[groups.len()] as usize;
        let mut handed_on = Pieces::new(if self.crossing > 0 { bindings.write(VECTOR_OUT) } else { &mut [] });
        let mut owned = self.owned(bindings.write(PARTIALS), index, owners, &items);
        let mut tasks: Vec<Rows<R>> = Vec::new();
        let mut first = items.start;
        for &end in &starts[1..] {
            let end = end as usize;
            if end - first < PART && end < items.end || end == first {
                continue;
            }
            let of = owners[first] as usize..owners[end - 1] as usize + 1;
            let crossing = handed_on.take(first * self.crossing..end * self.crossing);
            let owned = owned.iter_mut().zip(&self.slots);
            let owned = owned.map(|((start, pieces), slot)| {
                let stride = slot.address.stride as usize;
                pieces.take((of.start - *start) * stride..(of.end - *start) * stride)
            });
            tasks.push(Rows { crossing, owned: owned.collect(), items: first..end });
            first = end;
        }
        let compiled = self.block.compiled(evaluator, precision::<R>());
        parts::each(tasks, items.len() * self.block.steps(&compiled), |rows| {
            TILE.with_borrow_mut(|words| {
                let len = self.tile * rows.items.len();
                words.resize(words.len().max((len * size_of::<R>()).div_ceil(8)), 0);
                self.run_rows(rows, &mut bytemuck::cast_slice_mut(words)[..len], owners, |part| {
                    self.block.compute(&inputs, part, &compiled)
                });
            });
        });
    }

    /// Computes some rows, whose columns are written to `tile` before they are read there.
    fn run_rows<R: Real>(&self, mut rows: Rows<R>, tile: &mut [R], owners: &[u32], compute: impl FnOnce(Part<R>)) {
        let length = rows.items.len();
        let mut columns: Vec<Option<&mut [R]>> = tile.chunks_mut(length).map(Some).collect();
        let target = |target: &Store| match *target {
            Store::Tile(column) => columns[column as usize].take(),
            Store::Column(_) | Store::Jacobian(_) => None,
        };
        let targets = self.block.allocation.targets.iter().map(target);
        let targets = targets.map(|target| target.expect("a column is written by one target")).collect();
        compute(Part { items: rows.items.clone(), targets });
        for (instance, values) in rows.crossing.chunks_exact_mut(self.crossing.max(1)).enumerate() {
            values.iter_mut().enumerate().for_each(|(column, value)| *value = tile[column * length + instance]);
        }
        self.add_rows(tile, &owners[rows.items], &mut rows.owned);
    }

    /// For every slot, the owners' stretch of q, beginning with the first owner.
    fn owned<'a, R>(&self, q: &'a mut [R], index: &[u32], owners: &[u32], items: &Range<usize>) -> Vec<(usize, Pieces<'a, R>)> {
        let (Some(&first), Some(&last)) = (owners.get(items.start), owners.get(items.end.wrapping_sub(1))) else { return Vec::new() };
        let base = |slot: &OwnSlot| index[slot.address.base as usize] as usize;
        let mut order: Vec<(u32, u32)> = self.slots.iter().map(|slot| base(slot) as u32).zip(0..).collect();
        order.sort_unstable();
        let mut pieces = Pieces::new(q);
        let mut owned: Vec<Option<(usize, Pieces<R>)>> = self.slots.iter().map(|_| None).collect();
        for number in order.into_iter().map(|(_, number)| number as usize) {
            let (start, stride) = (base(&self.slots[number]), self.slots[number].address.stride as usize);
            let stretch = pieces.take(start + first as usize * stride..start + (last as usize + 1) * stride);
            owned[number] = Some((first as usize, Pieces::new(stretch)));
        }
        owned.into_iter().flatten().collect()
    }

    /// Adds every row up, in the order of its instances.
    fn add_rows<R: Real>(&self, tile: &[R], owners: &[u32], owned: &mut [&mut [R]]) {
        let (length, first) = (owners.len(), owners[0]);
        let mut start = 0;
        let mut sums = vec![R::ZERO; self.tile];
        for row in owners.chunk_by(|a, b| a == b) {
            for (column, sum) in sums.iter_mut().enumerate() {
                let values = &tile[column * length + start..][..row.len()];
                *sum = values.iter().fold(R::ZERO, |sum, value| sum + *value);
            }
            for (slot, q) in self.slots.iter().zip(owned.iter_mut()) {
                let q = &mut q[(row[0] - first) as usize * slot.codes.len()..][..slot.codes.len()];
                for (q, &code) in q.iter_mut().zip(&slot.codes).filter(|(_, code)| **code != 0) {
                    let sum = sums[(code & !NEGATIVE) as usize - 1];
                    let sum = if code & NEGATIVE == 0 { sum } else { -sum };
                    *q = if self.adds { *q + sum } else { sum };
                }
            }
            start += row.len();
        }
    }
}

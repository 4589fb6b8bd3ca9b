//! Products with a Schur complement, on the CPU: the programs of several tiles at a time, whose columns stay in the cache.

use super::allocate::View;
use super::interpreter::Inputs;
use super::parts::{self, Part};
use super::tiles::TILE;
use super::{BlockProgram, precision};
use crate::real::Real;
use crate::twins::pcg::block_jacobi::row_start;
use crate::{Bindings, Evaluator, Pieces, Workgroups};
use leastwise_program::{ReducedArguments, ReducedProgram, Store};
use leastwise_recording::binding::*;
use std::ops::Range;

/// Instances of a part, about: their tiles fit the second-level cache.
const PART: usize = 2048;

/// Product S p ([`ReducedProgram`]) on the CPU.
pub struct ReducedTiles {
    /// The part of the program before w is there, and the part after.
    before: BlockProgram,
    after: BlockProgram,
    /// Words before the eliminated variables in the index buffer: the header, then so many columns.
    header: usize,
    column: usize,
    width: usize,
    crossing: usize,
}

/// The instances of some tiles, and what is stored for others, instance by instance.
struct Rows<'a, R> {
    items: Range<usize>,
    crossing: &'a mut [R],
}

impl ReducedTiles {
    /// The interpreter's form of a product.
    pub fn new(reduced: &ReducedProgram) -> Self {
        Self {
            header: reduced.program.header as usize,
            column: reduced.column as usize,
            width: reduced.width as usize,
            crossing: reduced.crossing_columns as usize,
            before: BlockProgram::new(&reduced.parts[0]),
            after: BlockProgram::new(&reduced.parts[1]),
        }
    }

    /// The first of its programs, which may be run by a module; the other one is where this is.
    #[cfg(target_arch = "wasm32")]
    pub fn block(&self) -> &BlockProgram {
        &self.before
    }

    /// Computes the tiles of `work`, a workgroup each.
    pub fn run<R: Real>(&self, work: &Workgroups, mut bindings: Bindings<R>, evaluator: Evaluator) {
        let groups = work.groups.start as usize..work.groups.end as usize;
        if groups.is_empty() || self.before.guard.is_some_and(|element| bindings.read(STATE)[element as usize] != R::ZERO) {
            return;
        }
        let ReducedArguments { instances, block, .. } = ReducedArguments::of(work.params.words);
        let count = instances as usize;
        let (tiles, index) = (bindings.words(ARENA), bindings.words(INDEX));
        let (data, jacobian, vector) = (bindings.read(DATA), bindings.read(JACOBIAN), bindings.read(VECTOR_IN));
        let inverse = &bindings.read(PARTIALS)[block as usize..];
        let inputs = |program: &BlockProgram| program.inputs_of([&[], vector, data], index, jacobian, count);
        let (before, after) = (inputs(&self.before), inputs(&self.after));
        let owners = &index[self.header + self.column * count..][..count];
        // Two words a tile: its first row, and its first instance.
        let starts: Vec<usize> = (groups.start..=groups.end).map(|tile| tiles[2 * tile + 1] as usize).collect();
        let items = starts[0]..starts[groups.len()];
        let mut handed_on = Pieces::new(bindings.write(VECTOR_OUT));
        let mut tasks: Vec<Rows<R>> = Vec::new();
        let mut begin = items.start;
        for &end in &starts[1..] {
            if end - begin < PART && end < items.end || end == begin {
                continue;
            }
            tasks.push(Rows { crossing: handed_on.take(begin * self.crossing..end * self.crossing), items: begin..end });
            begin = end;
        }
        let compiled = |program: &BlockProgram| program.compiled(evaluator, precision::<R>());
        let (first, second) = (compiled(&self.before), compiled(&self.after));
        let steps = self.before.steps(&first) + self.after.steps(&second);
        parts::each(tasks, items.len() * steps, |rows| {
            TILE.with_borrow_mut(|words| {
                let len = (self.width + self.crossing) * rows.items.len();
                words.resize(words.len().max((len * size_of::<R>()).div_ceil(8)), 0);
                let (own, crossing) = bytemuck::cast_slice_mut(words)[..len].split_at_mut(self.width * rows.items.len());
                self.before.compute(&before, part(&self.before, own, rows.items.clone()), &first);
                self.eliminate(own, &owners[rows.items.clone()], inverse);
                // The columns that are handed to it begin with the part's first instance, so the others must, too.
                let length = rows.items.len();
                let views = self.after.allocation.views.iter().zip(&after.views).map(|(view, column)| match *view {
                    View::Given(number) => &own[number as usize * length..][..length],
                    _ => &column[rows.items.clone()],
                });
                let inputs = Inputs {
                    count: length,
                    bases: after.bases.clone(),
                    indices: after.indices.iter().map(|column| &column[rows.items.clone()]).collect(),
                    views: views.collect(),
                    ..after
                };
                self.after.compute(&inputs, part(&self.after, crossing, 0..length), &second);
                for (instance, values) in rows.crossing.chunks_exact_mut(self.crossing).enumerate() {
                    values.iter_mut().enumerate().for_each(|(column, value)| *value = crossing[column * length + instance]);
                }
            });
        });
    }

    /// Every row's sums become C⁻¹ times these, for each of its instances.
    fn eliminate<R: Real>(&self, own: &mut [R], owners: &[u32], inverse: &[R]) {
        let (length, packed) = (owners.len(), row_start(self.width));
        let (mut start, mut sums) = (0, vec![R::ZERO; self.width]);
        for row in owners.chunk_by(|a, b| a == b) {
            for (column, sum) in sums.iter_mut().enumerate() {
                *sum = own[column * length + start..][..row.len()].iter().fold(R::ZERO, |sum, value| sum + *value);
            }
            let inverse = &inverse[row[0] as usize * packed..][..packed];
            for a in 0..self.width {
                let mut value = inverse[row_start(a)] * sums[0];
                for b in 1..self.width {
                    value += inverse[row_start(a.max(b)) + a.min(b)] * sums[b];
                }
                own[a * length + start..][..row.len()].fill(value);
            }
            start += row.len();
        }
    }
}

/// A part of a program that writes to columns of a tile.
fn part<'a, R>(program: &BlockProgram, tile: &'a mut [R], items: Range<usize>) -> Part<'a, R> {
    let mut columns: Vec<Option<&mut [R]>> = tile.chunks_mut(items.len()).map(Some).collect();
    let target = |target: &Store| match *target {
        Store::Tile(column) => columns[column as usize].take(),
        Store::Column(_) | Store::Jacobian(_) => None,
    };
    let targets = program.allocation.targets.iter().map(target);
    Part { items, targets: targets.map(|target| target.expect("a column is written by one target")).collect() }
}

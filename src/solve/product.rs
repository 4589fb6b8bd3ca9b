//! Products JᵀWJ·p without a matrix, in the schedules of `problem/schedule.rs`.
//!
//! In *two passes*, every instance multiplies its stored (or recomputed) J and stores its contributions, which every variable
//! gathers. By *owners*, the variables of one column add up their own part in the first pass, and only the others gather.
//! Where a residual sums over entries, a pass over these comes before and another one after it. Where something is fixed,
//! its part of the product is dropped.

use super::workspace::{Gathered, launch};
use super::{Workspace, state};
use leastwise_device::{Command, Dispatch, Slice, binding::*};
use leastwise_problem::{Batch, Chunk, Problem, Tiles};
use leastwise_program::OwnerArguments;

impl Workspace {
    /// q += JᵀWJ·p for p and q of the workspace, J being that of the accepted point. Nothing is done where the system is solved.
    pub fn multiply(&self, problem: &Problem, commands: &mut Vec<Command>) {
        self.clear_sums(problem, commands);
        problem.enabled_batches().for_each(|batch| self.multiply_batch(batch, self.q, commands));
        self.mask(self.q, state::SOLVED, problem, commands);
    }

    /// The part of a batch, added to a vector.
    pub fn multiply_batch(&self, batch: &Batch, total: Slice, commands: &mut Vec<Command>) {
        self.forward(batch, commands);
        for chunk in &batch.chunks {
            match &chunk.tiles {
                Some(tiles) => self.multiply_by_owners((batch, chunk, tiles), total, commands),
                None => {
                    commands.push(self.generated_into(self.inner_scratch, batch.product.kernel, chunk, self.point, self.p));
                    self.gather(chunk, Gathered::Product(total), state::SOLVED, commands);
                }
            }
        }
        self.backward(batch, total, state::SOLVED, commands);
    }

    fn multiply_by_owners(&self, (batch, chunk, tiles): (&Batch, &Chunk, &Tiles), total: Slice, commands: &mut Vec<Command>) {
        let mut bindings = chunk.bindings().to_vec();
        bindings.extend([
            (ARENA, self.point),
            (VECTOR_IN, self.p),
            (VECTOR_OUT, self.inner_scratch),
            (STATE, self.state),
            (PARTIALS, total),
        ]);
        // A workgroup is a tile.
        let args = OwnerArguments { instances: chunk.count, tiles: tiles.first, starts: tiles.starts };
        let product = launch(batch.product.kernel, tiles.count * self.group_size(), &bindings);
        commands.push(Command::Dispatch(Dispatch { words: args.words(), ..product }));
        // An instance's contributions lie next to each other.
        self.gather_lists(&tiles.crossing, 1, Gathered::Product(total), state::SOLVED, commands);
    }
}
